//go:build unix

package runner_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// Phases that repeat.

// drawLoop draws whether a phase repeats, and how often at most.
func (p *histPhase) drawLoop(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "repeats") == 0 {
		p.Repeat = rapid.IntRange(1, 4).Draw(t, "iterations")
	}
}

// drawUntil draws the condition of a phase that repeats.
func (p *histPhase) drawUntil(t *rapid.T) {
	if p.Repeat > 0 && rapid.Bool().Draw(t, "until") {
		w := &p.Works[rapid.IntRange(0, len(p.Works)-1).Draw(t, "until of")]
		p.Until, w.Toggled = w.Name, false
	}
}

// writeLoop writes the repeat block of a phase into a pipeline that was edited so often that
// its numbers grew.
func (p *histPhase) writeLoop(to io.Writer, grown int) {
	if p.Repeat == 0 {
		return
	}
	fmt.Fprintf(to, "repeat {\n max = %d\n", p.Repeat+grown)
	if p.Until != "" {
		fmt.Fprintf(to, " until = workstream.%s.outputs.value != \"0\"\n", p.Until)
	}
	fmt.Fprint(to, "}\n")
}

// modelLoop is where a phase stands that may repeat.
type modelLoop struct {
	iteration int
	most      int    // how many iterations there may be, according to the last start or resume
	results   string // of the iteration before; "" if they are not known
}

// readLoops takes over how many iterations the pipeline says there may be.
func (m *model) readLoops() {
	for p := range m.loops {
		m.loops[p].most = m.h.Phases[p].Repeat + m.v.grown["max"]
	}
}

// satisfied reports whether the condition of a phase holds. Its workstreams must have
// completed.
func (m *model) satisfied(p int) bool {
	until := m.h.Phases[p].Until
	return until == "" || m.works[until].value != "0"
}

// isLast reports whether no iteration of a phase follows the present one.
func (m *model) isLast(p int) bool {
	loop, results := m.loops[p], m.results(p)
	return loop.iteration >= loop.most || results != "" && results == loop.results
}

// exhausted reports whether a phase has failed because its condition does not hold after its last
// iteration.
func (m *model) exhausted(p int) bool {
	phase, r := m.h.Phases[p], m.run
	return phase.Repeat > 0 && !m.satisfied(p) && m.isLast(p) && m.reviewPasses() &&
		!slices.ContainsFunc(phase.Works, func(w histWork) bool { return !m.finished(w.Name) || r.allowed != nil && !r.allowed[w.Name] })
}

// outlookOfLoop replaces the decisions for a phase in whose iteration nothing is left to do, and
// whose condition does not hold: by those for the next iteration, or, if none follows, by those for
// a phase that fails.
func (m *model) outlookOfLoop(p int, choice plan.OnConflict, was map[string]string, all map[string]plan.Decision) {
	phase := m.h.Phases[p]
	if phase.Repeat == 0 || m.phases[p] == state.Completed || m.satisfied(p) || m.foreseenBefore(p) || m.leftInIteration(p, choice, was, all) {
		return
	}
	if m.isLastForPlan(p) {
		for _, g := range m.phaseGates(p) {
			all[g.label(phaseName(p))] = plan.Blocked
		}
		m.run.foreseen = phaseName(p)
		return
	}
	m.run.next[p] = true
	m.iterate(p, "")
	m.outlookOfPhase(p, choice, was, all)
	for _, w := range phase.Works {
		if all[w.Name] == plan.Run {
			all[w.Name] = plan.Rerun
		}
	}
}

// foreseenBefore reports whether the plan knows of a phase before this one that it fails.
func (m *model) foreseenBefore(p int) bool {
	return m.run.foreseen != "" && m.run.foreseen < phaseName(p)
}

// leftInIteration reports whether the plan finds something to do in the iteration of a phase on
// record, a user's edit to decide about included.
func (m *model) leftInIteration(p int, choice plan.OnConflict, now map[string]string, all map[string]plan.Decision) bool {
	return slices.ContainsFunc(m.h.Phases[p].Works, func(w histWork) bool {
		open := func(step string) bool {
			return all[step] != plan.Reuse && all[step] != plan.Skipped || m.reviewNext(step)
		}
		undecided := all[w.Name] == plan.Reuse && m.edited(w.Name, now) && choice != plan.ConflictRestore
		return open(w.Name) || undecided || m.run.allowed != nil && !m.run.allowed[w.Name] ||
			slices.ContainsFunc(w.Gates, func(g histGate) bool { return open(g.label(w.Name)) })
	})
}

// isLastForPlan reports whether the plan can tell that no iteration of a phase follows the present
// one. Only a build captures the files that have changed since the last capture.
func (m *model) isLastForPlan(p int) bool {
	loop := m.loops[p]
	run := m.run
	m.run = nil
	results := m.results(p)
	m.run = run
	most := m.h.Phases[p].Repeat + m.v.grown["max"]
	return loop.iteration >= most || results != "" && results == loop.results && !run.moved
}

// inIteration compares the number of the iteration that an attempt was given with the
// model.
func (m *model) inIteration(name string, d deed) error {
	p := m.phaseOf(name)
	want := ""
	if m.h.Phases[p].Repeat > 0 {
		want = fmt.Sprint(m.loops[p].iteration)
	}
	err := m.mustBe(d.iteration == want, "the attempt is in iteration %q, and must be in %q", d.iteration, want)
	if m.work(name).Counts {
		err = errors.Join(err, m.mustBe(d.counted == want, "iteration.index is %q, and must be %q", d.counted, want))
	}
	return err
}

// repeated begins the next iteration of a phase.
func (m *model) repeated(e state.PhaseRepeated) error {
	p, r := slices.IndexFunc(m.h.Phases, func(p histPhase) bool { return p.Works[0].Name[:2] == e.Phase }), m.run
	loop, results := m.loops[p], m.results(p)
	err := errors.Join(m.mustBe(e.Iteration == loop.iteration+1, "the phase is in iteration %d", loop.iteration),
		m.mustBe(loop.iteration < loop.most, "there are only %d iterations", loop.most),
		m.mustBe(m.mayRepeat(p, r.halted), "the iteration was the last one, or has not ended"),
		m.mustBe(!r.asked, "a pause was asked for"),
		m.mustBe(results == "" || results != loop.results, "the iteration has changed nothing"),
		m.mustBe((e.Results == "") == (results == ""), "the digest of the results is %q", e.Results))
	m.iterate(p, results)
	for _, w := range m.h.Phases[p].Works {
		delete(r.over, w.Name)
		delete(r.tries, w.Name)
		delete(r.retries, w.Name)
		delete(r.skipped, w.Name)
		for _, g := range w.Gates {
			delete(r.over, g.label(w.Name))
		}
	}
	for _, g := range m.phaseGates(p) {
		delete(r.over, g.label(e.Phase))
	}
	r.failures = slices.DeleteFunc(r.failures, func(what string) bool { return m.isIn(p, what) })
	delete(r.fastIn, p)
	r.stopped, r.failing, r.halted = false, len(r.fastIn) > 0, len(r.fastIn) > 0
	return err
}

// iterate begins the next iteration of a phase.
func (m *model) iterate(p int, results string) {
	m.loops[p].iteration, m.loops[p].results = m.loops[p].iteration+1, results
	for _, w := range m.h.Phases[p].Works {
		m.reset(w.Name)
	}
}

// endsIteration reports whether the rejection of a gate between two runs ends an iteration.
// In a session that was killed it does not.
func (m *model) endsIteration(label string) bool {
	killed := m.status == state.StatusInProgress || m.status == state.StatusInitialized
	return !killed && slices.ContainsFunc(m.h.Phases, func(p histPhase) bool { return p.Repeat > 0 && m.isIn(p.number(), label) })
}

// number returns the number of a phase, from 0.
func (p histPhase) number() int { return int(p.Works[0].Name[1] - '0') }

// repeatedByAnswer applies what follows the rejection of a gate between two runs: the next
// iteration of its phase, or the failure of the session if there is none.
func (m *model) repeatedByAnswer(e state.Event) error {
	label := m.answering
	m.answering = ""
	if label == "" || !m.endsIteration(label) {
		return errors.New("no rejection ends an iteration")
	}
	p := slices.IndexFunc(m.h.Phases, func(p histPhase) bool { return m.isIn(p.number(), label) })
	loop, results := m.loops[p], m.results(p)
	last := m.isLast(p)
	switch e := e.(type) {
	case state.PhaseRepeated:
		err := m.mustBe(!last && e.Iteration == loop.iteration+1 && (e.Results == "") == (results == ""), "iteration %d of %d was the last one", loop.iteration, loop.most)
		m.iterate(p, results)
		return err
	default:
		m.status = state.StatusFailed
		return m.mustBe(last, "iteration %d of %d was not the last one", loop.iteration, loop.most)
	}
}

// mayRepeat reports whether an iteration of a phase has ended, and may not be the last one:
// something in it failed, or its condition does not hold, and nothing waits for the user. A
// run that was stopped need not have reached the edits, questions and reviews of earlier runs:
// with anew, only those of this run count.
func (m *model) mayRepeat(p int, anew bool) bool {
	r, phase := m.run, m.h.Phases[p]
	if phase.Repeat == 0 || !m.comesToPhase(p) || m.phaseOff(p) || m.waiting(p, anew) || m.reviewing(p, anew) || !anew && m.meetsEdit() {
		return false
	}
	done := true
	for _, w := range phase.Works {
		if r.allowed != nil && !r.allowed[w.Name] || m.works[w.Name].status == state.Running {
			return false
		}
		done = done && m.finished(w.Name)
	}
	failed := slices.ContainsFunc(r.failures, func(what string) bool { return m.isIn(p, what) })
	return failed || done && !m.satisfied(p)
}

// isIn reports whether a workstream or a gate is one of a phase.
func (m *model) isIn(p int, what string) bool {
	if m.isGate(what) {
		_, what = m.gate(what)
	}
	return what == phaseName(p) || m.phaseOf(what) == p
}

// results describes what the iteration of a phase has come to. It returns "" if nobody can
// tell, because no workstream of the phase has made a file.
func (m *model) results(p int) string {
	var b strings.Builder
	known := false
	phase := m.h.Phases[p]
	gates := func(gates []histGate, owner string) {
		for _, g := range gates {
			label := g.label(owner)
			fmt.Fprintf(&b, " %s %s", g.Name, m.gates[label].status)
			if of := m.works[g.Of]; of != nil && m.gates[label].status == state.Failed {
				fmt.Fprintf(&b, " version %d, %s %t", m.v.gates[label], of.value, of.metric)
			}
		}
	}
	for _, w := range phase.Works {
		is := m.works[w.Name]
		known = known || len(is.made) > 0
		fmt.Fprintf(&b, "%s %s %q %q %t", w.Name, is.status, is.value, is.made, is.metric)
		if is.status == state.Failed {
			b.WriteString(is.failure)
		}
		gates(w.Gates, w.Name)
	}
	gates(m.phaseGates(p), phaseName(p))
	if !known {
		return ""
	}
	if m.run == nil {
		p = len(m.listed) - 1
	}
	fmt.Fprintf(&b, " %q", m.listed[p])
	return b.String()
}

// endLoops compares the end of a run with the iterations that the model expects. A phase
// whose iteration was not the last one has failed, if no other one may follow.
func (m *model) endLoops(e state.Event) error {
	failed, ok := e.(state.SessionFailed)
	ok = ok && failed.Error.Outcome == "repeat"
	for p := range m.h.Phases {
		name := phaseName(p)
		first := m.firstFailure(len(m.h.Phases))
		if m.run.signal || m.run.asked || len(m.usedUpAnywhere()) > 0 || !m.mayRepeat(p, false) || first < p && m.stopsAll() {
			continue
		}
		switch {
		case !m.isLast(p):
			return fmt.Errorf("another iteration of %s is due", name)
		case !ok && first >= p:
			return fmt.Errorf("%s does not fail, though no further iteration follows", name)
		}
	}
	if !ok {
		return nil
	}
	for p := range m.h.Phases {
		if name := phaseName(p); name == failed.Error.Workstream {
			err := m.mustBe(m.mayRepeat(p, m.run.halted), "the iteration of the phase has not ended")
			m.run.failures = append(m.run.failures, name)
			return err
		}
	}
	return errors.New("there is no such phase")
}
