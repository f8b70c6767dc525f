// Package history compares how long sessions of a PRD took: which phases and workstreams of a session
// were slower than in earlier sessions. It reads no file and no clock.
//
// Begin with Times, which collects the times of one session, and Slower, which compares them with those
// of earlier ones. Package reader finds sessions, and cmd/runner shows them.
package history

import (
	"slices"
	"time"

	"prdrunner/checkpoint/state"
)

// What counts as slower than before.
const (
	// MinEarlier is how many earlier sessions there must be to compare with.
	MinEarlier = 3
	// MaxEarlier is how many earlier sessions are compared with, the newest of them.
	MaxEarlier = 10
	// MinPercent and MinTime are by how much more than the median something must take.
	MinPercent = 25
	MinTime    = time.Second
)

// Kind says of what a duration is.
type Kind string

// The kinds.
const (
	Phase      Kind = "phase"
	Workstream Kind = "workstream"
)

// Duration is how long a phase or a workstream of a session took.
type Duration struct {
	Kind Kind
	Name string
	Took time.Duration
}

// Change is a duration that is longer than those before it.
type Change struct {
	Duration
	Median   time.Duration // of the earlier sessions
	Sessions int           // how many these are
}

// Slower returns what took longer than in earlier sessions, the oldest of them first, in the order of
// durations. A session that has no duration for something does not count for it.
func Slower(durations []Duration, earlier [][]Duration) []Change {
	type key struct {
		kind Kind
		name string
	}
	before := map[key][]time.Duration{} // the newest first
	for _, session := range slices.Backward(earlier) {
		for _, d := range session {
			if k := (key{d.Kind, d.Name}); len(before[k]) < MaxEarlier {
				before[k] = append(before[k], d.Took)
			}
		}
	}
	var slower []Change
	for _, d := range durations {
		had := before[key{d.Kind, d.Name}]
		if len(had) < MinEarlier {
			continue
		}
		if m := median(had); Differs(m, d.Took) && d.Took > m {
			slower = append(slower, Change{d, m, len(had)})
		}
	}
	return slower
}

// Differs reports whether two durations differ by more than what always varies: by more than MinPercent
// of the first, and by more than MinTime.
func Differs(a, b time.Duration) bool {
	by := (b - a).Abs()
	return by > MinTime && by*100 > a*MinPercent
}

// median returns the middle of durations, the mean of the two in the middle of an even number.
func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Ran reports whether the session itself did the work of a workstream: its result is neither that of an
// earlier session nor taken from the cache.
func Ran(w *state.Workstream) bool {
	return w.Status == state.Completed && w.Worked() && w.Session == "" && w.Cached == nil && w.Adopted == "" && !w.Imported
}

// Times gathers when something ran in a session. The zero value is ready to use.
type Times struct {
	running map[string]time.Time  // since when, by workstream or label of a gate
	ran     map[string][]interval // by owner: a workstream, or a phase for its own gates
}

type interval struct{ from, to time.Time }

// Commit takes note of a commit of the session. Journals may come in any order.
func (t *Times) Commit(c state.Commit) {
	for i, e := range c.Events {
		t.event(c.At(i), e)
	}
}

func (t *Times) event(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.SessionStarted, state.SessionResumed:
		t.running = nil // the runner was killed: how long what ran then took is not on record
	case state.WorkstreamStarted:
		t.begin(e.Workstream, at)
	case state.WorkstreamAttemptFailed:
		t.end(e.Workstream, at)
	case state.WorkstreamSucceeded:
		t.end(e.Workstream, at)
	case state.WorkstreamCompleted:
		t.end(e.Workstream, at)
	case state.WorkstreamFailed:
		t.end(e.Workstream, at)
	case state.WorkstreamInterrupted:
		t.end(e.Workstream, at)
	case state.WorkstreamUncertain:
		t.end(e.Workstream, at)
	case state.GateStarted:
		t.begin(e.Gate, at)
	case state.GatePassed:
		t.end(e.Gate, at)
	case state.GateFailed:
		t.end(e.Gate, at)
	case state.GateAsked: // from now on a person is waited for
		t.end(e.Gate, at)
	}
}

func (t *Times) begin(name string, at time.Time) {
	if t.running == nil {
		t.running = map[string]time.Time{}
	}
	t.running[name] = at
}

func (t *Times) end(name string, at time.Time) {
	from, ran := t.running[name]
	if !ran {
		return
	}
	delete(t.running, name)
	if t.ran == nil {
		t.ran = map[string][]interval{}
	}
	if _, owner, gate := state.CutLabel(name); gate {
		name = owner
	}
	t.ran[name] = append(t.ran[name], interval{from, at})
}

// Durations returns how long phases and workstreams took, in the order of the pipeline. Of a
// workstream it is the time of its successful attempt, of a phase the time in which an attempt or
// a gate of it ran, without the pauses between runs and for people. A workstream counts if
// the session ran it with success, and a phase if all its workstreams count or were skipped.
func (t *Times) Durations(st *state.State) []Duration {
	var all []Duration
	for _, p := range st.Phases {
		whole, ran := p.Status == state.Completed, slices.Clone(t.ran[p.Name])
		var works []Duration
		for _, w := range p.Workstreams {
			ran = append(ran, t.ran[w.Name]...)
			switch {
			case Ran(w):
				works = append(works, Duration{Workstream, w.Name, time.Duration(w.DurationMS) * time.Millisecond})
			case w.Status != state.Skipped:
				whole = false
			}
		}
		if took := covered(ran); whole && took > 0 {
			all = append(all, Duration{Phase, p.Name, took})
		}
		all = append(all, works...)
	}
	return all
}

// covered returns the time that intervals cover together.
func covered(all []interval) time.Duration {
	slices.SortFunc(all, func(a, b interval) int { return a.from.Compare(b.from) })
	var sum time.Duration
	var until time.Time
	for _, i := range all {
		from := i.from
		if from.Before(until) {
			from = until
		}
		if i.to.After(from) {
			sum, until = sum+i.to.Sub(from), i.to
		}
	}
	return sum
}
