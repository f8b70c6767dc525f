package plan

import (
	"fmt"
	"iter"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// classifyUpstream sorts the workstreams whose results or artifacts ws uses, and the gates
// whose answers it uses: rerun lists
// those that run first, asked those in rerun whose verify command Runner asks first, and
// blocked those that cannot complete.
func (pl *Planner) classifyUpstream(ws *pipeline.Workstream) (rerun, asked, blocked []string) {
	for _, name := range ws.Upstream {
		runs, stuck := pl.upstreamOutcome(name)
		if stuck {
			blocked = append(blocked, name)
		}
		if runs {
			rerun = append(rerun, name)
		}
		if runs && pl.steps[name].Verify {
			asked = append(asked, name)
		}
	}
	for _, name := range ws.ForEachOver() {
		switch runs, stuck := pl.upstreamOutcome(name); {
		case slices.Contains(ws.Upstream, name):
		case stuck:
			blocked = append(blocked, name)
		case runs, pl.becomesSkipped(name):
			rerun = append(rerun, name)
		}
	}
	for _, name := range pl.facts.Makers[ws.Name] {
		if pl.steps[name].mayDiffer() { // an edit that is kept shows in the digest of the inputs
			rerun = appendNew(rerun, []string{name})
		}
	}
	for other := range pl.sharedArtifacts(ws, pl.st.Workstream(ws.Name)) {
		if pl.steps[other.Name].mayDiffer() {
			rerun = appendNew(rerun, []string{other.Name})
		}
	}
	rerun = appendNew(rerun, pl.runsBefore(ws))
	rerun, blocked = pl.addAnswers(ws, rerun, blocked)
	return rerun, asked, blocked
}

// upstreamOutcome reports whether a decided workstream will have another result, or a gate
// another answer, and whether it cannot complete.
func (pl *Planner) upstreamOutcome(name string) (runs, blocked bool) {
	if g := pl.st.Gate(name); g != nil { // no workstream has such a name
		return pl.answerOutcome(g)
	}
	up := pl.steps[name]
	kept := up.Decision == Judge && len(pl.facts.Conflicts[name]) > len(up.Restores) // an edit that is kept changes the result
	return up.mayDiffer() || kept, up.cannotComplete()
}

// becomesSkipped reports whether a plan skips a workstream that was not skipped before.
func (pl *Planner) becomesSkipped(name string) bool {
	if pl.steps[name].Decision != Skipped || pl.stateAtStart == nil {
		return false
	}
	rec := pl.stateAtStart.Workstream(name)
	return rec != nil && rec.Status != state.Skipped
}

// mayDiffer reports whether the step will or may have a result other than the one on
// record.
func (s Step) mayDiffer() bool {
	return s.Ended == "" && s.decidedToDiffer()
}

func (s Step) decidedToDiffer() bool {
	return s.Decision == Run || s.Decision == Rerun || s.Decision == Cached || s.Decision == Depends || s.Decision == Uncertain && s.Verify
}

// cannotComplete reports whether the step cannot complete.
func (s Step) cannotComplete() bool {
	return s.Ended == "" && (s.Decision == Blocked || s.Decision == Uncertain && !s.Verify)
}

// sharedArtifacts yields the artifacts that ws changed in place: those that an earlier
// workstream recorded and ws recorded later. It yields the earlier workstream and the
// artifact as ws recorded it.
func (pl *Planner) sharedArtifacts(ws *pipeline.Workstream, rec *state.Workstream) iter.Seq2[*pipeline.Workstream, state.Artifact] {
	return func(yield func(*pipeline.Workstream, state.Artifact) bool) {
		if !rec.Done() {
			return
		}
		for _, a := range rec.Artifacts {
			for _, name := range pl.facts.Sharers[string(a.Path)] {
				if other := pl.p.Workstream(name); other != nil && pl.ownership.endsBefore(other, ws) && !yield(other, a) {
					return
				}
			}
		}
	}
}

// lostChange returns the reason why ws must change an artifact in place again: the
// workstream that makes the artifact has made it again since, so the change is lost. It
// returns "" if no change is lost.
func (pl *Planner) lostChange(ws *pipeline.Workstream, rec *state.Workstream) string {
	for other, a := range pl.sharedArtifacts(ws, rec) {
		made := pl.st.Workstream(other.Name)
		if !made.Done() || made.WorkSeq <= rec.WorkSeq {
			continue
		}
		same := func(b state.Artifact) bool { return b.Path == a.Path && b.Digest == a.Digest }
		if !slices.ContainsFunc(made.Artifacts, same) {
			return fmt.Sprintf("%s has made %s anew since", other.Name, a.Path)
		}
	}
	return ""
}
