package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/pipeline"
	"prdrunner/runner/mask"
)

// guarded opens the files of the workspace for a command that captures them without
// building. Like a build, it leaves out files that hold the value of a sensitive variable,
// as far as the pipeline and the environment tell these values. It does not know values
// that a build got from flags. It warns the user if some values can't be known. Files that
// the last capture left out are left out again in any case, until a build, which knows all
// values, finds that they hold something else.
func guarded(ctx context.Context, env *cli.Environment, cfg *config.Config, store *checkpoint.Store, prd string) (*workspace.Workspace, error) {
	w, err := openWorkspace(ctx, env, cfg, store)
	if err != nil {
		return nil, err
	}
	masker, err := knownSecrets(env, cfg, store, pipelineRef{prd: prd})
	guard(env, w, masker, err)
	if err := checkBranchName(ctx, w.Git(), masker); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// guard makes a workspace leave out files that hold one of the known secrets, and warns
// the user if these can't be known. masker is nil if the pipeline has no secrets.
func guard(env *cli.Environment, w *workspace.Workspace, masker *mask.Masker, err error) {
	switch {
	case err != nil:
		fmt.Fprintf(env.Stderr, "Warning: files are not searched for sensitive values, since %v\n", err)
	case masker != nil && masker.Any():
		w.Refuse(detector(masker))
	}
}

// detector returns a function that makes detectors, which find in files what the masker
// hides in output.
func detector(masker *mask.Masker) func() workspace.Detector {
	return func() workspace.Detector { return masker.Detector() }
}

// unknownSecretsError reports that the values of sensitive variables can't be known.
type unknownSecretsError struct {
	names []string // of the variables; none if the session can't be read either
	file  string   // the pipeline's file, as the session records it; "" if it could be read
	err   error
}

func (e *unknownSecretsError) Error() string {
	if len(e.names) == 0 {
		return fmt.Sprintf("the sensitive values can't be determined: %v", e.err)
	}
	return fmt.Sprintf("the sensitive values of %s can't be determined: %v", strings.Join(e.names, ", "), e.err)
}

// Unwrap returns the reason why the values can't be known.
func (e *unknownSecretsError) Unwrap() error { return e.err }

// knownSecrets returns a masker for the sensitive values of a pipeline, nil if it has
// none. If ref names no file, that is the pipeline that the session ran, if its file still
// exists. It returns an unknownSecretsError if the pipeline has sensitive values, or may
// have some, and they can't be known.
func knownSecrets(env *cli.Environment, cfg *config.Config, store *checkpoint.Store, ref pipelineRef) (*mask.Masker, error) {
	snap, damaged := store.Load(ref.prd)
	switch {
	case errors.Is(damaged, checkpoint.ErrNoSession):
		return secretsOf(env, cfg, ref, nil, nil)
	case damaged != nil:
		return secretsOf(env, cfg, ref, nil, damaged)
	}
	return secretsOf(env, cfg, ref, snap.State, nil)
}

// secretsOf does the work of knownSecrets for a session that was read, or that could not
// be read because it is damaged. Without a session, st and damaged are nil.
func secretsOf(env *cli.Environment, cfg *config.Config, ref pipelineRef, st *state.State, damaged error) (*mask.Masker, error) {
	var names []string
	unknown := &unknownSecretsError{}
	if st != nil {
		names = sensitiveVariables(st)
		if ref.file == "" {
			unknown.file = string(st.Pipeline.Path)
			ref.file = sessionFile(env, st)
		}
	}
	read, err := readPipeline(env, cfg, ref)
	if err == nil {
		unknown.file = ""
		if read.pipeline != nil && !read.diagnostics.HasErrors() {
			return newMasker(read.pipeline)
		}
		names = append(names, read.sensitive...)
		err = fmt.Errorf("%s: %w", read.file, read.diagnostics)
	}
	if len(names) == 0 && damaged == nil {
		return nil, nil
	}
	slices.Sort(names)
	unknown.names, unknown.err = slices.Compact(names), err
	return nil, unknown
}

// sensitiveVariables returns the sensitive variables whose values a session was given. A
// session of an earlier version records only the variables on which a started workstream
// depends.
func sensitiveVariables(st *state.State) []string {
	names := slices.Clone(st.Sensitive)
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			for name, sum := range w.Digest.Variables {
				if sum == pipeline.SensitiveVariable {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// sessionFile returns the pipeline file that a session ran, "" if it no longer exists.
func sessionFile(env *cli.Environment, st *state.State) string {
	path := filepath.FromSlash(string(st.Pipeline.Path))
	if info, err := os.Stat(env.Path(path)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}
