package info

import (
	"slices"
	"time"

	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline/graph"
)

// CriticalPath returns the workstreams that decided how long the last run of a session took, in the order in
// which they ran. It starts from the workstream that ended last. From each workstream it steps back to the last to
// end of its predecessors: of the workstreams that it needs, and those of the phase before.
func CriticalPath(t history.Timeline, g *graph.Graph) []string {
	if len(t.Runs) == 0 || g == nil {
		return nil
	}
	c := critical{ended: map[string]time.Time{}, began: map[string]time.Time{}}
	run := t.Runs[len(t.Runs)-1]
	for _, a := range t.Attempts {
		if a.From.Before(run.From) || a.To.IsZero() {
			continue
		}
		name := a.Name
		if _, owner, gate := state.CutLabel(name); gate {
			name = owner
		}
		if c.began[name].IsZero() {
			c.began[name] = a.From
		}
		c.ended[name] = a.To
	}
	needs, before := map[string][]string{}, []string(nil)
	var all []string
	for _, p := range g.Phases {
		var names []string
		for _, w := range p.Workstreams {
			names = append(names, w.Name)
			needs[w.Name] = slices.Concat(w.DependsOn, w.Uses, before)
		}
		all = append(all, names...)
		if slices.ContainsFunc(names, c.ran) {
			before = names
		}
	}
	var path []string
	for next := c.last(all); next != ""; next = c.last(needs[next]) {
		path = append(path, next)
	}
	slices.Reverse(path)
	return path
}

// critical knows when workstreams, with their gates, began and ended in a run.
type critical struct{ began, ended map[string]time.Time }

func (c critical) ran(name string) bool { return !c.ended[name].IsZero() }

// last returns the one of some workstreams that ended last in the run, "" if none ran.
func (c critical) last(names []string) (last string) {
	for _, name := range names {
		if c.ran(name) && (last == "" || c.ended[name].After(c.ended[last])) {
			last = name
		}
	}
	return last
}
