package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
)

const (
	defaultLocation  = ".runner"
	defaultIDPattern = `PRD-\d{3,}`
)

// valueKind is the type of a key's value.
type valueKind int

const (
	boolean valueKind = iota
	count             // a whole number, at least key.least
	duration
	anyText
	word // one of key.words
	list // of strings
)

// configKey is one key of the configuration.
type configKey struct {
	name     string
	kind     valueKind
	fallback any // the default; nil: the key has no default
	help     string
	flag     bool     // a command may have a flag of the same name
	least    int      // the minimum of a count
	words    []string // the values of a word
	// refuse returns the reason why a well-formed value is invalid, or "".
	refuse func(value any) string
}

// configKeys returns the table of all keys.
func configKeys() []configKey {
	keys := []configKey{
		{name: "checkpoint.enabled", kind: boolean, fallback: true, help: "write checkpoint files; the journal is always written"},
		{name: "checkpoint.auto_checkpoint", kind: boolean, fallback: true, help: "make the checkpoints that checkpoint.triggers names; some are always made"},
	}
	keys = append(keys, triggerKeys()...)
	keys = append(keys, retentionKeys()...)
	return append(keys,
		configKey{name: "checkpoint.retention.max_age", kind: duration, fallback: 168 * time.Hour, help: "prune checkpoints and complete sessions older than this; 0s: no limit"},
		configKey{name: "checkpoint.retention.failed_max_age", kind: duration, fallback: 720 * time.Hour, help: "prune failed and abandoned sessions older than this; 0s: no limit"},
		configKey{name: "checkpoint.retention.on_complete", kind: word, words: []string{string(checkpoint.KeepOnComplete), string(checkpoint.DeleteOnComplete), string(checkpoint.ArchiveOnComplete)}, fallback: string(checkpoint.KeepOnComplete), help: "what to do with the checkpoints of a complete session"},
		configKey{name: "checkpoint.storage.location", kind: anyText, fallback: defaultLocation, refuse: refuseLocation, help: "state directory, relative to the workspace; may contain {prd}"},
		configKey{name: "checkpoint.storage.compress", kind: boolean, fallback: false, help: "compress checkpoint files with zstd, and objects if that makes them smaller"},
		configKey{name: "checkpoint.storage.max_size_mb", kind: count, fallback: 50, help: "prune checkpoints of a PRD that uses more than this; 0: no limit"},
		configKey{name: "checkpoint.storage.url", kind: anyText, fallback: "", refuse: refuseURL, help: "bucket to keep a copy in (not in this version)"},
		configKey{name: "checkpoint.capture", kind: word, words: []string{string(runner.CaptureBoundary), string(runner.CapturePhase), string(runner.CaptureOff)}, fallback: string(runner.CaptureBoundary), help: "when a run captures files: boundary (also after a workstream while no other one runs), phase (only between phases and when a run ends), or off (only what would be lost otherwise)"},
		configKey{name: "checkpoint.git.mode", kind: word, words: []string{"ref", "commit", "off"}, fallback: "ref", help: "how files are captured in a git work tree: as commits on no branch (ref), as commits on the branch (commit), or without git (off)"},
		configKey{name: "workspace.include", kind: list, fallback: []string{}, refuse: refuseInclude, help: "globs of files to capture besides those that the pipeline declares; outside git nothing else is captured"},
		configKey{name: "on_checkpoint_error", kind: word, words: []string{string(record.Pause), string(record.Retry), string(record.Skip)}, fallback: string(record.Pause), help: "what to do if a checkpoint cannot be written"},
		configKey{name: "on_conflict", kind: word, flag: true, words: []string{string(plan.ConflictAsk), string(plan.ConflictRestore), string(plan.ConflictKeep), string(plan.ConflictFail)}, fallback: string(plan.ConflictAsk), help: "what to do with edited artifacts; ask fails without a terminal; if this is not set, the gate judges edits that follow its failure"},
		configKey{name: "on_stale", kind: word, flag: true, words: []string{string(runner.StaleAsk), string(runner.StaleProceed), string(runner.StaleFail)}, fallback: string(runner.StaleAsk), help: "what to do if the PRD document changed or the session's git branch is gone; ask fails without a terminal"},
		configKey{name: "pipelines", kind: anyText, fallback: "pipelines", help: "another directory to look for pipelines in, besides the workspace and pipelines/"},
		configKey{name: "id_pattern", kind: anyText, fallback: defaultIDPattern, help: "regular expression that a whole PRD id must match"},
		configKey{name: "parallel", kind: count, flag: true, fallback: 0, help: "how many processes may run at once; 0 is the number of CPUs"},
		configKey{name: "keep_going", kind: boolean, flag: true, fallback: false, help: "after a failure, continue with what does not depend on it"},
		configKey{name: "pause_at_gates", kind: boolean, flag: true, fallback: false, help: "pause for review after every gate"},
		configKey{name: "grace", kind: duration, flag: true, fallback: 10 * time.Second, help: "time between SIGTERM and SIGKILL"},
	)
}

// conflictEvents is the key that sets two triggers.
const conflictEvents = "conflict_events"

// triggerKeys returns the keys of the triggers that can be switched off.
func triggerKeys() []configKey {
	var keys []configKey
	for _, name := range []string{
		string(state.TriggerPhaseTransition), string(state.TriggerBatchComplete),
		string(state.TriggerWorkstreamComplete), string(state.TriggerGatePassed),
		conflictEvents, string(state.TriggerPause), string(state.TriggerComplete),
	} {
		keys = append(keys, configKey{name: "checkpoint.triggers." + name, kind: boolean, fallback: true, help: "make a checkpoint at this boundary"})
	}
	return keys
}

// retentionKeys returns the keys that set how many checkpoints of each trigger are kept.
// Triggers without a default keep all, until the user prunes by age.
func retentionKeys() []configKey {
	const all = -1
	defaults := checkpoint.DefaultPolicy().Retention.Counts
	var keys []configKey
	for _, trigger := range []state.Trigger{
		state.TriggerStart, state.TriggerPhaseTransition, state.TriggerBatchComplete,
		state.TriggerWorkstreamComplete, state.TriggerGatePassed, state.TriggerConflictStart,
		state.TriggerConflictResolved, state.TriggerUserInterrupt, state.TriggerSessionEnd,
		state.TriggerManual, state.TriggerFailure, state.TriggerPause,
		state.TriggerComplete, state.TriggerPreRollback,
	} {
		key := configKey{
			name: "checkpoint.retention." + string(trigger), kind: count, least: all,
			help: "how many to keep; -1 keeps all, of any age and size",
		}
		if keep, counted := defaults[string(trigger)]; counted {
			key.fallback = keep
		}
		keys = append(keys, key)
	}
	return keys
}

// mandatoryTrigger reports whether a key names a trigger that can't be switched off.
func mandatoryTrigger(key string) bool {
	name, isTrigger := strings.CutPrefix(key, "checkpoint.triggers.")
	return isTrigger && slices.Contains([]state.Trigger{
		state.TriggerStart, state.TriggerFailure, state.TriggerUserInterrupt,
		state.TriggerSessionEnd, state.TriggerManual, state.TriggerPreRollback,
	}, state.Trigger(name))
}

// prdPlaceholder stands for the PRD id in checkpoint.storage.location.
const prdPlaceholder = "{prd}"

func refuseLocation(value any) string {
	location := strings.ReplaceAll(value.(string), prdPlaceholder, "")
	switch {
	case strings.TrimSpace(value.(string)) == "":
		return "must name a directory"
	case strings.Contains(location, "{issue}"):
		return "holds {issue}, but nothing links a PRD to an issue in this version; only {prd} is known"
	case strings.ContainsAny(location, "{}"):
		return "holds a placeholder that is not known; only {prd} is"
	}
	return ""
}

func refuseURL(value any) string {
	if value.(string) != "" {
		return "is set, but state in buckets is not in this version"
	}
	return ""
}

func refuseInclude(value any) string {
	for i, glob := range value.([]string) {
		pattern, excludes := strings.CutPrefix(glob, "!")
		if problem := pipeline.GlobProblem(pattern); problem != "" {
			return fmt.Sprintf("has %q, which %s", glob, problem)
		}
		if excludes && i == 0 {
			return fmt.Sprintf("has %q first, which excludes files from the globs before it", glob)
		}
	}
	return ""
}

// canonical converts the key names of older configurations to the current ones:
// checkpoint_triggers to triggers, agent_complete to workstream_complete.
func canonical(key string) string {
	parts := strings.Split(key, ".")
	for i, part := range parts {
		switch part {
		case "checkpoint_triggers":
			parts[i] = "triggers"
		case "agent_complete":
			parts[i] = string(state.TriggerWorkstreamComplete)
		}
	}
	return strings.Join(parts, ".")
}

// spellings returns all names of a key, including those of older configurations.
func spellings(key string) []string {
	names := []string{key}
	if older := strings.ReplaceAll(key, "."+string(state.TriggerWorkstreamComplete), ".agent_complete"); older != key {
		names = append(names, older)
	}
	for _, name := range slices.Clone(names) {
		if older, found := strings.CutPrefix(name, "checkpoint.triggers."); found {
			names = append(names, "checkpoint.checkpoint_triggers."+older)
		}
	}
	return names
}
