package load

import (
	"context"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/runner"
)

// CalledConfig returns the configuration of the run of a called pipeline. Its session stays in the
// state directory of its caller when it is complete, because the caller reads it. It captures no
// files: those of the whole workspace belong to the checkpoints of the caller.
func CalledConfig(cfg *config.Config) *config.Config {
	c := *cfg
	c.Checkpoint.Retention.OnComplete = string(checkpoint.KeepOnComplete)
	c.Checkpoint.Capture = runner.CaptureOff
	if c.Checkpoint.Git.Mode == "commit" {
		c.Checkpoint.Git.Mode = "ref"
	}
	return &c
}

// SetUpCalled is SetUp for a called pipeline, with its configuration.
func SetUpCalled(ctx context.Context, env *cli.Environment, cfg *config.Config, stateDir string, ref PipelineRef, caller state.Caller) (*Setup, error) {
	if _, called := cfg.Root(ref.PRD); !called {
		return nil, advice.With(advice.Usagef("%s is the id of a called pipeline, and id_pattern (%s) takes it for that of a PRD", ref.PRD, cfg.IDPatternText), "choose an id_pattern without dots in runner.yaml")
	}
	ref.called = true
	p, err := Pipeline(env, cfg, ref)
	if err != nil {
		return nil, err
	}
	masker, err := newMasker(env, p)
	if err != nil {
		return nil, err
	}
	setup, err := setUpIn(ctx, env, cfg, stateDir, p, masker)
	if err != nil {
		return nil, err
	}
	if err := setup.checkRecordedNames(ctx, env); err != nil {
		setup.Close()
		return nil, err
	}
	setup.start = advice.StartCommand(caller.Root, string(caller.File))
	return setup, nil
}

// RefuseCalled refuses what is done with a called pipeline only through the PRD whose pipeline
// calls it.
func RefuseCalled(env *cli.Environment, cfg *config.Config, prd string) error {
	root, called := cfg.Root(prd)
	if !called {
		return nil
	}
	return advice.With(advice.Usagef("%s is a pipeline that %s calls, and runs and goes back with it", prd, root),
		fmt.Sprintf("`%s` continues both, `%s` shows the checkpoints to which both can go back", env.Command("build "+root+" --resume"), env.Command("checkpoint list "+root)))
}

// calledPipeline returns the file of a called pipeline, which its session knows.
func calledPipeline(env *cli.Environment, cfg *config.Config, prd, root string) (string, error) {
	if file := ranFile(env, cfg, prd); file != "" {
		return env.Path(file), nil
	}
	return "", advice.With(advice.Usagef("there is no session of %s, which a pipeline of %s calls", prd, root), fmt.Sprintf("`%s` shows what there is", env.Command("status")))
}
