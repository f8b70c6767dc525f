package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
)

// terminal returns the terminal at which the user can be asked, nil without one. A command
// calls it once, because two readers of one input would take each other's lines.
func (e *environment) terminal() *view.Terminal {
	if !e.interactive() {
		return nil
	}
	return view.NewTerminal(e.stdin, e.stderr.Raw, e.actor(), e.color(e.stderr), e.lookup("TERM") != "dumb")
}

// confirm asks before a command discards something. Without --yes and without a terminal
// it returns an error that names --yes.
func confirm(ctx context.Context, person *view.Terminal, yes bool, question string) error {
	if yes {
		return nil
	}
	if person == nil {
		return advice.With(advice.Usagef("there is no terminal to ask at: %s", question), "add --yes")
	}
	ok, err := person.Confirm(ctx, question)
	if err != nil {
		return err
	}
	if !ok {
		return runner.ErrDeclined
	}
	return nil
}

// longRestore is the number of files from which restoring takes long enough for the user
// to wonder.
const longRestore = 100

// sayRestoring tells the user at a terminal that files are being restored, if that takes a
// while.
func sayRestoring(env *environment, count int, asJSON bool) {
	quiet := env.options.output == string(view.Quiet) || env.options.output == string(view.JSON)
	if count >= longRestore && !asJSON && !quiet && env.isTerminal(env.stderr) {
		fmt.Fprintf(env.stderr, "Restoring %s…\n", view.Plural(count, "file"))
	}
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
	fmt.Fprintf(&b, "Progress: %s\n", show.Progress(st))
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
	person.Say(fmt.Sprintf("%s was running, and how it ended is not on record. What was not finished will run again.\n", st.PRD))
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
