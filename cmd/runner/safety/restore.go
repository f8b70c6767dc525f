package safety

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

// RestoreOptions say how a safety checkpoint is restored.
type RestoreOptions struct {
	PRD    string
	Name   string
	Force  bool // overwrite newer work, and what can't be copied first
	DryRun bool
	Manual bool
	Yes    bool
	NoUndo bool
	Reason string
	Format Format
}

// undoExpiry is for how long the copy from before a restore is kept.
const undoExpiry = 7 * 24 * time.Hour

// Restore restores a safety checkpoint. It shows what changes, asks, and first makes
// another one of what it changes, so that the restore can be undone.
func Restore(ctx context.Context, env *cli.Environment, o RestoreOptions) error {
	return inPlace(ctx, env, o.PRD, func(p *place) error {
		c, err := p.find(o.Name)
		if err != nil {
			return err
		}
		keys, err := p.presentKeys(c)
		if err != nil {
			return err
		}
		plan, err := p.saved.PlanRestore(ctx, p.files, c, keys)
		if err != nil {
			return err
		}
		switch report := show.NewSafetyRestoreReport(plan, nil); {
		case o.Manual:
			return show.SafetyScript(env.Stdout, env.Workdir, p.store.Objects(), plan)
		case o.DryRun:
			err := p.print(o.Format, report, func() error { return show.SafetyRestorePreview(env.Stdout, report) })
			return errors.Join(err, o.refused(plan))
		case plan.IsEmpty() && !plan.Unfinished():
			report.DryRun = false
			return p.print(o.Format, report, func() error { return show.SafetyRestored(env.Stdout, env.CommandLine, c.ID, nil) })
		}
		return p.restore(ctx, plan, o)
	})
}

// refused returns why a plan can't be carried out, with what to type next.
func (o *RestoreOptions) refused(plan *safety.RestorePlan) error {
	err := plan.Refused(o.Force)
	if advice.IsA[*safety.NewerWorkError](err) {
		return advice.With(err, fmt.Sprintf("`runner safety restore %[1]s --dry-run` lists it; `runner safety restore %[1]s --force` overwrites it", plan.ID))
	}
	return err
}

// restore shows a plan, asks, and carries it out.
func (p *place) restore(ctx context.Context, plan *safety.RestorePlan, o RestoreOptions) error {
	if !o.Yes {
		if err := show.SafetyRestorePreview(p.env.Stderr, show.NewSafetyRestoreReport(plan, nil)); err != nil {
			return err
		}
	}
	if err := o.refused(plan); err != nil {
		return err
	}
	if err := cli.Confirm(ctx, p.env.Terminal(), o.Yes, "Restore "+plan.ID+"?"); err != nil {
		return err
	}
	cli.AnnounceRestore(p.env, len(plan.Changes), o.Format != Text)
	var done *safety.Restore
	record := checkpoint.AuditRecord{What: "safety restore", Args: []state.Text{state.Text(o.Name)}, IDs: []string{plan.ID}, Reason: state.Text(o.Reason)}
	err := p.alone(ctx, plan, &record, func(setKeys func([]safety.KeyEdit) error) error {
		undo, err := p.makeUndo(ctx, plan, o)
		if err != nil {
			return err
		}
		if undo != "" {
			record.IDs = append(record.IDs, undo)
			if plan.Unfinished() { // files may have been edited after the interruption
				fmt.Fprintf(p.env.Stderr, "The files as the interrupted restore left them, with later edits, are in %s\n", undo)
			}
		}
		done, err = p.saved.Restore(ctx, p.files, plan, safety.RestoreOptions{Force: o.Force, By: p.env.Actor(), Undo: undo, SetKeys: setKeys})
		return err
	})
	if err != nil {
		if unfinished, unread := p.saved.Restoring(plan.ID); unfinished && unread == nil {
			err = advice.With(err, fmt.Sprintf("it may be restored in part; `runner safety restore %s --yes` completes it", plan.ID))
		}
		return err
	}
	report := show.NewSafetyRestoreReport(plan, done)
	return p.print(o.Format, report, func() error { return show.SafetyRestored(p.env.Stdout, p.env.CommandLine, plan.ID, done) })
}

// alone calls do while nothing else works in the state directory. If the plan changes
// keys, it opens their session, and setKeys sets them there.
func (p *place) alone(ctx context.Context, plan *safety.RestorePlan, record *checkpoint.AuditRecord, do func(setKeys func([]safety.KeyEdit) error) error) error {
	if len(plan.KeyEdits) == 0 {
		return change.WithAudit(p.env, p.store, record, func() error {
			err := p.locked(func() error { return do(nil) })
			load.SaveCache(p.env, p.files)
			return err
		})
	}
	t := &change.Target{Env: p.env, Store: p.store, PRD: plan.Keys.PRD, Files: p.files}
	return t.Change(ctx, record, func(session *checkpoint.Session) error {
		return session.WithExclusiveLock(ctx, func() error {
			return do(func(edits []safety.KeyEdit) error { return p.setKeys(ctx, session, edits) })
		})
	})
}

// setKeys sets keys of a session, durably.
func (p *place) setKeys(ctx context.Context, session *checkpoint.Session, edits []safety.KeyEdit) error {
	by := p.env.Actor()
	e := state.ReportsReceived{By: &by}
	for _, edit := range edits {
		r := ledger.Report{Type: ledger.TypeState, Key: edit.Name, Unset: edit.To == nil}
		if edit.To != nil {
			r.Value = string(edit.To.Value)
		}
		e.Reports = append(e.Reports, r)
	}
	session.Add(e)
	return session.Publish(ctx)
}

// makeUndo copies what a restore changes, and returns the ID of the copy; "" if none was
// asked for. It refuses to restore over a file that can't be copied. It also copies what an
// interrupted restore left, since files may have been edited after that.
func (p *place) makeUndo(ctx context.Context, plan *safety.RestorePlan, o RestoreOptions) (string, error) {
	if o.NoUndo {
		return "", nil
	}
	options := safety.CreateOptions{
		MayBeNone: true, Expiry: undoExpiry, By: p.env.Actor(), Reason: "before " + plan.ID + " was restored", Undoes: plan.ID,
	}
	if plan.Listing != nil {
		options.Patterns, options.Sensitive = plan.Listing.Patterns, plan.Files.Sensitive
		for _, glob := range plan.Files.Scope {
			options.Scope = append(options.Scope, string(glob))
		}
	}
	if plan.Keys != nil {
		values, err := p.presentKeys(plan.Checkpoint)
		if err != nil {
			return "", err
		}
		options.Keys = &safety.Keys{PRD: plan.Keys.PRD, Session: plan.Keys.Session, Values: values}
	}
	made, err := p.saved.Create(ctx, p.files, options)
	if err != nil {
		return "", err
	}
	lost := notCopied(plan, made)
	if len(lost) == 0 || o.Force {
		return made.ID, nil
	}
	err = advice.With(advice.Usagef("what is there now can't be copied first, since it looks sensitive or can't be read: %s", strings.Join(lost, ", ")),
		fmt.Sprintf("`runner safety restore %s --force` overwrites it", plan.ID))
	return "", errors.Join(err, p.saved.Delete(ctx, p.files, made.ID))
}

// notCopied returns the files that a plan overwrites or removes and that the copy of the
// present files lacks.
func notCopied(plan *safety.RestorePlan, undo *safety.Created) []string {
	var lost []string
	for _, c := range plan.Changes {
		if c.From != nil && undo.Listing.Lacks(c.Path) {
			lost = append(lost, c.Path)
		}
	}
	slices.Sort(lost)
	return lost
}
