package state

import (
	"slices"
	"time"
)

// Feedback is what gates and people had against work that is not done again yet. The next
// attempt at this work is told of it.
type Feedback struct {
	// Objections has the last objection of each gate, by the gate's label. It is kept apart
	// from the gate, because the gate is reset before the work runs again, and may even be
	// removed from the pipeline.
	Objections map[string]Objection `json:"objections,omitempty"`
}

// Objection is a person's rejection, or the failure of a gate.
type Objection struct {
	At      time.Time       `json:"at"`
	By      *Actor          `json:"by,omitempty"`      // who rejected; nil: the gate failed
	Comment Text            `json:"comment,omitempty"` // of the rejection
	Inputs  map[string]Text `json:"inputs,omitempty"`  // that were given with it
	Failure *Failure        `json:"failure,omitempty"` // of the gate that failed
}

// clone returns a copy that shares only values that are never changed in place.
func (f Feedback) clone() Feedback { return Feedback{Objections: cloneMap(f.Objections)} }

// object records an objection of a gate to the work of workstreams.
func (f *Feedback) object(g *Gate, o Objection, against []*Workstream) {
	told := false
	for _, w := range against {
		if w.Done() || w.Held != nil {
			told = true
			if !slices.Contains(w.Objections, g.Label) {
				w.Objections = append(slices.Clip(w.Objections), g.Label)
			}
		}
	}
	if !told {
		return
	}
	if f.Objections == nil {
		f.Objections = make(map[string]Objection)
	}
	f.Objections[g.Label] = o
}

// withdraw removes the objection of a gate that has passed since. A workstream that runs
// again because of a rejection is still told why.
func (f *Feedback) withdraw(s *State, label string) {
	if _, has := f.Objections[label]; !has {
		return
	}
	kept := false
	for w := range s.Records() {
		if w.Rejected == label {
			kept = true
			continue
		}
		if slices.Contains(w.Objections, label) {
			w.Objections = slices.DeleteFunc(slices.Clone(w.Objections), func(l string) bool { return l == label })
		}
	}
	if !kept {
		delete(f.Objections, label)
	}
}

// prune removes the objections that no workstream is told of any more. A workstream of a
// phase that has completed has nothing left to be told, unless it is rejected.
func (f *Feedback) prune(s *State, completed *Phase) {
	if len(f.Objections) == 0 {
		return
	}
	used := make(map[string]bool, len(f.Objections))
	for w := range s.Records() {
		if w.phase == completed && w.Rejected == "" {
			w.Objections = nil
		}
		for _, label := range w.Objections {
			used[label] = true
		}
	}
	for label := range f.Objections {
		if !used[label] {
			delete(f.Objections, label)
		}
	}
}

// heed forgets what a workstream was to be told: it has done its work since.
func (w *Workstream) heed() { w.Objections, w.LastFailure = nil, nil }

// LastFailed returns the failure of the last attempt that failed since the workstream last
// did its work, or nil.
func (w *Workstream) LastFailed() *Failure {
	if w.Error != nil && w.Error.Outcome != OutcomeHappened && w.Error.Gate == "" { // what a gate has against the work is an objection
		return w.Error
	}
	return w.LastFailure
}

// judged returns the workstreams that a gate judges.
func (g *Gate) judged() []*Workstream {
	if g.workstream != nil {
		return []*Workstream{g.workstream}
	}
	return g.phase.Workstreams
}
