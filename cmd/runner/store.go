package main

import (
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/retention"
)

// openStore opens the state of a PRD. Where the location has no {prd} in it,
// the PRD may be "", for what concerns all of them.
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
	})
}

// policy is what the configuration says about checkpoints.
func (c *config) policy() checkpoint.Policy {
	from := c.Checkpoint
	policy := checkpoint.Policy{
		Enabled:  from.Enabled,
		Auto:     from.AutoCheckpoint,
		Triggers: make(map[checkpoint.Trigger]bool),
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
			policy.Triggers[checkpoint.TriggerConflictStart] = on
			policy.Triggers[checkpoint.TriggerConflictResolved] = on
			continue
		}
		policy.Triggers[checkpoint.Trigger(name)] = on
	}
	return policy
}
