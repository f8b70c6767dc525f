package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/findings"
	"prdrunner/runner/plan"
)

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
		l.judge(gates[i], func(ok bool) {
			passed = passed && ok
			if !ok && !l.o.KeepGoing {
				then(false)
				return
			}
			next(i + 1)
		})
	}
	next(0)
}

// judgePhase judges a phase's own gates, once its workstreams are done.
func (l *loop) judgePhase(phase *pipeline.Phase) bool {
	ended, passed := false, false
	l.judgeAll(phase.Gates, func(ok bool) { ended, passed = true, ok })
	l.cycle(func() bool { return ended })
	return ended && passed && !l.cut()
}

// judge reads the files that a gate judges, and then judges the gate. The verdict is bound to
// these files.
func (l *loop) judge(g *pipeline.Gate, then func(bool)) {
	l.survey(g, func(err error) { l.judged(g, err, false, then) })
}

// judged continues with a gate after its files were read. err says why they could not be.
func (l *loop) judged(g *pipeline.Gate, err error, again bool, then func(bool)) {
	switch {
	case l.cut():
		then(false)
	case err != nil:
		l.unjudgeable(g, state.Failure{Outcome: "error", Message: state.Text(l.o.Mask(err.Error()))}, then)
	default:
		l.surveyed(g, again, then)
	}
}

// survey reads the files that a gate judges.
func (l *loop) survey(g *pipeline.Gate, then func(error)) {
	l.slots.Urgent(func() {
		if l.cut() {
			then(nil)
			return
		}
		found := plan.NewFacts(l.x.State())
		l.spawn("survey "+g.Label(), gateSlot, func(within context.Context) func() {
			err := l.sv.Gate(within, found, g)
			return func() {
				if err == nil {
					l.facts.TakeJudged(g, found)
				}
				then(err)
			}
		})
	})
}

// surveyed decides about a gate whose files have been read, and judges it if its verdict
// can't be reused.
func (l *loop) surveyed(g *pipeline.Gate, again bool, then func(bool)) {
	step, diags := l.pl.Gate(g)
	if diags.HasErrors() {
		l.unjudgeable(g, l.diagnosed("", "", diags), then)
		return
	}
	switch step.Decision {
	case plan.Reuse:
		l.recordedFiles.pass(g.Label(), l.facts.Judging[g.Label()].Files)
		l.reviewOr(g, then)
		return
	case plan.Skipped:
		l.rec.Add(func() { then(true) }, state.GateSkipped{Gate: g.Label(), Reason: step.Reason})
		return
	case plan.Run, plan.Rerun, plan.Cached, plan.Judge:
		if !l.asLeft(g) {
			then(false)
			return
		}
	case plan.Depends, plan.Blocked, plan.Uncertain:
		then(false)
		return
	}
	v, diags := l.pl.Verdict(g)
	if diags.HasErrors() {
		l.unjudgeable(g, l.diagnosed("", "", diags), then)
		return
	}
	l.enter()
	if step.Decision == plan.Judge && l.x.State().Gate(g.Label()).Status == state.Passed { // the reason arose during the run, so the plan did not record it
		l.rec.Add(nil, state.GateVoided{Gate: g.Label(), Reason: step.Reason})
	}
	if g.Workstream != nil && l.pl.Excluded(g.Workstream) != "" { // the plan would have left the gate out, had it known the reason
		l.cause.excluded = true
		then(false)
		return
	}
	switch g.Kind {
	case pipeline.GateCommand:
		l.judgeByCommand(g, v, again, then)
	case pipeline.GateCondition:
		l.judgeByCondition(g, v, then)
	case pipeline.GateMetric:
		l.judgeByMetric(g, v, then)
	case pipeline.GateApproval:
		l.ask(g, v, then)
	}
}

// judgeByCommand runs the gate's process, and checks afterwards that the judged files have
// not changed. If they have, it judges once more.
func (l *loop) judgeByCommand(g *pipeline.Gate, v state.Verdict, again bool, then func(bool)) {
	inv, diags := g.Invocation(l.pl.Results(true, 0))
	if diags.HasErrors() {
		l.unjudgeable(g, l.diagnosed("", "", diags), then)
		return
	}
	attempt := l.x.State().Gate(g.Label()).Attempts + 1
	task := l.gateTask(g, attempt, inv)
	l.rec.Add(nil, state.GateStarted{Gate: g.Label(), Attempt: attempt})
	after := plan.NewFacts(l.x.State())
	l.spawn(task.ID, gateSlot, func(within context.Context) func() {
		res, err := l.execute(within, task, &began{})
		if err == nil && res.Succeeded() {
			err = l.sv.Gate(within, after, g)
		}
		return func() {
			l.reportLeftovers(ownerOf(g), res.Leftovers)
			took := res.Ended.Sub(res.Started)
			switch {
			case res.Outcome == Cancelled || errors.Is(err, context.Canceled):
				l.rec.Add(func() { then(false) }, state.GateVoided{Gate: g.Label(), Reason: "it was interrupted"})
			case err != nil:
				l.failGate(g, v, nil, took, state.Failure{Outcome: "error", Message: state.Text(err.Error())}, then)
			case !res.Succeeded():
				l.failGate(g, v, nil, took, *l.describe("", "", task, res), then)
			case l.pl.StillJudged(g, v, after):
				l.passGate(g, v, nil, took, then)
			case !again:
				l.facts.TakeJudged(g, after)
				l.takeMended(g, func(err error) { l.judged(g, err, true, then) })
			default:
				l.failGate(g, v, nil, took, state.Failure{
					Outcome: "result", Message: "what it judges changed while it was judged, twice",
				}, then)
			}
		}
	})
}

func (l *loop) judgeByCondition(g *pipeline.Gate, v state.Verdict, then func(bool)) {
	began := l.o.Now()
	ok, message, diags := g.Condition(l.pl.Results(true, 0))
	switch {
	case diags.HasErrors():
		l.unjudgeable(g, l.diagnosed("", "", diags), then)
	case ok:
		l.passGate(g, v, nil, l.o.Now().Sub(began), then)
	default:
		l.failGate(g, v, nil, l.o.Now().Sub(began), l.inPipeline(g, "condition", message), then)
	}
}

func (l *loop) judgeByMetric(g *pipeline.Gate, v state.Verdict, then func(bool)) {
	m, ok := plan.MetricOf(l.x.State(), l.p, g.Metric.Name)
	if !ok {
		l.failGate(g, v, nil, 0, l.inPipeline(g, "metric", fmt.Sprintf("no workstream reported the metric %s", g.Metric.Name)), then)
		return
	}
	base, hasBase := l.x.State().Baseline[g.Metric.Name]
	if problem := plan.CheckMetric(*g.Metric, m.Value, base.Value, hasBase); problem != "" {
		l.failGate(g, v, m.Value, 0, l.inPipeline(g, "metric", problem), then)
		return
	}
	l.passGate(g, v, m.Value, 0, then)
}

// inPipeline returns a failure that points to the gate's lines in the pipeline.
func (l *loop) inPipeline(g *pipeline.Gate, outcome, message string) state.Failure {
	return state.Failure{
		Outcome: outcome, Message: state.Text(l.o.Mask(message)),
		File: state.Text(findings.Relative(l.p.Source, l.o.Workspace, "")), Line: g.Range.Start.Line,
	}
}

// passGate records that a gate has passed, and waits for a review if one is required.
func (l *loop) passGate(g *pipeline.Gate, v state.Verdict, value any, took time.Duration, then func(bool)) {
	l.recordedFiles.pass(g.Label(), l.facts.Judging[g.Label()].Files)
	l.rec.Add(nil, state.GatePassed{Verdict: v, Value: value, DurationMS: took.Milliseconds(), Review: l.mustReview(g, v)})
	l.checkpoint(state.TriggerGatePassed, g.Label())
	l.reviewOr(g, then)
}

// mustReview reports whether the session stops for review after the gate. It does if the gate
// or an option says so, unless the user has already reviewed the same files.
func (l *loop) mustReview(g *pipeline.Gate, v state.Verdict) bool {
	return (g.Pause || l.o.PauseAtGates) && l.x.State().Gate(g.Label()).Reviewed != v.Judged
}

// failGate records that a gate has failed.
func (l *loop) failGate(g *pipeline.Gate, v state.Verdict, value any, took time.Duration, f state.Failure, then func(bool)) {
	f.Workstream, f.Gate = ownerOf(g), g.Label()
	l.rec.Add(func() { then(false) }, state.GateFailed{Verdict: v, Value: value, DurationMS: took.Milliseconds(), Error: f})
	l.fail(f)
}

// unjudgeable fails a gate that could not be judged at all.
func (l *loop) unjudgeable(g *pipeline.Gate, f state.Failure, then func(bool)) {
	l.enter()
	l.failGate(g, state.Verdict{Gate: g.Label()}, nil, 0, f, then)
}

// ownerOf returns the name that the PRD document gives as the workstream of a gate's error:
// the gate's workstream, or else its phase.
func ownerOf(g *pipeline.Gate) string {
	if g.Workstream != nil {
		return g.Workstream.Name
	}
	return g.Phase.Name
}

func (l *loop) gateTask(g *pipeline.Gate, attempt int, inv pipeline.Invocation) Task {
	t := l.task(ownerOf(g)+"."+g.Name, attempt, inv)
	t.Timeout = g.Timeout
	t.Env["RUNNER_PHASE"] = g.Phase.Name
	t.Env["RUNNER_GATE"] = g.Name
	if g.Workstream != nil {
		t.Env["RUNNER_WORKSTREAM"] = g.Workstream.Name
	}
	return t
}
