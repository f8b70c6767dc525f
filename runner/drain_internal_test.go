package runner

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner/schedule"
)

// draining is a loop at the beginning of a session, on a disk that can be told to
// sync nothing any more.
type draining struct {
	*loop
	shown []uint64
	dead  atomic.Bool
}

func newDraining(t *testing.T) *draining {
	t.Helper()
	d := &draining{}
	s, err := checkpoint.OpenStore("/ws/.runner", checkpoint.Options{FS: dying{store.NewMemory(), &d.dead}, Policy: checkpoint.DefaultPolicy()})
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Lock(t.Context(), "PRD-001", state.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() }) // a dead disk fails it
	phase := state.PhaseShape{Name: "all"}
	for _, name := range []string{"a", "b", "c"} {
		phase.Workstreams = append(phase.Workstreams, state.WorkstreamShape{Name: name, Batch: 1})
	}
	if err := x.Start(state.SessionStarted{Session: "S1", PRD: "PRD-001", Shape: state.Shape{Phases: []state.PhaseShape{phase}}}); err != nil {
		t.Fatal(err)
	}
	d.loop = &loop{
		o: Options{Views: []View{seqs{&d.shown}}, Now: time.Now, Mask: func(s string) string { return s }, OnCheckpointError: CheckpointErrorSkip},
		x: x, slots: schedule.New(1, nil), ctx: t.Context(), window: time.NewTimer(time.Hour),
	}
	return d
}

// TestDrainShowsInOrder has one thing that waited for a commit add to the journal,
// and the next one drain, while another commit is to come.
func TestDrainShowsInOrder(t *testing.T) {
	t.Parallel()
	l := newDraining(t)
	start := func(name string) state.Event {
		return state.WorkstreamStarted{Workstream: name, Attempt: 1}
	}
	l.add(func() { l.add(nil, start("c")) }, state.PhaseStarted{Phase: "all"}, start("a"))
	l.createCheckpoint("by hand", func(refusal error) {
		if refusal != nil {
			t.Error(refusal)
		}
	})
	l.x.Flush()
	l.add(nil, start("b")) // in the next one
	l.drain()
	if want := []uint64{2, 3, 4}; !slices.Equal(l.shown, want) {
		t.Errorf("shown %d, want %d", l.shown, want)
	}
	if l.fatal != nil || l.x.Unacknowledged() {
		t.Errorf("%v, with something left: %t", l.fatal, l.x.Unacknowledged())
	}
}

// TestCheckpointIsNotPromised has the disk die between the record of a checkpoint
// that somebody asked for and its file.
func TestCheckpointIsNotPromised(t *testing.T) {
	t.Parallel()
	l := newDraining(t)
	answers := 0
	l.createCheckpoint("by hand", func(refusal error) {
		if answers++; refusal == nil || !strings.Contains(refusal.Error(), "could not be written") {
			t.Errorf("answered %v", refusal)
		}
	})
	l.x.Flush()
	ack := <-l.x.Acks()
	l.add(nil, state.PhaseStarted{Phase: "all"})
	l.dead.Store(true)
	l.acknowledge(ack)
	if answers != 1 || l.fatal == nil {
		t.Errorf("%d answers, %v", answers, l.fatal)
	}
}

// seqs is a view of which commits there are.
type seqs struct{ shown *[]uint64 }

func (seqs) Begin(Beginning)         {}
func (s seqs) Commit(c state.Commit) { *s.shown = append(*s.shown, c.Seq) }
func (seqs) Warn(string)             {}
func (seqs) End(Ending)              {}

type dying struct {
	store.FS
	dead *atomic.Bool
}

func (d dying) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	f, err := d.FS.OpenFile(name, flag, perm)
	return dyingFile{f, d.dead}, err
}

type dyingFile struct {
	store.File
	dead *atomic.Bool
}

func (f dyingFile) Sync() error {
	if f.dead.Load() {
		return errors.New("the disk is dead")
	}
	return f.File.Sync()
}
