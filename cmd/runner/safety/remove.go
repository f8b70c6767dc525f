package safety

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

// RemoveOptions say which safety checkpoints are removed, and how.
type RemoveOptions struct {
	Pipeline load.PipelineRef // has the savepoints
	Names    []string         // for Delete
	Force    bool             // for Delete: even those that a workstream may have to be rolled back to
	DryRun   bool
	Yes      bool
	Reason   string
	Format   Format
}

// Delete removes the safety checkpoints that are named, expired or not. Their objects stay
// until `checkpoint prune`.
func Delete(ctx context.Context, env *cli.Environment, o RemoveOptions) error {
	return inPlace(ctx, env, o.Pipeline, func(p *place) error {
		r := &removal{place: p, o: o, what: "safety delete"}
		var err error
		if r.needed, err = p.store.Protecting(); err != nil && !o.Force {
			return err
		}
		for _, name := range o.Names {
			id, err := p.saved.Find(name)
			if _, ok := r.needed[name]; ok && o.Force && err != nil {
				id, err = name, nil // it is gone, and the session still waits for its rollback
			}
			if err != nil {
				return unknown(err)
			}
			c, err := p.saved.Read(id)
			if err != nil {
				c = &safety.Checkpoint{ID: id} // it is damaged, and deleting it is the remedy
			}
			r.removed = append(r.removed, c)
		}
		return r.run(ctx)
	})
}

// Prune removes the safety checkpoints that have expired, and what interrupted commands
// left.
func Prune(ctx context.Context, env *cli.Environment, o RemoveOptions) error {
	return inPlace(ctx, env, o.Pipeline, func(p *place) error {
		all, _, err := p.saved.List()
		if err != nil {
			return err
		}
		half, err := p.saved.Interrupted()
		if err != nil {
			return err
		}
		needed, err := p.store.Protecting()
		if err != nil {
			return err
		}
		expired := slices.DeleteFunc(safety.Expired(all, p.store.Now()), func(c *safety.Checkpoint) bool {
			_, protects := needed[c.ID]
			return protects || half.Involves(c.ID)
		})
		r := &removal{place: p, o: o, what: "safety prune", tidies: true, removed: expired}
		return r.run(ctx)
	})
}

// removal is one run of a command that removes safety checkpoints.
type removal struct {
	*place
	o          RemoveOptions
	what       string // the command
	removed    []*safety.Checkpoint
	needed     map[string]checkpoint.Protecting // the checkpoints that sessions need
	tidies     bool                             // it also removes what interrupted commands left
	unfinished []string                         // which it has removed
}

// run shows what is to go, asks, and removes it.
func (r *removal) run(ctx context.Context) error {
	ids := make([]string, len(r.removed))
	for i, c := range r.removed {
		ids[i] = c.ID
	}
	if !r.o.Force {
		if err := refuseProtecting(r.needed, ids); err != nil {
			return err
		}
	}
	if r.o.DryRun {
		if r.tidies {
			tidied, err := r.saved.Tidy(ctx, r.files, true)
			if err != nil {
				return err
			}
			r.unfinished = tidied.Unfinished
		}
		return r.answer()
	}
	if len(r.removed) > 0 {
		question := fmt.Sprintf("Remove %s, which then can't be restored?", view.Plural(len(r.removed), "safety checkpoint"))
		if err := cli.Confirm(ctx, r.env.Terminal(), r.o.Yes, question); err != nil {
			return err
		}
	}
	if err := r.giveUp(ctx, r.needed, ids); err != nil {
		return err
	}
	record := checkpoint.AuditRecord{What: r.what, Args: state.Texts(r.o.Names), Reason: state.Text(r.o.Reason)}
	err := change.WithAudit(r.env, r.store, &record, func() error {
		return r.locked(func() error { return r.carryOut(ctx, &record) })
	})
	if err != nil && len(record.IDs)+len(r.unfinished) == 0 {
		return r.explainCopy(err)
	}
	r.removed = slices.DeleteFunc(r.removed, func(c *safety.Checkpoint) bool { return !slices.Contains(record.IDs, c.ID) })
	return errors.Join(r.answer(), r.explainCopy(err))
}

// carryOut removes the checkpoints, except for those with the copy of a database on a
// server that can't be reached. The caller holds the lock.
func (r *removal) carryOut(ctx context.Context, record *checkpoint.AuditRecord) error {
	half, err := r.saved.Interrupted()
	if err != nil {
		return err
	}
	var left error
	for _, c := range r.removed {
		if half.Involves(c.ID) {
			if v, err := r.saved.Verify(ctx, r.files, c); err != nil {
				return err
			} else if v.OK() {
				return advice.With(&safety.UnfinishedRestoreError{Interrupted: *half}, advice.UnfinishedRestore(*half))
			}
		}
		switch err := r.saved.Delete(ctx, r.files, c.ID); {
		case advice.IsA[*safety.CopyError](err):
			left = errors.Join(left, err)
		case err != nil:
			return err
		default:
			record.IDs = append(record.IDs, c.ID)
		}
	}
	if !r.tidies {
		return left
	}
	tidied, err := r.saved.Tidy(ctx, r.files, false)
	r.unfinished = tidied.Unfinished
	return errors.Join(left, err)
}

func (r *removal) answer() error {
	all, _, err := r.saved.List()
	if err != nil {
		return err
	}
	kept := len(all)
	if r.o.DryRun {
		kept -= len(r.removed)
	}
	report := info.NewSafetyRemovedReport(r.removed, r.unfinished, kept, r.o.DryRun, r.store.Now())
	return r.print(r.o.Format, report, func() error { return show.SafetyRemoved(r.env.Stdout, report) })
}
