//go:build unix

package runner_test

import (
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// The expected plan.

// outlook returns the expected decision for every workstream and gate. Each decision assumes
// that the artifacts of earlier workstreams are restored and that skipped ones are gone.
func (m *model) outlook(choice plan.OnConflict) map[string]plan.Decision {
	was, known := m.tree, m.known
	m.tree, m.known = maps.Clone(was), known.clone()
	all := map[string]plan.Decision{}
	for i := range m.h.Phases {
		m.outlookOfPhase(i, choice, was, all)
		m.outlookOfLoop(i, choice, was, all)
	}
	m.tree, m.known = was, known
	return all
}

// outlookOfPhase adds the decisions for the steps of a phase.
func (m *model) outlookOfPhase(i int, choice plan.OnConflict, was map[string]string, all map[string]plan.Decision) {
	for _, w := range m.h.Phases[i].Works {
		m.foresee(w.Name, choice, all)
		all[w.Name] = m.outlookOf(w.Name, choice, was, all)
		m.outlookOfGates(&w, all)
	}
	for _, g := range m.phaseGates(i) {
		all[g.label(phaseName(i))] = m.outlookOfGate(g, phaseName(i), all)
	}
}

// foresee skips a workstream that the plan skips, and restores the artifacts of any other.
func (m *model) foresee(name string, choice plan.OnConflict, all map[string]plan.Decision) {
	w := m.works[name]
	if m.plannedOff(name, all) {
		if w.status != state.Skipped {
			m.skip(name)
		}
		return
	}
	missing, edited := m.touched(name)
	if choice != plan.ConflictRestore {
		edited = nil
	}
	for _, path := range append(missing, edited...) {
		m.tree[path] = w.made[path]
	}
}

// reason is the part of a decision's reason that the model predicts: the steps that it
// waits for, and the changes.
type reason struct{ on, changes []string }

// check compares the reason with that of a step. It ignores the details of a changed
// definition.
func (r reason) check(s plan.Step) error {
	var changes []string
	for _, c := range s.Changes {
		switch c.Component {
		case "variables":
			continue
		case "definition":
			c.Name = ""
		}
		changes = append(changes, c.Component+" "+string(c.Name))
	}
	if s.Decision == plan.Depends || s.Decision == plan.Blocked && len(r.on) > 0 {
		if !slices.Equal(slices.Sorted(slices.Values(s.On)), slices.Sorted(slices.Values(r.on))) {
			return fmt.Errorf("%s waits for %v, but the plan names %v", s.Name, r.on, s.On)
		}
	}
	changes = slices.Compact(changes)
	if (s.Decision == plan.Rerun || s.Decision == plan.Uncertain) && len(r.changes) > 0 && !slices.Equal(changes, r.changes) {
		return fmt.Errorf("the changes of %s are %v, but the plan names %v", s.Name, r.changes, changes)
	}
	return nil
}

func (m *model) outlookOf(name string, choice plan.OnConflict, now map[string]string, all map[string]plan.Decision) plan.Decision {
	d := m.outlookAlone(name, choice, now, all)
	status := m.works[name].status
	unknown := d == plan.Uncertain && (status == state.Uncertain || status == state.Running)
	if m.run.allowed != nil && !m.run.allowed[name] && d != plan.Reuse && d != plan.Skipped && !unknown {
		return plan.Blocked
	}
	return d
}

func (m *model) outlookAlone(name string, choice plan.OnConflict, now map[string]string, all map[string]plan.Decision) plan.Decision {
	w := m.works[name]
	again := plan.Rerun
	if m.work(name).Effect == "once" {
		again = plan.Uncertain
	}
	switch {
	case m.plannedOff(name, all):
		return plan.Skipped
	case w.status == state.Uncertain:
		return plan.Uncertain
	}
	var on, asked, blocked []string
	for _, up := range m.work(name).On {
		switch all[up] {
		case plan.Uncertain:
			if m.asksFirst(up, all) {
				asked = append(asked, up)
			} else {
				blocked = append(blocked, up)
			}
		case plan.Blocked:
			blocked = append(blocked, up)
		case plan.Run, plan.Rerun, plan.Cached, plan.Depends:
			on = append(on, up)
		case plan.Judge:
			if m.differs(up) {
				on = append(on, up)
			}
		case plan.Reuse, plan.Skipped:
		}
	}
	if m.foreseenBefore(m.phaseOf(name)) && m.h.Phases[m.phaseOf(name)].RunOn == "" {
		blocked = append(blocked, m.run.foreseen)
	}
	if p := m.phaseOf(name); m.h.Phases[p].RunOn != "" {
		if first := m.firstAgain(p, all); first != "" && !slices.Contains(on, first) {
			on = append(on, first)
		}
	}
	if len(blocked) > 0 {
		m.run.why[name] = reason{on: blocked}
		return plan.Blocked
	}
	open := m.undecided(name, all)
	switch {
	case w.status == state.Running && again == plan.Uncertain: // the step was killed
		return plan.Uncertain
	case len(asked)+len(open) > 0 && w.done() && m.forced(name) && again == plan.Rerun:
		return again
	case len(asked) > 0:
		m.run.why[name] = reason{on: asked}
		return plan.Depends
	case len(open) > 0:
		m.run.why[name] = reason{on: open}
		return plan.Depends
	case m.asks(name):
		return plan.Uncertain
	case !w.done() && !m.failedBefore(name):
		if m.forced(name) && w.status == state.Failed && w.permitted && m.mayFail(name) { // its gate has changed, too
			return again
		}
		return plan.Run
	case m.forced(name):
		return again
	case len(on) > 0 && w.done() && again == plan.Rerun && m.redefined(name):
		m.run.why[name] = reason{changes: []string{"definition "}}
		return again
	case len(on) > 0:
		m.run.why[name] = reason{on: on}
		return plan.Depends
	case !w.done() && len(m.reasons(name)) > 0:
		return plan.Run
	case !w.done():
		return plan.Reuse
	case len(m.reasons(name)) > 0:
		m.run.why[name] = reason{changes: m.changes(name)}
		return again
	case m.unsatisfied(name) != "", choice == plan.ConflictKeep && m.edited(name, now):
		return plan.Judge
	case w.status == state.Succeeded: // only the completion is not recorded
		return plan.Judge
	}
	return plan.Reuse
}

// outlookOfGates adds the decisions for the gates of a workstream, and adjusts that of
// the workstream: if it was not chosen, its gates are not judged.
func (m *model) outlookOfGates(w *histWork, all map[string]plan.Decision) {
	kept, chosen := all[w.Name] == plan.Reuse, m.run.allowed == nil || m.run.allowed[w.Name]
	for _, g := range w.Gates {
		label := g.label(w.Name)
		if kept && m.failedBefore(w.Name) {
			all[label] = plan.Reuse
			continue
		}
		all[label] = m.outlookOfGate(g, w.Name, all)
		judged := all[label] != plan.Reuse && all[label] != plan.Skipped
		switch {
		case kept && judged && !chosen:
			all[w.Name] = plan.Blocked
			m.outlookOfGates(w, all)
			return
		case kept && (judged || m.reviewDue(label)):
			all[w.Name] = plan.Judge
		}
	}
}

func (m *model) outlookOfGate(g histGate, owner string, all map[string]plan.Decision) plan.Decision {
	var on, blocked []string
	for _, name := range m.judges(owner) {
		switch all[name] {
		case plan.Uncertain:
			if m.asksFirst(name, all) {
				on = append(on, name)
			} else {
				blocked = append(blocked, name)
			}
		case plan.Blocked:
			blocked = append(blocked, name)
		case plan.Run, plan.Rerun, plan.Cached, plan.Depends:
			on = append(on, name)
		case plan.Reuse, plan.Judge, plan.Skipped:
		}
	}
	if len(blocked) > 0 {
		m.run.why[g.label(owner)] = reason{on: blocked}
		return plan.Blocked
	}
	running := func(name string) bool { return all[name] != plan.Skipped }
	switch is := m.gates[g.label(owner)]; {
	case !slices.ContainsFunc(m.judges(owner), running):
		return plan.Skipped
	case len(on) > 0:
		m.run.why[g.label(owner)] = reason{on: on}
		return plan.Depends
	case is.status == state.Skipped:
		return plan.Run
	case m.holds(g, owner):
		return plan.Reuse
	case is.status == state.Pending && !is.touched:
		return plan.Run
	}
	return plan.Judge
}

// asksFirst reports whether the run asks the verify command of an uncertain workstream,
// so that its dependents may run.
func (m *model) asksFirst(name string, all map[string]plan.Decision) bool {
	return m.verifies(name) && !slices.ContainsFunc(m.work(name).On, func(up string) bool {
		return all[up] == plan.Blocked || all[up] == plan.Uncertain && !m.asksFirst(up, all)
	})
}

// reviewDue reports whether a gate is yet to be reviewed. Resuming a session that stopped
// for the review is the review.
func (m *model) reviewDue(label string) bool {
	return m.gates[label].review && !slices.Contains(m.reviews, label)
}

// refuses reports whether a build must not begin, because artifacts were edited and the
// choice is missing or can't be applied.
func (m *model) refuses(choice plan.OnConflict, all map[string]plan.Decision) bool {
	return choice != plan.ConflictRestore && slices.ContainsFunc(m.h.works(), func(w *histWork) bool {
		if !m.edited(w.Name, m.tree) {
			return false
		}
		switch all[w.Name] {
		case plan.Rerun, plan.Cached:
			return true
		case plan.Reuse, plan.Judge, plan.Depends, plan.Blocked:
			return !m.keeps(w.Name, choice)
		case plan.Run, plan.Uncertain, plan.Skipped:
		}
		return false
	})
}

// keeps reports whether a build keeps edits of a workstream's artifacts: if keep was
// chosen, or if nothing was chosen and one of its gates has failed.
func (m *model) keeps(name string, choice plan.OnConflict) bool {
	return choice == plan.ConflictKeep || choice == "" && slices.ContainsFunc(m.work(name).Gates, func(g histGate) bool {
		return m.gates[g.label(name)].status == state.Failed
	})
}

// samePlan compares the decisions of the plan with the expected ones.
func (p *play) samePlan(want map[string]plan.Decision) error {
	got, why := map[string]plan.Decision{}, map[string]string{}
	for _, phase := range p.plan.Phases {
		for _, s := range phase.Steps {
			got[s.Name], why[s.Name] = s.Decision, string(s.Reason)
			if s.Reason == "" {
				return fmt.Errorf("the plan decides for %s: %s, without a reason", s.Name, s.Decision)
			}
			if want[s.Name] == s.Decision {
				if err := p.m.run.why[s.Name].check(s); err != nil {
					return err
				}
			}
		}
	}
	for name, d := range want {
		is := got[name]
		switch gate := p.m.isGate(name); {
		case gate && d == plan.Run: // whether it was ever judged does not matter
			d = plan.Judge
		case !gate && d == plan.Run && is == plan.Rerun && !p.m.works[name].done(): // the work was invalidated
			is = plan.Run
		}
		if p.m.isGate(name) && is == plan.Run {
			is = plan.Judge
		}
		if is != d {
			return fmt.Errorf("the plan decides %s for %s (%s), want %s", is, name, why[name], d)
		}
	}
	return nil
}

func (m *model) isGate(name string) bool { return m.gates[name] != nil }
