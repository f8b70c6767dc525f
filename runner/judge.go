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
	"prdrunner/runner/recorded"
)

// gateRun is a gate that is being judged. It ends once, by calling then.
type gateRun struct {
	*pipeline.Gate
	loop *loop

	verdict   state.Verdict // the verdict to record, bound to the files and values that are judged
	again     state.Text    // why the gate is judged again; "" if it is not, or if that is not on record
	secondTry bool          // the files changed while they were judged, so the gate judges a second time
	onEnd     func(passed bool)
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
		g.onEnd = func(ok bool) {
			passed = passed && ok
			if !ok && !l.opts.KeepGoing {
				then(false)
				return
			}
			next(i + 1)
		}
		g.surveyAndJudge()
	}
	next(0)
}

// surveyAndJudge reads the files that a gate judges, and then judges the gate. The
// verdict is bound to these files.
func (g *gateRun) surveyAndJudge() {
	g.surveyFiles(func(err error) { g.handleSurvey(err) })
}

// handleSurvey continues with a gate after its files were read. err is the error of
// reading them.
func (g *gateRun) handleSurvey(err error) {
	switch {
	case g.loop.tasksCancelled():
		g.onEnd(false)
	case err != nil:
		g.failUnjudged(state.Failure{Outcome: "error", Message: state.Text(g.loop.opts.Mask(err.Error()))})
	default:
		g.decide()
	}
}

// surveyFiles reads the files that a gate judges.
func (g *gateRun) surveyFiles(then func(error)) {
	l := g.loop
	l.slots.Urgent(func() {
		if l.tasksCancelled() {
			then(nil)
			return
		}
		found, in := plan.NewFacts(l.session.State()), g.surveyor()
		l.spawnWork("survey "+g.Label(), gateSlot, func(within context.Context) func() {
			err := in.Gate(within, found, g.Gate)
			return func() {
				if err == nil {
					l.facts.MergeJudged(g.Gate, found)
				}
				then(err)
			}
		})
	})
}

// decide decides about a gate whose files have been read, and judges it if its verdict
// can't be reused.
func (g *gateRun) decide() {
	l := g.loop
	step, diags := l.planner.Gate(g.Gate)
	if diags.HasErrors() {
		g.failUnjudged(l.failures.expressionFailure("", "", diags))
		return
	}
	switch step.Decision {
	case plan.Reuse:
		l.recordedFiles.SetJudged(g.Label(), l.facts.Judging[g.Label()].Files)
		g.awaitReview()
		return
	case plan.Skipped:
		l.recorder.Add(func() { g.onEnd(true) }, state.GateSkipped{Gate: g.Label(), Reason: step.Reason})
		return
	case plan.Run, plan.Rerun, plan.Cached, plan.Judge:
		if !g.checkJudgedFiles() {
			g.onEnd(false)
			return
		}
	case plan.Depends, plan.Blocked, plan.Uncertain:
		g.onEnd(false)
		return
	}
	g.verdict, diags = l.planner.Verdict(g.Gate)
	if diags.HasErrors() {
		g.failUnjudged(l.failures.expressionFailure("", "", diags))
		return
	}
	l.phase.recordStarted()
	rec := l.session.State().Gate(g.Label())
	if rec.Status == state.Passed || rec.Status == state.Pending && rec.Reason != "" {
		g.again = step.Reason
	}
	if step.Decision == plan.Judge && rec.Status == state.Passed { // the reason arose during the run, so the plan did not record it
		l.recorder.Add(nil, state.GateVoided{Gate: g.Label(), Reason: step.Reason})
	}
	if g.Workstream != nil && l.planner.ExclusionReason(g.Workstream) != "" { // the plan did not know the reason; otherwise it would have left the gate out
		l.cause.excluded = true
		g.onEnd(false)
		return
	}
	switch g.Kind {
	case pipeline.GateCommand:
		g.withServices(g.judgeByCommand)
	case pipeline.GateCondition:
		g.judgeByCondition()
	case pipeline.GateMetric:
		g.judgeByMetric()
	case pipeline.GateApproval:
		g.askApproval()
	}
}

// judgeByCommand runs the gate's process, and then checks that the judged files have not
// changed meanwhile. If they have, it judges once more.
func (g *gateRun) judgeByCommand() {
	l := g.loop
	if !l.secrets.Resolved(g.Secrets()) {
		l.withSecrets(g.Label(), gateSlot, g.Secrets(), g.judgeWithSecrets)
		return
	}
	inv, diags := g.Invocation(l.results(true, 0))
	if diags.HasErrors() {
		g.failUnjudged(l.failures.expressionFailure("", "", diags))
		return
	}
	attempt := l.session.State().Gate(g.Label()).Attempts + 1
	task := g.newTask(attempt, inv)
	l.recorder.Add(nil, state.GateStarted{Gate: g.Label(), Attempt: attempt})
	after, in := plan.NewFacts(l.session.State()), g.surveyor()
	l.spawnWork(task.ID, gateSlot, func(within context.Context) func() {
		res, err := l.execute(within, task, &startSink{})
		if err == nil && res.Succeeded() {
			err = in.Gate(within, after, g.Gate)
		}
		return func() {
			l.recordLeftovers(ownerOf(g.Gate), res.Leftovers)
			took := res.Ended.Sub(res.Started)
			switch {
			case res.Outcome == Cancelled || errors.Is(err, context.Canceled):
				l.recorder.Add(func() { g.onEnd(false) }, state.GateVoided{Gate: g.Label(), Reason: "it was interrupted"})
			case err != nil:
				g.recordFailure(nil, took, *l.failures.executionFailure("", err))
			case !res.Succeeded():
				g.recordFailure(nil, took, *l.failures.taskFailure("", "", task, res))
			case l.planner.UnchangedWhileJudged(g.Gate, g.verdict, after):
				g.recordPass(nil, took)
			case !g.secondTry && g.tree() == nil:
				g.secondTry = true
				l.facts.MergeJudged(g.Gate, after)
				g.recordRepairs(func(err error) { g.handleSurvey(err) })
			default:
				g.recordFailure(nil, took, state.Failure{
					Outcome: state.OutcomeResult, Message: state.Text(g.unstable()),
				})
			}
		}
	})
}

// judgeWithSecrets judges by the gate's process after its secrets were resolved.
func (g *gateRun) judgeWithSecrets(err error) {
	switch {
	case g.loop.tasksCancelled():
		g.onEnd(false)
	case err != nil:
		g.failUnjudged(*g.loop.failures.executionFailure("", err))
	default:
		g.judgeByCommand()
	}
}

func (g *gateRun) judgeByCondition() {
	l := g.loop
	began := l.opts.Now()
	ok, message, diags := g.Condition(l.planner.Results(true, 0))
	switch {
	case diags.HasErrors():
		g.failUnjudged(l.failures.expressionFailure("", "", diags))
	case ok:
		g.recordPass(nil, l.opts.Now().Sub(began))
	default:
		g.recordFailure(nil, l.opts.Now().Sub(began), g.pipelineFailure("condition", message))
	}
}

func (g *gateRun) judgeByMetric() {
	l := g.loop
	m, ok := plan.MetricOf(l.session.State(), l.pipeline, g.Metric.Name)
	if !ok {
		g.recordFailure(nil, 0, g.pipelineFailure("metric", fmt.Sprintf("no workstream reported the metric %s", g.Metric.Name)))
		return
	}
	base := l.session.State().Baseline[g.Metric.Name]
	if problem := plan.CheckMetric(*g.Metric, m.Value, base.Value); problem != "" {
		g.recordFailure(m.Value, 0, g.pipelineFailure("metric", problem))
		return
	}
	g.recordPass(m.Value, 0)
}

// pipelineFailure returns a failure that points to the gate's lines in the pipeline.
func (g *gateRun) pipelineFailure(outcome, message string) state.Failure {
	l := g.loop
	return state.Failure{
		Outcome: outcome, Message: state.Text(l.opts.Mask(message)),
		File: state.Text(findings.Relative(g.Range.Filename, l.opts.Workspace, "")), Line: g.Range.Start.Line,
	}
}

// recordPass records that a gate has passed, and waits for a review if one is required.
func (g *gateRun) recordPass(value any, took time.Duration) {
	l := g.loop
	if g.tree() == nil {
		l.recordedFiles.SetJudged(g.Label(), l.facts.Judging[g.Label()].Files)
	}
	l.recorder.Add(nil, state.GatePassed{Verdict: g.verdict, Value: value, DurationMS: took.Milliseconds(), Review: g.mustReview()})
	l.addCheckpoint(state.TriggerGatePassed, g.Label())
	g.awaitReview()
}

// mustReview reports whether the session stops for a review after the gate: the gate or
// an option says so, and the user has not yet reviewed the same files.
func (g *gateRun) mustReview() bool {
	return (g.Pause || g.loop.opts.PauseAtGates) && g.loop.session.State().Gate(g.Label()).Reviewed != g.verdict.Judged
}

// recordFailure records that a gate has failed.
func (g *gateRun) recordFailure(value any, took time.Duration, f state.Failure) {
	f.Workstream, f.Gate = ownerOf(g.Gate), g.Label()
	g.loop.recorder.Add(func() { g.onEnd(false) }, state.GateFailed{Verdict: g.verdict, Value: value, DurationMS: took.Milliseconds(), Error: f})
	if g.Workstream == nil {
		g.loop.addFailure(f, true)
	} else if !g.Workstream.AllowFailure || !isAllowed(f) {
		g.loop.addFailure(f, g.Workstream.FailFast)
	}
}

// failUnjudged fails a gate that could not be judged at all.
func (g *gateRun) failUnjudged(f state.Failure) {
	g.loop.phase.recordStarted()
	g.verdict = state.Verdict{Gate: g.Label()}
	g.recordFailure(nil, 0, f)
}

// ownerOf returns the name that the PRD document shows as the workstream of a gate's
// error: the gate's workstream, or else its phase.
func ownerOf(g *pipeline.Gate) string {
	if g.Workstream != nil {
		return g.Workstream.Name
	}
	return g.Phase.Name
}

func (g *gateRun) newTask(attempt int, inv pipeline.Invocation) Task {
	t := g.loop.newTask(ownerOf(g.Gate)+"."+g.Name, attempt, inv)
	g.loop.joinTrace(t.Env, inv.Env, g.Label(), attempt)
	t.Timeout = g.Timeout
	t.Env["RUNNER_PHASE"] = g.Phase.Name
	t.Env["RUNNER_GATE"] = g.Name
	if g.Workstream != nil {
		t.Env["RUNNER_WORKSTREAM"] = g.Workstream.Name
	}
	if tree := g.tree(); tree != nil {
		t.moveTo(tree)
	}
	return t
}

// checkJudgedFiles reports whether the files that a gate is about to judge are unchanged
// since workstreams made them and other gates judged them. If not, it stops the run. It
// forgets the gate's own earlier verdict.
func (g *gateRun) checkJudgedFiles() bool {
	l := g.loop
	l.recordedFiles.ForgetJudged(g.Label())
	if g.tree() != nil { // only the workstream has written there
		return true
	}
	judging := l.facts.Judging[g.Label()]
	return !l.stopForEdits(l.recordedFiles.EditsAmong(judging.Patterns, judging.Files, nil))
}

// recordRepairs records the edits that the user made to artifacts of a workstream while
// the workstream's own gate was judging them or asking about them. The gate judges the
// edited files, so these edits don't stop the run.
func (g *gateRun) recordRepairs(then func(error)) {
	l := g.loop
	if g.Workstream == nil {
		then(nil)
		return
	}
	ws, now := g.Workstream, recorded.ByPath(l.facts.Judging[g.Label()].Files)
	artifacts := slices.Clone(l.session.State().Workstream(ws.Name).Artifacts)
	var mended []state.Artifact
	for i, a := range artifacts {
		e, differs := l.recordedFiles.CompareFile(string(a.Path), now[string(a.Path)])
		if differs && e.Gate == "" && e.Maker == ws.Name && now[string(a.Path)] != nil {
			artifacts[i] = *now[string(a.Path)]
			artifacts[i].LeftOut = a.LeftOut
			mended = append(mended, artifacts[i])
		}
	}
	if len(mended) == 0 {
		then(nil)
		return
	}
	l.spawnWork("survey "+ws.Name, gateSlot, func(within context.Context) func() {
		err := keepBytes(within, l.files, mended)
		return func() {
			if err == nil && !l.tasksCancelled() {
				l.recordArtifacts(ws, artifacts, pathsOf(mended))
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
