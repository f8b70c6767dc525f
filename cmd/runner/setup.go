package main

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/mask"
)

// setup holds what build and plan work on: a pipeline, its state, and the workspace.
type setup struct {
	cfg      *config.Config
	pipeline *pipeline.Pipeline
	store    *checkpoint.Store
	files    *workspace.Workspace
	masker   *mask.Masker
	file     string // of the pipeline, as the user named it; "" if Runner searched for it
	given    string // the flags that set variables of the pipeline, as the user would type them again
}

// setUp reads a pipeline, and opens its state and the workspace. Captures will leave out
// files that hold a sensitive value. setUp refuses a pipeline if a name that its session
// records holds a sensitive value. The caller must close the setup.
func setUp(ctx context.Context, env *cli.Environment, cfg *config.Config, ref pipelineRef) (*setup, error) {
	p, err := loadPipeline(env, cfg, ref)
	if err != nil {
		return nil, err
	}
	on, err := setUpFor(ctx, env, cfg, p)
	if err != nil {
		return nil, err
	}
	if err := on.checkRecordedNames(ctx, env); err != nil {
		on.close()
		return nil, err
	}
	on.file = ref.file
	on.given = on.masker.String(ref.given(sensitive(p)))
	return on, nil
}

// setUpFor sets up a pipeline that has been read. It does not check recorded names.
func setUpFor(ctx context.Context, env *cli.Environment, cfg *config.Config, p *pipeline.Pipeline) (*setup, error) {
	masker, err := newMasker(p)
	if err != nil {
		return nil, err
	}
	store, err := openStore(env, cfg, p.ID)
	if err != nil {
		return nil, err
	}
	files, err := openWorkspace(ctx, env, cfg, store)
	if err != nil {
		return nil, err
	}
	if masker.Any() {
		files.RefuseAll(detector(masker))
	}
	return &setup{cfg: cfg, pipeline: p, store: store, files: files, masker: masker}, nil
}

// close closes the files of the workspace.
func (on *setup) close() { _ = on.files.Close() }

// command returns the command that builds the pipeline, as the user would type it: with
// more flags, and with the flags that named its file and set its variables.
func (on *setup) command(flags string) string {
	return advice.StartCommand(on.pipeline.ID, on.file) + flags + on.given
}

// readOptions returns the options of an engine that only reads.
func (on *setup) readOptions(env *cli.Environment) runner.Options {
	o := engineOptions(env, on.cfg, on.pipeline, on.store, on.files)
	o.Mask = on.masker.String
	return o
}

// newMasker returns a masker for the sensitive values of a pipeline.
func newMasker(p *pipeline.Pipeline) (*mask.Masker, error) {
	secrets := make([]mask.Secret, len(p.Secrets))
	for i, s := range p.Secrets {
		secrets[i] = mask.Secret{Name: s.Variable, Value: s.Value}
	}
	masker, err := mask.New(secrets)
	if err != nil {
		return nil, &advice.UsageError{Err: err}
	}
	return masker, nil
}
