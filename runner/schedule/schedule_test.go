package schedule_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"prdrunner/runner/schedule"
)

// recorder runs jobs that note their name and take a slot.
type recorder struct {
	*schedule.Scheduler
	events chan func()
	log    []string
}

func newRecorder(slots int) *recorder {
	r := &recorder{events: make(chan func(), 8)}
	r.Scheduler = schedule.New(slots, func(f func()) { r.events <- f })
	return r
}

func (r *recorder) note(name string) func() { return func() { r.log = append(r.log, name) } }

func (r *recorder) job(name string) schedule.Job {
	return schedule.Job{
		Start: func() { r.note(name)(); r.Take(name, r.note("cancel "+name)) },
		Drop:  r.note("drop " + name),
	}
}

func (r *recorder) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(r.log, want) {
		t.Errorf("got %q, want %q", r.log, want)
	}
	r.log = nil
}

func always() bool { return true }
func never() bool  { return false }

func TestJobsStartInOrderWhileThereAreSlots(t *testing.T) {
	t.Parallel()
	r := newRecorder(2)
	for _, name := range []string{"a", "b", "c"} {
		r.Add(r.job(name))
	}
	r.Start(never)
	r.want(t)
	if r.Busy() || r.Idle() {
		t.Error("no slot is in use, and jobs wait")
	}
	r.Start(always)
	r.want(t, "a", "b")
	if r.Free() || !r.Busy() || !r.Queued() || r.Idle() {
		t.Error("two of two slots are in use, and a job waits")
	}
	r.Release("a")
	r.Start(always)
	r.want(t, "c")
	r.Release("b")
	r.Release("c")
	if !r.Idle() || !r.Resting() {
		t.Error("all has ended")
	}
}

func TestUrgentFunctionsStartFirst(t *testing.T) {
	t.Parallel()
	r := newRecorder(1)
	r.Add(schedule.Job{Start: func() { r.note("a")(); r.Urgent(r.note("after a")) }})
	r.Add(r.job("b"))
	r.Start(always)
	r.want(t, "a", "after a", "b")
	r.Urgent(r.note("u"))
	r.StartUrgent(never)
	r.want(t)
	r.StartUrgent(always) // although no slot is free
	r.want(t, "u")
}

func TestDroppedJobsMayAddOthers(t *testing.T) {
	t.Parallel()
	r := newRecorder(1)
	r.Add(schedule.Job{Drop: func() { r.note("drop a")(); r.Add(r.job("b")) }})
	r.Drop()
	r.want(t, "drop a", "drop b")
	if r.Queued() {
		t.Error("a job is left")
	}
}

func TestCancelEndsWhatHasASlot(t *testing.T) {
	t.Parallel()
	r := newRecorder(2)
	within, cancel := context.WithCancel(t.Context())
	r.Take("a", cancel)
	r.Take("b", func() { t.Error("b was released") })
	r.Release("b")
	r.Cancel()
	if within.Err() == nil {
		t.Error("a was not cancelled")
	}
}

func TestDelayedJobsComeBeforeNewOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(9)
		r.Add(r.job("new"))
		r.Delay(2*time.Second, r.job("second"), r.note("call off second"))
		r.Delay(time.Second, r.job("first"), r.note("call off first"))
		if r.Resting() {
			t.Error("two jobs are delayed")
		}
		for range 2 {
			(<-r.events)()
		}
		r.Start(always)
		r.want(t, "first", "second", "new")
		r.CallOff() // nothing, since they have started
		r.want(t)
	})
}

func TestJobsThatAreCalledOffDoNotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(9)
		r.Delay(time.Second, r.job("queued"), r.note("call off queued"))
		r.Delay(time.Hour, r.job("waiting"), r.note("call off waiting"))
		(<-r.events)()
		r.CallOff()
		r.Start(always)
		r.want(t, "call off queued", "call off waiting")
		if !r.Idle() {
			t.Error("nothing is left")
		}
	})
}
