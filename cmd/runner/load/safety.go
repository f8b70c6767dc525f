package load

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/tokens"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/runner/mask"
)

// SafetyWorkspace opens the files of the workspace for safety checkpoints. They leave out
// files that hold a private key, an access token, or the value of a sensitive variable. If
// ref names no PRD, the variables are those of all PRDs that have a session. It warns the
// user if some values can't be known.
func SafetyWorkspace(ctx context.Context, env *cli.Environment, cfg *config.Config, store *checkpoint.Store, ref PipelineRef) (*workspace.Workspace, error) {
	w, err := OpenWorkspace(ctx, env, cfg, store)
	if err != nil {
		return nil, err
	}
	refs := []PipelineRef{ref}
	if ref.PRD == "" {
		refs = nil
		prds, _ := store.Reader().PRDs() // the command reports the error, if it needs them
		for _, prd := range prds {
			refs = append(refs, PipelineRef{PRD: prd, Vars: ref.Vars, VarFiles: ref.VarFiles})
		}
	}
	var maskers []*mask.Masker
	for _, ref := range refs {
		masker, err := KnownSecrets(env, cfg, store, ref)
		switch {
		case err != nil:
			env.Warn(unsearched(err))
		case masker != nil && masker.Any():
			maskers = append(maskers, masker)
		}
	}
	if len(maskers) > 0 {
		w.Refuse(detector(maskers...))
	}
	newTokens := tokens.New()
	w.RefuseContent(func() workspace.Detector { return newTokens() })
	return w, nil
}
