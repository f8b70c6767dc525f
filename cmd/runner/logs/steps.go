package logs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/words"
	"prdrunner/runner"
)

// step is a workstream, a gate, a service or a hook, with the name of its log.
type step struct {
	label    string // for people
	log      string
	attempts int           // 0: the step has not begun
	gate     *state.Gate   // nil for a workstream
	sessions []string      // earlier sessions whose directories may hold the logs of attempts
	cached   *state.Cached // the run whose result the last attempt took from the cache; nil if the attempt ran
}

// findSteps returns the steps that have a log, in the order of the pipeline, services and
// hooks last: all steps, or those that the user named.
func findSteps(st *state.State, hooks []step, name string) ([]step, error) {
	var all []step
	addGates := func(owner string, list []*state.Gate) {
		for _, g := range list {
			bare, _, _ := strings.Cut(g.Label, " (")
			all = append(all, step{g.Label, owner + "." + bare, g.Attempts, g, earlierSessions(st, g.Session), nil})
		}
	}
	if r := st.Review; r != nil && r.Runs > 0 && st.Workstream("review") == nil {
		all = append(all, step{"review", runner.ReviewLog, r.Runs, nil, nil, nil})
	}
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			all = append(all, step{w.Name, w.Name, w.Attempts, nil, earlierSessions(st, w.Session), w.Cached})
			addGates(w.Name, w.Gates)
		}
		addGates(p.Name, p.Gates)
	}
	for _, s := range st.Services {
		all = append(all, step{disk.ServiceLog(s.Name), disk.ServiceLog(s.Name), s.Attempt, nil, nil, nil})
	}
	all = append(all, hooks...)
	if name == "" {
		return all, nil
	}
	i := slices.IndexFunc(all, func(s step) bool { return s.label == name })
	if i >= 0 {
		return all[i : i+1], nil
	}
	var named []step // gates that share a bare name
	for _, s := range all {
		if bare, _, _ := strings.Cut(s.label, " ("); s.gate != nil && bare == name {
			named = append(named, s)
		}
	}
	if len(named) == 0 {
		labels := make([]string, len(all))
		for i, s := range all {
			labels[i] = s.label
		}
		err := advice.Usagef("there is no log of %q in %s: it is no workstream or gate, nor a service or hook that has run", name, st.PRD)
		if near := words.Nearest(name, labels); near != "" {
			return nil, advice.With(err, fmt.Sprintf("did you mean %s?", text.ShellWord(near)))
		}
		return nil, err
	}
	return named, nil
}

// findHooks returns the hooks that have run. The state of a session does not have them: how
// often a hook has run is known by its logs.
func findHooks(store *checkpoint.Store, prd string) ([]step, error) {
	entries, err := os.ReadDir(store.Layout().LogsDir(prd))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("look for the logs of hooks: %w", err)
	}
	attempts := map[string]int{}
	pattern := regexp.MustCompile(`^(hook\.[a-z]+\.\d+)\.(\d+)\.log$`)
	for _, e := range entries {
		if parts := pattern.FindStringSubmatch(e.Name()); parts != nil {
			n, _ := strconv.Atoi(parts[2]) // a number that is too large is none of Runner's
			attempts[parts[1]] = max(attempts[parts[1]], n)
		}
	}
	var hooks []step
	for _, name := range slices.Sorted(maps.Keys(attempts)) {
		hooks = append(hooks, step{label: name, log: name, attempts: attempts[name]})
	}
	return hooks, nil
}

// earlierSessions returns the sessions from which a record may come: the one that it
// names, and the one from which the session began.
func earlierSessions(st *state.State, named string) []string {
	var ids []string
	if named != "" {
		ids = append(ids, named)
	}
	if st.BeganFrom != nil && st.BeganFrom.Session != named {
		ids = append(ids, st.BeganFrom.Session)
	}
	return ids
}
