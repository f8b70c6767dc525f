package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/findings"
	"prdrunner/runner/plan"
)

// gateRun is a gate that is being judged. It ends once, by calling then.
type gateRun struct {
	*pipeline.Gate
	loop *loop

	verdict state.Verdict // the verdict to record, bound to the files and values that are judged
	again   bool          // the files changed while they were judged, and are judged a second time
	then    func(passed bool)
}

// judgeAll judges gates in their order, and calls then with whether all of them passed. It
// stops at the first gate that does not pass, unless the run keeps going after failures.
func (l *loop) judgeAll(gates []*pipeline.Gate, then func(passed bool)) {
	passed := true
	var next func(i int)
	next = func(i int) {
		if i == len(gates) {
			then(passed)
			return
		}
		if gates[i].Workstream == nil && l.status != running {
			then(false) // a stopped run starts no gates of a phase
			return
		}
		g := &gateRun{Gate: gates[i], loop: l}
		g.then = func(ok bool) {
			passed = passed && ok
			if !ok && !l.o.KeepGoing {
				then(false)
				return
			}
			next(i + 1)
		}
		g.judge()
	}
	next(0)
}

// judge reads the files that a gate judges, and then judges the gate. The verdict is bound to
// these files.
func (g *gateRun) judge() {
	g.survey(func(err error) { g.judged(err) })
}

// judged continues with a gate after its files were read. err says why they could not be.
func (g *gateRun) judged(err error) {
	switch {
	case g.loop.cut():
		g.then(false)
	case err != nil:
		g.unjudgeable(state.Failure{Outcome: "error", Message: state.Text(g.loop.o.Mask(err.Error()))})
	default:
		g.surveyed()
	}
}

// survey reads the files that a gate judges.
func (g *gateRun) survey(then func(error)) {
	l := g.loop
	l.slots.Urgent(func() {
		if l.cut() {
			then(nil)
			return
		}
		found := plan.NewFacts(l.session.State())
		l.spawn("survey "+g.Label(), gateSlot, func(within context.Context) func() {
			err := l.surveyor.Gate(within, found, g.Gate)
			return func() {
				if err == nil {
					l.facts.MergeJudged(g.Gate, found)
				}
				then(err)
			}
		})
	})
}

// surveyed decides about a gate whose files have been read, and judges it if its verdict
// can't be reused.
func (g *gateRun) surveyed() {
	l := g.loop
	step, diags := l.planner.Gate(g.Gate)
	if diags.HasErrors() {
		g.unjudgeable(l.failures.ofExpression("", "", diags))
		return
	}
	switch step.Decision {
	case plan.Reuse:
		l.recordedFiles.pass(g.Label(), l.facts.Judging[g.Label()].Files)
		g.reviewOr()
		return
	case plan.Skipped:
		l.recorder.Add(func() { g.then(true) }, state.GateSkipped{Gate: g.Label(), Reason: step.Reason})
		return
	case plan.Run, plan.Rerun, plan.Cached, plan.Judge:
		if !g.asLeft() {
			g.then(false)
			return
		}
	case plan.Depends, plan.Blocked, plan.Uncertain:
		g.then(false)
		return
	}
	g.verdict, diags = l.planner.Verdict(g.Gate)
	if diags.HasErrors() {
		g.unjudgeable(l.failures.ofExpression("", "", diags))
		return
	}
	l.phase.enter()
	if step.Decision == plan.Judge && l.session.State().Gate(g.Label()).Status == state.Passed { // the reason arose during the run, so the plan did not record it
		l.recorder.Add(nil, state.GateVoided{Gate: g.Label(), Reason: step.Reason})
	}
	if g.Workstream != nil && l.planner.ExclusionReason(g.Workstream) != "" { // the plan would have left the gate out, had it known the reason
		l.cause.excluded = true
		g.then(false)
		return
	}
	switch g.Kind {
	case pipeline.GateCommand:
		g.byCommand()
	case pipeline.GateCondition:
		g.byCondition()
	case pipeline.GateMetric:
		g.byMetric()
	case pipeline.GateApproval:
		g.ask()
	}
}

// byCommand runs the gate's process, and checks afterwards that the judged files have
// not changed. If they have, it judges once more.
func (g *gateRun) byCommand() {
	l := g.loop
	inv, diags := g.Invocation(l.planner.Results(true, 0))
	if diags.HasErrors() {
		g.unjudgeable(l.failures.ofExpression("", "", diags))
		return
	}
	attempt := l.session.State().Gate(g.Label()).Attempts + 1
	task := g.task(attempt, inv)
	l.recorder.Add(nil, state.GateStarted{Gate: g.Label(), Attempt: attempt})
	after := plan.NewFacts(l.session.State())
	l.spawn(task.ID, gateSlot, func(within context.Context) func() {
		res, err := l.execute(within, task, &began{})
		if err == nil && res.Succeeded() {
			err = l.surveyor.Gate(within, after, g.Gate)
		}
		return func() {
			l.reportLeftovers(ownerOf(g.Gate), res.Leftovers)
			took := res.Ended.Sub(res.Started)
			switch {
			case res.Outcome == Cancelled || errors.Is(err, context.Canceled):
				l.recorder.Add(func() { g.then(false) }, state.GateVoided{Gate: g.Label(), Reason: "it was interrupted"})
			case err != nil:
				g.fail(nil, took, state.Failure{Outcome: "error", Message: state.Text(err.Error())})
			case !res.Succeeded():
				g.fail(nil, took, *l.failures.ofTask("", "", task, res))
			case l.planner.UnchangedWhileJudged(g.Gate, g.verdict, after):
				g.pass(nil, took)
			case !g.again:
				g.again = true
				l.facts.MergeJudged(g.Gate, after)
				g.takeMended(func(err error) { g.judged(err) })
			default:
				g.fail(nil, took, state.Failure{
					Outcome: "result", Message: "what it judges changed while it was judged, twice",
				})
			}
		}
	})
}

func (g *gateRun) byCondition() {
	l := g.loop
	began := l.o.Now()
	ok, message, diags := g.Condition(l.planner.Results(true, 0))
	switch {
	case diags.HasErrors():
		g.unjudgeable(l.failures.ofExpression("", "", diags))
	case ok:
		g.pass(nil, l.o.Now().Sub(began))
	default:
		g.fail(nil, l.o.Now().Sub(began), g.inPipeline("condition", message))
	}
}

func (g *gateRun) byMetric() {
	l := g.loop
	m, ok := plan.MetricOf(l.session.State(), l.pipeline, g.Metric.Name)
	if !ok {
		g.fail(nil, 0, g.inPipeline("metric", fmt.Sprintf("no workstream reported the metric %s", g.Metric.Name)))
		return
	}
	base, hasBase := l.session.State().Baseline[g.Metric.Name]
	if problem := plan.CheckMetric(*g.Metric, m.Value, base.Value, hasBase); problem != "" {
		g.fail(m.Value, 0, g.inPipeline("metric", problem))
		return
	}
	g.pass(m.Value, 0)
}

// inPipeline returns a failure that points to the gate's lines in the pipeline.
func (g *gateRun) inPipeline(outcome, message string) state.Failure {
	l := g.loop
	return state.Failure{
		Outcome: outcome, Message: state.Text(l.o.Mask(message)),
		File: state.Text(findings.Relative(l.pipeline.Source, l.o.Workspace, "")), Line: g.Range.Start.Line,
	}
}

// pass records that a gate has passed, and waits for a review if one is required.
func (g *gateRun) pass(value any, took time.Duration) {
	l := g.loop
	l.recordedFiles.pass(g.Label(), l.facts.Judging[g.Label()].Files)
	l.recorder.Add(nil, state.GatePassed{Verdict: g.verdict, Value: value, DurationMS: took.Milliseconds(), Review: g.mustReview()})
	l.checkpoint(state.TriggerGatePassed, g.Label())
	g.reviewOr()
}

// mustReview reports whether the session stops for review after the gate. It does if the gate
// or an option says so, unless the user has already reviewed the same files.
func (g *gateRun) mustReview() bool {
	return (g.Pause || g.loop.o.PauseAtGates) && g.loop.session.State().Gate(g.Label()).Reviewed != g.verdict.Judged
}

// fail records that a gate has failed.
func (g *gateRun) fail(value any, took time.Duration, f state.Failure) {
	f.Workstream, f.Gate = ownerOf(g.Gate), g.Label()
	g.loop.recorder.Add(func() { g.then(false) }, state.GateFailed{Verdict: g.verdict, Value: value, DurationMS: took.Milliseconds(), Error: f})
	g.loop.fail(f)
}

// unjudgeable fails a gate that could not be judged at all.
func (g *gateRun) unjudgeable(f state.Failure) {
	g.loop.phase.enter()
	g.verdict = state.Verdict{Gate: g.Label()}
	g.fail(nil, 0, f)
}

// ownerOf returns the name that the PRD document gives as the workstream of a gate's error:
// the gate's workstream, or else its phase.
func ownerOf(g *pipeline.Gate) string {
	if g.Workstream != nil {
		return g.Workstream.Name
	}
	return g.Phase.Name
}

func (g *gateRun) task(attempt int, inv pipeline.Invocation) Task {
	t := g.loop.task(ownerOf(g.Gate)+"."+g.Name, attempt, inv)
	t.Timeout = g.Timeout
	t.Env["RUNNER_PHASE"] = g.Phase.Name
	t.Env["RUNNER_GATE"] = g.Name
	if g.Workstream != nil {
		t.Env["RUNNER_WORKSTREAM"] = g.Workstream.Name
	}
	return t
}

// asLeft reports whether the files that a gate is about to judge are as workstreams left them
// and as other gates judged them. If not, it stops the run. It forgets the gate's own earlier
// verdict.
func (g *gateRun) asLeft() bool {
	l := g.loop
	l.recordedFiles.void(g.Label())
	judging := l.facts.Judging[g.Label()]
	return !l.stopFor(l.recordedFiles.among(judging.Patterns, judging.Files, nil))
}

// takeMended records artifacts of a workstream that were edited while the workstream's own
// gate was judging them or asking about them. The gate judges the edited files, so they do
// not count as edits of work that is done.
func (g *gateRun) takeMended(then func(error)) {
	l := g.loop
	if g.Workstream == nil {
		then(nil)
		return
	}
	ws, now := g.Workstream, byPathOf(l.facts.Judging[g.Label()].Files)
	artifacts := slices.Clone(l.session.State().Workstream(ws.Name).Artifacts)
	var mended []state.Artifact
	for i, a := range artifacts {
		e, differs := l.recordedFiles.differs(string(a.Path), now[string(a.Path)])
		if differs && e.gate == "" && e.maker == ws.Name && now[string(a.Path)] != nil {
			artifacts[i] = *now[string(a.Path)]
			artifacts[i].LeftOut = a.LeftOut
			mended = append(mended, artifacts[i])
		}
	}
	if len(mended) == 0 {
		then(nil)
		return
	}
	l.spawn("survey "+ws.Name, gateSlot, func(within context.Context) func() {
		err := hold(within, l.files, mended)
		return func() {
			if err == nil && !l.cut() {
				l.recordEdited(ws, artifacts, pathsOf(mended))
			}
			then(err)
		}
	})
}

func pathsOf(files []state.Artifact) []state.Text {
	paths := make([]state.Text, len(files))
	for i, a := range files {
		paths[i] = a.Path
	}
	return paths
}
