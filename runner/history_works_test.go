//go:build unix

package runner_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// When a workstream may start, and how it may end.

// mayStart returns an error if a workstream may not be started now.
func (m *model) mayStart(name string) error {
	w, r := m.works[name], m.run
	switch {
	case m.stops(name):
		return errors.New("the run has been stopped")
	case r.ended != "":
		return errors.New("the run is over")
	case m.off(name):
		return errors.New("the workstream must be skipped")
	case r.allowed != nil && !r.allowed[name]:
		return errors.New("the workstream was not chosen")
	case w.status == state.Uncertain:
		return errors.New("the step is uncertain")
	case len(r.takes) > 0:
		return fmt.Errorf("results that the plan invalidates are not invalidated yet: %v", r.takes)
	}
	if used := slices.Concat(r.toRaise, m.usedUp(m.phaseOf(name))); len(used) > 0 {
		return fmt.Errorf("budgets are used up: %v", used)
	}
	if !m.comesToPhaseOf(name) {
		return errors.New("an earlier phase is not complete")
	}
	if err := m.mayRun(name); err != nil {
		return err
	}
	if w.done() || m.failedBefore(name) {
		if len(m.reasons(name)) == 0 && !m.maySeeOther(name) {
			return errors.New("the workstream is done, and has no reason to run again")
		}
		if m.work(name).Effect == "once" {
			return errors.New("a once step must not run twice")
		}
	}
	return nil
}

func (m *model) started(e state.WorkstreamStarted) error {
	name := e.Workstream
	w, r := m.works[name], m.run
	err := errors.Join(m.mayStart(name), m.mustBe(!w.done(), "the workstream is done, and no event has invalidated it"))
	if r.tries[name] > 0 {
		err = errors.Join(err, m.mustBe(r.retries[name], "the workstream has ended in this run before"))
	}
	delete(r.retries, name)
	err = errors.Join(err,
		m.mustBe(e.Attempt == w.attempts+1, "the attempt before was %d", w.attempts),
		m.mustBe(r.tries[name] < m.tries(name), "the workstream has only %d attempts", m.tries(name)))
	if _, edited := m.touched(name); len(edited) > 0 && r.act.Conflict != plan.ConflictRestore {
		err = errors.Join(err, fmt.Errorf("the attempt would overwrite the edit of %v", edited))
	}
	err = errors.Join(err, m.unheard(name, w.told), m.mustBe(!m.readsEdit(name), "the attempt would read an edit that is neither kept nor taken back"))
	w.told, w.read, w.billed = 0, 0, false
	r.tries[name]++
	b := m.basis(name)
	if d, ok := r.log[m.key(name, e.Attempt)]; ok {
		// The attempt must have seen the files that existed when it was started.
		err = errors.Join(err, m.mustBe(maps.Equal(b.saw, d.saw), "the attempt saw %q, and should have seen %q", d.saw, b.saw),
			m.mustBe(d.used == b.used, "the attempt used %q, and should have used %q", d.used, b.used), m.given(name, d), m.inIteration(name, d))
		if of := m.work(name).Sees; of != "" {
			err = errors.Join(err, m.mustBe(m.statuses(of)[d.seen], "the attempt saw that %s has %s, and its status is one of %v", of, d.seen, m.statuses(of)))
			b.seen = d.seen
		}
		if w.told = d.told; m.work(name).Makes {
			m.tree[m.work(name).artifact()] = d.made
		}
	}
	m.reset(name)
	w.status, w.attempts, w.from, w.once, w.repeat = state.Running, e.Attempt, b, true, false
	return err
}

// given compares the variables of an attempt with the expected ones, including a rotated
// token, which is no reason for a rerun.
func (m *model) given(name string, d deed) error {
	for _, v := range m.work(name).Vars {
		if d.given[v] != m.v.value(v) {
			return fmt.Errorf("the attempt was given %q for %s", d.given[v], v)
		}
	}
	return nil
}

func (m *model) key(name string, attempt int) string { return fmt.Sprintf("%s/%d", name, attempt) }

func (m *model) tries(name string) int { return max(1, m.work(name).Attempts) }

// deedOf returns the result of the present attempt.
func (m *model) deedOf(name string) (deed, error) {
	w := m.works[name]
	if w.status != state.Running {
		return deed{}, fmt.Errorf("the workstream is %s", w.status)
	}
	d, ok := m.run.log[m.key(name, w.attempts)]
	if !ok {
		return d, errors.New("the attempt never ran")
	}
	return d, nil
}

func (m *model) attemptFailed(e state.WorkstreamAttemptFailed) error {
	d, err := m.deedOf(e.Workstream)
	m.run.retries[e.Workstream] = true
	return errors.Join(err, m.heard(e.Workstream), m.mustBe(!d.ok && !d.cancelled, "the attempt did not fail"),
		m.mustBe(m.run.tries[e.Workstream] < m.tries(e.Workstream), "the attempt was the last one"),
		m.mustBe(!m.haltedIn(m.phaseOf(e.Workstream)) || m.late(e.Workstream) || m.run.paused || m.run.signal || m.anyReview() || len(m.usedUpAnywhere()) > 0, "another step has failed, so nothing is retried"))
}

func (m *model) failed(e state.WorkstreamFailed) (err error) {
	name, r := e.Workstream, m.run
	w := m.works[name]
	switch {
	case r.verified[name] == state.ResolvedRerun: // the workstream was uncertain before
		err = m.mustBe(r.tries[name] > 0 && w.status == state.Pending, "the workstream is %s", w.status)
	case e.Error.Gate != "":
		how := m.gateFailed(name)
		err = m.mustBe(w.status == state.Succeeded && m.permits(name, how) && m.gates[e.Error.Gate].status == how, "no gate failed whose failure is allowed")
	default:
		d, unknown := m.deedOf(name)
		err = errors.Join(unknown, m.heard(name), m.mustBe(!d.ok && !d.cancelled, "the attempt did not fail"), d.outcome(e.Error),
			m.mustBe(m.work(name).Effect != "once", "the once step may have happened"),
			m.mustBe(r.tries[name] == m.tries(name) || m.haltedIn(m.phaseOf(name)) && !m.late(name), "after %d of %d attempts", r.tries[name], m.tries(name)))
	}
	d := r.log[m.key(name, w.attempts)]
	w.failure = fmt.Sprintf("%s, %t", e.Error.Outcome, d.late) // how often it was tried may be chance
	if e.Error.Gate != "" {
		w.failure = e.Error.Gate // its own record says more
	}
	calledOff := e.Error.Gate == "" && r.tries[name] < m.tries(name)
	w.permitted = m.mayFail(name) && !calledOff
	err = errors.Join(err, m.mustBe(e.Allowed == w.permitted, "the failure is allowed: %t", w.permitted))
	delete(r.retries, name)
	w.status, w.broke = state.Failed, m.seq
	m.runs++
	w.failedID = m.runs
	if r.over[name] = true; !w.permitted {
		m.fail(name, m.failsFast(name))
	}
	return err
}

// fail notes a failure that fails the run. If it is fast, it keeps others from starting.
func (m *model) fail(what string, fast bool) {
	m.run.failures = append(m.run.failures, what)
	m.run.over[what] = true
	if fast && !m.run.act.KeepGoing {
		if p := m.phaseOfStep(what); !m.run.halted || m.run.failing { // otherwise a pause stays a pause
			m.run.failing, m.run.fastIn[p] = true, m.run.fastIn[p] || !m.ofPhase(what)
		}
		m.run.halted = true
	}
}

// record applies the record of a successful attempt.
func (m *model) record(name string, work state.Work) error {
	w := m.works[name]
	d, err := m.deedOf(name)
	err = errors.Join(err, m.heard(name), m.said(name, work), m.mustBe(d.ok, "the attempt did not succeed"), m.mustBe(work.Attempt == w.attempts, "the present attempt is %d", w.attempts))
	m.identify(w)
	w.status, w.value, w.metric, w.made = state.Succeeded, d.value, true, map[string]string{}
	if m.work(name).Makes {
		w.made[m.work(name).artifact()] = d.made
	}
	m.happened[name] = m.work(name).Effect == "once"
	maps.Copy(m.captured, w.made)
	return errors.Join(err, sameArtifacts(w.made, work.Artifacts), m.mustBe(string(work.Outputs["value"]) == d.value, "the recorded output is not %q", d.value))
}

func sameArtifacts(want map[string]string, got []state.Artifact) error {
	is := map[string]string{}
	for _, a := range got {
		is[string(a.Path)] = a.Digest
	}
	for path, text := range want {
		if is[path] != fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) {
			return fmt.Errorf("%s is not recorded with the content %q", path, text)
		}
		delete(is, path)
	}
	if len(is) > 0 {
		return fmt.Errorf("further artifacts are recorded: %v", is)
	}
	return nil
}

func (m *model) completed(e state.WorkstreamCompleted) (err error) {
	w, gates := m.works[e.Workstream], m.work(e.Workstream).Gates
	if e.Work != nil {
		err = errors.Join(m.record(e.Workstream, *e.Work), m.mustBe(len(gates) == 0, "its gates have not been judged"))
	}
	err = errors.Join(err, m.mustBe(w.status == state.Succeeded, "the workstream is %s", w.status))
	for _, g := range gates {
		err = errors.Join(err, m.mustBe(m.holds(g, e.Workstream), "its gate %s has not passed", g.Name))
	}
	w.status, w.ended = state.Completed, true
	return err
}

func (m *model) interrupted(e state.WorkstreamInterrupted) error {
	w, r := m.works[e.Workstream], m.run
	d, ran := r.log[m.key(e.Workstream, w.attempts)]
	retried := r.retries[e.Workstream]
	delete(r.retries, e.Workstream)
	err := errors.Join(m.mustBe(w.status == state.Running, "the workstream is %s", w.status),
		m.mustBe(m.work(e.Workstream).Effect != "once" || r.tries[e.Workstream] > 0 && !ran, "the once step may have happened"))
	if r.tries[e.Workstream] > 0 { // otherwise the run before was killed
		err = errors.Join(err, m.heard(e.Workstream), m.mustBe(r.signal || retried || !ran && (r.halted || m.reviewing(anyPhase, false) || len(m.usedUpAnywhere()) > 0), "nothing interrupted the attempt"), m.mustBe(!ran || d.cancelled || retried, "the attempt ran to its end"))
		r.over[e.Workstream] = true
	}
	w.status, w.broke = state.Interrupted, m.seq
	return err
}

func (m *model) uncertain(e state.WorkstreamUncertain) error {
	name, r := e.Workstream, m.run
	w := m.works[name]
	d, ran := r.log[m.key(name, w.attempts)]
	err := m.mustBe(m.work(name).Effect == "once", "the workstream is not a once step")
	if w.status != state.Running || r.tries[name] > 0 { // otherwise the run before was killed, and this run may not reach the step
		r.paused, r.asking[name] = true, true
	}
	switch {
	case w.status == state.Running && r.tries[name] > 0:
		err = errors.Join(err, m.heard(name), m.mustBe(ran && !d.ok, "the attempt succeeded or never ran"))
	case w.status == state.Running: // the run before was killed
	case w.done() && w.claimed && len(m.read([]string{m.work(name).artifact()})) == 0: // the user was wrong
		if r.over[name] = true; !r.act.KeepGoing {
			m.stop()
		}
	case m.asks(name):
	default:
		err = errors.Join(err, m.mustBe(w.done() && len(m.reasons(name)) > 0, "the step has no reason to run again"))
	}
	if (w.status != state.Running || r.tries[name] > 0) && !m.verifies(name) && !r.act.KeepGoing {
		m.stop() // the run has reached the step
	}
	if m.maybe[name] = m.maybe[name] || w.attempts > 0 && !w.done(); !m.maybe[name] {
		delete(m.maybe, name)
	}
	w.status, w.broke = state.Uncertain, m.seq
	return err
}

// resolved applies the answer of the user or of the verify command to an uncertain step.
// If the verify command says that the step happened, the record that a rollback took back
// is valid again, and its missing artifacts are restored.
func (m *model) resolved(e state.WorkstreamResolved) error {
	w := m.works[e.Workstream]
	err := errors.Join(m.mustBe(w.status == state.Uncertain, "the workstream is %s", w.status), m.verified(e))
	m.reset(e.Workstream)
	delete(m.maybe, e.Workstream)
	if w.repeat = e.Resolution == state.ResolvedRerun; w.repeat {
		return err
	}
	m.happened[e.Workstream] = true
	m.identify(w)
	w.status, w.made, w.value, w.from = state.Succeeded, nil, "", m.adoptedFrom(e)
	w.claimed = m.work(e.Workstream).Makes
	if !e.Verified || w.had == nil || w.had.attempt != w.attempts {
		return errors.Join(err, m.mustBe(e.Work == nil, "the event has a record, but the model has none"))
	}
	w.made, w.value, w.metric, w.claimed = w.had.made, w.had.value, w.had.metric, w.claimed && len(w.had.made) == 0
	for path, text := range w.made {
		if _, there := m.tree[path]; !there {
			m.tree[path] = text
		}
	}
	if e.Work == nil {
		return errors.Join(err, errors.New("the record that a rollback took back is not restored"))
	}
	return errors.Join(err, sameArtifacts(w.made, e.Work.Artifacts), m.mustBe(string(e.Work.Outputs["value"]) == w.value, "the recorded output is not %q", w.value))
}

// verified compares a recorded resolution with the exit code of the verify command: 0
// means that the step happened, 1 that it did not. Anything else leaves the step
// uncertain.
func (m *model) verified(e state.WorkstreamResolved) error {
	if !e.Verified {
		return nil
	}
	d, ran := m.run.log[m.key(e.Workstream+"..verify", m.works[e.Workstream].attempts)]
	m.run.verified[e.Workstream] = e.Resolution
	said := map[int]state.Resolution{0: state.ResolvedDone, 1: state.ResolvedRerun}
	return m.mustBe(ran && !d.cancelled && m.verifies(e.Workstream) && said[d.code] == e.Resolution, "the verify command exited with %d", d.code)
}

// adoptedFrom returns the basis from which adopted work counts as run.
func (m *model) adoptedFrom(e state.WorkstreamResolved) basis {
	switch {
	case e.Digest == nil: // adopted by hand, before digests were recorded
		return basis{unknown: true}
	case m.run.tries[e.Workstream] > 0:
		return m.works[e.Workstream].from
	}
	return m.basis(e.Workstream)
}

// verifies reports whether the run may run the verify command of a workstream.
func (m *model) verifies(name string) bool {
	return m.work(name).Verify && (m.run.allowed == nil || m.run.allowed[name])
}

// outcome compares a recorded failure with the result of the attempt.
func (d deed) outcome(f state.Failure) error {
	want := string(runner.Exited)
	if d.late {
		want = string(runner.TimedOut)
	}
	if f.Outcome != want {
		return fmt.Errorf("the recorded outcome is %s, want %s", f.Outcome, want)
	}
	return nil
}

// meetsEdit reports whether the run has come to a workstream that it does not start because of an
// edit. It would overwrite an edit that is to be kept, or read one that is not taken back because
// a failure blocks the workstream that made the file.
func (m *model) meetsEdit() bool {
	return slices.ContainsFunc(m.h.works(), func(w *histWork) bool {
		chosen := m.run.allowed == nil || m.run.allowed[w.Name]
		return chosen && m.run.tries[w.Name] == 0 && !m.off(w.Name) && m.reached(w.Name) && (m.readsEdit(w.Name) || m.overwritesEdit(w.Name))
	})
}

// overwritesEdit reports whether a workstream must run again, so that it can't keep an edit.
func (m *model) overwritesEdit(name string) bool {
	_, edited := m.touched(name)
	return len(edited) > 0 && len(m.reasons(name)) > 0 && m.run.act.Conflict != plan.ConflictRestore
}

// readsEdit reports whether a workstream would read an edit that is neither kept nor taken back.
func (m *model) readsEdit(name string) bool {
	w := m.work(name)
	return w.Reads && slices.ContainsFunc(w.On, m.isEdited)
}

// isEdited reports whether an artifact differs from its record, and the edit is not kept.
func (m *model) isEdited(name string) bool {
	missing, edited := m.touched(name)
	return len(missing) > 0 || len(edited) > 0 && !m.keeps(name, m.run.act.Conflict)
}

// findsEdit reports whether the run finds an edit when it leaves a phase: after the last one it
// looks at the artifacts of all phases.
func (m *model) findsEdit(p int) bool {
	return p == len(m.h.Phases)-1 && slices.ContainsFunc(m.h.works(), func(w *histWork) bool { return m.isEdited(w.Name) })
}

// editKept applies the record of kept edits.
func (m *model) editKept(e state.WorkstreamEdited) error {
	name := e.Workstream
	w := m.works[name]
	missing, edited := m.touched(name)
	adopted := w.claimed
	err := m.mustBe(len(missing) == 0 && len(edited) == len(e.Edited) && (len(e.Edited) > 0 || adopted), "%v are edited, and %v are gone", edited, missing)
	err = errors.Join(err, m.mustBe(adopted || m.keeps(name, m.run.act.Conflict), "the user has not decided to keep the edit"),
		m.mustBe(len(m.reasons(name)) == 0, "the workstream must run again"))
	w.made, w.claimed = map[string]string{}, false
	if m.work(name).Makes {
		w.made = m.read([]string{m.work(name).artifact()})
	}
	maps.Copy(m.captured, w.made)
	return errors.Join(err, sameArtifacts(w.made, e.Artifacts))
}
