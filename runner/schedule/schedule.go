// Package schedule decides in which order functions start, and when.
//
// A Scheduler has a number of slots. Functions wait in a queue until a slot is free. Urgent
// functions start first, then jobs that were delayed, then all other jobs in the order in
// which they were added. The package knows nothing about workstreams: the caller decides
// what a function does and whether anything may start.
//
// Begin with Scheduler. It is not safe for concurrent use: one goroutine owns it, and
// timers report to that goroutine.
package schedule

import (
	"context"
	"slices"
	"time"
)

// Scheduler starts functions while slots are free.
type Scheduler struct {
	slots   int
	report  func(func())                  // hands a function to the goroutine that owns the scheduler
	busy    int                           // slots in use
	running map[string]context.CancelFunc // cancels the work that has a slot, by its id

	urgent  []func()
	queue   []Job
	delayed []*delayedJob // jobs that have not started, whether they wait for their delay or in the queue
}

// Job is work that waits for a slot.
type Job struct {
	Start func() // starts the work, which calls Take, or ends it
	Drop  func() // ends the work without starting it
	Late  bool   // the caller may still start it when it starts no other jobs

	delayed bool
}

type delayedJob struct {
	job     Job
	timer   *time.Timer
	callOff func()
}

// New returns a scheduler with a number of slots. When the delay of a job is over, the
// scheduler calls report from another goroutine. The goroutine that owns the scheduler
// must then call the function that report was given.
func New(slots int, report func(func())) *Scheduler {
	return &Scheduler{slots: slots, report: report, running: make(map[string]context.CancelFunc)}
}

// Urgent queues a function that starts before all jobs. Drop does not remove it.
func (s *Scheduler) Urgent(start func()) { s.urgent = append(s.urgent, start) }

// Add puts a job at the end of the queue.
func (s *Scheduler) Add(j Job) { s.queue = append(s.queue, j) }

// Delay puts a job into the queue once a time has passed. The job goes behind other delayed
// jobs and before jobs that were not delayed, which would keep it waiting. Until the job
// starts, CallOff ends it.
func (s *Scheduler) Delay(after time.Duration, j Job, callOff func()) {
	d := &delayedJob{job: j, callOff: callOff}
	once := func(f func()) func() {
		return func() {
			if i := slices.Index(s.delayed, d); i >= 0 { // a job that CallOff ended is not in the list
				s.delayed = slices.Delete(s.delayed, i, i+1)
				f()
			}
		}
	}
	j.delayed, j.Start, j.Drop = true, once(j.Start), once(callOff)
	s.delayed = append(s.delayed, d)
	d.timer = time.AfterFunc(after, func() { s.report(func() { s.insert(j) }) })
}

func (s *Scheduler) insert(j Job) {
	i := slices.IndexFunc(s.queue, func(other Job) bool { return !other.delayed })
	if i < 0 {
		i = len(s.queue)
	}
	s.queue = slices.Insert(s.queue, i, j)
}

// CallOff ends the delayed jobs that have not started, except those for which keep returns
// true.
func (s *Scheduler) CallOff(keep func(Job) bool) {
	all := s.delayed
	s.delayed = nil
	for _, d := range all {
		if keep(d.job) {
			s.delayed = append(s.delayed, d)
		}
	}
	for _, d := range all {
		if !keep(d.job) {
			d.timer.Stop()
			d.callOff()
		}
	}
}

// StartUrgent starts urgent functions while a slot is free or flush reports true. It calls
// flush before each function that finds no free slot, since the functions before may
// change the answer.
func (s *Scheduler) StartUrgent(flush func() bool) {
	for len(s.urgent) > 0 && (s.Free() || flush()) {
		next := s.urgent[0]
		s.urgent = s.urgent[1:]
		next()
	}
}

// Start starts jobs while a slot is free and ready reports true for the next one, and urgent
// functions after each job. It calls ready before each job, since the jobs before may change
// the answer.
func (s *Scheduler) Start(ready func(Job) bool) {
	for len(s.queue) > 0 && s.Free() && ready(s.queue[0]) {
		next := s.queue[0]
		s.queue[0] = Job{}
		s.queue = s.queue[1:]
		next.Start()
		s.StartUrgent(func() bool { return false })
	}
}

// Drop ends the jobs of the queue for which keep returns false, including jobs that are added
// meanwhile.
func (s *Scheduler) Drop(keep func(Job) bool) {
	for slices.ContainsFunc(s.queue, func(j Job) bool { return !keep(j) }) {
		all := s.queue
		s.queue = nil
		for _, j := range all {
			if keep(j) {
				s.queue = append(s.queue, j)
			}
		}
		for _, j := range all {
			if !keep(j) {
				j.Drop()
			}
		}
	}
}

// Take gives a slot to the work with an id. Cancel calls the given function.
func (s *Scheduler) Take(id string, cancel context.CancelFunc) {
	s.busy++
	s.running[id] = cancel
}

// Release frees the slot of the work with an id.
func (s *Scheduler) Release(id string) {
	s.busy--
	delete(s.running, id)
}

// Cancel cancels all work that has a slot.
func (s *Scheduler) Cancel() {
	for _, cancel := range s.running {
		cancel()
	}
}

// Free reports whether there is a free slot.
func (s *Scheduler) Free() bool { return s.busy < s.slots }

// Busy reports whether any slot is in use.
func (s *Scheduler) Busy() bool { return s.busy > 0 }

// Queued reports whether a job waits for a slot.
func (s *Scheduler) Queued() bool { return len(s.queue) > 0 }

// Resting reports whether no slot is in use and no delayed job waits.
func (s *Scheduler) Resting() bool { return s.busy == 0 && len(s.delayed) == 0 }

// Idle reports whether no slot is in use and no function waits.
func (s *Scheduler) Idle() bool { return s.Resting() && len(s.queue)+len(s.urgent) == 0 }
