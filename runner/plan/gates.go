package plan

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// Gate decides one gate. The caller must have decided all workstreams that the gate
// judges.
func (pl *Planner) Gate(g *pipeline.Gate) (Step, hcl.Diagnostics) {
	s := gateSubject{gate: g, record: pl.st.Gate(g.Label())}
	for _, ws := range judgedWorkstreams(g) {
		s.owners = append(s.owners, pl.steps[ws.Name])
	}
	if g.Workstream == nil {
		s.forced = pl.selection.phases[g.Phase.Name]
	}
	var diags hcl.Diagnostics
	if s.record.Status == state.Passed {
		var v state.Verdict
		if v, diags = pl.forecastVerdict(g, &s); len(s.pending)+len(s.blocked) > 0 {
			diags = nil // the run evaluates it once the results that it uses exist
		}
		s.definition, s.judged, s.allDeclared = v.Definition, v.Judged, DeclaresFiles(g)
		s.review = pl.reviewDue(s.record)
		s.workspaceUnchanged, s.changeReason = pl.facts.WorkspaceUnchanged(g)
		if view, files := pl.ownership.ScopeOfGate(g), pl.facts.Judging[g.Label()]; s.record.Judged != s.judged {
			s.changedFiles = pl.facts.changesAmong("judged", files.Patterns, func(p string) bool { return pl.unchangedSince(view, files, s.record.Seen, p) })
		}
	}
	return decideGate(s), diags
}

// reviewDue reports whether the user has yet to review a gate that has passed. If the
// session is paused for this review, resuming it counts as the review. If it is not, the
// run in which the gate passed ended for another reason.
func (pl *Planner) reviewDue(g *state.Gate) bool {
	stopped := pl.st.Pause != nil && pl.st.Pause.Reason == state.PauseReview && slices.Contains(pl.st.Pause.Gates, g.Label)
	return g.Review && !stopped
}

// forecastVerdict returns the part of a gate's verdict that is known before the run, and
// adds to s the workstreams that will change something that the verdict is bound to. In a
// run, the whole verdict is known when the loop comes to the gate.
func (pl *Planner) forecastVerdict(g *pipeline.Gate, s *gateSubject) (state.Verdict, hcl.Diagnostics) {
	if pl.stateAtStart == nil {
		return pl.VerdictSince(g, s.record.Seen)
	}
	uses := func(name string) {
		if pl.steps[name].mayDiffer() { // an edit that is kept changes no output
			s.pending = appendNew(s.pending, []string{name})
		}
		if pl.steps[name].cannotComplete() {
			s.blocked = appendNew(s.blocked, []string{name})
		}
	}
	for _, name := range pl.facts.JudgedMakers[g.Label()] {
		uses(name)
	}
	return pl.bindVerdict(g, pl.watchedResults(true, g.Metrics(), uses), pl.judgedFilesSince(g, s.record.Seen))
}

// Verdict returns everything that a verdict of the gate would be bound to now: the gate's
// definition, the files that it judges, the runs that made them, and its metric.
func (pl *Planner) Verdict(g *pipeline.Gate) (state.Verdict, hcl.Diagnostics) {
	return pl.bindVerdict(g, pl.Results(true, 0), pl.facts.Judging[g.Label()])
}

// VerdictSince returns the same as Verdict without the changes that workstreams have made
// to the files since the gate was judged. It is comparable with the verdict on record.
func (pl *Planner) VerdictSince(g *pipeline.Gate, seen *state.Seen) (state.Verdict, hcl.Diagnostics) {
	return pl.bindVerdict(g, pl.Results(true, 0), pl.judgedFilesSince(g, seen))
}

// judgedFilesSince returns the files that a gate judges, without the changes that workstreams
// have made to them since the gate was judged.
func (pl *Planner) judgedFilesSince(g *pipeline.Gate, seen *state.Seen) FileSet {
	return pl.withoutMakerChanges(pl.ownership.ScopeOfGate(g), pl.facts.Judging[g.Label()], seen)
}

// UnchangedWhileJudged reports whether the files that a gate judged did not change while
// it judged them, apart from changes that workstreams have made meanwhile. after holds
// the files after the judgement.
func (pl *Planner) UnchangedWhileJudged(g *pipeline.Gate, v state.Verdict, after *Facts) bool {
	now := pl.withoutMakerChanges(pl.ownership.ScopeOfGate(g), after.Judging[g.Label()], v.Seen)
	return now.digest() == pl.facts.Judging[g.Label()].digest()
}

func (pl *Planner) bindVerdict(g *pipeline.Gate, r pipeline.Results, files FileSet) (state.Verdict, hcl.Diagnostics) {
	definition, diags := g.Definition(r)
	if diags.HasErrors() {
		return state.Verdict{}, diags
	}
	parts := []string{""}
	var seen *state.Seen
	if len(JudgedFiles(g)) > 0 {
		parts[0], seen = files.digest(), files.recordSeen()
	}
	for _, ws := range judgedWorkstreams(g) {
		if w := pl.st.Workstream(ws.Name); w != nil && w.Status != state.Skipped {
			parts = append(parts, ws.Name, fmt.Sprintf("run %d", w.WorkSeq))
		}
	}
	if g.Metric != nil { // the metrics of a condition are part of its definition
		m, _ := MetricOf(pl.st, pl.p, g.Metric.Name)
		parts = append(parts, fmt.Sprintf("%v", m.Value))
	}
	return state.Verdict{Gate: g.Label(), Definition: definition, Judged: digestParts(parts...), Seen: seen}, diags
}
