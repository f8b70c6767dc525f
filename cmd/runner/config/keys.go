package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline/glob"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
)

const (
	// PipelineExtension ends the name of a pipeline's file.
	PipelineExtension = ".hcl"
	// DefaultLocation is the state directory, relative to the workspace.
	DefaultLocation = ".runner"
	// DefaultIDPattern matches a PRD id.
	DefaultIDPattern = `PRD-\d{3,}`
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

// Key is one key of the configuration.
type Key struct {
	Name    string
	Default any // nil: the key has no default
	Help    string

	kind  valueKind
	flag  bool     // a command may have a flag of the same name
	least int      // the minimum of a count
	words []string // the values of a word
	// refuse returns the reason why a well-formed value is invalid, or "".
	refuse func(value any) string
}

// Type returns the type of a key's values, as JSON Schema names it, and the words if only some are allowed. An array has strings,
// and a duration is a string such as 10s.
func (k Key) Type() (name string, words []string) {
	switch k.kind {
	case boolean:
		return "boolean", nil
	case count:
		return "integer", nil
	case list:
		return "array", nil
	case word:
		return "string", k.words
	case duration, anyText:
	}
	return "string", nil
}

// Keys returns every key of the configuration, in the order in which they are shown.
func Keys() []Key {
	keys := []Key{
		{Name: "checkpoint.enabled", kind: boolean, Default: true, Help: "write checkpoint files; the journal is always written"},
		{Name: "checkpoint.auto_checkpoint", kind: boolean, Default: true, Help: "make the checkpoints that checkpoint.triggers names; some are always made"},
	}
	keys = append(keys, triggerKeys()...)
	keys = append(keys, retentionKeys()...)
	return append(keys,
		Key{Name: "checkpoint.retention.max_age", kind: duration, Default: 168 * time.Hour, Help: "prune checkpoints and complete sessions older than this; 0s: no limit"},
		Key{Name: "checkpoint.retention.failed_max_age", kind: duration, Default: 720 * time.Hour, Help: "prune failed and abandoned sessions older than this; 0s: no limit"},
		Key{Name: "checkpoint.retention.on_complete", kind: word, words: []string{string(checkpoint.KeepOnComplete), string(checkpoint.DeleteOnComplete), string(checkpoint.ArchiveOnComplete)}, Default: string(checkpoint.KeepOnComplete), Help: "what to do with the checkpoints of a complete session"},
		Key{Name: "checkpoint.storage.location", kind: anyText, Default: DefaultLocation, refuse: refuseLocation, Help: "state directory, relative to the workspace; may contain {prd}, and {issue} for the number that the issue block of the pipeline has"},
		Key{Name: "checkpoint.storage.compress", kind: boolean, Default: false, Help: "compress checkpoint files with zstd, and objects if that makes them smaller"},
		Key{Name: "checkpoint.storage.max_size_mb", kind: count, Default: 50, Help: "prune checkpoints of a PRD that uses more than this; 0: no limit"},
		Key{Name: "checkpoint.storage.url", kind: anyText, Default: "", refuse: refuseURL, Help: "bucket to keep a copy in (not in this version)"},
		Key{Name: "checkpoint.capture", kind: word, words: []string{string(runner.CaptureBoundary), string(runner.CapturePhase), string(runner.CaptureOff)}, Default: string(runner.CaptureBoundary), Help: "when a run captures files: boundary (also after a workstream while no other one runs), phase (only between phases and when a run ends), or off (only what would be lost otherwise)"},
		Key{Name: "checkpoint.git.mode", kind: word, words: []string{"ref", "commit", "off"}, Default: "ref", Help: "how files are captured in a git work tree: as commits on no branch (ref), as commits on the branch (commit), or without git (off)"},
		Key{Name: "workspace.include", kind: list, Default: []string{}, refuse: refuseInclude, Help: "globs of files to capture besides those that the pipeline declares; outside git nothing else is captured"},
		Key{Name: "workspace.sensitive", kind: list, Default: []string{}, refuse: refuseSensitive, Help: "globs of further files that look sensitive, so that captures leave them out; with ! in front, of files that do not"},
		Key{Name: "safety.expiry", kind: duration, Default: time.Duration(0), Help: "how long safety checkpoints are kept without --expiry; 0s: until they are deleted"},
		Key{Name: "on_checkpoint_error", kind: word, words: []string{string(record.Pause), string(record.Retry), string(record.Skip)}, Default: string(record.Pause), Help: "what to do if a checkpoint cannot be written"},
		Key{Name: "on_conflict", kind: word, flag: true, words: []string{string(plan.ConflictAsk), string(plan.ConflictRestore), string(plan.ConflictKeep), string(plan.ConflictFail)}, Default: string(plan.ConflictAsk), Help: "what to do with edited artifacts; ask fails without a terminal; if this is not set, the gate judges edits that follow its failure"},
		Key{Name: "on_stale", kind: word, flag: true, words: []string{string(runner.StaleAsk), string(runner.StaleProceed), string(runner.StaleFail)}, Default: string(runner.StaleAsk), Help: "what to do if the document or the issue of the pipeline changed or the session's git branch is gone; ask fails without a terminal"},
		Key{Name: "pipelines", kind: anyText, Default: "pipelines", Help: "another directory to look for pipelines in, besides the workspace and pipelines/"},
		Key{Name: "id_pattern", kind: anyText, Default: DefaultIDPattern, Help: "regular expression that a whole PRD id must match"},
		Key{Name: "parallel", kind: count, flag: true, Default: 0, Help: "how many processes may run at once; 0 is the number of CPUs"},
		Key{Name: "keep_going", kind: boolean, flag: true, Default: false, Help: "after a failure, continue with what does not depend on it"},
		Key{Name: "pause_at_gates", kind: boolean, flag: true, Default: false, Help: "pause for review after every gate"},
		Key{Name: "grace", kind: duration, flag: true, Default: 10 * time.Second, Help: "time between SIGTERM and SIGKILL"},
	)
}

// conflictEvents is the key that sets two triggers.
const conflictEvents = "conflict_events"

// triggerKeys returns the keys of the triggers that can be switched off.
func triggerKeys() []Key {
	var keys []Key
	for _, name := range []string{
		string(state.TriggerPhaseTransition), string(state.TriggerBatchComplete),
		string(state.TriggerWorkstreamComplete), string(state.TriggerIterationComplete), string(state.TriggerGatePassed),
		conflictEvents, string(state.TriggerPause), string(state.TriggerComplete),
	} {
		keys = append(keys, Key{Name: "checkpoint.triggers." + name, kind: boolean, Default: true, Help: "make a checkpoint at this boundary"})
	}
	return keys
}

// retentionKeys returns the keys that set how many checkpoints of each trigger are kept.
// Triggers without a default have no limit in number; the limits of age and size apply.
func retentionKeys() []Key {
	const all = -1
	defaults := checkpoint.DefaultPolicy().Retention.Counts
	var keys []Key
	for _, trigger := range []state.Trigger{
		state.TriggerStart, state.TriggerPhaseTransition, state.TriggerBatchComplete,
		state.TriggerWorkstreamComplete, state.TriggerIterationComplete, state.TriggerGatePassed, state.TriggerConflictStart,
		state.TriggerConflictResolved, state.TriggerUserInterrupt, state.TriggerSessionEnd,
		state.TriggerManual, state.TriggerFailure, state.TriggerPause,
		state.TriggerComplete, state.TriggerPreRollback,
	} {
		key := Key{
			Name: "checkpoint.retention." + string(trigger), kind: count, least: all,
			Help: "how many to keep; -1 keeps all, of any age and size",
		}
		if keep, counted := defaults[string(trigger)]; counted {
			key.Default = keep
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

// The placeholders of checkpoint.storage.location: the PRD id, and the number of the issue
// that the PRD's pipeline works on.
const (
	prdPlaceholder   = "{prd}"
	IssuePlaceholder = "{issue}"
)

func refuseLocation(value any) string {
	location := strings.NewReplacer(prdPlaceholder, "", IssuePlaceholder, "").Replace(value.(string))
	switch {
	case strings.TrimSpace(value.(string)) == "":
		return "must name a directory"
	case strings.ContainsAny(location, "{}"):
		return "holds a placeholder that is not known; only {prd} and {issue} are"
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
	for i, text := range value.([]string) {
		pattern, excludes := strings.CutPrefix(text, "!")
		if problem := glob.Problem(pattern); problem != "" {
			return fmt.Sprintf("has %q, which %s", text, problem)
		}
		if excludes && i == 0 {
			return fmt.Sprintf("has %q first, which excludes files from the globs before it", text)
		}
	}
	return ""
}

func refuseSensitive(value any) string {
	for _, text := range value.([]string) {
		if problem := glob.Problem(strings.TrimSuffix(strings.TrimPrefix(text, "!"), "/")); problem != "" {
			return fmt.Sprintf("has %q, which %s", text, problem)
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
