package begin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
)

// askUser asks the user what to do with an unfinished session. The flags do not say it.
func (s *Starter) askUser(ctx context.Context, snap *checkpoint.Snapshot) (Start, error) {
	if s.Person == nil {
		return Start{}, s.undecided("there is an unfinished session of %s")
	}
	s.Env.Signals.Unchanged(!s.finishedFirst)
	o := s.ReadOnlyOptions()
	o.Select = s.Selection
	plan, planErr := runner.Preview(ctx, o, snap.State)
	if ctx.Err() != nil {
		return Start{}, context.Cause(ctx)
	}
	for {
		choice, err := askResume(ctx, s.Person, snap.State, plan, s.Env.Now())
		if err != nil {
			return Start{}, err
		}
		switch choice {
		case choiceResume:
			s.Env.Signals.Unchanged(false)
			return Start{resume: true}, nil
		case choiceFresh:
			s.Env.Signals.Unchanged(false)
			return Start{Fresh: true, NoCache: true}, nil
		case choiceDelete:
			return Start{NothingToDo: true}, s.remove(ctx)
		case choiceView:
			if err := s.showDetails(ctx, snap); err != nil {
				return Start{}, err
			}
		case choicePlan:
			if planErr != nil {
				return Start{}, Explain(s.Env, snap.State, s.PRD, s.Command, planErr)
			}
			if err := view.WritePlan(s.Env.Stderr.Raw, plan, view.PlanOptions{Color: s.Env.Color(s.Env.Stderr), Columns: s.Env.Stderr.Width()}); err != nil {
				return Start{}, err
			}
		}
	}
}

// showDetails shows the session, and the contents of its current checkpoint.
func (s *Starter) showDetails(ctx context.Context, snap *checkpoint.Snapshot) error {
	if err := show.Status(s.Env.Stderr, s.Env.CommandLine, load.Status(s.Env, s.PRD, snap), show.StatusOptions{Now: s.Env.Now()}); err != nil {
		return err
	}
	ref := snap.State.CurrentCheckpoint()
	if ref == nil {
		return nil
	}
	found, err := rollback.Inspect(ctx, s.Store, s.Files, s.PRD, ref.ID)
	switch {
	case err != nil:
		return err
	case found.File == nil:
		return found.Unread
	case !found.Check.Whole():
		return change.ReportDamage(ctx, s.Env, s.Store, s.Files, snap.State, ref.ID, found.Check.Reason())
	}
	return show.Checkpoint(s.Env.Stderr, s.Env.CommandLine, s.Env.Now(), found)
}

// remove deletes the session after a confirmation, and starts no other one.
func (s *Starter) remove(ctx context.Context) error {
	if err := s.Finished.RefuseToLeave(s.Env); err != nil {
		return err
	}
	question := fmt.Sprintf("Delete the session of %s, its checkpoints and logs? This cannot be undone.", s.PRD)
	if err := cli.Confirm(ctx, s.Person, s.Yes, question); err != nil {
		return err
	}
	s.Env.Signals.Unchanged(false)
	session, _, err := change.LastTarget(s.Env, s.Store, s.PRD).Lock(ctx)
	if err != nil {
		return err
	}
	record := checkpoint.AuditRecord{What: "delete at the resume prompt", PRD: s.PRD}
	if st := session.State(); st != nil {
		record.Session = st.Session
	}
	if err := session.Close(); err != nil {
		return err
	}
	err = change.WithAudit(s.Env, s.Store, &record, func() error {
		if err := s.Store.DeleteSession(ctx, s.PRD, s.Env.Actor()); err != nil {
			return err
		}
		_, err := prune.Collect(ctx, s.Store, s.Files)
		if advice.IsA[*prune.NotCollectedError](err) {
			return nil // the next prune collects the objects
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Env.Stderr, "Deleted the session of %s\n", s.PRD)
	return nil
}

// resumeChoice is an answer to the resume prompt.
type resumeChoice string

const (
	choiceResume resumeChoice = "r"
	choiceFresh  resumeChoice = "s"
	choiceView   resumeChoice = "v"
	choiceDelete resumeChoice = "d"
	choicePlan   resumeChoice = "p"
)

// askResume is the prompt about an unfinished session. plan is the plan for resuming it,
// nil if it can't be planned.
func askResume(ctx context.Context, person *view.Terminal, st *state.State, plan *plan.Plan, now time.Time) (resumeChoice, error) {
	person.Say(resumePrompt(st, plan, now))
	key, err := person.Choose(ctx, "Choice [r/s/v/d/p]: ", []view.Choice{
		{Key: string(choiceResume), Word: "resume"},
		{Key: string(choiceFresh), Word: "start"},
		{Key: string(choiceView), Word: "view"},
		{Key: string(choiceDelete), Word: "delete"},
		{Key: string(choicePlan), Word: "plan"},
	})
	if errors.Is(err, view.ErrNoAnswer) {
		return "", runner.ErrDeclined
	}
	return resumeChoice(key), err
}

func resumePrompt(st *state.State, plan *plan.Plan, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Found existing checkpoint for %q\n", view.OneLine(titleOf(st.PRD, st.Title)))
	fmt.Fprintf(&b, "Created: %s (%s)\n", st.CreatedAt.UTC().Format(time.DateTime), view.Ago(now, st.CreatedAt))
	if c := st.CurrentCheckpoint(); c != nil {
		fmt.Fprintf(&b, "Checkpoint: %s (%s, %s)\n", c.ID, c.Trigger, view.Ago(now, c.CreatedAt))
	}
	fmt.Fprintf(&b, "Progress: %s\n", info.Progress(st))
	if st.Status == state.StatusFailed && st.Error != nil {
		fmt.Fprintf(&b, "Failed: %s\n", view.Summary(*st.Error))
	}
	fmt.Fprintf(&b, `
Options:
  (r)esume - %s
  (s)tart fresh - Archive this session under failed/ and start over
  (v)iew details - Show checkpoint contents
  (d)elete - Remove this session without starting
  (p)lan - Show what (r)esume would do, step by step, and why

`, continueFrom(plan))
	return b.String()
}

func titleOf(prd, title string) string {
	if title == "" {
		return prd
	}
	return title
}

// continueFrom names the step with which a resumed session begins. It may be before the
// phase that the session has reached, because steps whose inputs changed run again.
func continueFrom(plan *plan.Plan) string {
	if plan == nil {
		return "Continue"
	}
	return "Continue from " + view.Beginning(plan)
}

// askFixed asks whether the cause of a session's failure has been fixed.
func askFixed(ctx context.Context, person *view.Terminal, st *state.State) error {
	message := "the reason is not on record"
	if st.Error != nil {
		message = view.Summary(*st.Error)
	}
	person.Say(fmt.Sprintf("%s failed: %s\n", st.PRD, message))
	fixed, err := person.ConfirmYes(ctx, "Is it fixed? Resume?")
	if err != nil {
		return err
	}
	if !fixed {
		return runner.ErrDeclined
	}
	return nil
}

// askKilled asks what to do with a session whose runner was killed.
func askKilled(ctx context.Context, person *view.Terminal, st *state.State) (resumeChoice, error) {
	person.Say(fmt.Sprintf("%s %s. What was not finished will run again.\n", st.PRD, view.WasKilled))
	key, err := person.Choose(ctx, "(c)ontinue, (s)tart over, (q)uit: ", []view.Choice{
		{Key: "c", Word: "continue"}, {Key: "s", Word: "start"}, {Key: "q", Word: "quit"},
	})
	switch {
	case errors.Is(err, view.ErrNoAnswer):
		return "", runner.ErrDeclined
	case err != nil:
		return "", err
	case key == "c":
		return choiceResume, nil
	case key == "s":
		return choiceFresh, nil
	}
	return "", runner.ErrDeclined
}
