package state

// Worked reports whether the workstream has completed work on record.
func (w *Workstream) Worked() bool {
	return w.WorkSeq > 0 && (w.Status == Completed || w.Status == Succeeded)
}

// Done reports whether the work of the workstream is done. Its gates may not have passed
// yet. A nil workstream is not done.
func (w *Workstream) Done() bool {
	return w != nil && (w.Status == Completed || w.Status == Succeeded)
}

// FailureAllowed reports whether the workstream has failed and the pipeline allows that. Such a
// failure is a result like another.
func (w *Workstream) FailureAllowed() bool { return w != nil && w.Status == Failed && w.Allowed }

// AllowedFailures returns the failures on record that the pipeline allows, in the order of the
// workstreams.
func AllowedFailures(phases []*Phase) []Failure {
	var all []Failure
	for _, p := range phases {
		for _, w := range p.Workstreams {
			if w.FailureAllowed() && w.Error != nil {
				all = append(all, *w.Error)
			}
		}
	}
	return all
}

// Finished reports whether the session needs nothing more of the workstream: it has completed,
// is skipped, or has failed and may fail.
func (w *Workstream) Finished() bool {
	return w.Status == Completed || w.Status == Skipped || w.FailureAllowed()
}

// Finished reports whether the session needs nothing more of the phase's workstreams.
func (p *Phase) Finished() bool {
	for _, w := range p.Workstreams {
		if !w.Finished() {
			return false
		}
	}
	return true
}

// WorkOf returns a workstream's recorded work in the form of the event that recorded it.
func (s *State) WorkOf(w *Workstream) *Work {
	work := &Work{
		Attempt: w.Attempts, DurationMS: w.DurationMS, Digest: w.Digest, Outputs: w.Outputs,
		Artifacts: w.Artifacts, Summary: w.Summary, Location: w.Location, Cached: w.Cached,
	}
	for _, name := range w.Metrics {
		if m := s.Metrics[name]; m.Workstream == w.Name { // another workstream may have set it since
			if work.Metrics == nil {
				work.Metrics = make(map[string]any)
			}
			work.Metrics[name] = m.Value
		}
	}
	return work
}
