package prune_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// crowd makes a session of n checkpoints, each after a workstream that made its artifact
// again. The checkpoint files are empty, because the benchmarks do not read states from
// them.
func crowd(b *testing.B, f *checkpointtest.Fixture, n int) {
	b.Helper()
	f.Options.Policy = checkpoint.DefaultPolicy()
	delete(f.Options.Policy.Retention.Counts, string(state.TriggerWorkstreamComplete))
	s := f.Open()
	x := checkpointtest.LockPRD(b, s, "PRD-009")
	checkpointtest.Must(b, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(100))))
	checkpointtest.Commit(b, x, state.PhaseStarted{Phase: "all"})
	for i := range n {
		name := fmt.Sprintf("w%d", i%100)
		a := state.Artifact{Path: state.Text(name), Size: 100, Mode: 0o644, Digest: fmt.Sprintf("sha256:%064x", i)}
		x.Add(
			state.WorkstreamStarted{Workstream: name, Attempt: i/100 + 1},
			state.WorkstreamCompleted{Workstream: name, Work: &state.Work{Attempt: i/100 + 1, Artifacts: []state.Artifact{a}}})
		x.Checkpoint(state.TriggerWorkstreamComplete, "", nil)
		checkpointtest.Commit(b, x)
	}
	ids, _ := x.SkipDerived()
	checkpointtest.Must(b, x.Close())
	files := s.Layout().CheckpointsIn(s.Layout().PRDDir("PRD-009"))
	checkpointtest.Must(b, store.MkdirAll(f.FS, files.Path))
	for _, id := range ids {
		file, err := f.FS.OpenFile(files.FilePath(id), os.O_RDWR|os.O_CREATE, store.FilePerm)
		checkpointtest.Must(b, err)
		checkpointtest.Must(b, file.Close())
	}
}

// BenchmarkPrune removes all but one of 10,000 checkpoints.
func BenchmarkPrune(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		f := checkpointtest.InMemory(b)
		crowd(b, f, 10_000)
		f.Options.Policy.Retention.Counts[string(state.TriggerWorkstreamComplete)] = 1
		b.StartTimer()
		x := checkpointtest.LockPRD(b, f.Open(), "PRD-009")
		p, err := prune.Run(context.Background(), x, prune.Options{})
		checkpointtest.Must(b, err)
		if len(p.Checkpoints) != 9_999 {
			b.Fatalf("%d", len(p.Checkpoints))
		}
		checkpointtest.Must(b, x.Close())
	}
}

// BenchmarkTidy measures Tidy with nothing to remove, in a session of n checkpoints. The
// "replay" variants measure reading the journal alone.
func BenchmarkTidy(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		f := checkpointtest.OnDisk(b)
		crowd(b, f, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := checkpointtest.LockPRD(b, f.Open(), "PRD-009")
			for b.Loop() {
				t, err := prune.Tidy(context.Background(), x, nil)
				checkpointtest.Must(b, err)
				if len(t.Pruned.Checkpoints)+len(t.Pruned.Sessions) > 0 || t.Collected.Kept > 0 {
					b.Fatalf("%+v", t)
				}
			}
			checkpointtest.Must(b, x.Close())
		})
		b.Run(fmt.Sprintf("%d, replay", n), func(b *testing.B) {
			for b.Loop() {
				path := f.Open().Layout().JournalPath("PRD-009")
				_, err := journal.Replay("PRD-009", path, store.OpenLog(f.FS, path), journal.NewFold().Apply)
				checkpointtest.Must(b, err)
			}
		})
	}
}

// BenchmarkCollect removes half of the objects. With -short it leaves out the counts
// whose objects take minutes to create.
func BenchmarkCollect(b *testing.B) {
	for _, count := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			if count > 100_000 && testing.Short() {
				b.Skip("creating the objects takes minutes")
			}
			for b.Loop() {
				b.StopTimer()
				s := pile(b, count)
				b.StartTimer()
				done, err := prune.Collect(context.Background(), s, nil)
				checkpointtest.Must(b, err)
				if done.Objects != count/2 || done.Kept < count/2 {
					b.Fatalf("%+v", done)
				}
			}
		})
	}
}

// pile creates count empty objects, every second of which a session needs. They can be
// empty because a collection reads only their names.
func pile(b *testing.B, count int) *checkpoint.Store {
	b.Helper()
	f := checkpointtest.OnDisk(b)
	s := f.Open()
	x := checkpointtest.LockPRD(b, s, "PRD-009")
	const workstreams = 10 // so that each one's artifacts fit a line of the journal
	checkpointtest.Must(b, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(workstreams))))
	checkpointtest.Commit(b, x, state.PhaseStarted{Phase: "all"})
	needed := make([][]state.Artifact, workstreams)
	for i := range count {
		sum := sha256.Sum256(fmt.Append(nil, i))
		name := hex.EncodeToString(sum[:])
		dir := filepath.Join(f.Dir, "objects", name[:2])
		checkpointtest.Must(b, os.MkdirAll(dir, store.DirPerm))
		checkpointtest.Must(b, os.WriteFile(filepath.Join(dir, name[2:]), nil, store.FilePerm))
		if i%2 == 0 {
			w := i / 2 % workstreams
			needed[w] = append(needed[w], state.Artifact{Path: state.Text(fmt.Sprint(i)), Mode: 0o644, Digest: "sha256:" + name})
		}
	}
	for w, artifacts := range needed {
		checkpointtest.Produce(b, x, fmt.Sprintf("w%d", w), artifacts...)
	}
	checkpointtest.Must(b, x.Close())
	return s
}
