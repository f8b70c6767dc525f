package process

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	"prdrunner/runner"
)

// Variables that the executor sets or reads.
const (
	sessionVariable    = "RUNNER_SESSION"
	workstreamVariable = "RUNNER_WORKSTREAM"
	// tokenVariable marks the processes of one run of a task, even if they left its process
	// group.
	tokenVariable = "RUNNER_TASK_TOKEN"
)

// environment is the part of the environment that all children share. It is indexed once,
// so that adding the variables of a task is cheap.
type environment struct {
	entries []string
	index   map[string]int // by name, into entries
}

// newEnvironment returns the environment of NAME=value entries. A later entry wins.
func newEnvironment(base []string) environment {
	env := environment{index: make(map[string]int, len(base))}
	for _, entry := range base {
		name, _, ok := cutEntry(entry)
		if !ok || strings.ContainsRune(entry, 0) {
			continue
		}
		env.entries = env.setEntry(env.entries, name, entry)
	}
	return env
}

// setEntry replaces an entry of the base, or appends a new name and indexes it.
func (env environment) setEntry(entries []string, name, entry string) []string {
	if i, ok := env.index[foldName(name)]; ok {
		entries[i] = entry
		return entries
	}
	env.index[foldName(name)] = len(entries)
	return append(entries, entry)
}

// forTask returns the environment of one task. Variables are added in the order of their
// names, so that the result is always the same.
func (env environment) forTask(work runner.Task, token string) []string {
	entries := make([]string, len(env.entries), len(env.entries)+len(work.Env)+2)
	copy(entries, env.entries)
	put := func(name, value string) {
		entry := name + "=" + value
		if i, ok := env.index[foldName(name)]; ok {
			entries[i] = entry
			return
		}
		entries = append(entries, entry)
	}
	for _, name := range slices.Sorted(maps.Keys(work.Env)) {
		if name == tokenVariable || name == sessionVariable && work.Session != "" {
			continue
		}
		put(name, work.Env[name])
	}
	if work.Session != "" {
		put(sessionVariable, work.Session)
	}
	put(tokenVariable, token)
	return entries
}

// lastValue returns the value of a variable in a list of entries. The last entry counts.
func lastValue(entries []string, name string) string {
	for _, entry := range slices.Backward(entries) {
		if n, v, ok := cutEntry(entry); ok && foldName(n) == foldName(name) {
			return v
		}
	}
	return ""
}

// cutEntry splits NAME=value. On Windows a name can begin with "=".
func cutEntry(entry string) (name, value string, ok bool) {
	if len(entry) == 0 {
		return "", "", false
	}
	i := strings.IndexByte(entry[1:], '=')
	if i < 0 || entry[0] == '=' && runtime.GOOS != "windows" {
		return "", "", false
	}
	return entry[:i+1], entry[i+2:], true
}

// foldName folds the case of names on Windows, where it does not matter.
func foldName(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}
