package main

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/mask"
)

// setup is what build and plan work on.
type setup struct {
	cfg      *config
	pipeline *pipeline.Pipeline
	store    *checkpoint.Store
	files    *workspace.Workspace
	masker   *mask.Masker
	file     string // of the pipeline, as it was named; "" where it was looked for
	given    string // flags that give the pipeline its variables, as a person types them again
}

// setUp reads a pipeline and opens what it is run on. Files that hold a
// sensitive value are left out of every capture; names on record that hold one are
// refused. Whoever sets up closes.
func setUp(ctx context.Context, env *environment, cfg *config, ref pipelineRef) (*setup, error) {
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

// setUpFor is setUp for a pipeline that was read.
func setUpFor(ctx context.Context, env *environment, cfg *config, p *pipeline.Pipeline) (*setup, error) {
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

// close lets go of the files.
func (on *setup) close() { _ = on.files.Close() }

// command builds the pipeline, as a person types it: with more flags, and those that
// were given to name it and for its variables.
func (on *setup) command(flags string) string {
	return startCommand(on.pipeline.ID, on.file) + flags + on.given
}

// looking are the options of an engine that only looks.
func (on *setup) looking(env *environment) runner.Options {
	o := engineOptions(env, on.cfg, on.pipeline, on.store, on.files)
	o.Mask = on.masker.String
	return o
}

// newMasker hides the sensitive values of a pipeline.
func newMasker(p *pipeline.Pipeline) (*mask.Masker, error) {
	secrets := make([]mask.Secret, len(p.Secrets))
	for i, s := range p.Secrets {
		secrets[i] = mask.Secret{Name: s.Variable, Value: s.Value}
	}
	masker, err := mask.New(secrets)
	if err != nil {
		return nil, &usageError{err: err}
	}
	return masker, nil
}
