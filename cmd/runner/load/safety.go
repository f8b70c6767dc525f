package load

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/tokens"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
)

// SafetyWorkspace opens the files of the workspace for safety checkpoints. They leave out
// files that hold a private key, an access token, or the value of a sensitive variable. If
// prd is "", the variables are those of all PRDs that have a session. It warns the user if
// some values can't be known.
func SafetyWorkspace(ctx context.Context, env *cli.Environment, cfg *config.Config, store *checkpoint.Store, prd string) (*workspace.Workspace, error) {
	w, err := OpenWorkspace(ctx, env, cfg, store)
	if err != nil {
		return nil, err
	}
	newTokens := tokens.New()
	detectors := []func() workspace.Detector{func() workspace.Detector { return newTokens() }}
	prds := []string{prd}
	if prd == "" {
		prds, _ = store.Reader().PRDs() // the command reports the error, if it needs them
	}
	for _, prd := range prds {
		masker, err := KnownSecrets(env, cfg, store, PipelineRef{PRD: prd})
		switch {
		case err != nil:
			env.Warn(unsearched(err))
		case masker != nil && masker.Any():
			detectors = append(detectors, detector(masker))
		}
	}
	w.Refuse(func() workspace.Detector {
		all := make(anyOf, len(detectors))
		for i, make := range detectors {
			all[i] = make()
		}
		return all
	})
	return w, nil
}

// anyOf finds what one of several detectors finds.
type anyOf []workspace.Detector

func (all anyOf) Write(p []byte) (int, error) {
	for _, d := range all {
		if n, err := d.Write(p); err != nil {
			return n, err
		}
	}
	return len(p), nil
}

func (all anyOf) Found() bool {
	for _, d := range all {
		if d.Found() {
			return true
		}
	}
	return false
}
