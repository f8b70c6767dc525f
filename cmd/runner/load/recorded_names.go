package load

import (
	"context"
	"fmt"
	"path/filepath"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/runner/findings"
	"prdrunner/runner/mask"
)

// ifNoSecret is the hint for a value that is hidden although it is no secret.
const ifNoSecret = "if the value is no secret, declare its variable without `sensitive = true`, or move it from the dotenv file into env"

// checkRecordedNames refuses a pipeline if its session would record a sensitive value in
// the name of a branch or a file. These names can't be masked, because the next resume
// compares them.
func (setup *Setup) checkRecordedNames(ctx context.Context, env *cli.Environment) error {
	type name struct{ what, path string }
	names := []name{
		{"pipeline's file", findings.Relative(setup.Pipeline.Source, env.Workdir, "")},
		{"pipeline's document", setup.Pipeline.Document},
	}
	for _, path := range setup.Pipeline.Sources {
		names = append(names, name{"pipeline's included or called file", path})
	}
	for _, n := range names {
		if setup.Masker.String(filepath.ToSlash(n.path)) != filepath.ToSlash(n.path) {
			return advice.With(advice.Usagef("the path of the %s holds a sensitive value, and a session records it", n.what),
				"rename it; or "+ifNoSecret)
		}
	}
	return CheckBranchName(ctx, setup.Files.Git(), setup.Masker)
}

// CheckBranchName fails if the name of the current git branch holds a sensitive value,
// because sessions and checkpoints record that name.
func CheckBranchName(ctx context.Context, git *git.Repository, masker *mask.Masker) error {
	if git == nil || masker == nil {
		return nil
	}
	branch, _, err := git.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the git head: %w", err)
	}
	shown := masker.String(branch)
	if shown == branch {
		return nil
	}
	return advice.With(advice.Usagef("the name of the git branch, %s, holds a sensitive value, and sessions and checkpoints record it", shown),
		"`git branch -m NAME` renames it, `git switch BRANCH` goes to another; or "+ifNoSecret)
}
