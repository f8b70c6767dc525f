package runner

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
	"prdrunner/runner/survey"
)

// checkpoint adds a checkpoint to the next commit, if the policy asks for a checkpoint on
// this trigger.
func (l *loop) checkpoint(t state.Trigger, reason string) {
	l.x.Checkpoint(t, reason, l.git)
}

// take records the files of the workspace for the next checkpoint. The caller must ensure
// that nothing runs. A signal cancels a capture. The run then makes no further capture, and
// a run that must end at once makes none either.
func (cs *captures) take(t state.Trigger) {
	if cs.l.o.Capture == CaptureOff {
		return
	}
	cs.takeBy(func(ctx context.Context, w *workspace.Workspace, patterns []string) (workspace.Captured, error) {
		return cs.l.x.CaptureFor(ctx, w, patterns, t)
	})
}

// takeBy does what capture does, with the given method of the session.
func (cs *captures) takeBy(capture func(context.Context, *workspace.Workspace, []string) (workspace.Captured, error)) {
	l := cs.l
	defer cs.measure(l.o.Now)()
	l.rec.Drain() // the records of the captured files must be in the journal before the capture
	if l.rec.Err() != nil || !l.o.Store.Captures() {
		return
	}
	if l.atOnce || cs.failed && l.cause.signal != "" {
		cs.failed = true
		return
	}
	givenUp := false
	made := l.rec.Write(record.Part{
		Problem: "the workspace could not be captured", Done: "written",
		Try: func() error {
			var c workspace.Captured
			err := l.untilSignal(func(ctx context.Context) (err error) {
				c, err = capture(ctx, l.files, cs.scope())
				return err
			})
			givenUp = errors.Is(err, record.ErrGivenUp)
			cs.tellLeftOut(c)
			return err
		},
	})
	cs.failed = !made && (givenUp || !l.rec.Skips())
}

// scope returns the patterns of files that a capture includes besides those that git tracks:
// files that the pipeline names, and files that the configuration adds.
func (cs *captures) scope() []string {
	l := cs.l
	patterns := slices.Concat(survey.Local(string(l.o.pipelineRef().Path), filepath.ToSlash(l.p.Document)), survey.Declared(l.p))
	slices.Sort(patterns)
	return l.o.Store.Including(slices.Compact(patterns))
}

// tellLeftOut warns once of the files that all captures leave out, and once of each file that
// kept changing while a capture read it.
func (cs *captures) tellLeftOut(c workspace.Captured) {
	l := cs.l
	unstable := slices.DeleteFunc(slices.Clone(c.Unstable), func(path string) bool { return slices.Contains(cs.toldUnstable, path) })
	if len(unstable) > 0 {
		cs.toldUnstable = append(cs.toldUnstable, unstable...)
		l.warn("left out of a capture, since they kept changing while they were read, so that no checkpoint of it holds them: " + text.Enumerate(unstable))
	}
	if cs.toldLeftOut || len(c.LeftOut)+len(c.Special) == 0 {
		return
	}
	cs.toldLeftOut = true
	if len(c.LeftOut) > 0 {
		l.warn("left out of captures, since they look sensitive or hold a sensitive value: " + text.Enumerate(c.LeftOut))
	}
	if len(c.Special) > 0 {
		l.warn("left out of captures, since they may not be read, are no files, or are other repositories: " + text.Enumerate(c.Special))
	}
}

// decideUnwritten asks the user what to do about a failure. Meanwhile it handles the reports
// of other goroutines. If it can't ask, the configuration decides.
func (l *loop) decideUnwritten(problem string) record.OnFailure {
	if l.o.Asker == nil || l.prompting() { // of two prompts at once, each could read the answer to the other
		return l.o.OnCheckpointError
	}
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	answers := make(chan record.OnFailure, 1)
	go func() {
		decision, failed := l.o.Asker.Unwritten(ctx, problem)
		if failed != nil {
			decision = l.o.OnCheckpointError
		}
		answers <- decision
	}()
	for {
		select {
		case decision := <-answers:
			return decision
		case f := <-l.events:
			f()
		case name := <-l.o.Interrupts:
			l.interrupt(name)
			cancel()
			<-answers
			return record.Pause
		case <-l.stop:
			l.stopped()
			cancel()
			<-answers
			return record.Pause
		}
	}
}

// pauseFor waits, and reports whether the whole time has passed. It returns early if running
// tasks are cancelled. It handles the reports of other goroutines, so that a timeout of the
// session ends the wait.
func (l *loop) pauseFor(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !l.cut() || l.over {
		select {
		case <-timer.C:
			return true
		case f := <-l.events:
			f()
		case name := <-l.o.Interrupts:
			l.interrupt(name)
			if l.over {
				return false
			}
		case <-l.stop:
			l.stopped()
			if l.over {
				return false
			}
		}
	}
	return false
}

// readGit reads the branch and commit of git for the next checkpoints.
func (l *loop) readGit() {
	if l.o.Git == nil {
		return
	}
	head, err := l.o.Git.Head(l.ctx)
	if err != nil {
		l.warn(errors.Join(errors.New("where git stands could not be read"), err).Error())
		return
	}
	if head != nil && l.o.Mask(string(head.Branch)) != string(head.Branch) {
		l.warn("the name of the git branch holds a sensitive value: the checkpoints that come do not say where git stands")
		head = nil
	}
	l.git = head
}

// tellLinks warns once of each link that leads out of the workspace.
func (l *loop) tellLinks() {
	if found := l.sv.LinksOut(l.toldLinks); len(found) > 0 {
		l.warn(plan.LeadsOut(found))
	}
}
