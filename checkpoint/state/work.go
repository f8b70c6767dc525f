package state

// Worked reports whether work is on record that was done.
func (w *Workstream) Worked() bool {
	return w.WorkSeq > 0 && (w.Status == Completed || w.Status == Succeeded)
}

// WorkOf is what a workstream has on record, as the event had it that recorded it.
func (s *State) WorkOf(w *Workstream) *Work {
	work := &Work{
		Attempt: w.Attempts, DurationMS: w.DurationMS, Digest: w.Digest, Outputs: w.Outputs,
		Artifacts: w.Artifacts, Summary: w.Summary, Location: w.Location, Cached: w.Cached,
	}
	for _, name := range w.Metrics {
		if m := s.Metrics[name]; m.Workstream == w.Name { // another may have set it since
			if work.Metrics == nil {
				work.Metrics = make(map[string]any)
			}
			work.Metrics[name] = m.Value
		}
	}
	return work
}
