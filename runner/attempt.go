package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/isolate"
	"prdrunner/runner/outputs"
	"prdrunner/runner/plan"
	"prdrunner/runner/report"
	"prdrunner/runner/survey"
)

// attemptResult holds the result of one attempt.
type attemptResult struct {
	began       bool          // the process was started
	cached      *state.Cached // the earlier run whose result was used; nil: the task was executed
	result      Result
	outputs     outputs.Set
	artifacts   []state.Artifact
	leftOut     []string       // paths of sensitive artifacts, whose bytes are not kept
	failure     *state.Failure // nil after success
	note        string         // a warning for the user
	outside     []string       // files outside the scope of a protected workstream that changed
	paused      *pausedCalls   // the called pipeline waits for a person; nil: it does not
	callBegan   bool           // a session of the called pipeline was seen after the attempt
	callSpent   ledger.Spent   // what the called pipeline has spent
	notExecuted bool           // the task was not executed, because an earlier attempt's partial work could not be undone
	unready     bool           // the task was not executed, because its environment could not be read
	notTaken    string         // why the cached result was not taken, where the task was not executed either: it needs secrets or services, which are not there yet
	tree        *isolate.Tree  // the work tree in which it succeeded; nil: it ran in the workspace
	held        *state.Held    // how the files were in that work tree before
}

// runTask runs a task and collects its outputs and artifacts; in surveys the files of the task.
// Another goroutine than the loop's calls it, so it must not touch the loop's state.
func (n *node) runTask(ctx context.Context, task Task, in *survey.Surveyor) attemptResult {
	l := n.loop
	var sink startSink
	var res Result
	err := outputs.Clear(task.Env["RUNNER_OUTPUT"], n.reports.path)
	if path := task.Env["RUNNER_TASK"]; path != "" && err == nil {
		err = writeTask(path, n.task, l.opts.Mask)
		defer func() { _ = os.Remove(path) }()
	}
	if err == nil {
		err = n.told.Write()
	}
	defer n.told.Remove()
	if err == nil {
		follower := l.reports.follow(n.reports, n.reportReader(task))
		res, err = l.execute(ctx, task, &sink)
		follower.Stop()
	}
	r := attemptResult{began: sink.started, result: res, unready: task.unready != nil}
	if n.call != nil && task.unready == nil {
		r.callBegan, r.callSpent = l.sessionsOfCall(n.call.PRD, n.call.id())
	}
	if err != nil {
		r.failure = l.failures.executionFailure(n.ws.Name, err)
		return r
	}
	ctx = l.grace // an ended task is recorded even while the run stops, unless the run must end at once
	r.outputs, err = outputs.Read(task.Env["RUNNER_OUTPUT"])
	err = errors.Join(err, n.hideOutputs(r.outputs))
	if !res.Succeeded() {
		r.failure = l.failures.taskFailure(n.ws.Name, "", task, res)
		if n.call != nil {
			n.callEnded(&r, task)
		}
		return r
	}
	if err == nil {
		r.artifacts, r.leftOut, err = in.KeepArtifacts(ctx, n.ws)
		err = l.failures.suggestPath(ctx, task, err)
	}
	if err == nil {
		err = r.refuseSecretNames(l.opts.Mask)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		r.result.Outcome = Cancelled
		r.failure = l.failures.taskFailure(n.ws.Name, "", task, r.result)
	case err != nil:
		r.failure = &state.Failure{
			Workstream: n.ws.Name, Outcome: state.OutcomeResult, Message: state.Text(l.opts.Mask(err.Error())), Log: state.Text(filepath.Base(task.Log)),
		}
		var unmade *survey.UnmadeError
		if errors.As(err, &unmade) {
			at := placeOf(n.ws.DeclaredArtifact(unmade.Pattern))
			r.failure.File, r.failure.Line, r.failure.Column = state.Text(at.File), at.Line, at.Column
		}
	}
	return r
}

// writeTask writes the text of a task into the file that RUNNER_TASK names. It refuses a text
// with a sensitive value, which must not be on disk.
func writeTask(path, text string, mask func(string) string) error {
	if mask(text) != text {
		return errors.New("its task holds a sensitive value, which must not be written to a file; give the task on standard input, with task = \"stdin\" in the agent")
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the task: %w", err)
	}
	return nil
}

// reportReader returns a reader of what the task reports.
func (n *node) reportReader(task Task) *report.Reader {
	if n.ws.ReportsOnStdout {
		return report.NewLogReader(task.Log)
	}
	return report.NewReader(n.reports.path, 0)
}

// refuseSecretNames returns an error if the name of an artifact, output or metric holds a
// sensitive value. A value can be masked when it is recorded, but a masked name would no
// longer name its file, output or metric. It also refuses a metric that is not valid
// UTF-8, which no text of a pipeline could equal.
func (r attemptResult) refuseSecretNames(mask func(string) string) error {
	for _, a := range r.artifacts {
		if mask(string(a.Path)) != string(a.Path) {
			return errors.New("the name of an artifact holds a sensitive value; choose another name")
		}
	}
	for name := range r.outputs.Values {
		if mask(name) != name {
			return errors.New("the name of an output holds a sensitive value; choose another name")
		}
	}
	for name, value := range r.outputs.Metrics {
		if mask(name) != name {
			return errors.New("the name of a metric holds a sensitive value; choose another name")
		}
		if text, ok := maskMetric(value, mask).(string); ok && !utf8.ValidString(text) {
			return fmt.Errorf("the metric %s is not UTF-8, and so equals nothing that a pipeline can say", name)
		}
	}
	return nil
}

// maskMetric masks a metric that is a text. A number whose digits contain a sensitive
// value becomes a masked text.
func maskMetric(value any, mask func(string) string) any {
	switch value := value.(type) {
	case string:
		return mask(value)
	case json.Number:
		if digits := string(value); mask(digits) != digits {
			return mask(digits)
		}
	}
	return value
}

// finishAttempt records the end of an attempt. The workstream then continues with its
// gates, its verification or a retry, or is left for the next run.
func (n *node) finishAttempt(r attemptResult) {
	delete(n.loop.calling, n)
	n.callBegan = n.callBegan || r.callBegan
	n.loop.recordLeftovers(n.ws.Name, r.result.Leftovers)
	n.loop.reports.end(n.reports)
	n.takeSpending(&r.outputs)
	if n.call != nil {
		n.loop.countCall(n.loop.session.State().Workstream(n.ws.Name), r.callSpent)
	}
	r.outputs = n.reports.outputs.With(r.outputs)
	if failure := n.exceeded(r.outside); r.failure == nil {
		r.failure = failure
	}
	var work state.Work
	if r.failure == nil {
		work = n.resultRecord(r)
		r.failure = n.checkRecordable(work, r.held)
	}
	switch {
	case r.failure == nil:
		n.recordSuccess(work, r)
	case n.ws.Effect == pipeline.Once && r.began:
		n.loop.recorder.Add(nil, state.WorkstreamUncertain{Workstream: n.ws.Name, Error: *r.failure})
		n.resolveUncertain()
	case r.result.Outcome == Cancelled:
		n.rollBackThen("it was interrupted", n.interrupt)
	case r.paused != nil:
		n.leavePaused(r.paused)
	default:
		n.endFailedAttempt(r)
	}
}

// resultRecord returns the record of a successful attempt, with sensitive values masked.
func (n *node) resultRecord(r attemptResult) state.Work {
	l := n.loop
	work := state.Work{
		Attempt: n.attempt, DurationMS: r.result.Ended.Sub(r.result.Started).Milliseconds(), Digest: n.digest,
		Metrics: r.outputs.Metrics, Artifacts: r.artifacts, Cached: r.cached,
		Summary: state.Text(l.opts.Mask(r.outputs.Summary)), Location: state.Text(l.opts.Mask(r.outputs.Location)),
	}
	for name, value := range work.Metrics {
		work.Metrics[name] = maskMetric(value, l.opts.Mask)
	}
	for name, value := range r.outputs.Values {
		if work.Outputs == nil {
			work.Outputs = make(map[string]state.Text, len(r.outputs.Values))
		}
		work.Outputs[name] = state.Text(l.opts.Mask(value))
	}
	n.holdOutputs(r.outputs, work.Outputs)
	return work
}

// checkRecordable returns the failure of a workstream whose outputs and list of
// artifacts do not fit in a line of the journal, or nil if they fit. Escaping makes the
// line longer than the values.
func (n *node) checkRecordable(work state.Work, held *state.Held) *state.Failure {
	if held == nil && len(work.Outputs)+len(work.Metrics)+len(work.Artifacts)+len(work.Summary)+len(work.Location) == 0 {
		return nil // there is nothing that could be too long
	}
	err := journal.Recordable(state.WorkstreamSucceeded{Workstream: n.ws.Name, Work: work, Held: held})
	if err == nil {
		return nil
	}
	log := n.loop.opts.Store.Layout().LogPath(n.loop.pipeline.ID, n.ws.Name, n.attempt)
	return &state.Failure{
		Workstream: n.ws.Name, Outcome: state.OutcomeResult, Log: state.Text(filepath.Base(log)),
		Message: state.Text("record its outputs and its list of artifacts: " + err.Error()),
	}
}

func (n *node) recordSuccess(work state.Work, r attemptResult) {
	l := n.loop
	for _, path := range r.leftOut {
		l.warnUser(fmt.Sprintf("%s looks sensitive: its digest is on record, its bytes are not kept", path))
	}
	if r.tree != nil {
		n.hold(work, r)
		return
	}
	delete(l.facts.Conflicts, n.ws.Name)
	l.recordedFiles.SetArtifacts(n.ws.Name, l.surveyor.Extend(n.ws.ArtifactPatterns), work.Artifacts)
	if len(n.ws.Gates) == 0 {
		n.complete(state.WorkstreamCompleted{Workstream: n.ws.Name, Work: &work})
		return
	}
	l.recorder.Add(nil, state.WorkstreamSucceeded{Workstream: n.ws.Name, Work: work})
	n.judgeGates()
}

// newTask returns the task of the workstream's current attempt.
func (n *node) newTask(inv pipeline.Invocation) Task {
	l := n.loop
	t := l.newTask(n.ws.Name, n.attempt, inv)
	l.joinTrace(t.Env, inv.Env, n.ws.Name, n.attempt)
	t.Timeout = n.ws.Timeout
	if n.ws.Agent != nil {
		t.Env["RUNNER_AGENT"] = n.ws.Agent.Name
	}
	switch {
	case inv.Task != "" && n.ws.TaskBy == pipeline.TaskInFile:
		t.Env["RUNNER_TASK"] = l.opts.Store.Layout().TaskPath(l.pipeline.ID, n.ws.Name, n.attempt)
	default:
		t.Input = inv.Task
	}
	if n.attempt == 1 { // before a later attempt, the user may have fixed the cause of the failure
		t.Ready = n.readyAt
	}
	t.Env["RUNNER_PHASE"] = n.ws.Phase.Name
	t.Env["RUNNER_WORKSTREAM"] = n.ws.Name
	t.Env["RUNNER_ATTEMPT"] = strconv.Itoa(n.attempt)
	t.Env["RUNNER_OUTPUT"] = l.opts.Store.Layout().OutputPath(l.pipeline.ID, n.ws.Name, n.attempt)
	t.Env["RUNNER_FEEDBACK"] = l.opts.Store.Layout().FeedbackPath(l.pipeline.ID, n.ws.Name, n.attempt)
	t.Env["RUNNER_REPORT"] = l.opts.Store.Layout().ReportPath(l.pipeline.ID, n.ws.Name, n.attempt)
	if n.ws.ReportsOnStdout {
		t.Env["RUNNER_REPORT"] = report.Stdout
	}
	if inv.Call != nil {
		n.intoCall(&t, inv.Call)
	}
	t.Env["RUNNER_IDEMPOTENCY_KEY"] = plan.IdempotencyKey(l.session.State().Session, n.ws, n.digest, l.session.State().IterationOf(n.ws.Phase.Name))
	if n.ws.Phase.Repeat != nil {
		t.Env["RUNNER_ITERATION"] = strconv.Itoa(l.session.State().IterationOf(n.ws.Phase.Name))
	}
	return t
}
