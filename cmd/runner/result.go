package main

import "prdrunner/checkpoint"

// resultless are the phases without what workstreams made before they were to
// run again. The state keeps it until they have, since it tells whose the files
// are; to anybody else it is no result.
func resultless(phases []*checkpoint.Phase) []*checkpoint.Phase {
	shown := make([]*checkpoint.Phase, len(phases))
	for i, p := range phases {
		phase := *p
		phase.Workstreams = make([]*checkpoint.Workstream, len(p.Workstreams))
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

// hasResult reports whether what is on record of a workstream's work is what its
// last run made.
func hasResult(w *checkpoint.Workstream) bool {
	return w.Status == checkpoint.Completed || w.Status == checkpoint.Succeeded
}

// lastPassed is the gate that passed last, "" if its verdict holds no more.
func lastPassed(st *checkpoint.State) string {
	g := st.Gate(st.LastGate)
	if g == nil || g.Status != checkpoint.Passed {
		return ""
	}
	if _, phase := g.Owner(); phase == nil { // it is gone from the pipeline
		return ""
	}
	return st.LastGate
}
