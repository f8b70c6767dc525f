package state

import (
	"maps"
	"slices"
)

// OutdatedWork returns, by name, why the work of workstreams that are done may not be kept: something
// that it was made from has failed or runs again, or has been made anew since. Only the plan of the
// next run can tell what the files say, and whether the same result comes of it. A session that is
// complete has no outdated work.
func (s *State) OutdatedWork() map[string]string {
	all := map[string]string{}
	if s.Status == StatusComplete {
		return all
	}
	makers, known := s.makers(), map[string]string{}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if why := s.outdated(w, makers, known); why != "" {
				all[w.Name] = why
			}
		}
	}
	return all
}

// makers returns the workstream that recorded an artifact last, by the path.
func (s *State) makers() map[Text]*Workstream {
	makers := map[Text]*Workstream{}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			for _, a := range w.Artifacts {
				if had := makers[a.Path]; had == nil || w.RecordedSeq() >= had.RecordedSeq() {
					makers[a.Path] = w
				}
			}
		}
	}
	return makers
}

func (s *State) outdated(w *Workstream, makers map[Text]*Workstream, known map[string]string) string {
	if !w.Done() {
		return ""
	}
	if why, ok := known[w.Name]; ok {
		return why
	}
	known[w.Name] = "" // for workstreams that read what each other made
	why := s.whyOutdated(w, makers, known)
	known[w.Name] = why
	return why
}

func (s *State) whyOutdated(w *Workstream, makers map[Text]*Workstream, known map[string]string) string {
	seen := map[string]bool{w.Name: true}
	from := func(up *Workstream) string {
		if up == nil || seen[up.Name] {
			return ""
		}
		seen[up.Name] = true
		switch {
		case up.FailureAllowed() || up.Status == Skipped:
			return ""
		case !up.Done():
			return up.Name + " " + up.Status.has()
		case s.outdated(up, makers, known) != "":
			return up.Name + " is outdated"
		case up.WorkSeq > w.WorkSeq && w.WorkSeq > 0 && s.isAhead(w):
			return up.Name + " has run again"
		}
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(w.Digest.Results)) {
		if why := from(s.Workstream(name)); why != "" {
			return why
		}
	}
	for _, f := range w.Digest.Files {
		up := makers[f.Path]
		if up == nil || up == w || !s.precedes(up, w) {
			continue // what changes the file after w need not come first
		}
		if why := from(up); why != "" {
			return why
		}
		for _, a := range up.Artifacts {
			if a.Path == f.Path && a.Digest != f.Digest && up.WorkSeq > w.WorkSeq {
				return up.Name + " has made " + string(f.Path) + " anew"
			}
		}
	}
	return ""
}

// isAhead reports whether the session has not come to the phase of a workstream.
func (s *State) isAhead(w *Workstream) bool { return s.phaseNumber(w) > s.CurrentPhase }

// precedes reports whether a workstream ends before another one begins.
func (s *State) precedes(first, second *Workstream) bool {
	_, upstream := second.Digest.Results[first.Name]
	return upstream || s.phaseNumber(first) < s.phaseNumber(second)
}

// phaseNumber returns the number of the phase of a workstream, from 1; 0 if it is gone from the
// pipeline.
func (s *State) phaseNumber(w *Workstream) int {
	return slices.Index(s.Phases, w.phase) + 1
}

// has says what became of a workstream that is not done.
func (s StepStatus) has() string {
	switch s {
	case Failed, Rejected:
		return "has failed"
	case Running:
		return "runs again"
	case Interrupted:
		return "was interrupted"
	case Uncertain:
		return "is uncertain"
	case Pending, Waiting, Succeeded, Completed, Passed, Skipped:
	}
	return "is to run again"
}
