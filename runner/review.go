package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/findings"
	"prdrunner/runner/plan"
	"prdrunner/runner/review"
)

// ReviewLog is the name of the review in logs. Neither a workstream, whose name has no dot,
// nor a gate, whose name has one, can have it.
const ReviewLog = "pipeline.review.run"

// reviewOwner is the name that the PRD document shows for an error of the review.
const reviewOwner = "review"

// reviewRun is an attempt at the review before the first phase.
type reviewRun struct {
	loop    *loop
	attempt int
	digests plan.ReviewDigests
	path    string // of the findings, absolute
	before  fs.FileInfo
}

// addFindingGates gives the pipeline the gates that the findings of the session's review
// became.
func (o Options) addFindingGates(st *state.State) {
	if st != nil {
		o.Pipeline.AddFindingGates(plan.FindingGates(st.Review))
	}
}

// passReview runs the review before the first phase if it must run. It reports whether the
// phases may begin.
func (l *loop) passReview() bool {
	if l.status != running || l.recorder.Err() != nil {
		return false
	}
	step, diags := l.planner.Review()
	switch {
	case diags.HasErrors():
		l.failReview(0, l.failures.expressionFailure(reviewOwner, "", diags))
		return false
	case step == nil || step.Decision == plan.Reuse:
		return true
	case step.Decision == plan.Blocked:
		l.addFailure(l.reviewBlocks(l.session.State().Review), true)
		return false
	}
	r := &reviewRun{loop: l, attempt: step.Attempt}
	if r.digests, diags = l.planner.ReviewDigests(); diags.HasErrors() {
		l.failReview(step.Attempt, l.failures.expressionFailure(reviewOwner, "", diags))
		return false
	}
	ended := false
	r.start(func() { ended = true })
	l.runUntil(func() bool { return ended })
	rec := l.session.State().Review
	return ended && l.status == running && rec.Status == state.Passed
}

// start runs the process of the review, if it has one, and judges the findings.
func (r *reviewRun) start(done func()) {
	l := r.loop
	p := l.pipeline.Review
	if err := l.awaitSecrets(ReviewLog, p.Secrets()); err != nil {
		if !l.tasksCancelled() {
			l.failReview(r.attempt, *l.failures.executionFailure(reviewOwner, err))
		}
		done()
		return
	}
	inv, diags := p.Invocation(l.results(false, r.attempt))
	if diags.HasErrors() {
		l.failReview(r.attempt, l.failures.expressionFailure(reviewOwner, "", diags))
		done()
		return
	}
	run := 1
	if rec := l.session.State().Review; rec != nil {
		run = rec.Runs + 1
	}
	task := l.newTask(ReviewLog, run, inv)
	l.joinTrace(task.Env, inv.Env, ReviewLog, run)
	task.Timeout = p.Timeout
	task.Env["RUNNER_ATTEMPT"] = fmt.Sprint(r.attempt)
	if r.path = filepath.Join(l.opts.Workspace, filepath.FromSlash(p.Findings)); p.Findings == "" {
		r.path = strings.TrimSuffix(task.Log, ".log") + ".findings.json"
	}
	task.Env["RUNNER_FINDINGS"] = r.path
	r.before, _ = os.Lstat(r.path)
	l.recorder.Add(nil, state.ReviewStarted{Attempt: r.attempt, Max: p.MaxAttempts, Run: run})
	began := l.opts.Now()
	l.spawnWork(task.ID, gateSlot, func(within context.Context) func() {
		var res Result
		var err error
		if p.HasProcess {
			res, err = l.execute(within, task, &startSink{})
			err = cmp.Or(err, r.maskWritten())
		}
		var all []state.Finding
		var failure *state.Failure
		switch {
		case err != nil:
			failure = l.failures.executionFailure(reviewOwner, err)
		case p.HasProcess && !res.Succeeded():
			failure = l.failures.taskFailure(reviewOwner, "", task, res)
		default:
			all, failure = r.readFindings(p.HasProcess)
		}
		after := plan.NewFacts(l.session.State())
		if failure == nil {
			if err := l.surveyor.Reviewed(within, after); err != nil {
				failure = &state.Failure{Workstream: reviewOwner, Outcome: "error", Message: state.Text(l.opts.Mask(err.Error()))}
			}
		}
		return func() {
			l.recordLeftovers(reviewOwner, res.Leftovers)
			switch {
			case l.tasksCancelled() || res.Outcome == Cancelled:
				l.recorder.Add(nil, state.ReviewInterrupted{Attempt: r.attempt})
			case failure != nil:
				l.failReview(r.attempt, *failure)
			case !l.planner.ReviewUnchanged(after, r.digests):
				l.failReview(r.attempt, state.Failure{Workstream: reviewOwner, Outcome: state.OutcomeResult, Message: "what it reads changed while it was reviewed"})
			default:
				r.judge(all, l.opts.Now().Sub(began))
			}
			l.recorder.Add(done)
		}
	})
}

// readFindings reads the findings. Another goroutine than the loop's calls it. made says that
// the process of this attempt must have written them.
func (r *reviewRun) readFindings(made bool) ([]state.Finding, *state.Failure) {
	l := r.loop
	shown := findings.Relative(r.path, l.opts.Workspace, "")
	failed := func(line int, format string, args ...any) *state.Failure {
		return &state.Failure{Workstream: reviewOwner, Outcome: state.OutcomeResult, Message: state.Text(l.opts.Mask(fmt.Sprintf(format, args...))), File: state.Text(shown), Line: line}
	}
	info, err := os.Stat(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, failed(0, "there are no findings in %s; a review without findings writes an empty list, []", shown)
	case err != nil:
		return nil, failed(0, "read the findings: %v", err)
	case !info.Mode().IsRegular() || info.Size() > review.MaxSize:
		return nil, failed(0, "the findings in %s are no regular file, or larger than %d MiB", shown, review.MaxSize>>20)
	case made && r.before != nil && os.SameFile(r.before, info) && r.before.ModTime().Equal(info.ModTime()) && r.before.Size() == info.Size():
		return nil, failed(0, "the review did not write its findings: %s is as it was before", shown)
	}
	f, err := r.open()
	if err != nil {
		return nil, failed(0, "read the findings: %v", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, review.MaxSize))
	if err != nil {
		return nil, failed(0, "read the findings: %v", err)
	}
	all, err := review.Parse(data)
	var wrong *review.ParseError
	if errors.As(err, &wrong) {
		return nil, failed(wrong.Line, "the findings cannot be read: %s", wrong.Message)
	}
	return all, nil
}

// maskWritten hides sensitive values in findings that a process wrote into the state
// directory.
func (r *reviewRun) maskWritten() error {
	if r.loop.pipeline.Review.Findings != "" || !r.loop.pipeline.HasSecrets() {
		return nil
	}
	info, err := os.Lstat(r.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > review.MaxSize {
		return r.removeUnmasked(err)
	}
	data, err := os.ReadFile(r.path)
	if err != nil {
		return r.removeUnmasked(err)
	}
	masked := r.loop.opts.Mask(string(data))
	if masked == string(data) {
		return nil
	}
	if err := os.WriteFile(r.path, []byte(masked), 0o600); err != nil {
		return r.removeUnmasked(err)
	}
	return nil
}

// removeUnmasked removes findings in which sensitive values can't be hidden.
func (r *reviewRun) removeUnmasked(cause error) error {
	if errors.Is(cause, fs.ErrNotExist) {
		return nil
	}
	if err := os.Remove(r.path); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// open opens the findings. A file of the workspace is not opened through a link that leads
// out of it.
func (r *reviewRun) open() (*os.File, error) {
	p := r.loop.pipeline.Review
	if p.Findings == "" {
		return os.OpenFile(r.path, os.O_RDONLY|workspace.NonBlock, 0)
	}
	return r.loop.files.Tree().Root().OpenFile(filepath.FromSlash(p.Findings), os.O_RDONLY|workspace.NonBlock, 0)
}

// judge records the verdict of the findings.
func (r *reviewRun) judge(all []state.Finding, took time.Duration) {
	l := r.loop
	for i := range all {
		if err := maskFinding(&all[i], l.opts.Mask); err != nil {
			l.failReview(r.attempt, state.Failure{Workstream: reviewOwner, Outcome: state.OutcomeResult, Message: state.Text(err.Error())})
			return
		}
	}
	p := l.pipeline.Review
	j := review.Judge(all, review.Rules{DoNotShip: severitiesOf(p.DoNotShip), ShipWithGates: severitiesOf(p.ShipWithGates)})
	e := state.ReviewJudged{
		Attempt: r.attempt, Verdict: j.Verdict, P0: j.P0, P1: j.P1, Path: state.Text(findings.Relative(r.path, l.opts.Workspace, "")),
		Findings: append(j.Blocker, j.Gated...), Definition: r.digests.Definition, Judged: r.digests.Judged, DurationMS: took.Milliseconds(),
	}
	var had []string
	if rec := l.session.State().Review; rec != nil {
		had = rec.Gates
	}
	if len(j.Gated) > 0 {
		e.Gates = plan.FindingLabels(l.pipeline, had, len(j.Gated))
	}
	if err := journal.Recordable(e); err != nil {
		l.failReview(r.attempt, state.Failure{Workstream: reviewOwner, Outcome: state.OutcomeResult, Message: state.Text(err.Error())})
		return
	}
	l.recorder.Add(nil, e)
	l.opts.addFindingGates(l.session.State())
	if rec := l.session.State().Review; rec.Blocks() {
		l.addFailure(l.reviewBlocks(rec), true)
		return
	}
	l.addCheckpoint(state.TriggerGatePassed, reviewOwner)
}

// maskFinding hides sensitive values in a finding. A command with one is refused, because a
// masked command would do something else.
func maskFinding(f *state.Finding, mask func(string) string) error {
	for _, word := range append([]string{f.Script}, f.Command...) {
		if mask(word) != word {
			return errors.New("the command of a finding holds a sensitive value")
		}
	}
	for _, t := range []*state.Text{&f.Title, &f.File, &f.Detail} {
		*t = state.Text(mask(string(*t)))
	}
	return nil
}

func severitiesOf(words []string) []state.Severity {
	list := make([]state.Severity, len(words))
	for i, w := range words {
		list[i] = state.Severity(w)
	}
	return list
}

// failReview records that an attempt at the review reached no verdict.
func (l *loop) failReview(attempt int, f state.Failure) {
	l.recorder.Add(nil, state.ReviewFailed{Attempt: max(attempt, 1), Error: f})
	l.addFailure(f, true)
}

// reviewBlocks returns the failure of a review that forbids to go on, with what may be done.
func (l *loop) reviewBlocks(rec *state.Review) state.Failure {
	f := state.Failure{Workstream: reviewOwner, Outcome: string(rec.Verdict)}
	text := fmt.Sprintf("the review says %s: %d p0, %d p1", rec.Verdict, rec.P0, rec.P1)
	if len(rec.Findings) > 0 {
		first := rec.Findings[0]
		f.File, f.Line = first.File, first.Line
		text += "; " + plan.DescribeFindings(rec.Findings)
	}
	override := l.opts.Command("override " + l.pipeline.ID + " review --reason TEXT")
	if p := l.pipeline.Review; p != nil && rec.JudgedAttempt < p.MaxAttempts {
		text += fmt.Sprintf("; attempt %d of %d: a resume reviews again, and `%s` goes on in spite of it", rec.JudgedAttempt, p.MaxAttempts, override)
	} else {
		text += fmt.Sprintf("; `%s` goes on in spite of it", override)
	}
	f.Message = state.Text(shorten(l.opts.Mask(text)))
	return f
}
