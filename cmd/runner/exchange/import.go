package exchange

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/exchange"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/plan"
)

// ImportOptions say what to import.
type ImportOptions struct {
	Format   string
	Path     string
	Pipeline load.PipelineRef // whose session begins from the checkpoint
	DryRun   bool
	JSON     bool
}

// Import makes a PRD document of a checkpoint of another tool, from which the next build
// begins.
func Import(ctx context.Context, env *cli.Environment, o ImportOptions) error {
	format, err := exchange.ParseFormat(o.Format)
	if err != nil {
		return &advice.UsageError{Err: err}
	}
	if o.Path == "" || o.Path == advice.StandardStream {
		return advice.With(advice.Usagef("--format %s needs the path of the checkpoint", format), fmt.Sprintf("`runner checkpoint import --format %s --prd PRD PATH`", format))
	}
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	path := env.Path(o.Path)
	if format == exchange.PRD && o.Pipeline.PRD == "" && o.Pipeline.File == "" {
		o.Pipeline.PRD = exchange.PRDOf(path)
	}
	p, err := load.Pipeline(env, cfg, o.Pipeline)
	if err != nil {
		return err
	}
	taken, err := exchange.Import(format, path, exchange.Target{
		PRD: p.ID, Title: p.Title, Document: p.Document, Shape: plan.ShapeOf(p), Now: env.Now(),
	})
	if err != nil {
		return advice.With(&advice.UsageError{Err: err}, "nothing was changed")
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{PRD: p.ID, File: o.Pipeline.File})
	if err != nil {
		return err
	}
	at := store.Layout().DocumentPath(p.ID)
	if o.DryRun {
		err = exchange.CheckFree(store, p.ID)
	} else {
		record := checkpoint.AuditRecord{What: "checkpoint import", PRD: p.ID, Args: []state.Text{state.Text(format), state.Text(o.Path)}}
		err = change.WithAudit(env, store, &record, func() (err error) {
			at, err = exchange.Place(ctx, store, taken.Document)
			return err
		})
	}
	if err != nil {
		return importHint(err)
	}
	report := show.NewExchangeImport(string(format), at, o.DryRun, taken)
	if o.JSON {
		return show.JSON(env.Stdout, report)
	}
	return show.ExchangeImported(env.Stdout, env.CommandLine, report, advice.StartCommand(p.ID, o.Pipeline.File))
}

// importHint adds what the user can do if the PRD has a session or a document already.
func importHint(err error) error {
	var occupied *exchange.OccupiedError
	switch {
	case !errors.As(err, &occupied):
		return err
	case occupied.Session == nil:
		return advice.With(&advice.UsageError{Err: err}, "`rm "+text.ShellWord(occupied.Document)+"` removes it, if nobody needs it")
	}
	return advice.With(&advice.UsageError{Err: err}, fmt.Sprintf("`runner checkpoint archive %s` moves the session aside first", occupied.PRD))
}
