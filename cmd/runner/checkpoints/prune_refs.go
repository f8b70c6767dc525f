package checkpoints

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

// findForeign finds captures that other state directories made. It finds none if it is
// unknown what the sessions here need.
func (p *pruning) findForeign(ctx context.Context) (err error) {
	p.Foreign, err = prune.FindForeignRefs(ctx, p.store, p.files)
	if advice.IsA[*prune.NotCollectedError](err) {
		return nil // the collection reports the reason
	}
	return err
}

// runPruneRefs removes the captures of a state directory that no longer exists.
func runPruneRefs(ctx context.Context, env *cli.Environment, store *checkpoint.Store, w *workspace.Workspace, o pruneOptions) error {
	all, err := prune.FindForeignRefs(ctx, store, w)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(of prune.ForeignRefs) bool { return of.ID == o.refsOf })
	if at < 0 {
		return advice.With(advice.Usagef("git has no captures of another state directory %s", o.refsOf), "`runner checkpoint prune --dry-run` names those it has captures of")
	}
	of := all[at]
	if !o.dryRun {
		if of, err = removeRefs(ctx, env, store, w, o, of); err != nil {
			return err
		}
	}
	if o.json {
		return show.JSON(env.Stdout, info.NewPrunedRefsReport(of, o.dryRun))
	}
	return show.PrunedRefs(env.Stdout, of, o.dryRun)
}

// removeRefs asks, and removes the captures that no session here needs. It returns the
// captures that it removed and kept, as determined under the lock.
func removeRefs(ctx context.Context, env *cli.Environment, store *checkpoint.Store, w *workspace.Workspace, o pruneOptions, of prune.ForeignRefs) (prune.ForeignRefs, error) {
	question := fmt.Sprintf("Remove %s from git? If state directory %s is not gone, its sessions can't go back to them any more",
		view.Plural(len(of.Refs)-len(of.Kept), "capture"), of.ID)
	if err := cli.Confirm(ctx, env.Terminal(), o.yes, question); err != nil {
		return of, err
	}
	record := checkpoint.AuditRecord{What: "checkpoint prune", Args: []state.Text{state.Text("--refs-of " + of.ID)}}
	err := change.WithAudit(env, store, &record, func() (err error) {
		if of, err = prune.RemoveForeignRefs(ctx, store, w, of.ID); err == nil {
			record.IDs = slices.DeleteFunc(slices.Clone(of.Refs), func(ref string) bool { return slices.Contains(of.Kept, ref) })
			record.Because("captures of another state directory, which is gone")
		}
		return err
	})
	return of, err
}
