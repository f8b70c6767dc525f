package checkpoint_test

import (
	"context"
	"fmt"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// boundary returns the events of one workstream without artifacts.
func boundary(i int) []state.Event {
	name := fmt.Sprintf("w%d", i)
	digest := state.Digest{Definition: "sha256:" + journal.Genesis, Inputs: "sha256:" + journal.Genesis, Upstream: "sha256:" + journal.Genesis}
	return []state.Event{
		state.WorkstreamStarted{Workstream: name, Attempt: 1, Digest: digest},
		state.WorkstreamCompleted{Workstream: name, Work: &state.Work{Attempt: 1, DurationMS: 3, Digest: digest}},
	}
}

// complete starts a session of [checkpointtest.Wide] with n workstreams, and completes
// all of them.
func complete(b *testing.B, x *checkpoint.Session, n int) {
	b.Helper()
	checkpointtest.Must(b, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(n))))
	checkpointtest.Commit(b, x, state.PhaseStarted{Phase: "all"})
	for i := range n {
		x.Add(boundary(i)...)
	}
	checkpointtest.Commit(b, x)
}

func BenchmarkEncode(b *testing.B) {
	e := journal.NewEncoder()
	c := state.Commit{Seq: 1, Time: checkpointtest.Clock()(), Events: []state.Event{state.PhaseStarted{Phase: "database"}}, Prev: journal.Genesis}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Line(&c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBoundary measures the start and the completion of one workstream with a
// checkpoint, without a disk. The time must not depend on the size of the pipeline.
func BenchmarkBoundary(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := checkpointtest.InMemory(b)
			x := f.Lock()
			checkpointtest.Must(b, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(n))))
			checkpointtest.Commit(b, x, state.PhaseStarted{Phase: "all"})
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				x.Add(boundary(i % n)...)
				x.Checkpoint(state.TriggerWorkstreamComplete, "", nil)
				if _, err := x.Drain(context.Background()); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.StopTimer()
			checkpointtest.Kill(b, x)
		})
	}
}

// BenchmarkAppend measures a commit of one boundary, or of a group of boundaries, on a
// real disk.
func BenchmarkAppend(b *testing.B) {
	for _, group := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(group), func(b *testing.B) {
			f := checkpointtest.OnDisk(b)
			x := f.Lock()
			checkpointtest.Must(b, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(1000))))
			checkpointtest.Commit(b, x, state.PhaseStarted{Phase: "all"})
			i := 0
			for b.Loop() {
				for range group {
					x.Add(boundary(i % 1000)...)
					i++
				}
				if _, err := x.Drain(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(i), "µs/boundary")
			b.StopTimer()
			checkpointtest.Kill(b, x)
		})
	}
}

// BenchmarkFold reads and folds a journal of 10,000 workstreams with a checkpoint each.
func BenchmarkFold(b *testing.B) {
	f := checkpointtest.InMemory(b)
	x := f.Lock()
	checkpointtest.Must(b, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(10000))))
	checkpointtest.Commit(b, x, state.PhaseStarted{Phase: "all"})
	for i := range 10000 {
		x.Add(boundary(i)...)
		x.Checkpoint(state.TriggerWorkstreamComplete, "", nil)
		if i%4 == 0 {
			checkpointtest.Commit(b, x)
		}
	}
	checkpointtest.Commit(b, x)
	checkpointtest.Kill(b, x)
	path := x.Store().Layout().JournalPath(x.PRD())
	b.SetBytes(int64(len(f.Read("PRD-009/journal.jsonl"))))
	b.ReportAllocs()
	for b.Loop() {
		fold := journal.NewFold()
		if _, err := journal.Replay(x.PRD(), path, store.OpenLog(f.FS, path), fold.Apply); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDocument derives the PRD document from a state of 10,000 workstreams, and
// encodes it.
func BenchmarkDocument(b *testing.B) {
	x := checkpointtest.InMemory(b).Lock()
	complete(b, x, 10000)
	b.ReportAllocs()
	for b.Loop() {
		data, err := document.New(x.State()).Encode()
		checkpointtest.Must(b, err)
		b.SetBytes(int64(len(data)))
	}
	b.StopTimer()
	checkpointtest.Kill(b, x)
}

// BenchmarkDerived writes a checkpoint file, the manifest and the document.
func BenchmarkDerived(b *testing.B) {
	x := checkpointtest.InMemory(b).Lock()
	complete(b, x, 10000)
	for b.Loop() {
		x.Checkpoint(state.TriggerUserInterrupt, "", nil)
		checkpointtest.Commit(b, x)
		checkpointtest.Must(b, x.WriteDerived(context.Background()))
	}
	b.StopTimer()
	checkpointtest.Kill(b, x)
}
