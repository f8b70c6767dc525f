package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

type deleteOptions struct {
	prd        string
	references []string
	session    bool
	force      bool
	dryRun     bool
	yes        bool
	json       bool
	reason     string
}

func newDeleteCommand(env *cli.Environment) *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:   "delete PRD [CHECKPOINT]...",
		Short: "Delete checkpoints or the whole session",
		Long: `Delete checkpoints, and the objects that nothing else needs. Pinned checkpoints
are not deleted, and the newest valid one only with --force. The session can be
resumed without its checkpoints, from its journal.

With --session, delete the current session: its journal, document, logs and
checkpoints. Archived sessions stay.`,
		Example: `  runner checkpoint delete PRD-009 CP-services-20261003T1845
  runner checkpoint delete PRD-009 --session`,
		Args: cli.Arguments(1, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.references = args[0], args[1:]
			if o.session == (len(o.references) > 0) {
				return advice.With(advice.Usagef("name the checkpoints to delete, or --session"), "`runner checkpoint list "+o.prd+"` lists them")
			}
			return runDelete(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.session, "session", false, "delete the current session and everything that belongs to it")
	flags.BoolVar(&o.force, "force", false, "delete even the newest valid checkpoint")
	flags.StringVarP(&o.reason, "reason", "m", "", "record `TEXT` as the reason")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would be deleted, and change nothing")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runDelete(ctx context.Context, env *cli.Environment, o deleteOptions) (err error) {
	store, snap, err := load.Session(env, o.prd)
	if err != nil && (!o.session || !advice.IsA[*state.DamagedError](err)) {
		return err
	}
	if snap == nil {
		snap = &checkpoint.Snapshot{}
	}
	if snap.Owner != nil && !o.dryRun {
		return advice.LockedBy(o.prd, *snap.Owner)
	}
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	w, err := load.OpenWorkspace(ctx, env, cfg, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	d := &deletion{Target: change.Target{Env: env, Store: store, PRD: o.prd, Files: w}, state: snap.State, o: o}
	if o.session {
		return d.deleteSession(ctx, snap)
	}
	if snap.State == nil {
		return advice.HandWritten(o.prd)
	}
	return d.deleteCheckpoints(ctx)
}

// deletion is one run of the command.
type deletion struct {
	change.Target
	state   *state.State // before anything was deleted; nil if it can't be read
	o       deleteOptions
	objects info.Collection
}

func (d *deletion) deleteCheckpoints(ctx context.Context) error {
	options := prune.DeleteOptions{References: d.o.references, Force: d.o.force, Reason: d.o.reason}
	plan, err := prune.PlanDelete(ctx, d.Store, d.o.prd, options)
	if err != nil {
		return d.addHint(err)
	}
	objects, err := prune.PlanCollect(ctx, d.Store, d.Files, plan)
	if err := takeCollected(d.Env, &d.objects, objects, err); err != nil {
		return err
	}
	if d.o.dryRun {
		return d.printDeleted(d.Env.Stdout, plan)
	}
	if !d.o.yes {
		if err := show.DeletePreview(d.Env.Stderr, plan); err != nil {
			return err
		}
	}
	question := fmt.Sprintf("Delete %s of %s?", view.Plural(len(plan.Checkpoints), "checkpoint"), d.o.prd)
	if err := cli.Confirm(ctx, d.Env.Terminal(), d.o.yes, question); err != nil {
		return err
	}
	// Name the checkpoints by id: a name such as latest~1 means another checkpoint once
	// this one is deleted.
	options.References = nil
	for _, c := range plan.Checkpoints {
		options.References = append(options.References, c.ID)
	}
	d.Env.Signals.ResumeWith(d.Env.Command("checkpoint delete " + text.ShellWord(d.o.prd) + " " + strings.Join(options.References, " ")))
	session, _, err := d.Lock(ctx)
	if err != nil {
		return err
	}
	var done *prune.Pruned
	record := checkpoint.AuditRecord{What: "checkpoint delete", Args: state.Texts(d.o.references), Reason: state.Text(d.o.reason)}
	err = d.CarryOut(session, &record, func(session *checkpoint.Session) (err error) {
		done, err = prune.Delete(ctx, session, options)
		done.AddTo(&record)
		return err
	})
	if err != nil {
		return d.addHint(err)
	}
	d.Env.Signals.ResumeWith(d.Env.Command("checkpoint prune " + text.ShellWord(d.o.prd)))
	if err := collect(ctx, d.Env, d.Store, d.Files, &d.objects); err != nil {
		return err
	}
	return d.printDeleted(d.Env.Stdout, done)
}

func (d *deletion) printDeleted(w io.Writer, p *prune.Pruned) error {
	if d.o.json {
		return show.JSON(w, info.NewDeleteReport(p, &d.objects, d.o.dryRun))
	}
	var resume []advice.Suggestion
	if d.o.force {
		resume = advice.Resume(d.state, "", "")
	}
	return show.Deleted(w, d.Env.CommandLine, p, &d.objects, d.o.dryRun, resume...)
}

// addHint adds a hint to the error of a checkpoint that can't be deleted: the command or
// flag with which it can.
func (d *deletion) addHint(err error) error {
	var kept *prune.KeptError
	switch {
	case !errors.As(err, &kept):
		return advice.Archived(d.Env.CommandLine, d.Store, d.o.prd, advice.UnknownReference(d.o.prd, advice.Locked(d.o.prd, err)))
	case kept.Pinned:
		return advice.With(&advice.UsageError{Err: err}, fmt.Sprintf("`runner checkpoint unpin %s %s` first", d.o.prd, kept.ID))
	case kept.Newest:
		return advice.With(&advice.UsageError{Err: err}, "--force deletes it anyway; the session's state stays in its journal")
	}
	return advice.With(&advice.UsageError{Err: err}, fmt.Sprintf("`runner build %s --resume` finishes the rollback", d.o.prd))
}

func (d *deletion) deleteSession(ctx context.Context, snap *checkpoint.Snapshot) error {
	what, id := "damaged", ""
	if snap.State != nil {
		what, id = info.Progress(snap.State), snap.State.Session
	}
	question := fmt.Sprintf("Delete the session of %s (%s), with its journal, document, logs and checkpoints? It cannot be brought back.", d.o.prd, what)
	if !d.o.dryRun {
		if err := cli.Confirm(ctx, d.Env.Terminal(), d.o.yes, question); err != nil {
			return err
		}
		record := checkpoint.AuditRecord{
			What: "checkpoint delete --session", PRD: d.o.prd, Session: id, Reason: state.Text(d.o.reason),
		}
		err := change.WithAudit(d.Env, d.Store, &record, func() error { return d.Store.DeleteSession(ctx, d.o.prd, d.Env.Actor()) })
		if err != nil {
			return advice.Rollback(d.o.prd, err)
		}
		if err := collect(ctx, d.Env, d.Store, d.Files, &d.objects); err != nil {
			return err
		}
	}
	if d.o.json {
		return show.JSON(d.Env.Stdout, info.NewDeletedSessionReport(d.o.prd, id, &d.objects, d.o.dryRun))
	}
	return show.DeletedSession(d.Env.Stdout, d.o.prd, what, &d.objects, d.o.dryRun)
}
