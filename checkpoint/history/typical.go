package history

import (
	"time"

	"prdrunner/checkpoint/state"
)

// Typical returns how long each workstream takes with its gates: the median of the sessions that ran it, of the
// newest MaxEarlier of them. The newest session comes first. The session with the ID running does not count: it has
// not ended. A failure that the pipeline allows counts. What no session has run is not there.
func Typical(sessions []*state.State, running string) map[string]time.Duration {
	took := map[string][]time.Duration{}
	typical := map[string]time.Duration{}
	for _, st := range sessions {
		if st.Session == running {
			continue
		}
		for _, p := range st.Phases {
			for _, w := range p.Workstreams {
				if len(took[w.Name]) == MaxEarlier {
					continue
				}
				if Ran(w) {
					took[w.Name] = append(took[w.Name], withGates(w))
				} else if d, ok := failedFor(w); ok {
					took[w.Name] = append(took[w.Name], d)
				}
			}
		}
	}
	for name, all := range took {
		typical[name] = median(all)
	}
	return typical
}

// failedFor returns how long a workstream took that failed in the session, as the pipeline allows.
func failedFor(w *state.Workstream) (took time.Duration, ok bool) {
	if !w.FailureAllowed() || w.StartedAt == nil || w.EndedAt == nil || w.Session != "" || w.Imported {
		return 0, false
	}
	return max(0, w.EndedAt.Sub(*w.StartedAt)), true
}

// withGates returns how long the work of a workstream and the judging of its gates took.
func withGates(w *state.Workstream) time.Duration {
	ms := w.DurationMS
	for _, g := range w.Gates {
		ms += g.DurationMS
	}
	return time.Duration(ms) * time.Millisecond
}
