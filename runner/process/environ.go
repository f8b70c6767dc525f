package process

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	"prdrunner/runner"
)

// The variables that the executor sets or reads itself.
const (
	sessionVariable    = "RUNNER_SESSION"
	workstreamVariable = "RUNNER_WORKSTREAM"
	// tokenVariable tells the processes of one run of a task from all others,
	// also when they left its process group.
	tokenVariable = "RUNNER_TASK_TOKEN"
)

// environment is the part of the environment that all children share, indexed
// once so that adding a task's variables costs a copy and a few look-ups.
type environment struct {
	entries []string
	index   map[string]int // by name, into entries
}

// newEnvironment takes NAME=value entries, of which a later one wins.
func newEnvironment(base []string) environment {
	env := environment{index: make(map[string]int, len(base))}
	for _, entry := range base {
		name, _, ok := cutEntry(entry)
		if !ok || strings.ContainsRune(entry, 0) {
			continue
		}
		env.entries = env.set(env.entries, name, entry)
	}
	return env
}

// set replaces an entry of the base in entries; a new name is appended, and
// enters the index.
func (env environment) set(entries []string, name, entry string) []string {
	if i, ok := env.index[foldName(name)]; ok {
		entries[i] = entry
		return entries
	}
	env.index[foldName(name)] = len(entries)
	return append(entries, entry)
}

// of returns the environment of one task. The order of what is added is that of
// the names, so that it does not depend on chance.
func (env environment) of(work runner.Task, token string) []string {
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

// value returns the value of a variable in a list of entries; the last wins.
func value(entries []string, name string) string {
	for _, entry := range slices.Backward(entries) {
		if n, v, ok := cutEntry(entry); ok && foldName(n) == foldName(name) {
			return v
		}
	}
	return ""
}

// cutEntry splits NAME=value. Windows has names that begin with "=".
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

// foldName makes names comparable: those of Windows know no case.
func foldName(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}
