// Package load reads and opens what a command works on: the pipeline that the user names,
// the state directory, the session of a PRD and the files of the workspace.
//
// What only reads belongs here, with the errors that say what is missing and where to find
// it. What changes a session does not, and no decision about what runs. Where to begin:
//
//   - Pipeline finds, reads and evaluates the pipeline that a PipelineRef names;
//   - SetUp does that for build and plan, and opens state and files;
//   - Session, State and TrustedState read the session of a PRD without a lock;
//   - OpenStore and OpenWorkspace open the state directory and the files;
//     GuardedWorkspace leaves out files that hold a sensitive value.
package load

import (
	"context"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/mask"
	"prdrunner/runner/process"
)

// Setup holds what build and plan work on: a pipeline, its state, and the workspace.
type Setup struct {
	cfg           *config.Config
	Pipeline      *pipeline.Pipeline
	Store         *checkpoint.Store
	Files         *workspace.Workspace
	Masker        *mask.Masker
	start         string // the command that starts the session, as the user would type it
	VariableFlags string // the flags that set variables of the pipeline, as the user would type them again
}

// SetUp reads a pipeline, and opens its state and the workspace. Captures will leave out
// files that hold a sensitive value. SetUp refuses a pipeline if a name that its session
// records holds a sensitive value. The caller must close the setup.
func SetUp(ctx context.Context, env *cli.Environment, cfg *config.Config, ref PipelineRef) (*Setup, error) {
	if err := RefuseCalled(env, cfg, ref.PRD); err != nil {
		return nil, err
	}
	p, err := Pipeline(env, cfg, ref)
	if err != nil {
		return nil, err
	}
	setup, err := SetUpPipeline(ctx, env, cfg, p)
	if err != nil {
		return nil, err
	}
	if err := setup.checkRecordedNames(ctx, env); err != nil {
		setup.Close()
		return nil, err
	}
	setup.start = advice.StartCommand(p.ID, ref.File)
	setup.VariableFlags = setup.Masker.String(ref.VariableFlags(sensitive(p)))
	return setup, nil
}

// SetUpPipeline sets up a pipeline that has been read. It does not check recorded names.
func SetUpPipeline(ctx context.Context, env *cli.Environment, cfg *config.Config, p *pipeline.Pipeline) (*Setup, error) {
	masker, err := newMasker(env, p)
	if err != nil {
		return nil, err
	}
	issue := 0
	if p.Issue != nil {
		issue = p.Issue.Number
	}
	dir, err := stateDirOfIssue(env, cfg, p.ID, p.Source, issue)
	if err != nil {
		return nil, err
	}
	return setUpIn(ctx, env, cfg, dir, p, masker)
}

// setUpIn sets up a pipeline whose state directory is known.
func setUpIn(ctx context.Context, env *cli.Environment, cfg *config.Config, dir string, p *pipeline.Pipeline, masker *mask.Masker) (*Setup, error) {
	store, err := openStateDir(env, cfg, dir, PipelineRef{}, p)
	if err != nil {
		return nil, err
	}
	files, err := OpenWorkspace(ctx, env, cfg, store)
	if err != nil {
		return nil, err
	}
	files.LeaveOut(p.EnvFiles) // a process may make them, and what is in them is known only later
	switch {
	case p.LearnsSecrets(): // some values may be known later, or not at all
		files.Refuse(detector(masker))
	case p.HasSecrets():
		files.RefuseAll(detector(masker))
	}
	return &Setup{cfg: cfg, Pipeline: p, Store: store, Files: files, Masker: masker}, nil
}

// Close closes the files of the workspace.
func (setup *Setup) Close() { _ = setup.Files.Close() }

// Command returns the command that builds the pipeline, as the user would type it: with
// more flags, and with the flags that named its file and set its variables.
func (setup *Setup) Command(flags string) string {
	return setup.start + flags + setup.VariableFlags
}

// ReadOptions returns the options of an engine that only reads.
func (setup *Setup) ReadOptions(env *cli.Environment) runner.Options {
	o := EngineOptions(env, setup.cfg, setup.Pipeline, setup.Store, setup.Files)
	o.Mask, o.Hide = setup.Masker.String, setup.Hide
	return o
}

// newMasker returns a masker for the sensitive values of a pipeline that are known now: of
// variables, of the dotenv files that exist, and of the secrets in the environment, which
// every process inherits.
func newMasker(env *cli.Environment, p *pipeline.Pipeline) (*mask.Masker, error) {
	known := slices.Concat(p.Secrets, p.EnvFileSecrets())
	for _, s := range p.SecretSources {
		if value := env.Lookup(s.Env); s.Env != "" && !mask.TooShort(value) {
			known = append(known, pipeline.Secret{Variable: s.Env, Value: value})
		}
	}
	masker, err := mask.New(secretsToMask(known))
	if err != nil {
		return nil, &advice.UsageError{Err: err}
	}
	return masker, nil
}

func secretsToMask(values []pipeline.Secret) []mask.Secret {
	secrets := make([]mask.Secret, len(values))
	for i, s := range values {
		secrets[i] = mask.Secret{Name: s.Variable, Value: s.Value}
	}
	return secrets
}

// Hide makes output, captures and all that is recorded hide more sensitive values from now
// on.
func (setup *Setup) Hide(values []pipeline.Secret) error {
	added, err := setup.Masker.Add(secretsToMask(values))
	if added {
		setup.Files.ForgetScans()
	}
	return err
}

// EngineOptions returns the options of the engine that build and plan share.
func EngineOptions(env *cli.Environment, cfg *config.Config, p *pipeline.Pipeline, store *checkpoint.Store, w *workspace.Workspace) runner.Options {
	o := runner.Options{
		Pipeline: p, Store: store, Workspace: env.Workdir, Files: w, By: env.Actor(), Version: env.Version,
		Parallel: cfg.Parallel, KeepGoing: cfg.KeepGoing, PauseAtGates: cfg.PauseAtGates,
		OnConflict: cfg.OnConflict, OnStale: cfg.OnStale, OnCheckpointError: cfg.OnCheckpointError, Capture: cfg.Checkpoint.Capture, Grace: cfg.Grace,
		Command: env.Command, Now: env.Now, Logger: env.Logger().Named("engine"),
	}
	o.Commands, o.Getenv = process.NewCommander(env.ChildEnvironment()), env.Lookup
	if git := w.Git(); git != nil {
		o.Git = gitHead{git}
	}
	return o
}
