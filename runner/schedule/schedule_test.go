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

func each(schedule.Job) bool   { return true }
func none(schedule.Job) bool   { return false }
func late(j schedule.Job) bool { return j.Late }

func TestJobsStartInOrderWhileThereAreSlots(t *testing.T) {
	t.Parallel()
	r := newRecorder(2)
	for _, name := range []string{"a", "b", "c"} {
		r.Add(r.job(name))
	}
	r.Start(none)
	r.want(t)
	if r.Busy() || r.Idle() {
		t.Error("no slot is in use, and jobs wait")
	}
	r.Start(each)
	r.want(t, "a", "b")
	if r.Free() || !r.Busy() || !r.Queued() || r.Idle() {
		t.Error("two of two slots are in use, and a job waits")
	}
	r.Release("a")
	r.Start(each)
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
	r.Start(each)
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
	r.Drop(none)
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
		r.Start(each)
		r.want(t, "first", "second", "new")
		r.CallOff(none) // nothing, since they have started
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
		r.CallOff(none)
		r.Drop(none)
		r.Start(each)
		r.want(t, "call off queued", "call off waiting")
		if !r.Idle() {
			t.Error("nothing is left")
		}
	})
}

func TestLateJobsAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lateJob := func(r *recorder, name string) schedule.Job {
			j := r.job(name)
			j.Late = true
			return j
		}
		r := newRecorder(9)
		r.Add(r.job("a"))
		r.Add(lateJob(r, "b"))
		r.Delay(time.Second, r.job("c"), r.note("call off c"))
		r.Delay(time.Second, lateJob(r, "d"), r.note("call off d"))
		r.CallOff(late)
		r.Drop(late)
		r.want(t, "call off c", "drop a")
		(<-r.events)()
		r.Start(late)
		r.want(t, "d", "b")
		r.Release("b")
		r.Release("d")
		if !r.Idle() {
			t.Error("a job is left")
		}
	})
}
