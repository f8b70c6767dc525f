//go:build unix

package runner_test

import (
	"fmt"
	"slices"
	"strconv"

	"prdrunner/checkpoint/state"
)

// To what a gate's verdict is bound (pipeline/SPEC.md §6).

// judges returns the workstreams that a gate judges.
func (m *model) judges(owner string) []string {
	for i, p := range m.h.Phases {
		if phaseName(i) == owner {
			names := make([]string, len(p.Works))
			for j, w := range p.Works {
				names[j] = w.Name
			}
			return names
		}
	}
	return []string{owner}
}

// binding returns everything to which a verdict of a gate would be bound now.
func (m *model) binding(g histGate, owner string) (definition, judged string) {
	definition = fmt.Sprint(m.v.gates[g.label(owner)])
	if g.Kind == kindCondition {
		definition += " " + m.works[g.Of].value
	}
	paths := g.Inputs
	runs := map[string]string{}
	for _, name := range m.judges(owner) {
		if w := m.work(name); len(g.Inputs) == 0 {
			paths = append(paths, m.h.inputs(*w)...)
			if w.Makes {
				paths = append(paths, w.artifact())
			}
		}
		if w := m.works[name]; w.status != state.Skipped {
			runs[name] = w.id
		}
	}
	judged = fmt.Sprintf("%q %q", m.read(paths), runs)
	if g.Kind == kindMetric && m.works[g.Of].metric {
		judged += " " + m.works[g.Of].value
	}
	return definition, judged
}

// declared reports whether all files that a gate judges are declared.
func (m *model) declared(g histGate, owner string) bool {
	return len(g.Inputs) > 0 || !slices.ContainsFunc(m.judges(owner), func(name string) bool {
		w := m.work(name)
		return len(m.h.inputs(*w)) == 0 && !w.Makes
	})
}

// holds reports whether a gate has passed or was skipped, and its verdict is valid for
// the present files.
func (m *model) holds(g histGate, owner string) bool {
	is := m.gates[g.label(owner)]
	if is.status == state.Skipped {
		return m.allOff(owner)
	}
	definition, judged := m.binding(g, owner)
	if is.status != state.Passed || is.definition != definition || is.judged != judged {
		return false
	}
	if m.run == nil || is.run == m.run.number {
		return true
	}
	if m.run.forced[owner] && m.phaseOf(owner) < 0 {
		return false
	}
	switch {
	case m.declared(g, owner), g.Kind == kindCondition, g.Kind == kindMetric:
		return true
	case g.Kind == kindApproval:
		return !m.run.moved
	}
	return false // nothing captures the whole workspace here
}

func (m *model) allOff(owner string) bool {
	return !slices.ContainsFunc(m.judges(owner), func(name string) bool { return !m.off(name) })
}

// mayAllBeOff reports whether all that a gate of owner judges may be skipped: what is on record as
// skipped may still be so where the model does not know what has become of its upstream.
func (m *model) mayAllBeOff(owner string) bool {
	return !slices.ContainsFunc(m.judges(owner), func(name string) bool {
		return !m.off(name) && (m.works[name].status != state.Skipped || !m.mayBeOff(name))
	})
}

// verdict returns the expected verdict of a condition or metric gate.
func (m *model) verdict(g histGate, owner string) bool {
	of, version := m.works[g.Of], m.v.gates[g.label(owner)]
	if g.Kind == kindCondition {
		return of.value != strconv.Itoa(version)
	}
	n, err := strconv.Atoi(of.value)
	return of.metric && err == nil && n >= version
}

// waits reports whether a gate waits for an answer about the present files.
func (m *model) waits(g histGate, owner string) bool {
	is := m.gates[g.label(owner)]
	definition, judged := m.binding(g, owner)
	return is.status == state.Waiting && is.definition == definition && is.judged == judged
}
