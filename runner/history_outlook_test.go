//go:build unix

package runner_test

import (
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/runner"
)

// What a plan must say.

// outlook is what a plan must say of every workstream and gate. It is made of
// the files as they will be once artifacts are put back.
func (m *model) outlook(choice runner.OnConflict) map[string]runner.Decision {
	was := m.tree
	m.tree = maps.Clone(was)
	for name, w := range m.works {
		missing, edited := m.touched(name)
		if m.unsatisfied(name) != "" {
			continue // the gate judges what is there
		}
		if choice != runner.ConflictRestore {
			edited = nil
		}
		for _, path := range append(missing, edited...) {
			m.tree[path] = w.made[path]
		}
	}
	all := map[string]runner.Decision{}
	for i, p := range m.h.Phases {
		for _, w := range p.Works {
			all[w.Name] = m.outlookOf(w.Name, choice, was, all)
			for _, g := range w.Gates {
				d := m.outlookOfGate(g, w.Name, all)
				all[g.label(w.Name)] = d
				if all[w.Name] == runner.Reuse && d != runner.Reuse && d != runner.Skipped {
					all[w.Name] = runner.Judge
				}
			}
		}
		for _, g := range p.Gates {
			all[g.label(phaseName(i))] = m.outlookOfGate(g, phaseName(i), all)
		}
	}
	m.tree = was
	return all
}

func (m *model) outlookOf(name string, choice runner.OnConflict, now map[string]string, all map[string]runner.Decision) runner.Decision {
	d := m.outlookAlone(name, choice, now, all)
	if m.run.allowed != nil && !m.run.allowed[name] && d != runner.Reuse && d != runner.Skipped && d != runner.Uncertain {
		return runner.Blocked
	}
	return d
}

func (m *model) outlookAlone(name string, choice runner.OnConflict, now map[string]string, all map[string]runner.Decision) runner.Decision {
	w, open := m.works[name], false
	again := runner.Rerun
	if m.work(name).Effect == "once" {
		again = runner.Uncertain
	}
	switch {
	case m.v.off[name]:
		return runner.Skipped
	case w.status == checkpoint.Uncertain:
		return runner.Uncertain
	}
	for _, up := range m.work(name).On {
		switch all[up] {
		case runner.Blocked, runner.Uncertain:
			return runner.Blocked
		case runner.Run, runner.Rerun, runner.Depends:
			open = true
		case runner.Judge:
			open = open || m.differs(up)
		case runner.Reuse, runner.Skipped:
		}
	}
	switch {
	case w.status == checkpoint.Running && again == runner.Uncertain: // it was killed
		return runner.Uncertain
	case !w.done():
		return runner.Run
	case m.forced(name):
		return again
	case open:
		return runner.Depends
	case len(m.reasons(name)) > 0:
		return again
	case m.unsatisfied(name) != "", choice == runner.ConflictKeep && m.edited(name, now):
		return runner.Judge
	case w.status == checkpoint.Succeeded: // a formality is left
		return runner.Judge
	}
	return runner.Reuse
}

func (m *model) outlookOfGate(g histGate, owner string, all map[string]runner.Decision) runner.Decision {
	open := false
	for _, name := range m.judges(owner) {
		switch all[name] {
		case runner.Blocked, runner.Uncertain:
			return runner.Blocked
		case runner.Run, runner.Rerun, runner.Depends:
			open = true
		case runner.Reuse, runner.Judge, runner.Skipped:
		}
	}
	switch is := m.gates[g.label(owner)]; {
	case m.allOff(owner):
		return runner.Skipped
	case open:
		return runner.Depends
	case is.status == checkpoint.Skipped:
		return runner.Run
	case m.holds(g, owner):
		return runner.Reuse
	case is.status == checkpoint.Pending && !is.touched:
		return runner.Run
	}
	return runner.Judge
}

// refuses reports whether a build must not begin, since artifacts were edited
// and that is not decided, or can't be as it was.
func (m *model) refuses(choice runner.OnConflict, all map[string]runner.Decision) bool {
	return choice != runner.ConflictRestore && slices.ContainsFunc(m.h.works(), func(w *histWork) bool {
		if !m.edited(w.Name, m.tree) {
			return false
		}
		switch all[w.Name] {
		case runner.Rerun:
			return true
		case runner.Reuse, runner.Depends, runner.Blocked:
			return choice == runner.ConflictFail
		case runner.Judge:
			return choice == runner.ConflictFail && m.unsatisfied(w.Name) == "" // people mend what a gate found
		case runner.Run, runner.Uncertain, runner.Skipped:
		}
		return false
	})
}

// samePlan compares the decisions.
func (p *play) samePlan(want map[string]runner.Decision) error {
	got, why := map[string]runner.Decision{}, map[string]string{}
	for _, phase := range p.plan.Phases {
		for _, s := range phase.Steps {
			got[s.Name], why[s.Name] = s.Decision, s.Reason
			if s.Reason == "" {
				return fmt.Errorf("%s is to %s, and nobody knows why", s.Name, s.Decision)
			}
		}
	}
	for name, d := range want {
		is := got[name]
		switch gate := p.m.isGate(name); {
		case gate && d == runner.Run: // whether it was ever judged is not of interest
			d = runner.Judge
		case !gate && d == runner.Run && is == runner.Rerun && !p.m.works[name].done(): // it was taken back
			is = runner.Run
		}
		if p.m.isGate(name) && is == runner.Run {
			is = runner.Judge
		}
		if is != d {
			return fmt.Errorf("the plan has %s for %s (%s), and it must be %s", is, name, why[name], d)
		}
	}
	return nil
}

func (m *model) isGate(name string) bool { return m.gates[name] != nil }
