package checkpoint

import (
	"context"
	"fmt"
	"os"
	"testing"

	"prdrunner/checkpoint/store"
)

// crowd is a session of n checkpoints, each of a workstream that made one thing
// anew. Their files hold next to nothing: their states are not what is measured.
func crowd(b *testing.B, f *fixture, n int) {
	b.Helper()
	f.o.Policy = DefaultPolicy()
	delete(f.o.Policy.Retention.Counts, string(TriggerWorkstreamComplete))
	s := f.open()
	x := lockPRD(b, s, "PRD-009")
	must(b, x.Start(started("S1", wide(100))))
	commit(b, x, PhaseStarted{Phase: "all"})
	for i := range n {
		name := fmt.Sprintf("w%d", i%100)
		a := Artifact{Path: Text(name), Size: 100, Mode: 0o644, Digest: fmt.Sprintf("sha256:%064x", i)}
		x.Add(
			WorkstreamStarted{Workstream: name, Attempt: i/100 + 1},
			WorkstreamCompleted{Workstream: name, Work: &Work{Attempt: i/100 + 1, Artifacts: []Artifact{a}}})
		x.Checkpoint(TriggerWorkstreamComplete, "", nil)
		commit(b, x)
	}
	ids := x.SkipDerived()
	must(b, x.Close())
	files := s.checkpointsIn(s.prdDir("PRD-009"))
	must(b, store.MkdirAll(f.fs, files.dir))
	for _, id := range ids {
		file, err := f.fs.OpenFile(files.path(id), os.O_RDWR|os.O_CREATE, store.FilePerm)
		must(b, err)
		must(b, file.Close())
	}
}

// BenchmarkPrune removes all but one of 10,000 checkpoints.
func BenchmarkPrune(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		f := inMemory(b)
		crowd(b, f, 10_000)
		f.o.Policy.Retention.Counts[string(TriggerWorkstreamComplete)] = 1
		b.StartTimer()
		x := lockPRD(b, f.open(), "PRD-009")
		p, err := x.Prune(context.Background(), PruneOptions{})
		must(b, err)
		if len(p.Checkpoints) != 9_999 {
			b.Fatalf("%d", len(p.Checkpoints))
		}
		must(b, x.Close())
	}
}

// BenchmarkTidy is the end of a run that has nothing to let go of, in a session
// of so many checkpoints; replay is what reading its journal takes alone.
func BenchmarkTidy(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		f := onDisk(b)
		crowd(b, f, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := lockPRD(b, f.open(), "PRD-009")
			for b.Loop() {
				t, err := x.Tidy(context.Background(), nil)
				must(b, err)
				if !t.Pruned.isEmpty() || t.Collected.Kept > 0 {
					b.Fatalf("%+v", t)
				}
			}
			must(b, x.Close())
		})
		b.Run(fmt.Sprintf("%d, replay", n), func(b *testing.B) {
			for b.Loop() {
				_, err := f.open().replay("PRD-009", newFold().apply)
				must(b, err)
			}
		})
	}
}

// BenchmarkCollect removes half of 100,000 objects.
func BenchmarkCollect(b *testing.B) {
	const count = 100_000
	for b.Loop() {
		b.StopTimer()
		f := onDisk(b)
		s := f.open()
		x := lockPRD(b, s, "PRD-009")
		must(b, x.Start(started("S1", wide(1))))
		commit(b, x, PhaseStarted{Phase: "all"})
		var needed []Artifact
		batch := s.Objects().Begin()
		for i := range count {
			ref, err := batch.Put(context.Background(), fmt.Appendf(nil, "object %d", i))
			must(b, err)
			if i%2 == 0 {
				needed = append(needed, Artifact{Path: Text(fmt.Sprint(i)), Size: ref.Size, Mode: 0o644, Digest: ref.Digest})
			}
		}
		must(b, batch.Commit(context.Background()))
		produce(b, x, "w0", needed...)
		must(b, x.Close())
		b.StartTimer()
		done, err := s.Collect(context.Background(), nil)
		must(b, err)
		if done.Objects != count/2 {
			b.Fatalf("%+v", done)
		}
	}
}
