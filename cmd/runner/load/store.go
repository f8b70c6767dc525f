package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/pipeline"
	"prdrunner/pipeline/glob"
	"prdrunner/runner/process"
)

// OpenStore opens the state directory of the PRD that ref names. If one directory holds all
// PRDs, ref.PRD may be "".
func OpenStore(env *cli.Environment, cfg *config.Config, ref PipelineRef) (*checkpoint.Store, error) {
	if ref.PRD == "" && cfg.StatePerPRD() {
		whose := "PRD"
		if cfg.StatePerIssue() {
			whose = "issue"
		}
		return nil, advice.With(advice.Usagef("each %s has a state directory of its own here: %s", whose, cfg.Checkpoint.Storage.Location), "name a PRD")
	}
	dir, err := stateDir(env, cfg, ref)
	if err != nil {
		return nil, err
	}
	return openStateDir(env, cfg, dir, ref, nil)
}

// openStateDir opens a state directory. ref and known say where databases are, see
// openDatabase.
func openStateDir(env *cli.Environment, cfg *config.Config, dir string, ref PipelineRef, known *pipeline.Pipeline) (*checkpoint.Store, error) {
	return checkpoint.OpenStore(dir, checkpoint.Options{
		Now:       env.Now,
		Policy:    cfg.Policy(),
		IDPattern: cfg.SessionPattern,
		Version:   env.Version,
		Git:       process.NewCommander(env.ChildEnvironment()),
		Include:   glob.Patterns(cfg.Workspace.Include),
		Sensitive: cfg.Workspace.Sensitive,
		Late: func(err error) {
			env.Warn(fmt.Errorf("the command succeeded, but not every derived file could be written: %w", err))
		},
		Warn:         env.Warn,
		OpenDatabase: openDatabase(env, cfg, ref, known),
		EndOrphans: func(ctx context.Context, session, logs string) ([]state.Process, error) {
			return endOrphans(ctx, env, session, logs)
		},
	})
}

// endOrphans ends the processes that a killed runner of a session left running, and tells
// the user. It shows no command lines, which may hold sensitive values: only a build knows
// these values and can mask them.
func endOrphans(ctx context.Context, env *cli.Environment, session, logs string) (ended []state.Process, err error) {
	executor, err := process.New(process.Options{Logger: env.Logger().Named("process")})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, executor.Close()) }()
	orphans, err := executor.Recover(ctx, session, logs)
	pids := make([]string, len(orphans))
	for i, p := range orphans {
		pids[i] = strconv.Itoa(p.PID)
		ended = append(ended, state.Process{PID: p.PID, Command: state.Text(p.Command)})
	}
	switch {
	case errors.Is(err, process.ErrUnkillable):
		return ended, advice.With(err, fmt.Sprintf("end them by hand (of %s), then run the command again", strings.Join(pids, ", ")))
	case err == nil && len(orphans) > 0:
		fmt.Fprintf(env.Stderr, "Ended what a killed run had left running (pid %s)\n", strings.Join(pids, ", "))
	}
	return ended, err
}

// WasImported reports whether a session was imported, perhaps without its logs. It reports true if
// that can't be read.
func WasImported(env *cli.Environment, store *checkpoint.Store, st *state.State) bool {
	origin, err := store.Layout().ReadOrigin(st)
	if err != nil {
		env.Logger().Warn("it is not known whether the session was imported", "error", err)
	}
	return origin != nil || err != nil
}

// SaveCache saves the cache of file digests. A failure is only a warning: the next command
// takes longer.
func SaveCache(env *cli.Environment, w *workspace.Workspace) {
	if err := w.SaveCache(); err != nil {
		env.Warn(fmt.Errorf("the cache of file digests was not saved; the next command reads the files again: %w", err))
	}
}
