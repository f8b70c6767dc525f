package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rejection is a person's rejection of what a gate judged.
type Rejection struct {
	State *State
	Gate  *Gate
}

// apply folds a rejection. It marks the workstreams that the rejection names, or else those
// that the gate judged, so that they run again. The workstreams have the mark, and not the
// gate, because the gate may be judged again, renamed or removed before every workstream
// has run. Those that the gate judged are told of the rejection in any case.
func (r Rejection) apply(at time.Time, e GateRejected) error {
	told := slices.Clone(r.Gate.judged())
	again := told
	if len(e.To) > 0 {
		again = nil
		for _, name := range e.To {
			w := r.State.Workstream(name)
			if w == nil {
				return fmt.Errorf("%w: no workstream %q", ErrFold, name)
			}
			again = append(again, w)
			if !slices.Contains(told, w) {
				told = append(told, w)
			}
		}
	}
	for _, w := range again {
		if w.Done() {
			w.Rejected = r.Gate.Label
		}
	}
	r.State.Feedback.object(r.Gate, Objection{At: at, By: &e.By, Comment: e.Reason, Inputs: e.Inputs}, told)
	return nil
}

// Work resolves the names of workstreams that the rejection asks to run again. A name may
// be that of a block with for_each, which stands for all its instances. The work must be
// done, and the gate must judge it or come after it: it is of an earlier phase, or of an
// earlier batch of the same phase.
func (r Rejection) Work(names []string) ([]string, error) {
	var found []string
	for _, name := range names {
		all := r.named(name)
		if len(all) == 0 {
			return nil, fmt.Errorf("there is no workstream %q; %s", name, r.candidates())
		}
		for _, w := range all {
			switch {
			case !r.mayName(w):
				return nil, fmt.Errorf("%s does not come before %s, so it cannot be what runs again; %s", w.Name, r.Gate.Label, r.candidates())
			case !w.Done() && len(all) == 1:
				return nil, fmt.Errorf("%s is %s, so it has no result to reject; %s", w.Name, w.Status, r.candidates())
			case w.Done() && !slices.Contains(found, w.Name):
				found = append(found, w.Name)
			}
		}
	}
	return found, nil
}

// named returns the workstream with a name, or the instances of a block with this name.
func (r Rejection) named(name string) []*Workstream {
	var all []*Workstream
	for _, p := range r.State.Phases {
		for _, w := range p.Workstreams {
			if w.Name == name || strings.HasPrefix(w.Name, name+"[") {
				all = append(all, w)
			}
		}
	}
	return all
}

// mayName reports whether the gate judges a workstream or comes after it.
func (r Rejection) mayName(w *Workstream) bool {
	owner, phase := r.Gate.Owner()
	if w.phase != phase {
		return slices.Index(r.State.Phases, w.phase) < slices.Index(r.State.Phases, phase)
	}
	return owner == nil || owner == w || w.Batch < owner.Batch
}

// candidates lists the workstreams that the rejection may name.
func (r Rejection) candidates() string {
	const most = 8
	var names []string
	for _, p := range slices.Backward(r.State.Phases) { // the nearest first
		for _, w := range p.Workstreams {
			if w.Done() && r.mayName(w) {
				names = append(names, w.Name)
			}
		}
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return "it can be: " + cmp.Or(strings.Join(names, ", "), "none, since nothing is done")
}
