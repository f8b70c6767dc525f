package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/mask"
)

// guarded opens the files of the workspace for a command that captures them
// without building: as a build does, it leaves out files that hold the value of
// a sensitive variable, as far as the pipeline and the environment
// tell what these are: what a build was given by flags is not known here. Where
// the pipeline can't be evaluated it says so. What the last capture left out is
// left out again in any case, until a build, which knows all values, finds that
// it holds something else.
func guarded(ctx context.Context, env *environment, cfg *config, store *checkpoint.Store, prd string) (*workspace.Workspace, error) {
	w, err := openWorkspace(ctx, env, cfg, store)
	if err != nil {
		return nil, err
	}
	masker, err := knownSecrets(env, cfg, store, prd)
	switch {
	case err != nil:
		fmt.Fprintf(env.stderr, "Warning: files are not searched for sensitive values, since what these are can't be known: %v\n", err)
	case masker != nil && masker.Any():
		w.Refuse(detector(masker))
	}
	return w, nil
}

// detector finds in files what a masker hides in output.
func detector(masker *mask.Masker) func() workspace.Detector {
	return func() workspace.Detector { return masker.Detector() }
}

// knownSecrets makes a masker of the sensitive values of a PRD's pipeline: of
// the file that the session ran, where it is still there. nil: there is none.
func knownSecrets(env *environment, cfg *config, store *checkpoint.Store, prd string) (*mask.Masker, error) {
	ref := pipelineRef{prd: prd}
	if snap, err := store.Load(prd); err == nil && snap.State != nil {
		ref.file = sessionFile(env, snap.State)
	}
	read, err := readPipeline(env, cfg, ref)
	var none *pipelineNotFoundError
	switch {
	case errors.As(err, &none):
		return nil, nil
	case err != nil:
		return nil, err
	case read.pipeline == nil || read.diagnostics.HasErrors():
		return nil, fmt.Errorf("%s: %w", read.file, read.diagnostics)
	}
	return newMasker(read.pipeline)
}

// sessionFile is the file of the pipeline that a session ran, "" where it is
// not there any more.
func sessionFile(env *environment, st *checkpoint.State) string {
	path := filepath.FromSlash(string(st.Pipeline.Path))
	if info, err := os.Stat(env.path(path)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}
