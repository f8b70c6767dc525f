package plan

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
)

// WaitsForApproval is the reason of a gate that waits for the approval of a person.
const WaitsForApproval = "it waits for an approval"

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
	step := decideGate(s)
	if ws := g.Workstream; ws != nil && pl.steps[ws.Name].Failed {
		step = Step{Kind: GateStep, Name: g.Label()}.withDecision(Reuse, "%s failed, which is allowed", ws.Name)
	}
	pl.gates[step.Name] = step
	return step, diags
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
		if g := pl.st.Gate(name); g != nil {
			pending, blocked := pl.answerOutcome(g)
			if pending {
				s.pending = appendNew(s.pending, []string{name})
			}
			if blocked {
				s.blocked = appendNew(s.blocked, []string{name})
			}
			return
		}
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

// judgedFilesSince returns the files that a gate judges, without the changes that
// workstreams have made to them since the gate was judged.
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

// decideGates decides the gates of a workstream. steps[0] is the workstream itself: its
// Reuse becomes Judge if a gate has something to do.
func (pl *Planner) decideGates(ws *pipeline.Workstream, own Step) (steps []Step, diags hcl.Diagnostics) {
	steps = []Step{own}
	for _, g := range ws.Gates {
		step, d := pl.Gate(g)
		diags = append(diags, d...)
		if steps[0].Decision == Reuse && step.hasWork() && len(pl.UndecidedConflicts(own)) == 0 {
			steps[0] = steps[0].withDecision(Judge, "the work is kept; %s", describeJudging(step))
			pl.steps[ws.Name] = steps[0]
		}
		steps = append(steps, step)
	}
	return steps, diags
}

// leavesGateUnjudged reports whether a gate would judge work that is kept, but --only
// leaves the workstream out.
func (pl *Planner) leavesGateUnjudged(ws *pipeline.Workstream, own Step, steps []Step) bool {
	judged := func(s Step) bool { return s.Kind == GateStep && s.Decision != Reuse && s.Decision != Skipped }
	return own.Decision == Reuse && pl.selection.exclusionReason(ws) != "" && slices.ContainsFunc(steps, judged)
}

// describeJudging describes what the run does with a gate of work that is kept.
func describeJudging(gate Step) string {
	switch gate.Decision {
	case Reuse:
		return gate.Name + " is still to be reviewed"
	case Depends:
		return fmt.Sprintf("%s may be judged, which depends on the result of %s", gate.Name, text.Enumerate(gate.On))
	case Blocked:
		return fmt.Sprintf("%s needs %s", gate.Name, text.Enumerate(gate.On))
	case Run, Rerun, Cached, Judge, Uncertain, Skipped:
	}
	return gate.Name + " is judged"
}

// gateSubject holds everything that the decision about a gate depends on. decideGate reads
// nothing else.
type gateSubject struct {
	gate               *pipeline.Gate
	record             *state.Gate
	owners             []Step   // the steps of the workstreams that the gate judges
	pending            []string // other workstreams that will change something that the verdict is bound to
	blocked            []string // workstreams like those in pending that cannot complete
	definition         string   // the present definition of the gate; "" if not known yet
	judged             string   // the digest of the files and results that it would judge; "" if not known yet
	allDeclared        bool     // whether all files that it judges are declared
	workspaceUnchanged bool     // whether the workspace has not changed since the gate judged it
	changeReason       string   // why workspaceUnchanged is false: a changed file, or why that is not known
	changedFiles       []Change // the files that it judges and that changed since the last run
	review             bool     // whether the run stops for a review if the verdict holds
	forced             string   // why the user's selection makes Runner judge it again; "" if it does not
}

// decideGate returns the decision about a gate.
func decideGate(s gateSubject) Step {
	step := Step{Kind: GateStep, Name: s.gate.Label()}
	waits, running := splitOwners(s.owners)
	switch {
	case len(s.owners) > 0 && !slices.ContainsFunc(s.owners, func(o Step) bool { return o.Decision != Skipped }):
		return step.withDecision(Skipped, "what it judges is skipped")
	case len(waits) > 0:
		step.On = waits
		return step.withDecision(Blocked, "needs %s", text.Enumerate(waits))
	case len(running) > 0:
		step.On = running
		if again := s.runAgain(); s.gate.Kind == pipeline.GateApproval && s.record.Status == state.Passed && len(again) > 0 {
			return step.withDecision(Depends, "what was approved was an earlier run of %s; it asks again about the new one", text.Enumerate(again))
		}
		return step.withDecision(Depends, "on the result of %s", text.Enumerate(running))
	case s.record.Status == state.Pending && s.record.Attempts == 0 && s.record.Reason == "":
		return step.withDecision(Run, "not judged yet")
	}
	switch s.record.Status {
	case state.Passed:
		return decidePassed(s, step)
	case state.Failed:
		return step.withDecision(Judge, "it failed: %s", failureMessage(s.record.Error))
	case state.Rejected:
		return step.withDecision(Judge, "it was rejected")
	case state.Waiting:
		return step.withDecision(Judge, WaitsForApproval)
	case state.Skipped:
		return step.withDecision(Run, "was skipped, and is enabled now")
	default:
		if s.record.Reason != "" {
			return step.withDecision(Judge, "%s", string(s.record.Reason))
		}
		return step.withDecision(Judge, "its verdict was never recorded")
	}
}

// decidePassed decides a gate that has passed. The verdict holds only if nothing that it
// is bound to has changed. A command or a user may judge files that no digest covers. So
// if the files of such a gate are not all declared, any edit in the workspace takes its
// verdict back.
func decidePassed(s gateSubject, step Step) Step {
	switch {
	case s.forced != "":
		return step.withDecision(Judge, "%s", s.forced)
	case s.record.Definition == "": // from a hand-written document
		return step.withDecision(Reuse, "passed according to the PRD document")
	case len(s.blocked) > 0:
		step.On = s.blocked
		return step.withDecision(Blocked, "needs %s", text.Enumerate(s.blocked))
	case len(s.pending) > 0:
		step.On = s.pending
		return step.withDecision(Depends, "whether its verdict holds depends on the result of %s", text.Enumerate(s.pending))
	case s.record.Definition != s.definition:
		step.Changes = []Change{{Component: "definition", Old: s.record.Definition, New: s.definition}}
		return step.withDecision(Judge, "its definition changed")
	case s.record.Judged != s.judged:
		if step.Changes = s.changedFiles; len(s.changedFiles) == 0 {
			step.Changes = []Change{{Component: "judged", Old: s.record.Judged, New: s.judged}}
		}
		return step.withDecision(Judge, "what it %s", describeChanges(step.Changes))
	case !s.allDeclared && !s.workspaceUnchanged && (s.gate.Kind == pipeline.GateCommand || s.gate.Kind == pipeline.GateApproval):
		return step.withDecision(Judge, "what it judges is not all declared, and %s", s.changeReason)
	}
	if step.Review = s.review; s.review {
		return step.withDecision(Reuse, "passed, and the build stops for its review")
	}
	return step.withDecision(Reuse, "passed%s, and nothing changed since", inSession(s.record.Session, s.record.At))
}

// runAgain returns the workstreams that the gate judges and that are done and run again. That
// takes back an approval, whatever the files will be: a run may do what no file shows.
func (s gateSubject) runAgain() (names []string) {
	for _, o := range s.owners {
		if o.Decision == Rerun || o.Decision == Cached {
			names = append(names, o.Name)
		}
	}
	return names
}

// splitOwners returns, of the workstreams that a gate judges, those that cannot complete,
// waits, and those that run before the gate, running.
func splitOwners(steps []Step) (waits, running []string) {
	for _, o := range steps {
		if o.cannotComplete() {
			waits = append(waits, o.Name)
		}
		if o.mayDiffer() {
			running = append(running, o.Name)
		}
	}
	return waits, running
}

// firstUnsatisfiedGate returns the first gate of ws, as the pipeline declares it now,
// that has not passed and was not skipped. It returns "" if all gates have.
func firstUnsatisfiedGate(ws *pipeline.Workstream, w *state.Workstream) (label string) {
	for _, g := range ws.Gates {
		if status := gateStatus(w, g); status != state.Passed && status != state.Skipped {
			return g.Label()
		}
	}
	return ""
}

// firstFailedGate returns the label of the first gate on record that has failed, or "".
func firstFailedGate(w *state.Workstream) (label string) {
	for _, g := range w.Gates {
		if g.Status == state.Failed {
			return g.Label
		}
	}
	return ""
}

// gateStatus returns the status on record of a gate of a workstream.
func gateStatus(w *state.Workstream, g *pipeline.Gate) state.StepStatus {
	for _, rec := range w.Gates {
		if rec.Label == g.Label() {
			return rec.Status
		}
	}
	return state.Pending
}
