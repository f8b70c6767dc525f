package safety

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

// RestoreOptions say how a safety checkpoint is restored.
type RestoreOptions struct {
	Pipeline load.PipelineRef // has the savepoints
	Name     string
	Force    bool // overwrite newer work, and what can't be copied first
	DryRun   bool
	Manual   bool
	Yes      bool
	NoUndo   bool
	Reason   string
	Format   Format
}

// Restore restores a safety checkpoint. It shows what changes, asks, and first makes
// another one of what it changes, so that the restore can be undone.
func Restore(ctx context.Context, env *cli.Environment, o RestoreOptions) error {
	return inPlace(ctx, env, o.Pipeline, func(p *place) error {
		c, err := p.find(o.Name)
		if err != nil {
			return err
		}
		if err := p.refuseWaiting(c, o); err != nil {
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
		switch report := info.NewSafetyRestoreReport(plan, nil); {
		case o.Manual:
			return show.SafetyScript(env.Stdout, env.Workdir, p.store.Objects(), plan)
		case o.DryRun:
			err := p.print(o.Format, report, func() error { return show.SafetyRestorePreview(env.Stdout, report) })
			return errors.Join(err, p.refused(plan, &o))
		case plan.IsEmpty() && plan.Interrupted == nil && plan.Refused(false) == nil:
			report.DryRun = false
			return p.print(o.Format, report, func() error { return show.SafetyNothingToRestore(env.Stdout, c.ID) })
		}
		return p.restore(ctx, plan, o)
	})
}

// refused returns why a plan can't be carried out, with what to type next.
func (p *place) refused(plan *safety.RestorePlan, o *RestoreOptions) error {
	err, flags := plan.Refused(o.Force), p.flags(plan.Checkpoint)
	var half *safety.UnfinishedRestoreError
	if errors.As(err, &half) {
		return advice.With(err, advice.UnfinishedRestore(half.Interrupted))
	}
	switch {
	case advice.IsA[*workspace.MissingError](err):
		return advice.With(err, fmt.Sprintf("`runner safety verify %s%s` names what is lost; a restore is all or nothing, but --manual prints commands for the rest", plan.ID, flags))
	case advice.IsA[*workspace.ObstructedError](err):
		return advice.With(err, "move away what is in the way, or unmount it, and repeat the command")
	case advice.IsA[*safety.NewerWorkError](err):
		hint := fmt.Sprintf("`runner safety restore %[1]s --dry-run%[2]s` lists it; `runner safety restore %[1]s --force%[2]s` overwrites it, and keeps a copy", plan.ID, flags)
		if half := plan.Interrupted; half != nil && half.Undo != "" && !plan.GivesUp() {
			hint += fmt.Sprintf("; `runner safety restore %s --force%s` gives the interrupted restore up instead", half.Undo, flags)
		}
		return advice.With(err, hint)
	}
	if err == nil && !o.Force && o.copies(plan) && len(plan.Uncopied) > 0 {
		return uncopied(plan.ID, plan.Uncopied)
	}
	return err
}

// restore shows a plan, asks, and carries it out.
func (p *place) restore(ctx context.Context, plan *safety.RestorePlan, o RestoreOptions) error {
	if !o.Yes {
		if err := show.SafetyRestorePreview(p.env.Stderr, info.NewSafetyRestoreReport(plan, nil)); err != nil {
			return err
		}
	}
	if err := p.refused(plan, &o); err != nil {
		return err
	}
	if err := cli.Confirm(ctx, p.env.Terminal(), o.Yes, "Restore "+plan.ID+"?"); err != nil {
		return err
	}
	cli.AnnounceRestore(p.env, len(plan.Changes), o.Format != Text)
	var done *safety.Restore
	var copied *undo
	record := checkpoint.AuditRecord{What: "safety restore", Args: []state.Text{state.Text(o.Name)}, IDs: []string{plan.ID}, Reason: state.Text(o.Reason)}
	err := p.alone(ctx, plan, &record, func(setKeys func([]safety.KeyEdit) error) error {
		var err error
		if copied, err = p.makeUndo(ctx, plan, o); err != nil {
			return err
		}
		if copied.id != "" {
			record.IDs = append(record.IDs, copied.id)
			if plan.Interrupted != nil {
				fmt.Fprintf(p.env.Stderr, "The files as the interrupted restore left them, with later edits, are in %s\n", copied.id)
			}
		}
		done, err = p.saved.Restore(ctx, p.files, plan, safety.RestoreOptions{Force: o.Force, By: p.env.Actor(), Undo: copied.id, SetKeys: setKeys})
		return err
	})
	if err != nil {
		if half, unread := p.saved.Interrupted(); half.Involves(plan.ID) && unread == nil {
			err = advice.With(err, "it may be restored in part; "+advice.UnfinishedRestore(*half))
		}
		return err
	}
	report := info.NewSafetyRestoreReport(plan, done)
	report.UndoLacks = state.Texts(copied.lacks)
	return p.print(o.Format, report, func() error {
		return show.SafetyRestored(p.env.Stdout, p.env.CommandLine, p.flags(plan.Checkpoint), report)
	})
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
