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
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/mask"
)

// guarded opens the files of the workspace for a command that captures them
// without building: as a build does, it leaves out files that hold the value of
// a sensitive variable, as far as the pipeline and the environment
// tell what these are: what a build was given by flags is not known here. Where
// there are some that can't be known it says so. What the last capture left out is
// left out again in any case, until a build, which knows all values, finds that
// it holds something else.
func guarded(ctx context.Context, env *environment, cfg *config, store *checkpoint.Store, prd string) (*workspace.Workspace, error) {
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

// guard has a workspace leave out files that hold one of the known secrets (nil: there
// are none), and says so where these can't be known.
func guard(env *environment, w *workspace.Workspace, masker *mask.Masker, err error) {
	switch {
	case err != nil:
		fmt.Fprintf(env.stderr, "Warning: files are not searched for sensitive values, since %v\n", err)
	case masker != nil && masker.Any():
		w.Refuse(detector(masker))
	}
}

// detector finds in files what a masker hides in output.
func detector(masker *mask.Masker) func() workspace.Detector {
	return func() workspace.Detector { return masker.Detector() }
}

// unknownSecretsError says that what sensitive variables hold can't be known.
type unknownSecretsError struct {
	names []string // of the variables; none where the session can't be read either
	file  string   // of the pipeline, as the session has it; "" where it is there
	err   error
}

func (e *unknownSecretsError) Error() string {
	if len(e.names) == 0 {
		return fmt.Sprintf("the sensitive values can't be determined: %v", e.err)
	}
	return fmt.Sprintf("the sensitive values of %s can't be determined: %v", strings.Join(e.names, ", "), e.err)
}

// Unwrap returns why.
func (e *unknownSecretsError) Unwrap() error { return e.err }

// knownSecrets makes a masker of the sensitive values of a pipeline: where no
// file is named, of the one that the session ran, if it is still there. nil:
// there are none. An unknownSecretsError: there are, or may be, as the file or the
// session says, and they can't be known.
func knownSecrets(env *environment, cfg *config, store *checkpoint.Store, ref pipelineRef) (*mask.Masker, error) {
	snap, damaged := store.Load(ref.prd)
	switch {
	case errors.Is(damaged, checkpoint.ErrNoSession):
		return secretsOf(env, cfg, ref, nil, nil)
	case damaged != nil:
		return secretsOf(env, cfg, ref, nil, damaged)
	}
	return secretsOf(env, cfg, ref, snap.State, nil)
}

// secretsOf is knownSecrets of a session that was read, or could not be, since it is
// damaged; nil: there is none.
func secretsOf(env *environment, cfg *config, ref pipelineRef, st *checkpoint.State, damaged error) (*mask.Masker, error) {
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

// sensitiveVariables are those that a session was given values of. One of an
// earlier version names those only that decided what has been started.
func sensitiveVariables(st *checkpoint.State) []string {
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

// sessionFile is the file of the pipeline that a session ran, "" where it is
// not there any more.
func sessionFile(env *environment, st *checkpoint.State) string {
	path := filepath.FromSlash(string(st.Pipeline.Path))
	if info, err := os.Stat(env.path(path)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}
