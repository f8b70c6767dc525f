package record_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner/record"
)

// recording is a recorder at the beginning of a session, on a disk that can fail. Its Run
// notes every call.
type recording struct {
	*record.Recorder
	x    *checkpoint.Session
	disk *failingDisk
	now  time.Time // of the session's clock

	queued, busy bool
	decisions    []record.OnFailure // the answers of the run, in order; the last one is repeated
	interrupted  bool               // the run ends each wait early

	shown    []uint64
	created  []string // the checkpoints in the commits that were shown
	skipped  []string // the checkpoints that were shown as skipped
	warnings []string
	waits    []time.Duration
	asked    []string
	paused   []error
	broken   int
}

// Queued implements record.Slots.
func (r *recording) Queued() bool { return r.queued }

// Busy implements record.Slots.
func (r *recording) Busy() bool { return r.busy }

func newRecording(t *testing.T) *recording {
	t.Helper()
	r := &recording{decisions: []record.OnFailure{record.Pause}}
	r.disk, r.now = &failingDisk{FS: store.NewMemory()}, time.Unix(1e9, 0)
	s, err := checkpoint.OpenStore("/ws/.runner", checkpoint.Options{FS: r.disk, Policy: checkpoint.DefaultPolicy(), Now: func() time.Time { return r.now }})
	if err != nil {
		t.Fatal(err)
	}
	r.x, err = s.Lock(t.Context(), "PRD-001", state.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.x.Close() }) // a dead disk fails it
	phase := state.PhaseShape{Name: "all"}
	for i := range 100 {
		phase.Workstreams = append(phase.Workstreams, state.WorkstreamShape{Name: fmt.Sprintf("w%d", i), Batch: 1})
	}
	if err := r.x.Start(state.SessionStarted{Session: "S1", PRD: "PRD-001", Shape: state.Shape{Phases: []state.PhaseShape{phase}}}); err != nil {
		t.Fatal(err)
	}
	r.Recorder = record.New(t.Context(), r.x, record.Run{
		Slots: r,
		Show: func(c state.Commit) {
			r.shown = append(r.shown, c.Seq)
			for _, e := range c.Events {
				switch e := e.(type) {
				case state.CheckpointCreated:
					r.created = append(r.created, e.ID)
				case state.CheckpointSkipped:
					r.skipped = append(r.skipped, e.IDs...)
				}
			}
		},
		Warn:      func(message string) { r.warnings = append(r.warnings, message) },
		Broken:    func() { r.broken++ },
		Unwritten: func(err error) { r.paused = append(r.paused, err) },
		Decide: func(problem string) record.OnFailure {
			r.asked = append(r.asked, problem)
			decision := r.decisions[0]
			if len(r.decisions) > 1 {
				r.decisions = r.decisions[1:]
			}
			return decision
		},
		Wait: func(d time.Duration) bool {
			r.waits = append(r.waits, d)
			return !r.interrupted
		},
	})
	return r
}

// start adds the event that a workstream was started.
func (r *recording) start(n int, then func()) {
	r.Add(then, state.WorkstreamStarted{Workstream: fmt.Sprintf("w%d", n), Attempt: 1})
}

// inFlight reports whether a commit is on its way to the disk.
func (r *recording) inFlight() bool { return r.x.Unacknowledged() && !r.x.Pending() }

// windowOpen reports whether the commit window ends.
func (r *recording) windowOpen() bool {
	select {
	case <-r.Window():
		return true
	case <-time.After(10 * time.Second):
		return false
	}
}

func TestAddCallsOnceDurable(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	var calls []string
	r.Add(func() { calls = append(calls, "at once") })
	r.start(0, func() { calls = append(calls, "first") })
	r.start(1, nil)
	r.Add(func() { calls = append(calls, "second") })
	if !slices.Equal(calls, []string{"at once"}) || !r.Waiting() {
		t.Errorf("called %q before the commit", calls)
	}
	r.Drain()
	if want := []string{"at once", "first", "second"}; !slices.Equal(calls, want) || r.Waiting() {
		t.Errorf("called %q, want %q", calls, want)
	}
}

// TestAcknowledgeLeavesLaterFunctions: an acknowledgement calls only the functions that
// waited for its commit or an earlier one.
func TestAcknowledgeLeavesLaterFunctions(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	var calls []int
	r.start(0, func() { calls = append(calls, 0) })
	r.Flush()
	r.start(1, func() { calls = append(calls, 1) })
	r.Acknowledge(<-r.Acks())
	if !slices.Equal(calls, []int{0}) || !r.Waiting() {
		t.Errorf("called %v", calls)
	}
	r.Drain()
	if !slices.Equal(calls, []int{0, 1}) {
		t.Errorf("called %v", calls)
	}
}

// TestCommitWaitsForTheWindow: a commit is written at once if something waits for it and no
// more work will end soon.
func TestCommitWaitsForTheWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		queued, busy, open, waits bool
		atOnce                    bool
	}{
		"idle, a function waits":                   {waits: true, atOnce: true},
		"idle, nothing waits":                      {atOnce: true},
		"idle, in the window":                      {open: true},
		"idle, in the window, a function waits":    {open: true, waits: true, atOnce: true},
		"queued only, a function waits":            {queued: true, waits: true, atOnce: true},
		"busy only, a function waits":              {busy: true, waits: true, atOnce: true},
		"queued and busy":                          {queued: true, busy: true},
		"queued and busy, a function waits":        {queued: true, busy: true, waits: true},
		"queued and busy, in the window, it waits": {queued: true, busy: true, open: true, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecording(t)
			if c.open { // a durable commit opens the window
				r.start(0, nil)
				r.Flush()
				r.Acknowledge(<-r.Acks())
			}
			r.queued, r.busy = c.queued, c.busy
			var then func()
			if c.waits {
				then = func() {}
			}
			r.start(1, then)
			r.Commit()
			if r.inFlight() != c.atOnce {
				t.Errorf("written at once: %t, want %t", r.inFlight(), c.atOnce)
			}
			if !c.atOnce && !r.windowOpen() {
				t.Error("it would wait for ever")
			}
			r.Drain()
		})
	}
}

// TestAcknowledgeOpensNoWindowForQueuedWork: queued work starts now, and its start must not
// wait.
func TestAcknowledgeOpensNoWindowForQueuedWork(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.queued = true
	r.start(0, nil)
	r.Flush()
	r.Acknowledge(<-r.Acks())
	r.start(1, nil)
	r.Commit()
	if !r.inFlight() {
		t.Error("the commit waits for a window")
	}
	r.Drain()
}

// TestCommitWithoutEventsOpensNoWindow: the next event must not wait for a window that
// began with nothing to write.
func TestCommitWithoutEventsOpensNoWindow(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.queued, r.busy = true, true
	r.Commit()
	r.queued, r.busy = false, false
	r.start(0, nil)
	if r.Commit(); !r.inFlight() {
		t.Error("the commit waits for a window")
	}
	r.Drain()
}

func TestCommitDoesNotWaitWhenFull(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.queued, r.busy = true, true
	for i := range 64 {
		if r.Full() {
			t.Fatalf("full with %d", i)
		}
		r.start(i, func() {})
	}
	r.Commit()
	if !r.Full() || !r.inFlight() {
		t.Errorf("full: %t, written: %t", r.Full(), r.inFlight())
	}
	r.Drain()
	r.Commit() // with no event, it does nothing
	if r.Full() || r.x.Unacknowledged() {
		t.Error("it is still full")
	}
}

// TestDrainShowsInOrder has a function that waited for a commit add an event, and the next
// function drain, while another commit is pending.
func TestDrainShowsInOrder(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.Add(func() { r.start(2, nil) }, state.PhaseStarted{Phase: "all"})
	r.start(0, func() { r.Drain() })
	r.Flush()
	r.start(1, nil) // in the next commit
	r.Drain()
	if want := []uint64{2, 3, 4}; !slices.Equal(r.shown, want) {
		t.Errorf("shown %d, want %d", r.shown, want)
	}
	if r.Err() != nil || r.x.Unacknowledged() {
		t.Errorf("%v, with unacknowledged events: %t", r.Err(), r.x.Unacknowledged())
	}
}

// TestDeadDisk has the disk die between the record of a checkpoint and its file.
func TestDeadDisk(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	id, _ := r.x.Checkpoint(state.TriggerManual, "by hand", nil)
	written := true
	r.Add(func() { written = r.WriteCheckpoints() })
	r.Flush()
	ack := <-r.Acks()
	r.start(0, func() { t.Error("called, although the event is not durable") })
	r.disk.dead.Store(true)
	r.Acknowledge(ack)
	if written || r.x.Written(id) || r.Err() == nil || r.broken == 0 {
		t.Errorf("written: %t, %v, told %d times", written, r.Err(), r.broken)
	}
	told := r.broken
	r.start(1, func() { t.Error("called after the journal could not be written") })
	r.Commit()
	if r.Drain(); r.broken != told {
		t.Errorf("Drain told the run again that the journal is broken: %d times, not %d", r.broken, told)
	}
	if r.Waiting() || r.WriteDocument() || len(r.waits) > 0 {
		t.Errorf("waiting: %t, after waits of %v", r.Waiting(), r.waits)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	if !r.Check(nil) || !r.Check(errors.New("no inbox")) || r.broken != 0 {
		t.Errorf("broken by another error: %v", r.Err())
	}
	poisoned := &checkpoint.PoisonedError{}
	if r.Check(fmt.Errorf("read: %w", poisoned)) || r.Check(nil) || !errors.Is(r.Err(), error(poisoned)) {
		t.Errorf("not broken: %v", r.Err())
	}
}

// failingDisk is a disk in memory. When dead, it syncs no file; when full, it creates no
// checkpoint file.
type failingDisk struct {
	store.FS
	dead, full atomic.Bool
}

func (d *failingDisk) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if d.full.Load() && strings.Contains(filepath.Dir(name), "checkpoints") {
		return nil, errors.New("the disk is full")
	}
	f, err := d.FS.OpenFile(name, flag, perm)
	return failingFile{f, d}, err
}

type failingFile struct {
	store.File
	disk *failingDisk
}

func (f failingFile) Sync() error {
	if f.disk.dead.Load() {
		return errors.New("the disk is dead")
	}
	return f.File.Sync()
}
