package state

import "math"

// NewDocument derives the PRD document of a state. The result always obeys the rules that
// Validate checks.
func NewDocument(s *State) Document {
	d := Document{
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
		Runner: &DocumentRunner{
			FormatVersion:  FormatVersion,
			Session:        s.Session,
			Seq:            s.Seq,
			PipelineDigest: s.Pipeline.Digest,
			Skipped:        []string{},
		},
	}
	if s.Review != nil {
		d.Review = s.Review.forDocument()
	}
	active := inProgress(s)
	d.Completed, d.Pending = newLists(s)
	if s.Status == StatusInProgress && len(active) == 0 {
		// Every workstream is skipped: nothing has begun that could go on.
		d.Status = StatusInitialized
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			d.addWorkstream(w, active[w])
			d.addGates(w.judgedGates())
		}
		d.addGates(p.Gates)
	}
	if s.Status == StatusFailed {
		d.Error = documentError(s.Error)
	}
	return d
}

// newLists allocates the lists of completed and pending workstreams.
func newLists(s *State) (completed, pending []string) {
	done, all := 0, 0
	for _, p := range s.Phases {
		all += len(p.Workstreams)
		for _, w := range p.Workstreams {
			if w.Status == Completed {
				done++
			}
		}
	}
	return make([]string, 0, done), make([]string, 0, all-done)
}

func (d *Document) addWorkstream(w *Workstream, active bool) {
	switch {
	case w.Status == Skipped:
		d.Runner.Skipped = append(d.Runner.Skipped, w.Name)
	case w.FailureAllowed():
		d.Runner.Failed = append(d.Runner.Failed, w.Name)
	case active:
		d.InProgress = append(d.InProgress, w.Name)
	case w.Status == Completed:
		d.Completed = append(d.Completed, w.Name)
		if len(w.Artifacts) == 0 {
			return
		}
		paths := make([]string, len(w.Artifacts))
		for i, a := range w.Artifacts {
			paths[i] = validUTF8(a.Path)
		}
		d.Artifacts[w.Name] = paths
	default:
		d.Pending = append(d.Pending, w.Name)
	}
}

// judgedGates returns the gates of a workstream that a document lists. Those of a workstream
// whose failure is allowed are left out unless they have passed, because nothing waits for
// them.
func (w *Workstream) judgedGates() []*Gate {
	if !w.FailureAllowed() {
		return w.Gates
	}
	var passed []*Gate
	for _, g := range w.Gates {
		if g.Status == Passed {
			passed = append(passed, g)
		}
	}
	return passed
}

func (d *Document) addGates(gates []*Gate) {
	for _, g := range gates {
		switch g.Status {
		case Passed:
			d.GatesPassed = append(d.GatesPassed, g.Label)
		case Skipped:
		default:
			d.GatesPending = append(d.GatesPending, g.Label)
		}
	}
}

// inProgress returns the workstreams that the document lists as in progress. While the
// session is in progress there is at least one, unless all are skipped.
func inProgress(s *State) map[*Workstream]bool {
	active := map[*Workstream]bool{}
	if s.Status != StatusInProgress {
		return active
	}
	for _, p := range s.Phases {
		judging := isJudging(p)
		for _, w := range p.Workstreams {
			if w.Status == Running || w.Status == Succeeded || judging && w.Status == Completed {
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
func isJudging(p *Phase) bool {
	for _, g := range p.Gates {
		if g.Status == Running {
			return true
		}
	}
	return false
}

// dueNext adds the workstreams that come next when none runs.
func dueNext(s *State, active map[*Workstream]bool) {
	for _, p := range s.Phases {
		if p.Status == Skipped || p.Status == Completed && isDone(p.Workstreams) {
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

func addLowestBatch(p *Phase, active map[*Workstream]bool) {
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

func addCompleted(p *Phase, active map[*Workstream]bool) {
	for _, w := range p.Workstreams {
		if w.Status == Completed {
			active[w] = true
		}
	}
}

// documentError returns an error with both fields set, since the format requires them for
// a failed session.
func documentError(f *Failure) *DocumentError {
	if f == nil {
		f = &Failure{}
	}
	e := &DocumentError{Workstream: f.Workstream, Message: validUTF8(f.Message), File: validUTF8(f.File), Line: f.Line}
	if e.Workstream == "" {
		_, e.Workstream, _ = cutLabel(f.Gate)
	}
	if e.Workstream == "" {
		e.Workstream = "checkpoint"
	}
	if e.Message == "" {
		e.Message = "failed"
	}
	return e
}
