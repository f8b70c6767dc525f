// Package history compares how long sessions of a PRD took: which phases and workstreams of a session
// were slower than in earlier sessions. It reads no file and no clock.
//
// Begin with Timeline, which collects when something ran in one session, and Slower, which compares durations
// with those of earlier ones. Package reader finds sessions, and cmd/runner shows them.
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

// Kind says of what a duration or an attempt is.
type Kind string

// The kinds.
const (
	Phase      Kind = "phase"
	Workstream Kind = "workstream"
	Gate       Kind = "gate"
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

// Durations returns how long phases and workstreams took, in the order of the pipeline. Of a
// workstream it is the time of its successful attempt, of a phase the time in which an attempt or
// a gate of it ran, without the pauses between runs and for people. A workstream counts if
// the session ran it with success, and a phase if all its workstreams count or were skipped.
func (t *Timeline) Durations(st *state.State) []Duration {
	ran := t.byOwner()
	var all []Duration
	for _, p := range st.Phases {
		whole, inPhase := p.Status == state.Completed, slices.Clone(ran[p.Name])
		var works []Duration
		for _, w := range p.Workstreams {
			inPhase = append(inPhase, ran[w.Name]...)
			switch {
			case Ran(w):
				works = append(works, Duration{Workstream, w.Name, time.Duration(w.DurationMS) * time.Millisecond})
			case w.Status != state.Skipped:
				whole = false
			}
		}
		if took := covered(inPhase); whole && took > 0 {
			all = append(all, Duration{Phase, p.Name, took})
		}
		all = append(all, works...)
	}
	return all
}
