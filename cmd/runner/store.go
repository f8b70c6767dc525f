package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/process"
)

// openStore opens the state directory of a PRD. If the configured location has no {prd} in
// it, one directory holds all PRDs, and prd may be "".
func openStore(env *environment, cfg *config, prd string) (*checkpoint.Store, error) {
	location := cfg.Checkpoint.Storage.Location
	if strings.Contains(location, prdPlaceholder) {
		if prd == "" {
			return nil, withHint(usageErrorf("each PRD has a state directory of its own here: %s", location), "name a PRD")
		}
		location = strings.ReplaceAll(location, prdPlaceholder, prd)
	}
	return checkpoint.OpenStore(env.path(location), checkpoint.Options{
		Now:       env.now,
		Policy:    cfg.policy(),
		IDPattern: cfg.IDPattern,
		Version:   versionString(),
		Git:       process.NewCommander(childEnvironment(env.environ)),
		Include:   pipeline.Patterns(cfg.Workspace.Include),
		Late: func(err error) {
			env.warn(fmt.Errorf("the command succeeded, but not every derived file could be written: %w", err))
		},
		EndOrphans: func(ctx context.Context, session, logs string) ([]state.Process, error) {
			return endOrphans(ctx, env, session, logs)
		},
	})
}

// endOrphans ends the processes that a killed runner of a session left running, and tells
// the user. It shows no command lines, which may hold sensitive values: only a build knows
// these values and can mask them.
func endOrphans(ctx context.Context, env *environment, session, logs string) (ended []state.Process, err error) {
	executor, err := process.New(process.Options{Logger: env.logger().Named("process")})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, executor.Close()) }()
	left, err := executor.Recover(ctx, session, logs)
	pids := make([]string, len(left))
	for i, p := range left {
		pids[i] = strconv.Itoa(p.PID)
		ended = append(ended, state.Process{PID: p.PID, Command: state.Text(p.Command)})
	}
	switch {
	case errors.Is(err, process.ErrUnkillable):
		return ended, withHint(err, fmt.Sprintf("end them by hand (of %s), then run the command again", strings.Join(pids, ", ")))
	case err == nil && len(left) > 0:
		fmt.Fprintf(env.stderr, "Ended what a killed run had left running (pid %s)\n", strings.Join(pids, ", "))
	}
	return ended, err
}

// saveCache saves the cache of file digests. A failure is only a warning: the next command
// takes longer.
func saveCache(env *environment, w *workspace.Workspace) {
	if err := w.SaveCache(); err != nil {
		env.warn(fmt.Errorf("the cache of file digests was not saved; the next command reads the files again: %w", err))
	}
}

// policy returns the configured policy for checkpoints.
func (c *config) policy() checkpoint.Policy {
	from := c.Checkpoint
	policy := checkpoint.Policy{
		Enabled:  from.Enabled,
		Auto:     from.AutoCheckpoint,
		Triggers: make(map[state.Trigger]bool),
		Retention: retention.Policy{
			Counts:       from.Retention.Counts,
			MaxAge:       from.Retention.MaxAge,
			FailedMaxAge: from.Retention.FailedMaxAge,
			MaxSizeMB:    from.Storage.MaxSizeMB,
		},
		OnComplete: checkpoint.OnComplete(from.Retention.OnComplete),
		Compress:   from.Storage.Compress,
	}
	for name, on := range from.Triggers {
		if name == conflictEvents {
			policy.Triggers[state.TriggerConflictStart] = on
			policy.Triggers[state.TriggerConflictResolved] = on
			continue
		}
		policy.Triggers[state.Trigger(name)] = on
	}
	return policy
}
