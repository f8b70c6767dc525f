package exchange

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/exchange"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/pipeline"
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
	o.Pipeline.AllowUnset = true
	p, err := load.Pipeline(env, cfg, o.Pipeline)
	if err != nil {
		return err
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{PRD: p.ID, File: o.Pipeline.File})
	if err != nil {
		return err
	}
	taken, err := take(ctx, env, store, format, path, p)
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
	report := info.NewExchangeImport(string(format), at, o.DryRun, taken)
	if o.JSON {
		return show.JSON(env.Stdout, report)
	}
	return show.ExchangeImported(env.Stdout, env.CommandLine, report, advice.StartCommand(p.ID, o.Pipeline.File))
}

// take reads the checkpoint for a pipeline.
func take(ctx context.Context, env *cli.Environment, store *checkpoint.Store, format exchange.Format, path string, p *pipeline.Pipeline) (taken *exchange.Taken, err error) {
	to := exchange.Target{PRD: p.ID, Title: p.Title, Document: p.Document, Shape: plan.ShapeOf(p), Now: env.Now()}
	err = load.WithWorkspace(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) error {
		to.Artifacts = func(name string) (files []string, unmatched string, err error) {
			return artifactsOf(ctx, w, p, name)
		}
		taken, err = exchange.Import(format, path, to)
		return err
	})
	if err != nil {
		return nil, advice.With(&advice.UsageError{Err: err}, "nothing was changed; correct the file, or name another one")
	}
	return taken, load.CheckNewDocument(env, p, &taken.Document)
}

// artifactsOf returns the files that the artifacts of a workstream match, and a glob of
// them that matches none.
func artifactsOf(ctx context.Context, w *workspace.Workspace, p *pipeline.Pipeline, name string) (files []string, unmatched string, err error) {
	ws := p.Workstream(name)
	if ws == nil || len(ws.Artifacts) == 0 {
		return nil, "", nil
	}
	for _, glob := range ws.Artifacts {
		matched, err := w.Tree().Match(ctx, []string{glob}, nil)
		if err != nil {
			return nil, "", err
		}
		if !matched.HasContent() {
			return nil, glob, nil
		}
		files = append(files, matched.Files...)
	}
	slices.Sort(files)
	return slices.Compact(files), "", nil
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
