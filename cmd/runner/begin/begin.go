// Package begin decides how a build begins: from its flags, from the recorded session, and
// from the answers of the user, if there is a terminal.
//
// Which session a build starts, resumes, replaces or refuses is decided here, and what
// helps if the engine refuses. What the run then does with each workstream is not:
// package runner/plan decides that. Nothing here reads a flag or starts a process; a
// build hands over functions for its hooks and for a rollback. Where to begin:
//
//   - Starter holds what the decision depends on; Starter.Begin decides, and returns a
//     Start;
//   - Starter.LockDecided locks the session if it is still the one that was decided on;
//   - Explain adds to an error of the engine the command or flag that makes the decision.
package begin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
	"prdrunner/runner/view"
)

var (
	// ErrUnwritten reports that a session is complete, but that its last checkpoint could
	// not be written. Writing it waits for the user.
	ErrUnwritten = errors.New("a checkpoint could not be written")
	// ErrAlreadyComplete reports that --resume found a complete session.
	ErrAlreadyComplete = errors.New("the session is already complete")
)

// ResumeAuto is the value of --resume for CI: start a session, resume one, or succeed if
// there is nothing to do.
const ResumeAuto = "auto"

// ResumeCurrent is the value of --resume if the user gives the flag without a value.
const ResumeCurrent = "yes"

// Start says how a build begins.
type Start struct {
	Fresh       bool           // begin a new session, even if there is one already
	NoCache     bool           // use no cached results of earlier runs
	resume      bool           // resume the session
	Imported    *document.File // continue from a document written by hand
	Predecessor *state.State   // begin from this complete session, which is archived
	NothingToDo bool           // nothing to do: the session is complete, or the user deleted it
	Idle        *plan.Plan     // the plan that shows that there is nothing to do; nil: there is none
}

// Starter decides how a build begins: from the flags, from the state directory, and from
// the answers of the user, if there is a terminal.
type Starter struct {
	change.Target
	Config *config.Config
	Person *view.Terminal // nil: there is no terminal to ask at
	Resume string         // the value of --resume: "", yes, auto, or a checkpoint
	Fresh  bool
	Yes    bool
	Call   string // the id of the call whose pipeline is built: it decides instead of Resume and Fresh

	ReadOnlyOptions func() runner.Options // returns the options of an engine that only reads
	Saved           *plan.Plan            // the plan of --plan, nil without it
	Selection       plan.Selection
	VariableFlags   string                    // the flags that set variables of the pipeline
	Command         func(flags string) string // returns the command that builds the pipeline, with more flags
	Finished        *change.FinishedRollback  // the rollback that was finished before anything was decided
	finishedFirst   bool                      // work that an earlier command left half done was finished before anything was decided

	// RunHooks runs the hooks of the last run that have not ended.
	RunHooks func(ctx context.Context, snap *checkpoint.Snapshot) error

	// RollBack rolls the session back to the checkpoint that --resume names.
	RollBack func(ctx context.Context) error

	// StateOfDocument returns the state that a document written by hand gives the
	// pipeline's session. The error is an *runner.ImportError that lists everything wrong
	// with the document.
	StateOfDocument func(*document.File) (*state.State, error)
}

// Begin decides how the build of a pipeline begins. Before that it goes back to the
// checkpoint that --resume names, and finishes what was cut short. It returns the session
// for which it decided.
func (s *Starter) Begin(ctx context.Context, p *pipeline.Pipeline) (Start, *checkpoint.Snapshot, error) {
	if err := s.refuseUntrusted(ctx); err != nil {
		return Start{}, nil, err
	}
	snap, err := change.ReadSession(s.Store, s.PRD)
	if err == nil {
		s.continueCall(snap)
		err = s.refuseUnfinished(p, snap)
	}
	if err != nil {
		return Start{}, nil, Explain(s.Env, nil, s.PRD, s.Command, err)
	}
	if snap, err = s.rollBackFirst(ctx, snap); err != nil {
		return Start{}, nil, err
	}
	if snap, err = s.finishFirst(ctx, snap); err != nil {
		return Start{}, nil, err
	}
	decided, err := s.decide(ctx, snap)
	return decided, snap, err
}

// continueCall makes the build of a called pipeline resume the session of the same call. It
// replaces a session of another call.
func (s *Starter) continueCall(snap *checkpoint.Snapshot) {
	switch {
	case s.Call == "":
	case snap.State == nil && snap.Document == nil:
		s.Resume, s.Fresh = "", false
	case snap.State != nil && snap.State.Caller != nil && snap.State.Caller.Call == s.Call:
		s.Resume, s.Fresh = ResumeAuto, false
	default:
		s.Resume, s.Fresh = "", true
	}
}

// finishFirst finishes, before anything is decided, the work that an earlier command left
// half done. Until then the recorded state is not the one from which the build would
// start. It returns the session after that.
func (s *Starter) finishFirst(ctx context.Context, snap *checkpoint.Snapshot) (_ *checkpoint.Snapshot, err error) {
	archiving, err := s.Store.Archiving(s.PRD)
	s.finishedFirst = err == nil && (archiving || change.Interrupted(snap))
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
	if s.Finished, err = s.FinishInterrupted(ctx); err != nil {
		return nil, err
	}
	return change.ReadSession(s.Store, s.PRD)
}

// refuseUnfinished refuses a build before a rollback that was cut short is finished, if
// the build would be refused after it.
func (s *Starter) refuseUnfinished(p *pipeline.Pipeline, snap *checkpoint.Snapshot) error {
	if snap.Owner != nil || !change.RollingBack(snap) {
		return nil
	}
	switch {
	case s.Saved != nil:
		return fmt.Errorf("%s: %w", s.PRD, runner.ErrPlanOutdated)
	case s.Resume == "" && !s.Fresh && s.Person == nil:
		return s.undecided("a rollback of %s was cut short")
	}
	return s.Selection.Check(p)
}

// rollBackFirst rolls the session back to the checkpoint that --resume names, if it names
// one. After that the build is an ordinary resume. rollBackFirst returns the session
// after the rollback.
func (s *Starter) rollBackFirst(ctx context.Context, snap *checkpoint.Snapshot) (*checkpoint.Snapshot, error) {
	if !NamesCheckpoint(s.Resume) {
		return snap, nil
	}
	if err := s.RollBack(ctx); err != nil {
		return nil, err
	}
	s.Resume, s.Yes = ResumeCurrent, true // the user has agreed to it
	return change.ReadSession(s.Store, s.PRD)
}

// NamesCheckpoint reports whether the value of --resume names a checkpoint.
func NamesCheckpoint(resume string) bool {
	return resume != "" && resume != ResumeCurrent && resume != ResumeAuto
}

// decide decides how the build begins. It runs the hooks that are due once it is certain
// that the build continues or replaces the session.
func (s *Starter) decide(ctx context.Context, snap *checkpoint.Snapshot) (Start, error) {
	s.continueCall(snap)
	asks := s.Resume == "" && !s.Fresh && (snap.State == nil || snap.State.Status != state.StatusComplete)
	if !asks {
		if err := s.RunHooks(ctx, snap); err != nil {
			return Start{}, err
		}
	}
	begin, err := s.choose(ctx, snap)
	if err == nil && asks && !begin.NothingToDo {
		err = s.RunHooks(ctx, snap)
	}
	return begin, err
}

func (s *Starter) choose(ctx context.Context, snap *checkpoint.Snapshot) (Start, error) {
	switch {
	case snap.Owner != nil:
		return Start{}, advice.LockedBy(s.PRD, *snap.Owner)
	case snap.State == nil && snap.Document == nil:
		return s.beginWithoutSession(ctx)
	case snap.State == nil:
		return s.beginFromDocument(ctx, snap.Document)
	case snap.State.Status == state.StatusComplete:
		if err := s.writeMissingDerived(ctx, snap); err != nil {
			return Start{}, err
		}
		if s.Resume != "" {
			return s.beginAfterComplete(ctx, snap.State, Start{resume: true})
		}
		return Start{Fresh: true, NoCache: s.Fresh}, s.refuseAgain()
	case s.Fresh:
		return Start{Fresh: true, NoCache: s.Fresh}, s.refuseAgain()
	case s.Resume != "":
		return s.resumeUnfinished(ctx, snap.State)
	}
	return s.askUser(ctx, snap)
}

// beginWithoutSession decides how the build begins if there is no session.
func (s *Starter) beginWithoutSession(ctx context.Context) (Start, error) {
	if s.Resume != "" {
		last, err := load.LastComplete(s.Store, s.PRD)
		if err != nil {
			return Start{}, err
		}
		if last != nil {
			return s.beginAfterComplete(ctx, nil, Start{Predecessor: last})
		}
	}
	if s.Resume != ResumeCurrent {
		return Start{}, s.refuseAgain()
	}
	return Start{}, NothingToResume(s.Env, s.Store, s.PRD, s.Command(""))
}

// NothingToResume returns the error of --resume without a session. Its hint names a
// session of another issue or lists the PRDs that have sessions, and says which command
// starts one.
func NothingToResume(env *cli.Environment, store *checkpoint.Store, prd, start string) error {
	err := advice.Usagef("there is no session of %s to resume", prd)
	hint := fmt.Sprintf("`runner %s` starts one", start)
	if elsewhere := load.OfOtherIssues(env, store, prd); elsewhere != "" {
		hint = load.InOtherIssue(elsewhere) + "; " + hint
	} else if prds, listErr := store.Reader().PRDs(); listErr == nil && len(prds) > 0 {
		hint = fmt.Sprintf("there are sessions of %s; %s", strings.Join(prds, ", "), hint)
	}
	return advice.With(err, hint)
}

// writeMissingDerived writes the files derived from a complete session if its runner was
// killed between the last commit and writing them, or lost power while it wrote them. No
// other command would write them.
func (s *Starter) writeMissingDerived(ctx context.Context, snap *checkpoint.Snapshot) error {
	if d := snap.Document; !snap.Unclean && d != nil && d.Runner != nil && d.Runner.Seq == snap.State.Seq {
		return nil
	}
	session, err := s.lockSoon(ctx)
	if err != nil {
		return err
	}
	unwritten := session.WriteDerived(ctx)
	if !advice.IsA[*checkpoint.DerivedError](unwritten) {
		return errors.Join(unwritten, session.Close())
	}
	second := session.WriteDerived(ctx)
	if second != nil && !advice.IsA[*checkpoint.DerivedError](second) {
		return errors.Join(second, session.Close())
	}
	if second != nil && s.Config.OnCheckpointError == record.Skip {
		return s.skipUnwritten(session, unwritten)
	}
	switch closed := session.Close(); {
	case second == nil || closed == nil: // Close tries once more
		fmt.Fprintf(s.Env.Stderr, "Warning: a checkpoint could not be written at first (%v), and was written when it was tried again\n", unwritten)
		return closed
	default:
		return advice.With(fmt.Errorf("%s is done, but %w: %w", s.PRD, ErrUnwritten, unwritten),
			fmt.Sprintf("once that can be written, `runner %s` does it; with on_checkpoint_error = \"skip\" it is passed over", s.Command(" --resume")))
	}
}

// skipUnwritten gives up the checkpoints that can't be written, as the configuration says.
// It warns the user about checkpoints that stay on record without a file.
func (s *Starter) skipUnwritten(session *checkpoint.Session, unwritten error) error {
	skipped, fileless := session.SkipDerived()
	fmt.Fprintln(s.Env.Stderr, "Warning: a checkpoint could not be written, and is skipped:", unwritten)
	if len(fileless) > 0 {
		fmt.Fprintln(s.Env.Stderr, "Warning:", record.LeftUnwritten(fileless))
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
func (s *Starter) beginAfterComplete(ctx context.Context, st *state.State, decided Start) (Start, error) {
	if s.Saved != nil || Chosen(s.Selection) {
		return decided, nil
	}
	o := s.ReadOnlyOptions()
	o.Predecessor, o.Imported = decided.Predecessor, decided.Imported
	idle, err := runner.Preview(ctx, o, st)
	switch {
	case err != nil:
		return Start{}, Explain(s.Env, st, s.PRD, s.Command, err)
	case !idle.Idle() && (!idle.IdleUnread() || o.OnStale != runner.StaleProceed):
		return decided, nil
	case s.Resume == ResumeAuto:
		fmt.Fprintf(s.Env.Stderr, "%s already complete\n", s.PRD)
		return Start{NothingToDo: true, Idle: idle}, nil
	}
	return Start{}, AlreadyComplete(s.PRD, s.Command(""))
}

// AlreadyComplete returns the error of a session that is complete, with nothing left to
// run or to plan.
func AlreadyComplete(prd, start string) error {
	return advice.With(fmt.Errorf("%s: %w", prd, ErrAlreadyComplete), fmt.Sprintf("`runner %s` starts a new session", start))
}

// Chosen reports whether the user chose what runs again, or limited what runs.
func Chosen(s plan.Selection) bool {
	return s.From != "" || len(s.Only)+len(s.Invalidate)+len(s.Repeat) > 0
}

// refuseAgain refuses --from and --invalidate for a new session, in which nothing can run
// again.
func (s *Starter) refuseAgain() error {
	if s.Selection.From == "" && len(s.Selection.Invalidate) == 0 {
		return nil
	}
	return advice.With(advice.Usagef("--from and --invalidate run something again, and this would be a new session"),
		fmt.Sprintf("`runner %s` with them resumes the session", s.Command(" --resume")))
}

// beginFromDocument decides how the build begins if there is only a document written by
// hand.
func (s *Starter) beginFromDocument(ctx context.Context, d *document.File) (Start, error) {
	switch {
	case s.Fresh:
		return Start{Fresh: true, NoCache: s.Fresh}, nil
	case s.Resume == "" && s.Person == nil:
		return Start{}, s.undecided("there is a document of %s already")
	}
	st, err := s.StateOfDocument(d)
	if err != nil {
		return Start{}, Explain(s.Env, nil, s.PRD, s.Command, err)
	}
	switch {
	case d.Status == state.StatusComplete && s.Resume != "":
		return s.beginAfterComplete(ctx, nil, Start{Imported: d})
	case d.Status == state.StatusComplete:
		return Start{Fresh: true, NoCache: s.Fresh}, s.refuseAgain()
	case s.Resume != "":
		return s.resumeDocument(ctx, d, st)
	}
	question := fmt.Sprintf("%s.json was written by hand. Continue from it?", s.PRD)
	if d.Imported != nil {
		question = fmt.Sprintf("%s.json was made of a checkpoint of %s. Continue from it?", s.PRD, d.Imported.Format)
	}
	s.Env.Signals.Unchanged(!s.finishedFirst)
	if err := cli.Confirm(ctx, s.Person, s.Yes, question); err != nil {
		return Start{}, err
	}
	s.Env.Signals.Unchanged(false)
	return Start{Imported: d}, nil
}

// resumeDocument decides for --resume of a document written by hand, as for a session in
// the state that the document describes. st is the state that the document gives a
// session.
func (s *Starter) resumeDocument(ctx context.Context, d *document.File, st *state.State) (Start, error) {
	st.Status, st.Error = d.Status, info.WrittenFailure(d)
	if d.Status != state.StatusInProgress { // if it is, its author was at work, and may not have ended properly
		st.RunningAt = nil
	}
	decided, err := s.resumeUnfinished(ctx, st)
	if err != nil || decided.Fresh {
		return decided, err
	}
	return Start{Imported: d}, nil
}

// undecided returns a usage error whose hint names --resume and --fresh.
func (s *Starter) undecided(what string) error {
	return advice.With(advice.Usagef(what, s.PRD),
		fmt.Sprintf("`runner %s` resumes it, `runner %s` archives it and starts over", s.Command(" --resume"), s.Command(" --fresh")))
}

// resumeUnfinished decides for --resume of an unfinished session. It asks the user if
// resuming may be a mistake. It never asks with --resume=auto or --yes.
func (s *Starter) resumeUnfinished(ctx context.Context, st *state.State) (Start, error) {
	decided := Start{resume: true}
	if s.Person == nil || s.Yes || s.Resume == ResumeAuto {
		s.printState(st)
		return decided, nil
	}
	switch {
	case st.Status == state.StatusFailed:
		return decided, askFixed(ctx, s.Person, st)
	case st.WasKilled():
		choice, err := askKilled(ctx, s.Person, st)
		return Start{resume: choice == choiceResume, Fresh: choice == choiceFresh, NoCache: choice == choiceFresh}, err
	}
	s.printState(st)
	return decided, nil
}

// printState tells the user what state the session was in, if the build resumes it without
// asking.
func (s *Starter) printState(st *state.State) {
	switch {
	case st.Abandoned:
		fmt.Fprintf(s.Env.Stderr, "%s was abandoned; resuming\n", s.PRD)
	case st.Status == state.StatusFailed && st.Error != nil:
		fmt.Fprintf(s.Env.Stderr, "%s failed: %s; resuming\n", s.PRD, view.Summary(*st.Error))
	case st.WasKilled() && st.Session == "": // a document written by hand
		fmt.Fprintf(s.Env.Stderr, "%s is in progress, and how that ended is not on record; resuming\n", s.PRD)
	case st.WasKilled():
		fmt.Fprintf(s.Env.Stderr, "%s %s; resuming\n", s.PRD, view.WasKilled)
	case st.Status == state.StatusPaused && info.LastPassedGate(st) != "":
		fmt.Fprintf(s.Env.Stderr, "Last gate passed: %s\n", view.OneLine(info.LastPassedGate(st)))
	}
}

// LockDecided locks the session for which the build was decided. It is an error if another
// process has changed the session since, such as while the user was thinking.
func (s *Starter) LockDecided(ctx context.Context, decided Start, snap *checkpoint.Snapshot) (*checkpoint.Session, error) {
	target := s.Target
	target.Leaves = decided.Fresh
	session, _, err := target.Lock(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.refuseHalfRestored(); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	was, is := snap.State, session.State()
	if (was == nil) != (is == nil) || was != nil && (was.Session != is.Session || was.Status != is.Status) {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.PRD, runner.ErrPlanOutdated), session.Close())
	}
	return session, nil
}

// refuseHalfRestored refuses to build while a safety checkpoint may be restored in part.
func (s *Starter) refuseHalfRestored() error {
	err := s.Store.Safety().CheckRestored()
	var half *safety.UnfinishedRestoreError
	if errors.As(err, &half) {
		return advice.With(err, advice.UnfinishedRestore(half.Interrupted))
	}
	return err
}

// lockSoon locks the session. It waits a moment for the lock, which a short command, such
// as approve, may hold.
func (s *Starter) lockSoon(ctx context.Context) (session *checkpoint.Session, err error) {
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

// refuseUntrusted refuses to build on state that git tracks. With --fresh it sets that
// state aside instead.
func (s *Starter) refuseUntrusted(ctx context.Context) error {
	untrusted, err := s.Store.Untrusted(ctx, s.PRD)
	switch {
	case err != nil:
		return err
	case untrusted == nil:
		return nil
	case s.Fresh:
		return change.SetUntrustedAside(ctx, s.Env, s.Store, s.PRD, "build --fresh")
	}
	return untrusted
}
