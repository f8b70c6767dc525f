package inspect

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/begin"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// Preview is what a command plans from that builds nothing: plan and why.
type Preview struct {
	Env     *cli.Environment
	Setup   *load.Setup
	Options runner.Options
	owner   *disk.Holder // the process that runs the session now, nil if none does; State finds it
	early   *load.EarlySession
}

// StartPreview reads the pipeline and begins to read the session. The caller must close the preview.
func StartPreview(ctx context.Context, env *cli.Environment, ref load.PipelineRef) (*Preview, error) {
	cfg, err := env.LoadConfig()
	if err != nil {
		return nil, err
	}
	early := load.StartSession(env, cfg, ref)
	setup, err := load.SetUp(ctx, env, cfg, ref)
	if err != nil {
		early.Wait()
		return nil, err
	}
	return &Preview{Env: env, Setup: setup, early: early, Options: setup.ReadOptions(env)}, nil
}

// Close ends what StartPreview began.
func (p *Preview) Close() {
	p.Setup.Close()
	p.early.Wait()
}

// Plan plans a build that continues a state, or begins a session if that is nil.
func (p *Preview) Plan(ctx context.Context, st *state.State) (*plan.Plan, error) {
	planned, err := runner.Preview(ctx, p.Options, st)
	if err != nil {
		return nil, begin.Explain(p.Env, st, p.Setup.Pipeline.ID, p.Setup.Command, err)
	}
	return planned, nil
}

// SayRunning says that the session runs now, which a plan does not reckon with.
func (p *Preview) SayRunning() {
	if h := p.owner; h != nil {
		fmt.Fprintf(p.Env.Stderr, "%s is running now (host %s, pid %d); this plan assumes that it stops now.\n", p.Setup.Pipeline.ID, h.Host, h.PID)
	}
}

// State returns the state that a plan continues: nil without --resume. follows is the
// session that the planned new session would follow. State puts a document written by
// hand and an archived complete session into the options, as a build does.
func (p *Preview) State(ctx context.Context, resume string) (st, follows *state.State, err error) {
	env, setup, o := p.Env, p.Setup, &p.Options
	prd := o.Pipeline.ID
	snap, err := p.early.Load(o.Store, prd)
	if errors.Is(err, checkpoint.ErrNoSession) {
		load.WarnUntrusted(env, o.Store, prd)
		last, err := load.LastComplete(o.Store, prd)
		switch {
		case err != nil:
			return nil, nil, err
		case resume == "":
			return nil, last, nil
		case last == nil && resume == begin.ResumeCurrent:
			return nil, nil, begin.NothingToResume(env, o.Store, prd, setup.Command(""))
		}
		o.Predecessor = last
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	load.WarnUntrusted(env, o.Store, prd)
	p.owner = snap.Owner
	st = snap.State
	change.AnnounceRollbacksDue(env, change.RollbacksDue(snap))
	if change.RollingBack(snap) {
		if err := change.AnnounceFinish(ctx, env, o.Store, o.Files, prd); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case snap.Import != nil && snap.Owner == nil && resume != "":
		return nil, nil, advice.With(fmt.Errorf("plan %s: %w", prd, checkpoint.ErrUnfinishedImport),
			advice.ImportAgain(snap.Import)+fmt.Sprintf(", or `runner %s`, or any command that changes it, finishes that first", setup.Command(" --resume")))
	case st != nil && st.Rollback != nil && resume != "":
		return nil, nil, advice.Rollback(prd, fmt.Errorf("plan %s: %w", prd, &checkpoint.UnfinishedRollbackError{To: st.Rollback.To, Scope: st.Rollback.Scope}))
	case st == nil && resume != "":
		o.Imported = snap.Document
		return nil, nil, setup.CheckDocument(env, snap.Document)
	case st == nil:
		return nil, nil, nil
	case resume != "":
		return st, nil, nil
	case st.Status != state.StatusComplete:
		fmt.Fprintf(env.Stderr, "There is an unfinished session of %s; this is the plan of a new one. --resume plans how to continue it.\n", prd)
	}
	return nil, st, nil
}
