package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
	"prdrunner/runner/view"
)

// resumeAuto is the value of --resume for CI: start a session, resume one, or succeed if
// there is nothing to do.
const resumeAuto = "auto"

// resumeNamed is the value of --resume if the user gives the flag without a value.
const resumeNamed = "yes"

// start says how a build begins.
type start struct {
	fresh       bool            // begin a new session, even if there is one already
	noCache     bool            // use no cached results of earlier runs
	resume      bool            // resume the session
	imported    *state.Document // continue from a document written by hand
	predecessor *state.State    // begin from this complete session, which is archived
	nothingToDo bool            // nothing to do: the session is complete, or the user deleted it
}

// starter decides how a build begins: from the flags, from the state directory, and from
// the answers of the user, if there is a terminal.
type starter struct {
	change.Target
	cfg    *config.Config
	person *view.Terminal // nil: there is no terminal to ask at
	resume string         // the value of --resume: "", yes, auto, or a checkpoint
	fresh  bool
	yes    bool

	readOnlyOptions func() runner.Options // returns the options of an engine that only reads
	saved           *plan.Plan            // the plan of --plan, nil without it
	selection       plan.Selection
	variableFlags   string                    // the flags that set variables of the pipeline
	command         func(flags string) string // returns the command that builds the pipeline, with more flags
	finished        *change.FinishedRollback  // the rollback that was finished before anything was decided

	// runHooks runs the hooks of the last run that have not ended.
	runHooks func(ctx context.Context, snap *checkpoint.Snapshot) error

	// written returns the state that a document written by hand gives the pipeline's
	// session. The error is an *runner.ImportError that lists everything wrong with the
	// document.
	stateOfDocument func(*state.Document) (*state.State, error)
}

// finishFirst finishes, before anything is decided, the work that an earlier command left
// half done. Until then the recorded state is not the one from which the build would
// start. It returns the session after that.
func (s *starter) finishFirst(ctx context.Context, snap *checkpoint.Snapshot) (_ *checkpoint.Snapshot, err error) {
	archiving, err := s.Store.Archiving(s.PRD)
	switch {
	case err != nil:
		return nil, err
	case archiving && snap.Owner == nil: // the command that archived it was killed, and may have prepared another session
		session, err := s.lockSoon(ctx)
		if err == nil {
			err = session.Close()
		}
		if err != nil {
			return nil, err
		}
		return change.ReadSession(s.Store, s.PRD)
	case !change.Interrupted(snap):
		return snap, nil
	}
	if s.finished, err = s.FinishInterrupted(ctx); err != nil {
		return nil, err
	}
	return change.ReadSession(s.Store, s.PRD)
}

// refuseUnfinished refuses a build before a rollback that was cut short is finished, if
// the build would be refused after it.
func (s *starter) refuseUnfinished(p *pipeline.Pipeline, saved *plan.Plan, snap *checkpoint.Snapshot) error {
	if snap.Owner != nil || !change.RollingBack(snap) {
		return nil
	}
	switch {
	case saved != nil:
		return fmt.Errorf("%s: %w", s.PRD, runner.ErrPlanOutdated)
	case s.resume == "" && !s.fresh && s.person == nil:
		return s.undecided("a rollback of %s was cut short")
	}
	return s.selection.Check(p)
}

// rollBackFirst rolls the session back to the checkpoint that --resume names, if it names
// one. After that the build is an ordinary resume. rollBackFirst returns the session
// after the rollback.
func (s *starter) rollBackFirst(ctx context.Context, snap *checkpoint.Snapshot) (*checkpoint.Snapshot, error) {
	if !namesCheckpoint(s.resume) {
		return snap, nil
	}
	o := checkpointRollbackOptions{prd: s.PRD, reference: s.resume, reason: "build --resume=" + s.resume, yes: s.yes, variableFlags: s.variableFlags,
		repeatCommand: func(id string) string { return "build " + s.PRD + " --resume=" + id + s.variableFlags }}
	if err := runRollback(ctx, &s.Target, s.person, o); err != nil {
		return nil, err
	}
	s.resume, s.yes = resumeNamed, true // the user has agreed to it
	return change.ReadSession(s.Store, s.PRD)
}

// namesCheckpoint reports whether the value of --resume names a checkpoint.
func namesCheckpoint(resume string) bool {
	return resume != "" && resume != resumeNamed && resume != resumeAuto
}

// decide decides how the build begins. It runs the hooks that are due once it is certain
// that the build continues or replaces the session.
func (s *starter) decide(ctx context.Context, snap *checkpoint.Snapshot) (start, error) {
	asks := s.resume == "" && !s.fresh && (snap.State == nil || snap.State.Status != state.StatusComplete)
	if !asks {
		if err := s.runHooks(ctx, snap); err != nil {
			return start{}, err
		}
	}
	begin, err := s.choose(ctx, snap)
	if err == nil && asks && !begin.nothingToDo {
		err = s.runHooks(ctx, snap)
	}
	return begin, err
}

func (s *starter) choose(ctx context.Context, snap *checkpoint.Snapshot) (start, error) {
	switch {
	case snap.Owner != nil:
		return start{}, advice.LockedBy(s.PRD, *snap.Owner)
	case snap.State == nil && snap.Document == nil:
		return s.beginWithoutSession(ctx)
	case snap.State == nil:
		return s.beginFromDocument(ctx, snap.Document)
	case snap.State.Status == state.StatusComplete:
		if err := s.writeMissingDerived(ctx, snap); err != nil {
			return start{}, err
		}
		if s.resume != "" {
			return s.beginAfterComplete(ctx, snap.State, start{resume: true})
		}
		return start{fresh: true, noCache: s.fresh}, s.refuseAgain()
	case s.fresh:
		return start{fresh: true, noCache: s.fresh}, s.refuseAgain()
	case s.resume != "":
		return s.resumeUnfinished(ctx, snap.State)
	}
	return s.askUser(ctx, snap)
}

// beginWithoutSession decides how the build begins if there is no session.
func (s *starter) beginWithoutSession(ctx context.Context) (start, error) {
	if s.resume != "" {
		last, err := load.LastComplete(s.Store, s.PRD)
		if err != nil {
			return start{}, err
		}
		if last != nil {
			return s.beginAfterComplete(ctx, nil, start{predecessor: last})
		}
	}
	if s.resume != resumeNamed {
		return start{}, s.refuseAgain()
	}
	return start{}, nothingToResume(s.Store, s.PRD, s.command(""))
}

// nothingToResume returns the error of --resume without a session. Its hint lists the PRDs
// that have sessions, and the command that starts one.
func nothingToResume(store *checkpoint.Store, prd, start string) error {
	err := advice.Usagef("there is no session of %s to resume", prd)
	hint := fmt.Sprintf("`runner %s` starts one", start)
	if prds, listErr := store.Reader().PRDs(); listErr == nil && len(prds) > 0 {
		hint = fmt.Sprintf("there are sessions of %s; %s", strings.Join(prds, ", "), hint)
	}
	return advice.With(err, hint)
}

// writeMissingDerived writes the files derived from a complete session if its runner was
// killed between the last commit and writing them, or lost power while it wrote them. No
// other command would write them.
func (s *starter) writeMissingDerived(ctx context.Context, snap *checkpoint.Snapshot) error {
	if d := snap.Document; !snap.Unclean && d != nil && d.Runner != nil && d.Runner.Seq == snap.State.Seq {
		return nil
	}
	session, err := s.lockSoon(ctx)
	if err != nil {
		return err
	}
	unwritten := session.WriteDerived(ctx, true)
	if !advice.IsA[*checkpoint.DerivedError](unwritten) {
		return errors.Join(unwritten, session.Close())
	}
	second := session.WriteDerived(ctx, true)
	if second != nil && !advice.IsA[*checkpoint.DerivedError](second) {
		return errors.Join(second, session.Close())
	}
	if second != nil && s.cfg.OnCheckpointError == record.Skip {
		return s.skipUnwritten(session, unwritten)
	}
	switch closed := session.Close(); {
	case second == nil || closed == nil: // Close tries once more
		fmt.Fprintf(s.Env.Stderr, "Warning: a checkpoint could not be written at first (%v), and was written when it was tried again\n", unwritten)
		return closed
	default:
		return advice.With(fmt.Errorf("%s is done, but %w: %w", s.PRD, errUnwritten, unwritten),
			fmt.Sprintf("once that can be written, `runner %s` does it; with on_checkpoint_error = \"skip\" it is passed over", s.command(" --resume")))
	}
}

// skipUnwritten gives up the checkpoints that can't be written, as the configuration says.
// It warns the user about checkpoints that stay on record without a file.
func (s *starter) skipUnwritten(session *checkpoint.Session, unwritten error) error {
	skipped, left := session.SkipDerived()
	fmt.Fprintln(s.Env.Stderr, "Warning: a checkpoint could not be written, and is skipped:", unwritten)
	if len(left) > 0 {
		fmt.Fprintln(s.Env.Stderr, "Warning:", record.LeftUnwritten(left))
	}
	session.Add(state.CheckpointSkipped{IDs: skipped, Error: state.Text(unwritten.Error())})
	if closed := session.Close(); !advice.IsA[*checkpoint.DerivedError](closed) {
		return closed
	}
	return nil // the user was warned, and the configuration says to skip it
}

// beginAfterComplete decides for --resume if the last session is complete. A new session
// begins from it, and runs the steps whose results are not proved valid for the current
// files and definitions. Without such steps, there is nothing to do.
func (s *starter) beginAfterComplete(ctx context.Context, st *state.State, on start) (start, error) {
	if s.saved != nil || chosen(s.selection) {
		return on, nil
	}
	o := s.readOnlyOptions()
	o.Predecessor, o.Imported = on.predecessor, on.imported
	plan, err := runner.Preview(ctx, o, st)
	switch {
	case err != nil:
		return start{}, buildError(s.Env, st, s.PRD, s.command, err)
	case !plan.Idle():
		return on, nil
	case s.resume == resumeAuto:
		fmt.Fprintf(s.Env.Stderr, "%s already complete\n", s.PRD)
		return start{nothingToDo: true}, nil
	}
	return start{}, alreadyComplete(s.PRD, s.command(""))
}

// alreadyComplete returns the error of a session that is complete, with nothing left to
// run or to plan.
func alreadyComplete(prd, start string) error {
	return advice.With(fmt.Errorf("%s: %w", prd, errAlreadyComplete), fmt.Sprintf("`runner %s` starts a new session", start))
}

// chosen reports whether the user chose what runs again, or limited what runs.
func chosen(s plan.Selection) bool {
	return s.From != "" || len(s.Only)+len(s.Invalidate)+len(s.Repeat) > 0
}

// refuseAgain refuses --from and --invalidate for a new session, in which nothing can run
// again.
func (s *starter) refuseAgain() error {
	if s.selection.From == "" && len(s.selection.Invalidate) == 0 {
		return nil
	}
	return advice.With(advice.Usagef("--from and --invalidate run something again, and this would be a new session"),
		fmt.Sprintf("`runner %s` with them resumes the session", s.command(" --resume")))
}

// beginFromDocument decides how the build begins if there is only a document written by
// hand.
func (s *starter) beginFromDocument(ctx context.Context, d *state.Document) (start, error) {
	switch {
	case s.fresh:
		return start{fresh: true, noCache: s.fresh}, nil
	case s.resume == "" && s.person == nil:
		return start{}, s.undecided("there is a document of %s already")
	}
	st, err := s.stateOfDocument(d)
	if err != nil {
		return start{}, buildError(s.Env, nil, s.PRD, s.command, err)
	}
	switch {
	case d.Status == state.StatusComplete && s.resume != "":
		return s.beginAfterComplete(ctx, nil, start{imported: d})
	case d.Status == state.StatusComplete:
		return start{fresh: true, noCache: s.fresh}, s.refuseAgain()
	case s.resume != "":
		return s.resumeDocument(ctx, d, st)
	}
	question := fmt.Sprintf("%s.json was written by hand. Continue from it?", s.PRD)
	if err := cli.Confirm(ctx, s.person, s.yes, question); err != nil {
		return start{}, err
	}
	return start{imported: d}, nil
}

// resumeDocument decides for --resume of a document written by hand, as for a session in
// the state that the document describes. st is the state that the document gives a
// session.
func (s *starter) resumeDocument(ctx context.Context, d *state.Document, st *state.State) (start, error) {
	st.Status, st.Error = d.Status, show.WrittenFailure(d)
	if d.Status != state.StatusInProgress { // if it is, its author was at work, and may not have ended properly
		st.RunningAt = nil
	}
	on, err := s.resumeUnfinished(ctx, st)
	if err != nil || on.fresh {
		return on, err
	}
	return start{imported: d}, nil
}

// undecided returns a usage error whose hint names --resume and --fresh.
func (s *starter) undecided(what string) error {
	return advice.With(advice.Usagef(what, s.PRD),
		fmt.Sprintf("`runner %s` resumes it, `runner %s` archives it and starts over", s.command(" --resume"), s.command(" --fresh")))
}

// resumeUnfinished decides for --resume of an unfinished session. It asks the user if
// resuming may be a mistake. It never asks with --resume=auto or --yes.
func (s *starter) resumeUnfinished(ctx context.Context, st *state.State) (start, error) {
	on := start{resume: true}
	if s.person == nil || s.yes || s.resume == resumeAuto {
		s.printState(st)
		return on, nil
	}
	switch {
	case st.Status == state.StatusFailed:
		return on, askFixed(ctx, s.person, st)
	case killed(st):
		choice, err := askKilled(ctx, s.person, st)
		return start{resume: choice == choiceResume, fresh: choice == choiceFresh, noCache: choice == choiceFresh}, err
	}
	s.printState(st)
	return on, nil
}

// printState tells the user what state the session was in, if the build resumes it without
// asking.
func (s *starter) printState(st *state.State) {
	switch {
	case st.Status == state.StatusFailed && st.Error != nil:
		fmt.Fprintf(s.Env.Stderr, "%s failed: %s; resuming\n", s.PRD, view.Summary(*st.Error))
	case killed(st):
		fmt.Fprintf(s.Env.Stderr, "%s was running, and how it ended is not on record; resuming\n", s.PRD)
	case st.Status == state.StatusPaused && show.LastPassedGate(st) != "":
		fmt.Fprintf(s.Env.Stderr, "Last gate passed: %s\n", view.OneLine(show.LastPassedGate(st)))
	}
}

// killed reports whether a session that has no owner was still running when its runner
// ended.
func killed(st *state.State) bool { return st.RunningAt != nil }

// lockDecided locks the session for which the build was decided. It is an error if another
// process has changed the session since, such as while the user was thinking.
func (s *starter) lockDecided(ctx context.Context, snap *checkpoint.Snapshot) (*checkpoint.Session, error) {
	session, _, err := s.Lock(ctx)
	if err != nil {
		return nil, err
	}
	was, is := snap.State, session.State()
	if (was == nil) != (is == nil) || was != nil && (was.Session != is.Session || was.Status != is.Status) {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.PRD, runner.ErrPlanOutdated), session.Close())
	}
	return session, nil
}

// lockSoon locks the session. It waits a moment for the lock, which a short command, such
// as approve, may hold.
func (s *starter) lockSoon(ctx context.Context) (session *checkpoint.Session, err error) {
	pauses := backoff.WithContext(backoff.WithMaxRetries(backoff.NewConstantBackOff(50*time.Millisecond), 4), ctx)
	err = backoff.Retry(func() error {
		session, err = s.Store.Lock(ctx, s.PRD, s.Env.Actor())
		var locked *checkpoint.LockedError
		if err != nil && !errors.As(err, &locked) {
			return backoff.Permanent(err)
		}
		return err
	}, pauses)
	return session, err
}
