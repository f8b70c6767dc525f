package document

import (
	"math"
	"time"

	"prdrunner/checkpoint/state"
)

// New derives the PRD document of a state. The result always obeys the rules that
// Validate checks.
func New(s *state.State) File {
	d := File{Document: state.Document{
		PRD:          s.PRD,
		Title:        s.Title,
		CurrentPhase: s.CurrentPhase,
		Status:       s.Status,
		InProgress:   []string{},
		Artifacts:    map[string][]string{},
		GatesPassed:  []string{},
		GatesPending: []string{},
		Timestamp:    timestamp(s.UpdatedAt),
		Notes:        s.Notes,
		Runner: &state.DocumentRunner{
			FormatVersion:  state.FormatVersion,
			Session:        s.Session,
			Seq:            s.Seq,
			PipelineDigest: s.Pipeline.Digest,
			Skipped:        []string{},
		},
	}}
	if s.Review != nil {
		d.Review = adversarialReview(s.Review)
	}
	active := inProgress(s)
	d.Completed, d.Pending = newLists(s)
	if s.Status == state.StatusInProgress && len(active) == 0 {
		// Every workstream is skipped: nothing has begun that could go on.
		d.Status = state.StatusInitialized
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			d.addWorkstream(w, active[w])
			d.addGates(judgedGates(w))
		}
		d.addGates(p.Gates)
	}
	if s.Status == state.StatusFailed {
		d.Error = documentError(s.Error)
	}
	return d
}

// newLists allocates the lists of completed and pending workstreams.
func newLists(s *state.State) (completed, pending []string) {
	done, all := 0, 0
	for _, p := range s.Phases {
		all += len(p.Workstreams)
		for _, w := range p.Workstreams {
			if w.Status == state.Completed {
				done++
			}
		}
	}
	return make([]string, 0, done), make([]string, 0, all-done)
}

func (d *File) addWorkstream(w *state.Workstream, active bool) {
	switch {
	case w.Status == state.Skipped:
		d.Runner.Skipped = append(d.Runner.Skipped, w.Name)
	case w.FailureAllowed():
		d.Runner.Failed = append(d.Runner.Failed, w.Name)
	case active:
		d.InProgress = append(d.InProgress, w.Name)
	case w.Status == state.Completed:
		d.Completed = append(d.Completed, w.Name)
		if len(w.Artifacts) == 0 {
			return
		}
		paths := make([]string, len(w.Artifacts))
		for i, a := range w.Artifacts {
			paths[i] = a.Path.ValidUTF8()
		}
		d.Artifacts[w.Name] = paths
	default:
		d.Pending = append(d.Pending, w.Name)
	}
}

// judgedGates returns the gates of a workstream that a document lists. Those of a workstream
// whose failure is allowed are left out unless they have passed, because nothing waits for
// them.
func judgedGates(w *state.Workstream) []*state.Gate {
	if !w.FailureAllowed() {
		return w.Gates
	}
	var passed []*state.Gate
	for _, g := range w.Gates {
		if g.Status == state.Passed {
			passed = append(passed, g)
		}
	}
	return passed
}

func (d *File) addGates(gates []*state.Gate) {
	for _, g := range gates {
		switch g.Status {
		case state.Passed:
			d.GatesPassed = append(d.GatesPassed, g.Label)
		case state.Skipped:
		default:
			d.GatesPending = append(d.GatesPending, g.Label)
		}
	}
}

// inProgress returns the workstreams that the document lists as in progress. While the
// session is in progress there is at least one, unless all are skipped.
func inProgress(s *state.State) map[*state.Workstream]bool {
	active := map[*state.Workstream]bool{}
	if s.Status != state.StatusInProgress {
		return active
	}
	for _, p := range s.Phases {
		judging := isJudging(p)
		for _, w := range p.Workstreams {
			if w.Status == state.Running || w.Status == state.Succeeded || judging && w.Status == state.Completed {
				active[w] = true
			}
		}
	}
	if len(active) == 0 {
		dueNext(s, active)
	}
	return active
}

// isJudging reports whether one of the phase's own gates is being judged.
func isJudging(p *state.Phase) bool {
	for _, g := range p.Gates {
		if g.Status == state.Running {
			return true
		}
	}
	return false
}

// dueNext adds the workstreams that come next when none runs.
func dueNext(s *state.State, active map[*state.Workstream]bool) {
	for _, p := range s.Phases {
		if p.Status == state.Skipped || p.Status == state.Completed && p.Finished() {
			continue
		}
		if addLowestBatch(p, active); len(active) > 0 {
			return
		}
		if addCompleted(p, active); len(active) > 0 { // only its gates remain
			return
		}
	}
	for i := len(s.Phases) - 1; i >= 0 && len(active) == 0; i-- {
		// Everything is done; only the end of the session is not recorded yet.
		addLowestBatch(s.Phases[i], active)
		addCompleted(s.Phases[i], active)
	}
}

func addLowestBatch(p *state.Phase, active map[*state.Workstream]bool) {
	lowest := math.MaxInt
	for _, w := range p.Workstreams {
		if !w.Finished() {
			lowest = min(lowest, w.Batch)
		}
	}
	for _, w := range p.Workstreams {
		if !w.Finished() && w.Batch == lowest {
			active[w] = true
		}
	}
}

func addCompleted(p *state.Phase, active map[*state.Workstream]bool) {
	for _, w := range p.Workstreams {
		if w.Status == state.Completed {
			active[w] = true
		}
	}
}

// documentError returns an error with both fields set, since the format requires them for
// a failed session.
func documentError(f *state.Failure) *state.DocumentError {
	if f == nil {
		f = &state.Failure{}
	}
	e := &state.DocumentError{Workstream: f.Workstream, Message: f.Message.ValidUTF8(), File: f.File.ValidUTF8(), Line: f.Line}
	if e.Workstream == "" {
		_, e.Workstream, _ = state.CutLabel(f.Gate)
	}
	if e.Workstream == "" {
		e.Workstream = "checkpoint"
	}
	if e.Message == "" {
		e.Message = "failed"
	}
	return e
}

// adversarialReview returns a review as a document has it, nil before the first verdict.
func adversarialReview(r *state.Review) *state.AdversarialReview {
	if r.Verdict == "" {
		return nil
	}
	return &state.AdversarialReview{
		Verdict: r.Verdict, P0Count: r.P0, P1Count: r.P1, Attempt: r.JudgedAttempt, FindingsPath: r.Path.ValidUTF8(), OverrideReason: r.Reason.ValidUTF8(),
	}
}

func timestamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
