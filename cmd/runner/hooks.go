package main

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

// runDueHooks runs the hooks of the last run that had not ended when its runner was
// killed. The build calls it once it is decided that it continues, or that there is
// nothing to do.
func (b *build) runDueHooks(ctx context.Context, snap *checkpoint.Snapshot) error {
	if snap.State == nil || snap.State.Hooks == nil || snap.Owner != nil {
		return nil
	}
	due := info.PendingHooks(snap.State.Hooks)
	session, _, err := (&change.Target{Env: b.env, Store: b.Store, PRD: b.Pipeline.ID, Files: b.Files}).Lock(ctx)
	if err != nil {
		return err
	}
	if st := session.State(); st == nil || info.PendingHooks(st.Hooks) != due || st.Session != snap.State.Session {
		return errors.Join(fmt.Errorf("%s: %w", b.Pipeline.ID, runner.ErrPlanOutdated), session.Close())
	}
	fmt.Fprintf(b.env.Stderr, "%s of the last run had not ended when its runner was killed; running again first\n", due)
	return errors.Join(b.runHooks(ctx, session), session.Close())
}

// runHooks has the engine run the hooks of a session that are due.
func (b *build) runHooks(ctx context.Context, session *checkpoint.Session) (err error) {
	ctx, x, err := b.beginExecution(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	o := load.EngineOptions(b.env, b.cfg, b.Pipeline, b.Store, b.Files)
	o.Session, o.Executor, o.Views, o.Mask, o.Interrupts = session, x.executor, []runner.View{warnings{b.env}}, b.Masker.String, x.interrupts
	o.Next = b.next
	o.Hide = b.Hide
	return runner.RunHooks(ctx, o)
}

// warnings is a view that shows only the warnings of a run.
type warnings struct{ env *cli.Environment }

// Begin implements runner.View.
func (w warnings) Begin(runner.Beginning) {}

// Commit implements runner.View.
func (w warnings) Commit(state.Commit) {}

// Stop implements runner.View.
func (w warnings) Stop(runner.Stopping) {}

// Await implements runner.View.
func (w warnings) Await(runner.Awaited) {}

// Warn implements runner.View.
func (w warnings) Warn(message string) {
	fmt.Fprintln(w.env.Stderr, "Warning:", view.OneLine(message))
}

// End implements runner.View.
func (w warnings) End(runner.Ending) {}
