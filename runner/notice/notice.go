// Package notice says what a hook is told: what has happened to the session, what failed,
// what the session waits for, and what a person can do next.
//
// For is a pure function: the state of a session in, a Document out. It uses nothing but
// the state, so that a hook which runs only at the next build, after a kill, is told the
// same. pipeline/SPEC.md describes the document for the authors of hooks, who find it in the
// file that RUNNER_EVENT names. Which hooks run, and when, is decided in package runner.
package notice

import (
	"cmp"
	"slices"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/feedback"
)

// FormatVersion is the version of the JSON form of a Document.
const FormatVersion = "1.0"

// maxFailures is how many failures a document has.
const maxFailures = 100

// Document is what a hook is told.
type Document struct {
	FormatVersion string             `json:"format_version"`
	PRD           string             `json:"prd"`
	Title         string             `json:"title"`
	Session       string             `json:"session"`
	Event         string             `json:"event"` // complete, failed, paused or interrupted
	Time          time.Time          `json:"time"`  // of the event
	DurationMS    int64              `json:"duration_ms"`
	RunDurationMS int64              `json:"run_duration_ms,omitempty"`
	Phase         string             `json:"phase,omitempty"` // the last one that the session entered
	Workstreams   Counts             `json:"workstreams"`
	Signal        string             `json:"signal,omitempty"` // that interrupted the run
	Failures      []feedback.Failure `json:"failures"`
	Allowed       []feedback.Failure `json:"allowed_failures,omitempty"` // those that the pipeline allows
	Waits         *Waits             `json:"waits,omitempty"`
	Checkpoint    string             `json:"checkpoint,omitempty"` // the newest one
	Next          []state.Text       `json:"next"`                 // command lines
}

// Counts counts the workstreams of the pipeline.
type Counts struct {
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
	Pending   int `json:"pending"` // all others
}

// Waits is what a paused session waits for.
type Waits struct {
	Reason      state.PauseReason `json:"reason"`
	Message     state.Text        `json:"message,omitempty"`
	Gates       []Gate            `json:"gates,omitempty"`
	Workstreams []string          `json:"workstreams,omitempty"` // those that a person must resolve
}

// Gate is a gate that waits for a person.
type Gate struct {
	Gate      string     `json:"gate"`              // its label
	Message   state.Text `json:"message,omitempty"` // the question
	Approvers []string   `json:"approvers,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// For returns what the hooks that are due are told, or nil if none are. next holds the
// commands that a person can type next.
func For(st *state.State, next []state.Text) *Document {
	due := st.Hooks
	if due == nil {
		return nil
	}
	d := &Document{
		FormatVersion: FormatVersion, PRD: st.PRD, Title: st.Title, Session: st.Session,
		Event: due.Event, Time: due.At, DurationMS: st.ActiveMS, RunDurationMS: due.RanMS, Phase: st.PhaseName(), Signal: st.Interrupted,
		Failures: []feedback.Failure{}, Waits: waitsOf(st), Checkpoint: st.Current, Next: append([]state.Text{}, next...),
	}
	if d.Time.IsZero() { // an older version recorded the event
		d.Time = st.UpdatedAt
	}
	d.addFailure(st.Error)
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			d.Workstreams.add(w.Status)
			switch {
			case w.FailureAllowed():
				continue
			case w.Status == state.Failed || w.Status == state.Uncertain:
				d.addFailure(w.Error)
			}
			d.addGates(w.Gates)
		}
		d.addGates(p.Gates)
	}
	for _, f := range state.AllowedFailures(st.Phases) {
		if len(d.Allowed) < maxFailures {
			d.Allowed = append(d.Allowed, feedback.Failure{Failure: f})
		}
	}
	return d
}

func (c *Counts) add(status state.StepStatus) {
	switch status {
	case state.Completed:
		c.Completed++
	case state.Failed:
		c.Failed++
	case state.Skipped:
		c.Skipped++
	case state.Pending, state.Running, state.Succeeded, state.Passed, state.Rejected, state.Waiting, state.Uncertain, state.Interrupted:
		c.Pending++
	}
}

// addGates adds the failures of gates.
func (d *Document) addGates(gates []*state.Gate) {
	for _, g := range gates {
		switch {
		case g.Status == state.Failed && g.Error != nil:
			f := *g.Error
			f.Gate = cmp.Or(f.Gate, g.Label)
			d.addFailure(&f)
		case g.Status == state.Rejected:
			d.addFailure(rejection(g))
		}
	}
}

// rejection returns the failure of a gate that a person rejected.
func rejection(g *state.Gate) *state.Failure {
	f := &state.Failure{Gate: g.Label, Outcome: "rejected", Message: "rejected"}
	if g.By != nil {
		f.Message += state.Text(" by " + g.By.User)
	}
	if g.Comment != "" {
		f.Message += ": " + g.Comment
	}
	w, p := g.Owner()
	if w != nil {
		f.Workstream = w.Name
	} else if p != nil {
		f.Workstream = p.Name
	}
	return f
}

// addFailure adds a failure, unless the document has one of the same workstream and gate.
// A once workstream that has happened before is no failure.
func (d *Document) addFailure(f *state.Failure) {
	if f == nil || f.Outcome == state.OutcomeHappened || len(d.Failures) == maxFailures {
		return
	}
	same := func(had feedback.Failure) bool { return had.Workstream == f.Workstream && had.Gate == f.Gate }
	if !slices.ContainsFunc(d.Failures, same) {
		d.Failures = append(d.Failures, feedback.Failure{Failure: *f})
	}
}

// waitsOf returns what a session waits for, or nil if it is not paused.
func waitsOf(st *state.State) *Waits {
	if st.Pause == nil {
		return nil
	}
	w := &Waits{Reason: st.Pause.Reason, Message: st.Pause.Message, Workstreams: st.Pause.Steps}
	for _, label := range st.Pause.Gates {
		gate := Gate{Gate: label}
		if g := st.Gate(label); g != nil {
			gate.Message, gate.Approvers, gate.ExpiresAt = g.Message, g.Approvers, g.ExpiresAt
		}
		w.Gates = append(w.Gates, gate)
	}
	return w
}
