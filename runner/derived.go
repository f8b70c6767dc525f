package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/runner/plan"
	"prdrunner/runner/survey"
)

const (
	// derivedTries is the minimum number of attempts to write a checkpoint.
	derivedTries = 4
	derivedPause = 100 * time.Millisecond // before the second attempt; doubled before each further attempt
	derivedMost  = 10 * time.Second
)

// checkpoint adds a checkpoint to the next commit, if the policy asks for a checkpoint on
// this trigger.
func (l *loop) checkpoint(t state.Trigger, reason string) {
	l.x.Checkpoint(t, reason, l.git)
}

// writeAll makes all events durable and writes the checkpoint files and documents. Views get
// the commits only after that, since a checkpoint exists only when its file does.
func (l *loop) writeAll() {
	l.holding = true
	l.drain()
	written := l.fatal == nil && l.writeDerived(true)
	l.holding = false
	held := l.held
	l.held = nil
	for _, c := range held {
		if !written {
			c.Events = slices.DeleteFunc(slices.Clone(c.Events), func(e state.Event) bool {
				created, ok := e.(state.CheckpointCreated)
				return ok && !l.x.Written(created.ID)
			})
		}
		l.show(c)
	}
}

// show passes a commit to the views, at once or, during writeAll, after its checkpoint files
// are written.
func (l *loop) show(c state.Commit) {
	if l.holding {
		l.held = append(l.held, c)
		return
	}
	for _, v := range l.o.Views {
		v.Commit(c)
	}
}

// derive writes the PRD document if its interval has passed, and reports whether the
// interval has passed.
func (l *loop) derive() bool {
	due := l.fatal == nil && l.x.DocumentDue()
	if due {
		l.writeDerived(false)
	}
	return due
}

// writeDerived writes checkpoint files and documents, and reports whether it succeeded. It
// makes all events durable first, since these files must hold only durable state.
func (l *loop) writeDerived(force bool) bool {
	what := "the document could not be written"
	if force {
		what = "a checkpoint could not be written"
	}
	return l.persist(unwritten{
		what: what,
		try: func() error {
			l.drain()
			if l.fatal != nil {
				return l.fatal
			}
			return l.x.WriteDerived(l.ctx, force)
		},
		skip: func() (skipped, left []string) {
			if force {
				return l.x.SkipDerived()
			}
			return nil, nil
		},
	})
}

// capture records the files of the workspace for the next checkpoint. The caller must ensure
// that nothing runs. A signal cancels a capture. The run then makes no further capture, and
// a run that must end at once makes none either.
func (l *loop) capture(t state.Trigger) {
	if l.o.Capture == CaptureOff {
		return
	}
	l.captureBy(func(ctx context.Context, w *workspace.Workspace, patterns []string) (workspace.Captured, error) {
		return l.x.CaptureFor(ctx, w, patterns, t)
	})
}

// captureBy does what capture does, with the given method of the session.
func (l *loop) captureBy(capture func(context.Context, *workspace.Workspace, []string) (workspace.Captured, error)) {
	defer l.captures.measure(l.o.Now)()
	l.drain() // the records of the captured files must be in the journal before the capture
	if l.fatal != nil || !l.o.Store.Captures() {
		return
	}
	if l.atOnce || l.uncaptured && l.cause.signal != "" {
		l.uncaptured = true
		return
	}
	givenUp := false
	made := l.persist(unwritten{
		what: "the workspace could not be captured",
		try: func() error {
			var c workspace.Captured
			err := l.untilSignal(func(ctx context.Context) (err error) {
				c, err = capture(ctx, l.files, l.scope())
				return err
			})
			givenUp = errors.Is(err, errGivenUp)
			l.tellLeftOut(c)
			return err
		},
		skip: func() (skipped, left []string) { return nil, nil },
	})
	l.uncaptured = !made && (givenUp || l.onUnwritten != CheckpointErrorSkip)
}

// scope returns the patterns of files that a capture includes besides those that git tracks:
// files that the pipeline names, and files that the configuration adds.
func (l *loop) scope() []string {
	patterns := slices.Concat(survey.Local(string(l.pipelineRef().Path), filepath.ToSlash(l.p.Document)), survey.Declared(l.p))
	slices.Sort(patterns)
	return l.o.Store.Including(slices.Compact(patterns))
}

// tellLeftOut warns once of the files that all captures leave out, and once of each file that
// kept changing while a capture read it.
func (l *loop) tellLeftOut(c workspace.Captured) {
	unstable := slices.DeleteFunc(slices.Clone(c.Unstable), func(path string) bool { return slices.Contains(l.toldUnstable, path) })
	if len(unstable) > 0 {
		l.toldUnstable = append(l.toldUnstable, unstable...)
		l.warn("left out of a capture, since they kept changing while they were read, so that no checkpoint of it holds them: " + text.Enumerate(unstable))
	}
	if l.toldLeftOut || len(c.LeftOut)+len(c.Special) == 0 {
		return
	}
	l.toldLeftOut = true
	if len(c.LeftOut) > 0 {
		l.warn("left out of captures, since they look sensitive or hold a sensitive value: " + text.Enumerate(c.LeftOut))
	}
	if len(c.Special) > 0 {
		l.warn("left out of captures, since they may not be read, are no files, or are other repositories: " + text.Enumerate(c.Special))
	}
}

// unwritten is a part of a checkpoint that must be written.
type unwritten struct {
	what string                          // describes the failure to write it
	try  func() error                    // writes it; may be called again
	skip func() (skipped, left []string) // gives it up; returns the checkpoints that are skipped, and those that stay on record without a file
}

// message returns a text that says what could not be written, why, and what the user can do.
func (u unwritten) message(err error) string { return u.what + ": " + withRemedy(err) }

// withRemedy returns the text of an error, with a remedy for the user if one is known.
func withRemedy(err error) string {
	var git *git.StateError
	if errors.As(err, &git) && git.Remedy != "" {
		return fmt.Sprintf("%v (%s)", err, git.Remedy)
	}
	return err.Error()
}

// persist writes a part of a checkpoint, and reports whether it is written. It never ignores
// a failure: it tries again, and then the user or the configuration decides.
func (l *loop) persist(u unwritten) bool {
	err := u.try()
	first := !l.unwritten
	if err != nil && first && !errors.Is(err, errGivenUp) && !l.lost(err) {
		failed := err
		if l.onUnwritten, err = l.tryAgain(u, err); err == nil {
			// The user should know: a disk that fails now and then may soon fail for good.
			l.warn(fmt.Sprintf("%s at first (%v), and was written when it was tried again", u.what, failed))
		}
	}
	switch {
	case l.lost(err):
		l.broken(err)
		return false
	case err == nil:
		return true
	case errors.Is(err, errGivenUp): // a signal ended the attempt; the part itself did not fail
		return false
	}
	l.unwritten = true
	if l.onUnwritten == CheckpointErrorSkip {
		l.skipUnwritten(u, first, err)
		return false
	}
	if first {
		l.warn(u.message(err))
		l.cause.derived = err
		l.halt(stopPause)
	}
	return false
}

// lost reports whether the journal can no longer be written, so that another attempt is
// useless.
func (l *loop) lost(err error) bool {
	var poisoned *checkpoint.PoisonedError
	return l.fatal != nil || errors.As(err, &poisoned)
}

// tryAgain tries to write a part of a checkpoint a few more times. Then the user decides, or
// without a terminal the configuration. With retry, tryAgain continues until it succeeds or
// a signal comes.
func (l *loop) tryAgain(u unwritten, err error) (OnCheckpointError, error) {
	pause := derivedPause
	for try := 2; err != nil; try++ {
		if try > derivedTries {
			switch decision := l.decideUnwritten(u, err); {
			case decision != CheckpointErrorRetry:
				return decision, err
			case try == derivedTries+1:
				l.warn(fmt.Sprintf("%s, and is tried again: %v", u.what, err))
			}
		}
		if !l.pauseFor(pause) {
			return CheckpointErrorPause, err
		}
		pause = min(2*pause, derivedMost)
		if err = u.try(); errors.Is(err, errGivenUp) || l.lost(err) {
			return "", err
		}
	}
	return "", nil
}

// decideUnwritten asks the user what to do about a failure. Meanwhile it handles the reports
// of other goroutines. If it can't ask, the configuration decides.
func (l *loop) decideUnwritten(u unwritten, err error) OnCheckpointError {
	if l.o.Asker == nil || l.prompting() { // of two prompts at once, each could read the answer to the other
		return l.o.OnCheckpointError
	}
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	answers := make(chan OnCheckpointError, 1)
	go func() {
		decision, failed := l.o.Asker.Unwritten(ctx, u.message(err))
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
			return CheckpointErrorPause
		case <-l.stop:
			l.stopped()
			cancel()
			<-answers
			return CheckpointErrorPause
		}
	}
}

// skipUnwritten records the checkpoints that are skipped, and warns the user.
func (l *loop) skipUnwritten(u unwritten, first bool, err error) {
	if first {
		l.warn(fmt.Sprintf("%s, and is skipped: %v", u.what, err))
	}
	ids, left := u.skip()
	if len(left) > 0 {
		l.warn(LeftUnwritten(left))
	}
	if first || len(ids) > 0 {
		l.add(nil, state.CheckpointSkipped{IDs: ids, Error: state.Text(err.Error())})
		l.drain()
	}
}

// LeftUnwritten returns a text about checkpoints that could not be written and were not
// skipped. It says why they were not, and when they will be written.
func LeftUnwritten(ids []string) string {
	return text.Enumerate(ids) + " is needed, and stays on record without its file, which the next command that changes the session writes"
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
