package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/pipeline"
	"prdrunner/runner/mask"
)

// GuardedWorkspace opens the files of the workspace for a command that captures them
// without building. Like a build, it leaves out files that hold the value of a sensitive
// variable, as far as the pipeline and the environment tell these values. It does not
// know values that a build got from flags. It warns the user if some values can't be
// known. Files that the last capture left out are left out again in any case, until a
// build, which knows all values, finds that they hold something else.
func GuardedWorkspace(ctx context.Context, env *cli.Environment, cfg *config.Config, store *checkpoint.Store, prd string) (*workspace.Workspace, error) {
	w, err := OpenWorkspace(ctx, env, cfg, store)
	if err != nil {
		return nil, err
	}
	masker, err := KnownSecrets(env, cfg, store, PipelineRef{PRD: prd})
	RefuseSecrets(env, w, masker, err)
	if err := CheckBranchName(ctx, w.Git(), masker); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// RefuseSecrets makes a workspace leave out files that hold one of the known secrets, and
// warns the user if these can't be known. masker is nil if the pipeline has no secrets.
func RefuseSecrets(env *cli.Environment, w *workspace.Workspace, masker *mask.Masker, err error) {
	switch {
	case err != nil:
		fmt.Fprintf(env.Stderr, "Warning: %v\n", unsearched(err))
	case masker != nil && masker.Any():
		w.Refuse(detector(masker))
	}
}

// unsearched returns the warning that files are not searched for sensitive values.
func unsearched(err error) error {
	return fmt.Errorf("files are not searched for sensitive values, since %w", err)
}

// detector returns a function that makes detectors, which find in files what the maskers
// hide in output.
func detector(maskers ...*mask.Masker) func() workspace.Detector {
	return func() workspace.Detector {
		all := make(workspace.Detectors, len(maskers))
		for i, masker := range maskers {
			all[i] = masker.Detector()
		}
		return all
	}
}

// UnknownSecretsError reports that sensitive values can't be known.
type UnknownSecretsError struct {
	Names []string // of variables and dotenv files; none if the session can't be read either
	File  string   // the pipeline's file, as the session records it; "" if it could be read
	err   error
}

func (e *UnknownSecretsError) Error() string {
	if len(e.Names) == 0 {
		return fmt.Sprintf("the sensitive values can't be determined: %v", e.err)
	}
	return fmt.Sprintf("the sensitive values of %s can't be determined: %v", strings.Join(e.Names, ", "), e.err)
}

// Variable returns the name of one of the variables, "" if there is none.
func (e *UnknownSecretsError) Variable() string {
	for _, name := range e.Names {
		if hclsyntax.ValidIdentifier(name) {
			return name
		}
	}
	return ""
}

// Unwrap returns the reason why the values can't be known.
func (e *UnknownSecretsError) Unwrap() error { return e.err }

// KnownSecrets returns a masker for the sensitive values of a pipeline, nil if it has
// none. If ref names no file, that is the pipeline that the session ran, if its file still
// exists. It returns an unknownSecretsError if the pipeline has sensitive values, or may
// have some, and they can't be known.
func KnownSecrets(env *cli.Environment, cfg *config.Config, store *checkpoint.Store, ref PipelineRef) (*mask.Masker, error) {
	snap, damaged := store.Load(ref.PRD)
	switch {
	case errors.Is(damaged, checkpoint.ErrNoSession):
		return SecretsOf(env, cfg, ref, nil, nil)
	case damaged != nil:
		return SecretsOf(env, cfg, ref, nil, damaged)
	}
	return SecretsOf(env, cfg, ref, snap.State, nil)
}

// SecretsOf does the work of KnownSecrets for a session that was read, or that could not
// be read because it is damaged. Without a session, st and damaged are nil.
func SecretsOf(env *cli.Environment, cfg *config.Config, ref PipelineRef, st *state.State, damaged error) (*mask.Masker, error) {
	var names []string
	unknown := &UnknownSecretsError{}
	if st != nil {
		names = sensitiveVariables(st)
		if ref.File == "" {
			unknown.File = string(st.Pipeline.Path)
			ref.File = SessionFile(env, st)
		}
	}
	read, err := ReadPipeline(env, cfg, ref)
	if err == nil {
		unknown.File = ""
		if read.Pipeline != nil && !read.Diagnostics.HasErrors() {
			return newMasker(env, read.Pipeline)
		}
		names = append(names, read.sensitive...)
		err = fmt.Errorf("%s: %w", read.File, read.Diagnostics)
	}
	if len(names) == 0 && damaged == nil {
		return nil, nil
	}
	slices.Sort(names)
	unknown.Names, unknown.err = slices.Compact(names), err
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

// SessionFile returns the pipeline file that a session ran, "" if it no longer exists.
func SessionFile(env *cli.Environment, st *state.State) string {
	path := filepath.FromSlash(string(st.Pipeline.Path))
	if info, err := os.Stat(env.Path(path)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}
