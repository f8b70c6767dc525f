//go:build unix

package runner_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"prdrunner/checkpoint/state"
)

// Why work is done again. pipeline/SPEC.md §9 says which changes count, and
// checkpoint/FORMAT.md what the record holds.

// result describes the result of a workstream, as its dependents see it.
func (m *model) result(name string) string {
	w := m.works[name]
	switch {
	case w.status == state.Skipped:
		return "skipped"
	case w.status == state.Failed:
		return fmt.Sprintf("failure %d", w.failedID)
	case m.work(name).Effect == "pure":
		return fmt.Sprintf("%q %q", w.made, w.value)
	}
	return fmt.Sprintf("%q %q %s", w.made, w.value, w.id)
}

// basis returns the basis from which a workstream would run now.
func (m *model) basis(name string) basis {
	w := m.work(name)
	b := basis{version: strconv.Itoa(m.v.works[name]), saw: m.read(m.h.inputs(*w)), upstream: map[string]string{}}
	if slices.Contains(w.Vars, "plain") {
		b.plain = m.v.value("plain")
	}
	if w.Sees != "" { // an attempt tells which one it has seen
		b.seen = slices.Sorted(maps.Keys(m.statuses(w.Sees)))[0]
	}
	if w.Uses != "" {
		b.used = m.works[w.Uses].value
	}
	for _, up := range w.On {
		b.upstream[up] = m.result(up)
	}
	if p := m.phaseOf(name); m.h.Phases[p].RunOn != "" {
		b.upstream[phasesBefore] = fmt.Sprint(m.lastWork(p))
	}
	return b
}

func (m *model) read(paths []string) map[string]string {
	files := map[string]string{}
	for _, path := range paths {
		if text, ok := m.tree[path]; ok {
			files[path] = text
		}
	}
	return files
}

// changes returns the components in which the basis of done work differs from the present
// one.
func (m *model) changes(name string) []string {
	was, is := m.works[name].from, m.basis(name)
	if was.unknown {
		return nil
	}
	c := append(different("inputs ", was.saw, is.saw), different("upstream ", was.upstream, is.upstream)...)
	if of := m.work(name).Sees; of != "" && !m.statuses(of)[was.seen] || was.version != is.version || was.used != is.used || was.plain != is.plain {
		c = append(c, "definition ")
	}
	return c
}

// redefined reports whether the definition of done work has changed, whatever other
// workstreams come to.
func (m *model) redefined(name string) bool {
	was, is, w := m.works[name].from, m.basis(name), m.work(name)
	return !was.unknown && w.Uses == "" && w.Sees == "" && (was.version != is.version || was.plain != is.plain)
}

func different(what string, was, is map[string]string) []string {
	var c []string
	for name, text := range is {
		if had, ok := was[name]; !ok || had != text {
			c = append(c, what+name)
		}
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			c = append(c, what+name)
		}
	}
	slices.Sort(c)
	return c
}

// touched returns the recorded artifacts that are missing or edited.
func (m *model) touched(name string) (missing, edited []string) {
	if w := m.works[name]; w.done() {
		for path, text := range w.made {
			if is, ok := m.tree[path]; !ok {
				missing = append(missing, path)
			} else if is != text {
				edited = append(edited, path)
			}
		}
	}
	return missing, edited
}

// differs reports whether an artifact will not have its recorded content.
func (m *model) differs(name string) bool {
	missing, edited := m.touched(name)
	return len(missing)+len(edited) > 0
}

func (m *model) edited(name string, now map[string]string) bool {
	for path, text := range m.works[name].made {
		if is, ok := now[path]; ok && is != text {
			return m.works[name].done()
		}
	}
	return false
}

// unsatisfied returns the status of the first gate of a workstream that has not passed,
// or "".
func (m *model) unsatisfied(name string) state.StepStatus {
	for _, g := range m.work(name).Gates {
		if s := m.gates[g.label(name)].status; s != state.Passed && s != state.Skipped {
			return s
		}
	}
	return ""
}

// reasons returns why the work of a workstream must be done again, or nil. The
// workstreams that it depends on must have ended.
func (m *model) reasons(name string) []string {
	if m.forced(name) {
		return []string{"chosen"}
	}
	if c := m.changes(name); len(c) > 0 {
		return c
	}
	for _, g := range m.work(name).Gates {
		switch is := m.gates[g.label(name)]; {
		case m.current(is): // only the next run acts on this verdict
		case is.status == state.Failed && m.work(name).Rerun && m.works[name].done():
			return []string{"on_gate_failure"}
		}
	}
	return nil
}

// current reports whether a gate was judged in the present run.
func (m *model) current(g *modelGate) bool { return m.run != nil && g.run == m.run.number }

// forced reports whether the user wants the workstream to run again in any case.
func (m *model) forced(name string) bool {
	if m.run != nil && m.run.forced[name] && m.run.tries[name] == 0 && m.run.verified[name] == "" {
		return true
	}
	w := m.works[name]
	return w.rejected && (m.run == nil || w.rejectedIn != m.run.number) // only the next run acts on a rejection
}

// isComplete reports whether a workstream is complete: its artifacts were made from the
// present files, and its gates have passed.
func (m *model) isComplete(name string) bool {
	if m.run.left[name] {
		return false
	}
	if m.off(name) {
		return m.works[name].status == state.Skipped
	}
	return m.isDone(name)
}

// isDone is isComplete for a workstream that is not skipped.
func (m *model) isDone(name string) bool {
	return m.isDoneButForEdits(name) && !m.differs(name)
}

// isDoneButForEdits is isDone, whatever has become of the artifacts.
func (m *model) isDoneButForEdits(name string) bool {
	return m.works[name].status == state.Completed && len(m.reasons(name)) == 0 &&
		!slices.ContainsFunc(m.work(name).Gates, func(g histGate) bool { return !m.holds(g, name) })
}

// reached reports whether the run may start a workstream now.
func (m *model) reached(name string) bool { return m.comesToPhaseOf(name) && m.mayRun(name) == nil }

// comesToPhaseOf reports whether the phases before that of a workstream have ended.
func (m *model) comesToPhaseOf(name string) bool { return m.comesToPhase(m.phaseOf(name)) }
