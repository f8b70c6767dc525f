// Package feedback says what an attempt at work that runs again is told: what failed, with
// the errors that were found in the output, and what people who rejected the work wrote.
//
// For is a pure function: the state of a session in, a Document out. File is the file that
// RUNNER_FEEDBACK names; pipeline/SPEC.md describes it for the authors of workstreams.
// What is remembered of failures, and until when, belongs in checkpoint/state. What a hook
// is told belongs in package notice, which uses Failure and WriteJSON.
package feedback

import (
	"cmp"
	"slices"

	"prdrunner/checkpoint/state"
)

// FormatVersion is the version of the JSON form of a Document.
const FormatVersion = "1.0"

// maxFailures is how many failures a document has.
const maxFailures = 100

// Reason says why work runs again.
type Reason string

// The reasons. The first that applies counts.
const (
	Rejected      Reason = "rejected"       // a person rejected it
	GateFailed    Reason = "gate_failed"    // a gate failed on it
	Iteration     Reason = "iteration"      // its phase repeats
	AttemptFailed Reason = "attempt_failed" // the attempt before failed
)

// Document is what an attempt is told.
type Document struct {
	FormatVersion string                `json:"format_version"`
	Reason        Reason                `json:"reason"`
	Message       state.Text            `json:"message"`          // what to do differently, in the words of the rejection or of the first failure
	Gate          string                `json:"gate,omitempty"`   // that was rejected or failed
	By            string                `json:"by,omitempty"`     // who rejected
	Inputs        map[string]state.Text `json:"inputs,omitempty"` // given with the rejection
	Iteration     int                   `json:"iteration,omitempty"`
	Outputs       map[string]state.Text `json:"outputs,omitempty"` // of the workstream, from when it last did its work
	Failures      []Failure             `json:"failures"`
}

// Failure is a failure of an attempt or a gate, or a rejection.
type Failure struct {
	state.Failure
	LogTail string `json:"log_tail,omitempty"` // the end of the log
}

// For returns what the next attempt of a workstream is told, or nil if there is nothing to
// tell: nothing has failed since the workstream last did its work.
func For(st *state.State, workstream string) *Document {
	w := st.Workstream(workstream)
	if w == nil {
		return nil
	}
	d := &Document{FormatVersion: FormatVersion, Failures: []Failure{}}
	d.addObjections(st, w)
	d.addIteration(w.Phase())
	if f := w.LastFailed(); f != nil {
		d.add(AttemptFailed, *f)
	}
	if d.Reason == "" {
		return nil
	}
	d.Outputs = w.Outputs
	return d
}

// addObjections adds rejections, and then gates that failed, the newest first.
func (d *Document) addObjections(st *state.State, w *state.Workstream) {
	labels := slices.Clone(w.Objections)
	objection := func(label string) state.Objection { return st.Feedback.Objections[label] }
	slices.SortStableFunc(labels, func(a, b string) int {
		x, y := objection(a), objection(b)
		if (x.By == nil) != (y.By == nil) {
			if x.By != nil {
				return -1
			}
			return 1
		}
		return y.At.Compare(x.At)
	})
	for _, label := range labels {
		switch o := objection(label); {
		case o.By != nil:
			d.addRejection(label, o)
		case o.Failure != nil:
			f := *o.Failure
			f.Gate = cmp.Or(f.Gate, label)
			d.add(GateFailed, f)
		}
	}
}

func (d *Document) addRejection(label string, o state.Objection) {
	message := cmp.Or(o.Comment, "rejected by "+state.Text(o.By.User))
	first := d.Reason == ""
	d.add(Rejected, state.Failure{Gate: label, Outcome: "rejected", Message: message})
	if first {
		d.By, d.Inputs = o.By.User, o.Inputs
	}
}

// addIteration adds the failures of the last iteration of a phase that repeats.
func (d *Document) addIteration(p *state.Phase) {
	if p == nil || p.Iteration == nil || p.Iteration.Index < 2 {
		return
	}
	d.Iteration = p.Iteration.Index
	if d.Reason == "" {
		d.Reason, d.Message = Iteration, p.Iteration.Reason
	}
	for _, f := range p.Iteration.Failures {
		d.add(Iteration, f)
	}
}

// add adds a failure that is not there yet. The first one gives the reason.
func (d *Document) add(reason Reason, f state.Failure) {
	if d.Reason == "" {
		d.Reason, d.Message, d.Gate = reason, f.Message, f.Gate
	}
	same := func(had Failure) bool {
		return had.Failure == f || f.Outcome == "rejected" && had.Outcome == "rejected" && had.Gate == f.Gate
	}
	if len(d.Failures) < maxFailures && !slices.ContainsFunc(d.Failures, same) {
		d.Failures = append(d.Failures, Failure{Failure: f})
	}
}
