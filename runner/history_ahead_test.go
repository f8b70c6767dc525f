//go:build unix

package runner_test

import (
	"slices"

	"prdrunner/runner/plan"
)

// What the plan knows ahead of failures: which workstreams are skipped, and which depend on
// whether something fails.

// plannedOff reports whether the plan skips a workstream, according to the decisions about
// those that it depends on.
func (m *model) plannedOff(name string, all map[string]plan.Decision) bool {
	w := m.work(name)
	skipped := func(up string) bool { return all[up] == plan.Skipped }
	switch {
	case m.v.off[name], m.plannedPhaseOff(m.phaseOf(name), all):
		return true
	case w.RunOn == onAlways:
		return false
	case w.RunOn == onFailed:
		return !slices.ContainsFunc(w.On, func(up string) bool { return !skipped(up) && (all[up] != plan.Reuse || m.failedBefore(up)) })
	}
	return slices.ContainsFunc(w.On, skipped)
}

// plannedPhaseOff reports whether the plan skips a phase, because nothing can fail before it.
func (m *model) plannedPhaseOff(p int, all map[string]plan.Decision) bool {
	return m.h.Phases[p].RunOn == onFailed && !m.foreseenBefore(p) && m.firstStep(p, all) == ""
}

// firstStep returns the first workstream or gate before a phase for which the run has something
// to do, or "".
func (m *model) firstStep(p int, all map[string]plan.Decision) string {
	for i, phase := range m.h.Phases[:p] {
		var steps []string
		for _, w := range phase.Works {
			steps = append(steps, w.Name)
			for _, g := range w.Gates {
				steps = append(steps, g.label(w.Name))
			}
		}
		for _, g := range m.phaseGates(i) {
			steps = append(steps, g.label(phaseName(i)))
		}
		for _, step := range steps {
			if d := all[step]; d != plan.Reuse && d != plan.Skipped || d == plan.Reuse && m.reviewNext(step) {
				return step
			}
		}
	}
	return ""
}

// reviewNext reports whether a step is a gate that the run stops at for a review. It does not for
// a gate of a workstream that has failed with permission.
func (m *model) reviewNext(step string) bool {
	if !m.isGate(step) {
		return false
	}
	_, owner := m.gate(step)
	return m.reviewDue(step) && (m.work(owner) == nil || !m.failedBefore(owner))
}

// firstAgain returns the first workstream before a phase that will have another result, or "".
func (m *model) firstAgain(p int, all map[string]plan.Decision) string {
	for _, phase := range m.h.Phases[:p] {
		works := slices.Clone(phase.Works)
		slices.SortStableFunc(works, func(a, b histWork) int { return m.batch(a.Name) - m.batch(b.Name) })
		for _, w := range works {
			if m.again(w.Name, all) {
				return w.Name
			}
		}
	}
	return ""
}

// batch returns the depth of a workstream in the dependency graph of its phase.
func (m *model) batch(name string) int {
	depth := 0
	for _, up := range m.work(name).On {
		if m.phaseOf(up) == m.phaseOf(name) {
			depth = max(depth, m.batch(up))
		}
	}
	return depth + 1
}

// again reports whether a workstream will have another result, according to the decision about
// it.
func (m *model) again(name string, all map[string]plan.Decision) bool {
	switch all[name] {
	case plan.Run, plan.Rerun, plan.Cached, plan.Depends:
		return true
	case plan.Uncertain:
		return m.asksFirst(name, all)
	case plan.Judge:
		return m.differs(name)
	case plan.Reuse, plan.Skipped, plan.Blocked:
	}
	return false
}

// undecided returns, for a workstream that runs if something fails before it, what may still
// fail.
func (m *model) undecided(name string, all map[string]plan.Decision) (open []string) {
	if p := m.phaseOf(name); m.h.Phases[p].RunOn == onFailed && !m.foreseenBefore(p) {
		open = append(open, m.firstStep(p, all))
	}
	for _, up := range m.undecidedOn(name, all) {
		if !slices.Contains(open, up) {
			open = append(open, up)
		}
	}
	return open
}

// undecidedOn is undecided among the workstreams that a workstream depends on.
func (m *model) undecidedOn(name string, all map[string]plan.Decision) []string {
	w := m.work(name)
	if w.RunOn != onFailed || slices.ContainsFunc(w.On, func(up string) bool { return all[up] == plan.Reuse && m.failedBefore(up) }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.On), func(up string) bool { return all[up] == plan.Skipped || all[up] == plan.Reuse })
}
