package safety

import (
	"context"
	"errors"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

// ErrNotWhole says that a safety checkpoint can't be restored. The command has shown why.
var ErrNotWhole = errors.New("the safety checkpoint is not whole")

// List lists the safety checkpoints.
func List(ctx context.Context, env *cli.Environment, prd string, f Format) error {
	return inPlace(ctx, env, load.PipelineRef{PRD: prd}, func(p *place) error {
		all, unread, err := p.saved.List()
		if err != nil {
			return err
		}
		half, err := p.saved.Interrupted()
		if err != nil {
			return err
		}
		needed, err := p.store.Protecting()
		if err != nil {
			env.Warn(err)
		}
		report := info.NewSafetyListReport(all, unread, half, needed, p.store.Now())
		return p.print(f, report, func() error { return show.SafetyList(env.Stdout, env.CommandLine, report) })
	})
}

// Show shows a safety checkpoint.
func Show(ctx context.Context, env *cli.Environment, prd, name string, f Format) error {
	return inPlace(ctx, env, load.PipelineRef{PRD: prd}, func(p *place) error {
		c, err := p.find(name)
		if err != nil {
			return err
		}
		l, err := p.listing(ctx, c)
		if err != nil {
			return err
		}
		report := info.NewSafetyCreatedReport(p.at(c), c, l, false)
		return p.print(f, report, func() error { return show.Safety(env.Stdout, report) })
	})
}

// Verify reads everything that a safety checkpoint holds, and compares it with the
// recorded hashes.
func Verify(ctx context.Context, env *cli.Environment, ref load.PipelineRef, name string, f Format) error {
	return inPlace(ctx, env, ref, func(p *place) error {
		c, err := p.find(name)
		if err != nil {
			return err
		}
		v, err := p.saved.Verify(ctx, p.files, c)
		if err != nil {
			return err
		}
		report := info.NewSafetyVerifyReport(c, v)
		err = p.print(f, report, func() error { return show.SafetyVerified(env.Stdout, report) })
		if err == nil && !v.OK() {
			return ErrNotWhole
		}
		return err
	})
}
