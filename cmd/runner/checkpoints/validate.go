package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type validateOptions struct {
	prd        string
	references []string
	deep       bool
	mark       bool
	json       bool
}

func newValidateCommand(env *cli.Environment) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate [PRD] [CHECKPOINT]...",
		Short: "Check that checkpoints are intact",
		Long: `Check that checkpoints can be restored: their files, checksums and states, the
objects that they need, and their commits in git. Without CHECKPOINT, check every
session of the PRD, including its journal, document and manifest; without PRD, of
all PRDs. Nothing is changed, unless --mark is given. Exit 5 if anything is
damaged.`,
		Example: `  runner checkpoint validate PRD-009 --deep`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.prd = cli.FirstArgument(args); o.prd != "" {
				o.references = args[1:]
			}
			return runValidate(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.deep, "deep", false, "read every object, instead of only checking that it exists")
	flags.BoolVar(&o.mark, "mark", false, "record which checkpoints are damaged; with --deep, also which are intact again")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runValidate(ctx context.Context, env *cli.Environment, o validateOptions) error {
	if o.mark && o.prd == "" {
		return advice.Usagef("--mark changes the session of one PRD: name it")
	}
	store, err := load.OpenAnyStore(env, o.prd)
	if err != nil {
		return err
	}
	return load.WithWorkspace(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) error {
		found, err := validate.Run(ctx, store, w, validate.Options{PRD: o.prd, Refs: o.references, Deep: o.deep})
		if errors.Is(err, checkpoint.ErrNoSession) {
			return load.NoSession(env, store, o.prd)
		}
		if err != nil {
			return advice.UnknownReference(o.prd, err)
		}
		var marks *validate.Marks
		if o.mark {
			if marks, err = markFound(ctx, env, store, w, o, found); err != nil {
				return err
			}
		}
		switch {
		case o.json:
			err = show.JSON(env.Stdout, info.NewValidationReport(env.CommandLine, o.prd, found, marks))
		case len(found.Sessions) == 0:
			_, err = fmt.Fprintln(env.Stdout, "There are no sessions to validate")
		default:
			err = show.Validation(env.Stdout, env.CommandLine, found, marks)
		}
		switch unread := found.Unread(); {
		case err != nil:
		case errors.Is(unread, fs.ErrPermission):
			err = unread
		case found.Damaged():
			err = ErrDamageShown
		}
		return err
	})
}

// markFound validates again under the lock, and records the findings. It can't record
// anything if the journal is damaged.
func markFound(ctx context.Context, env *cli.Environment, store *checkpoint.Store, w *workspace.Workspace, o validateOptions, found *validate.Validation) (*validate.Marks, error) {
	for _, s := range found.Sessions {
		if s.Place == disk.PlaceCurrent && s.Journal != nil {
			return nil, nil
		}
	}
	var marks validate.Marks
	record := checkpoint.AuditRecord{What: "checkpoint validate --mark", Args: state.Texts(o.references)}
	t := &change.Target{Env: env, Store: store, PRD: o.prd, Files: w}
	err := t.Change(ctx, &record, func(session *checkpoint.Session) error {
		now, err := validate.Run(ctx, store, w, validate.Options{PRD: o.prd, Refs: o.references, Deep: o.deep})
		if err == nil {
			*found = *now
			marks, err = validate.Mark(ctx, session, found)
			auditMarks(&record, session.State(), marks)
		}
		return err
	})
	return &marks, err
}

// auditMarks adds to an audit record the checkpoints that were marked and why, and those
// that are intact again.
func auditMarks(record *checkpoint.AuditRecord, st *state.State, marks validate.Marks) {
	record.IDs = slices.Concat(marks.Marked, marks.Unmarked)
	var why []string
	for _, ref := range st.Checkpoints {
		if ref.Damage != nil && slices.Contains(marks.Marked, ref.ID) {
			why = append(why, string(ref.Damage.Reason))
		}
	}
	if len(marks.Unmarked) > 0 {
		why = append(why, "whole again")
	}
	record.Because(why...)
}
