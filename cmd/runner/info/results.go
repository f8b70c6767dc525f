package info

import "prdrunner/checkpoint/state"

// Resultless copies phases, and leaves out the results of workstreams that are to run
// again. The state keeps these results until the workstreams have run, because they tell
// which workstream made which files. Users must not take them for current results.
func Resultless(phases []*state.Phase) []*state.Phase {
	shown := make([]*state.Phase, len(phases))
	for i, p := range phases {
		phase := *p
		phase.Workstreams = make([]*state.Workstream, len(p.Workstreams))
		for k, w := range p.Workstreams {
			phase.Workstreams[k] = w
			if !hasResult(w) {
				bare := *w
				bare.Outputs, bare.Artifacts, bare.Edited, bare.Summary, bare.Location = nil, nil, nil, "", ""
				phase.Workstreams[k] = &bare
			}
		}
		shown[i] = &phase
	}
	return shown
}

// hasResult reports whether the recorded work of a workstream is the result of its last
// run.
func hasResult(w *state.Workstream) bool {
	return w.Status == state.Completed || w.Status == state.Succeeded
}

// LastPassedGate returns the gate that passed last, "" if its verdict no longer holds.
func LastPassedGate(st *state.State) string {
	g := st.Gate(st.LastGate)
	if g == nil || g.Status != state.Passed {
		return ""
	}
	if _, phase := g.Owner(); phase == nil { // the pipeline no longer has the gate
		return ""
	}
	return st.LastGate
}
