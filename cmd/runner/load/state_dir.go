package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/pipeline"
)

// stateDir returns the state directory of a PRD, absolute. It reads the pipeline's file only
// if the directory depends on the number of the issue.
func stateDir(env *cli.Environment, cfg *config.Config, ref PipelineRef) (string, error) {
	if root, called := cfg.Root(ref.PRD); called { // its session is where that of its caller is
		ref.PRD, ref.File = root, ""
	}
	if !cfg.StatePerIssue() {
		return env.Path(cfg.StateDir(ref.PRD, "")), nil
	}
	if err := CheckPRD(env, cfg, ref.PRD); err != nil {
		return "", err
	}
	if dir := ownStateDir(env, cfg, ref); dir != "" {
		return dir, nil
	}
	path, err := lookUpPipeline(env, cfg, ref)
	if advice.IsA[*NotFoundError](err) {
		return recordedStateDir(env, cfg, ref, err)
	}
	if err != nil {
		return "", err
	}
	source, err := ReadSource(path)
	if err != nil {
		return "", err
	}
	file, _ := pipeline.Parse(source, env.Display(path)) // its mistakes are of no interest here
	number, diag := file.IssueNumber()
	if diag != nil {
		return "", advice.With(unknownStateDir(cfg, ref.PRD, fmt.Sprintf("at %s:%d %s", file.Name(), diag.Subject.Start.Line, diag.Detail)),
			fmt.Sprintf("correct it there; `%s` finds other mistakes", env.Command("validate "+text.ShellWord(file.Name()))))
	}
	return stateDirOfIssue(env, cfg, ref.PRD, file.Name(), number)
}

// stateDirOfIssue returns the state directory of a PRD whose pipeline, in the given file,
// works on an issue. It is an error if the number is needed, and the file does not say it.
func stateDirOfIssue(env *cli.Environment, cfg *config.Config, prd, file string, issue int) (string, error) {
	if issue == 0 && cfg.StatePerIssue() {
		return "", advice.With(unknownStateDir(cfg, prd, file+" does not say it"), "write it into the pipeline: issue { number = 42 }")
	}
	return env.Path(cfg.StateDir(prd, strconv.Itoa(issue))), nil
}

// unknownStateDir returns the error of a PRD whose state directory can't be found.
func unknownStateDir(cfg *config.Config, prd, reason string) error {
	return advice.Usagef("the state directory of %s is not known: checkpoint.storage.location is %s, which needs the number of the issue, and %s",
		prd, cfg.Checkpoint.Storage.Location, reason)
}

// ownStateDir returns the state directory of the session to which this process belongs, ""
// if it belongs to none of the PRD in this workspace. So the processes of a pipeline find
// their session even if its file has another name than the PRD.
func ownStateDir(env *cli.Environment, cfg *config.Config, ref PipelineRef) string {
	dir := env.Lookup("RUNNER_STATE_DIR")
	if ref.File != "" || env.Lookup("RUNNER_PRD") != ref.PRD {
		return ""
	}
	before, _, _ := strings.Cut(env.Path(cfg.StateDir(ref.PRD, config.IssuePlaceholder)), config.IssuePlaceholder)
	rest, within := strings.CutPrefix(dir, before)
	if number := leadingNumber(rest); !within || number == "" || dir != env.Path(cfg.StateDir(ref.PRD, number)) {
		return ""
	}
	return dir
}

// leadingNumber returns the number with which a text begins, "" if there is none.
func leadingNumber(s string) string {
	number := s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
	if strings.HasPrefix(number, "0") {
		return ""
	}
	return number
}

// recordedStateDir returns the only state directory with a session of a PRD whose pipeline
// is not found by its name, as after `build -f FILE`.
func recordedStateDir(env *cli.Environment, cfg *config.Config, ref PipelineRef, missing error) (string, error) {
	prd := ref.PRD
	found, err := stateDirsWith(env, cfg, prd)
	switch {
	case err != nil:
		return "", err
	case ref.Issue > 0:
		return env.Path(cfg.StateDir(prd, strconv.Itoa(ref.Issue))), nil
	case len(found) == 0:
		return "", advice.With(unknownStateDir(cfg, prd, missing.Error()), withoutPipeline(env, cfg, prd))
	case len(found) == 1:
		return found[0], nil
	}
	for i, dir := range found {
		found[i] = env.Display(dir)
	}
	return "", advice.With(unknownStateDir(cfg, prd, missing.Error()),
		fmt.Sprintf("%s have sessions of it: set PRDRUNNER_CHECKPOINT_STORAGE_LOCATION=%s, or another of these, for this command", text.Enumerate(found), text.ShellWord(found[0])))
}

// OfOtherIssues lists the state directories, other than that of a store, that have something
// of a PRD, "" if there are none.
func OfOtherIssues(env *cli.Environment, store *checkpoint.Store, prd string) string {
	cfg, err := env.LoadConfig()
	if err != nil || !cfg.StatePerIssue() {
		return ""
	}
	found, _ := stateDirsWith(env, cfg, prd) // a hint is not worth an error
	var others []string
	for _, dir := range found {
		if dir != store.Dir() {
			others = append(others, env.Display(dir))
		}
	}
	if len(others) == 0 {
		return ""
	}
	return text.Enumerate(others)
}

// stateDirsWith returns the state directories of all issues that have something of a PRD.
func stateDirsWith(env *cli.Environment, cfg *config.Config, prd string) ([]string, error) {
	before, _, _ := strings.Cut(env.Path(cfg.StateDir(prd, config.IssuePlaceholder)), config.IssuePlaceholder)
	parent, prefix := filepath.Split(before)
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for the state of %s: %w", prd, err)
	}
	var found []string
	for _, entry := range entries {
		rest, named := strings.CutPrefix(entry.Name(), prefix)
		number := leadingNumber(rest)
		if !named || number == "" {
			continue
		}
		l := disk.Layout{Path: env.Path(cfg.StateDir(prd, number))}
		if _, err := os.Stat(l.PRDDir(prd)); err == nil && !slices.Contains(found, l.Path) {
			found = append(found, l.Path)
		}
	}
	return found, nil
}
