package history

import (
	"time"

	"prdrunner/checkpoint/state"
)

// Typical returns how long each workstream takes with its gates: the median of the sessions that ran it, of the
// newest MaxEarlier of them. The newest session comes first. A workstream that sessions have only skipped takes
// no time. What no session has run or skipped is not there.
func Typical(sessions []*state.State) map[string]time.Duration {
	took := map[string][]time.Duration{}
	typical := map[string]time.Duration{}
	for _, st := range sessions {
		for _, p := range st.Phases {
			for _, w := range p.Workstreams {
				switch {
				case Ran(w) && len(took[w.Name]) < MaxEarlier:
					took[w.Name] = append(took[w.Name], withGates(w))
				case w.Status == state.Skipped:
					typical[w.Name] = 0
				}
			}
		}
	}
	for name, all := range took {
		typical[name] = median(all)
	}
	return typical
}

// withGates returns how long the work of a workstream and the judging of its gates took.
func withGates(w *state.Workstream) time.Duration {
	ms := w.DurationMS
	for _, g := range w.Gates {
		ms += g.DurationMS
	}
	return time.Duration(ms) * time.Millisecond
}
