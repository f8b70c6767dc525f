package checkpoints

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type archiveOptions struct {
	prd    string
	reason string
	json   bool
}

func newArchiveCommand(env *cli.Environment) *cobra.Command {
	var o archiveOptions
	cmd := &cobra.Command{
		Use:   "archive PRD",
		Short: "Archive the current session",
		Long: `Archive the current session of a PRD with its journal, document, logs and
checkpoints. A complete session goes to history/ in the directory of the PRD, and
"runner build --resume" still takes over its results. Any other session goes to
failed/; to resume it later, export it with "runner checkpoint export --session"
and import it with "runner checkpoint import". Nothing is deleted, and files of the
workspace are not changed.

If a rollback was cut short, archive finishes it first, which does change
files. If files were edited since, archive makes a checkpoint of the edits and
stops after the rollback, without archiving the session.`,
		Example: `  runner checkpoint archive PRD-009 --reason "begun anew elsewhere"`,
		Args:    cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			return runArchive(cmd.Context(), env, o)
		},
	}
	cmd.Flags().StringVarP(&o.reason, "reason", "m", "", "record `TEXT` as the reason")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runArchive(ctx context.Context, env *cli.Environment, o archiveOptions) error {
	store, st, err := load.State(env, o.prd)
	if err != nil {
		return err
	}
	t := &change.Target{Env: env, Store: store, PRD: o.prd}
	t.Finish = func(ctx context.Context, session *checkpoint.Session) (*change.FinishedRollback, error) {
		done, err := t.FinishEarlier(ctx, session)
		return done, errors.Join(err, done.RefuseToLeave(env))
	}
	var at string
	unfinished := ""
	record := checkpoint.AuditRecord{What: "checkpoint archive", Reason: state.Text(o.reason)}
	err = t.Change(ctx, &record, func(session *checkpoint.Session) (err error) {
		if st := session.State(); st != nil && st.Status != state.StatusComplete {
			unfinished = st.Session
		}
		at, err = session.Archive(ctx, env.Actor(), o.reason)
		return err
	})
	if err != nil {
		return err
	}
	if o.json {
		return show.JSON(env.Stdout, info.NewArchiveReport(o.prd, st.Session, at))
	}
	fmt.Fprintf(env.Stdout, "Archived %s under %s\n", o.prd, env.Display(at))
	if unfinished != "" {
		show.BringBack(env.Stdout, env.CommandLine, o.prd, unfinished)
	}
	return nil
}
