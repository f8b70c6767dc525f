package logs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/words"
	"prdrunner/runner"
	"prdrunner/runner/stream"
	"prdrunner/runner/view"
)

// step is a workstream, a gate, a service or a hook, with the name of its log.
type step struct {
	label    string // for people
	log      string
	attempts int           // 0: the step has not begun
	running  bool          // its last attempt runs, if its runner lives
	record   span          // of the last attempt
	gate     *state.Gate   // nil for a workstream
	sessions []string      // earlier sessions whose directories may hold the logs of attempts
	cached   *state.Cached // the run whose result the last attempt took from the cache; nil if the attempt ran
}

// findSteps returns the steps that have a log, in the order of the pipeline, services and
// hooks last: all steps, or those that the user named.
func findSteps(st *state.State, hooks []step, name string) ([]step, error) {
	all := append(allSteps(st), hooks...)
	if name == "" {
		return all, nil
	}
	named := slices.DeleteFunc(slices.Clone(all), func(s step) bool { return !s.isNamed(name) })
	if exact := slices.IndexFunc(named, func(s step) bool { return s.label == name }); exact >= 0 {
		return named[exact : exact+1], nil
	}
	if len(named) > 0 {
		return named, nil
	}
	var labels []string
	for _, s := range all {
		labels = append(labels, s.label)
		if block := view.Block(s.label); block != s.label {
			labels = append(labels, block)
		}
		if bare, _, ok := state.CutLabel(s.label); ok {
			labels = append(labels, bare)
		}
	}
	err := advice.Usagef("there is no log of %q in %s: it is no workstream or gate, nor a service or hook that has run", name, st.PRD)
	if near := words.Nearest(name, labels); near != "" {
		return nil, advice.With(err, fmt.Sprintf("did you mean %s?", text.ShellWord(near)))
	}
	return nil, advice.With(err, fmt.Sprintf("`runner status %s` names its workstreams and gates", st.PRD))
}

// isNamed reports whether a user means the step by a name: its label, the name of a gate without its
// owner, or the workstream of which it is an instance.
func (s step) isNamed(name string) bool {
	if s.label == name {
		return true
	}
	if bare, _, ok := state.CutLabel(s.label); ok {
		return bare == name
	}
	return name != "" && view.Block(s.label) == name
}

func allSteps(st *state.State) []step {
	var all []step
	addGates := func(list []*state.Gate) {
		for _, g := range list {
			s := gateStep(g.Label)
			s.attempts, s.running, s.record, s.gate, s.sessions = g.Attempts, g.Status == state.Running, verdictOf(g), g, earlierSessions(st, g.Session)
			all = append(all, s)
		}
	}
	if r := st.Review; r != nil && r.Runs > 0 && st.Workstream("review") == nil {
		all = append(all, step{label: "review", log: runner.ReviewLog, attempts: r.Runs})
	}
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			all = append(all, step{
				label: w.Name, log: w.Name, attempts: w.Attempts, running: w.Status == state.Running && !w.Retries(), record: recordOf(w),
				sessions: earlierSessions(st, w.Session), cached: w.Cached,
			})
			addGates(w.Gates)
		}
		addGates(p.Gates)
	}
	for _, s := range st.Services {
		log := disk.ServiceLog(s.Name)
		all = append(all, step{label: log, log: log, attempts: s.Attempt, running: s.Running, record: span{began: s.StartedAt}})
	}
	return all
}

// gateStep returns the step of a gate that has not begun.
func gateStep(label string) step {
	return step{label: label, log: disk.GateLog(label)}
}

// beginningOf returns the attempt that an event begins.
func beginningOf(e state.Event) (a selected, ok bool) {
	begins, ok := stream.Begins(e)
	if !ok {
		return selected{}, false
	}
	s := step{label: begins.Step, log: begins.Log, attempts: begins.Number, running: true}
	return selected{s, begins.Number}, true
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
	for _, name := range slices.SortedFunc(maps.Keys(attempts), view.CompareNatural) {
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
