//go:build unix

package runner_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/runner"
)

// apply takes in an event of the journal, which must be one that may happen
// now, and must say what is true.
func (m *model) apply(e checkpoint.Event) error {
	var err error
	switch e := e.(type) {
	case checkpoint.SessionStarted:
		m.begin()
		m.session, m.status = true, checkpoint.StatusInitialized
	case checkpoint.SessionResumed:
		m.status = checkpoint.StatusInProgress
	case checkpoint.SessionPaused:
		err = m.end(e, checkpoint.StatusPaused)
	case checkpoint.SessionFailed:
		err = m.end(e, checkpoint.StatusFailed)
	case checkpoint.SessionInterrupted:
		err = m.end(e, checkpoint.StatusPaused)
	case checkpoint.SessionCompleted:
		err = m.end(e, checkpoint.StatusComplete)
	case checkpoint.PhaseStarted:
		err = m.enter(e.Phase)
	case checkpoint.PhaseCompleted:
		err = m.leave(e.Phase)
	case checkpoint.PhaseSkipped:
		err = m.passOver(e.Phase)
	case checkpoint.WorkspaceCaptured:
		m.captured = maps.Clone(m.tree)
	case checkpoint.ArtifactsRestored:
		err = m.restored(e)
	case checkpoint.CheckpointCreated, checkpoint.RollbackStarted, checkpoint.RollbackCompleted:
	case checkpoint.GateStarted, checkpoint.GatePassed, checkpoint.GateFailed, checkpoint.GateAsked, checkpoint.GateApproved,
		checkpoint.GateRejected, checkpoint.GateSkipped, checkpoint.GateVoided:
		err = m.applyGate(e)
	default:
		err = m.applyWork(e)
	}
	if err != nil {
		return fmt.Errorf("%s %+v: %w", e.Kind(), e, err)
	}
	return nil
}

func (m *model) applyWork(e checkpoint.Event) error {
	switch e := e.(type) {
	case checkpoint.WorkstreamInvalidated:
		return m.takenBack(e.Workstream)
	case checkpoint.WorkstreamStarted:
		return m.started(e)
	case checkpoint.WorkstreamAttemptFailed:
		return m.attemptFailed(e)
	case checkpoint.WorkstreamFailed:
		return m.failed(e)
	case checkpoint.WorkstreamSucceeded:
		return errors.Join(m.record(e.Workstream, e.Work), m.mustBe(len(m.work(e.Workstream).Gates) > 0, "it has no gates"))
	case checkpoint.WorkstreamCompleted:
		return m.completed(e)
	case checkpoint.WorkstreamInterrupted:
		return m.interrupted(e)
	case checkpoint.WorkstreamUncertain:
		return m.uncertain(e)
	case checkpoint.WorkstreamSkipped:
		w := m.works[e.Workstream]
		err := m.mustBe(m.v.off[e.Workstream] && w.status != checkpoint.Skipped, "it is not to be skipped")
		m.reset(e.Workstream)
		w.status, w.made, w.value = checkpoint.Skipped, nil, ""
		for _, g := range m.work(e.Workstream).Gates {
			m.gates[g.label(e.Workstream)].status = checkpoint.Skipped
		}
		return err
	case checkpoint.WorkstreamEdited:
		return m.editKept(e)
	case checkpoint.WorkstreamResolved:
		w := m.works[e.Workstream]
		err := m.mustBe(w.status == checkpoint.Uncertain, "it is %s", w.status)
		m.reset(e.Workstream)
		if e.Resolution == checkpoint.ResolvedDone {
			m.identify(w)
			w.status, w.made, w.value, w.from = checkpoint.Succeeded, nil, "", basis{unknown: true}
		}
		return err
	}
	return errors.New("nobody expects it")
}

func (m *model) mustBe(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// reset makes a workstream pending, with its gates; those of its phase judged
// what is not there any more.
func (m *model) reset(name string) {
	w := m.works[name]
	w.status, w.id, w.metric, w.ended = checkpoint.Pending, "", false, false
	for _, g := range m.work(name).Gates {
		m.gates[g.label(name)].reset()
	}
	p := m.phaseOf(name)
	for _, g := range m.h.Phases[p].Gates {
		if is := m.gates[g.label(phaseName(p))]; is.status != checkpoint.Pending {
			is.reset()
		}
	}
}

func (g *modelGate) reset() {
	*g = modelGate{status: checkpoint.Pending, attempts: g.attempts, touched: true}
}

// identify makes it another run than any before.
func (m *model) identify(w *modelWork) {
	m.runs++
	w.id = fmt.Sprint("run ", m.runs)
}

func (m *model) takenBack(name string) error {
	w := m.works[name]
	err := m.mustBe(m.run.takes[name], "there is no reason to take it back (%s)", w.status)
	delete(m.run.takes, name)
	m.reset(name)
	return err
}

// mayStart says why a workstream may not be started now.
func (m *model) mayStart(name string) error {
	w, r := m.works[name], m.run
	switch {
	case r.halted:
		return errors.New("the run has been stopped")
	case r.ended != "":
		return errors.New("the run is over")
	case m.v.off[name]:
		return errors.New("it is to be skipped")
	case r.allowed != nil && !r.allowed[name]:
		return errors.New("it was not chosen")
	case w.status == checkpoint.Uncertain:
		return errors.New("nobody knows whether it happened")
	case len(r.takes) > 0:
		return fmt.Errorf("what the plan takes back is not taken back: %v", r.takes)
	}
	for p := range m.phaseOf(name) {
		if !m.left(p) || !m.phaseSettled(p) {
			return fmt.Errorf("the phase %s before it is not complete", phaseName(p))
		}
	}
	for _, up := range m.work(name).On {
		if !m.settled(up) || !m.reached(up) {
			return fmt.Errorf("%s, which it depends on, is not done", up)
		}
	}
	if w.done() {
		if len(m.reasons(name)) == 0 {
			return errors.New("it is done, and nothing is a reason to run it again")
		}
		if m.work(name).Effect == "once" {
			return errors.New("it must not run twice")
		}
	}
	return nil
}

func (m *model) started(e checkpoint.WorkstreamStarted) error {
	name := e.Workstream
	w, r := m.works[name], m.run
	err := m.mayStart(name)
	if r.tries[name] > 0 {
		err = errors.Join(err, m.mustBe(r.retries[name], "it was dealt with already"))
	}
	delete(r.retries, name)
	err = errors.Join(err,
		m.mustBe(e.Attempt == w.attempts+1, "after attempt %d", w.attempts),
		m.mustBe(r.tries[name] < m.tries(name), "it has %d attempts", m.tries(name)))
	if _, edited := m.touched(name); len(edited) > 0 && r.act.Conflict != runner.ConflictRestore {
		err = errors.Join(err, fmt.Errorf("it would overwrite the edit of %v", edited))
	}
	r.tries[name]++
	b := m.basis(name)
	if d, ok := r.log[m.key(name, e.Attempt)]; ok {
		// What it saw is what was there when it was started.
		err = errors.Join(err, m.mustBe(maps.Equal(b.saw, d.saw), "it saw %q, and should have seen %q", d.saw, b.saw),
			m.mustBe(d.used == b.used, "it used %q, and should have used %q", d.used, b.used))
		if m.work(name).Makes {
			m.tree[m.work(name).artifact()] = d.made
		}
	}
	m.reset(name)
	w.status, w.attempts, w.from, w.once = checkpoint.Running, e.Attempt, b, true
	return err
}

func (m *model) key(name string, attempt int) string { return fmt.Sprintf("%s/%d", name, attempt) }

func (m *model) tries(name string) int { return max(1, m.work(name).Attempts) }

// deedOf is what came of the attempt that is under way.
func (m *model) deedOf(name string) (deed, error) {
	w := m.works[name]
	if w.status != checkpoint.Running {
		return deed{}, fmt.Errorf("it is %s", w.status)
	}
	d, ok := m.run.log[m.key(name, w.attempts)]
	if !ok {
		return d, errors.New("it never ran")
	}
	return d, nil
}

func (m *model) attemptFailed(e checkpoint.WorkstreamAttemptFailed) error {
	d, err := m.deedOf(e.Workstream)
	m.run.retries[e.Workstream] = true
	return errors.Join(err, m.mustBe(!d.ok && !d.cancelled, "it did not fail"),
		m.mustBe(m.run.tries[e.Workstream] < m.tries(e.Workstream), "it was its last attempt"),
		m.mustBe(!m.run.failing, "something else has failed"))
}

func (m *model) failed(e checkpoint.WorkstreamFailed) (err error) {
	name, r := e.Workstream, m.run
	w := m.works[name]
	if e.Error.Outcome == "conflict" {
		_, edited := m.touched(name)
		err = m.mustBe(len(edited) > 0 && len(m.reasons(name)) > 0 && r.act.Conflict != runner.ConflictRestore, "nothing was edited")
	} else {
		d, unknown := m.deedOf(name)
		err = errors.Join(unknown, m.mustBe(!d.ok && !d.cancelled, "it did not fail"),
			m.mustBe(m.work(name).Effect != "once", "it may have happened"),
			m.mustBe(r.tries[name] == m.tries(name) || r.failing, "after %d of %d attempts", r.tries[name], m.tries(name)))
	}
	delete(r.retries, name)
	w.status = checkpoint.Failed
	m.fail(name)
	return err
}

func (m *model) fail(what string) {
	m.run.failures = append(m.run.failures, what)
	m.run.over[what] = true
	if !m.run.act.KeepGoing {
		m.run.halted, m.run.failing = true, true
	}
}

// record takes in what a successful attempt left behind.
func (m *model) record(name string, work checkpoint.Work) error {
	w := m.works[name]
	d, err := m.deedOf(name)
	err = errors.Join(err, m.mustBe(d.ok, "it did not succeed"), m.mustBe(work.Attempt == w.attempts, "attempt %d", w.attempts))
	m.identify(w)
	w.status, w.value, w.metric, w.made = checkpoint.Succeeded, d.value, true, map[string]string{}
	if m.work(name).Makes {
		w.made[m.work(name).artifact()] = d.made
	}
	maps.Copy(m.captured, w.made)
	return errors.Join(err, sameArtifacts(w.made, work.Artifacts), m.mustBe(string(work.Outputs["value"]) == d.value, "its output is not %q", d.value))
}

func sameArtifacts(want map[string]string, got []checkpoint.Artifact) error {
	is := map[string]string{}
	for _, a := range got {
		is[string(a.Path)] = a.Digest
	}
	for path, text := range want {
		if is[path] != fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) {
			return fmt.Errorf("%s is not on record as %q", path, text)
		}
		delete(is, path)
	}
	if len(is) > 0 {
		return fmt.Errorf("%v are on record as well", is)
	}
	return nil
}

func (m *model) completed(e checkpoint.WorkstreamCompleted) (err error) {
	w, gates := m.works[e.Workstream], m.work(e.Workstream).Gates
	if e.Work != nil {
		err = errors.Join(m.record(e.Workstream, *e.Work), m.mustBe(len(gates) == 0, "its gates have not been judged"))
	}
	err = errors.Join(err, m.mustBe(w.status == checkpoint.Succeeded, "it is %s", w.status))
	for _, g := range gates {
		err = errors.Join(err, m.mustBe(m.holds(g, e.Workstream), "its gate %s has not passed", g.Name))
	}
	w.status, w.ended = checkpoint.Completed, true
	return err
}

func (m *model) interrupted(e checkpoint.WorkstreamInterrupted) error {
	w, r := m.works[e.Workstream], m.run
	d, ran := r.log[m.key(e.Workstream, w.attempts)]
	retried := r.retries[e.Workstream]
	delete(r.retries, e.Workstream)
	err := errors.Join(m.mustBe(w.status == checkpoint.Running, "it is %s", w.status),
		m.mustBe(m.work(e.Workstream).Effect != "once" || r.tries[e.Workstream] > 0 && !ran, "it may have happened"))
	if r.tries[e.Workstream] > 0 { // else the run before was killed
		err = errors.Join(err, m.mustBe(r.signal || retried, "nothing interrupted it"), m.mustBe(!ran || d.cancelled || retried, "it ran to its end"))
		r.over[e.Workstream] = true
	}
	w.status = checkpoint.Interrupted
	return err
}

func (m *model) uncertain(e checkpoint.WorkstreamUncertain) error {
	name, r := e.Workstream, m.run
	w := m.works[name]
	d, ran := r.log[m.key(name, w.attempts)]
	err := m.mustBe(m.work(name).Effect == "once", "it may run again")
	switch {
	case w.status == checkpoint.Running && r.tries[name] > 0:
		err = errors.Join(err, m.mustBe(ran && !d.ok, "it is known to have happened"))
	case w.status == checkpoint.Running: // the run before was killed
	case w.done() && m.adopted(name) && len(m.read([]string{m.work(name).artifact()})) == 0: // somebody was wrong
		m.fail(name)
	default:
		err = errors.Join(err, m.mustBe(w.done() && len(m.reasons(name)) > 0, "nothing asks for it again"))
	}
	if w.status != checkpoint.Running || r.tries[name] > 0 {
		r.halted = r.halted || !r.act.KeepGoing // its turn has come
	}
	w.status = checkpoint.Uncertain
	return err
}

// adopted reports whether somebody said that it happened, and nobody has looked
// at what it made.
func (m *model) adopted(name string) bool {
	w := m.works[name]
	return w.done() && len(w.made) == 0 && m.work(name).Makes
}

// editKept takes in that artifacts are kept as they are.
func (m *model) editKept(e checkpoint.WorkstreamEdited) error {
	name := e.Workstream
	w := m.works[name]
	missing, edited := m.touched(name)
	adopted := m.adopted(name)
	err := m.mustBe(len(missing)+len(edited) == len(e.Edited) && (len(e.Edited) > 0 || adopted), "%v are edited, and %v are gone", edited, missing)
	err = errors.Join(err, m.mustBe(adopted || m.unsatisfied(name) != "" || m.run.act.Conflict == runner.ConflictKeep, "nobody decided to keep it"),
		m.mustBe(len(m.reasons(name)) == 0, "it must run again"))
	w.made = map[string]string{}
	if m.work(name).Makes {
		w.made = m.read([]string{m.work(name).artifact()})
	}
	maps.Copy(m.captured, w.made)
	return errors.Join(err, sameArtifacts(w.made, e.Artifacts))
}

func (m *model) restored(e checkpoint.ArtifactsRestored) error {
	w := m.works[e.Workstream]
	missing, edited := m.touched(e.Workstream)
	if m.run.act.Conflict == runner.ConflictRestore {
		missing = append(missing, edited...)
	}
	var paths []string
	for _, p := range e.Paths {
		paths = append(paths, string(p))
		m.tree[string(p)] = w.made[string(p)]
	}
	return m.mustBe(slices.Equal(missing, paths), "what is to be restored is %v", missing)
}

func (m *model) phaseSettled(p int) bool {
	for _, w := range m.h.Phases[p].Works {
		if !m.settled(w.Name) {
			return false
		}
	}
	return !slices.ContainsFunc(m.h.Phases[p].Gates, func(g histGate) bool { return !m.holds(g, phaseName(p)) })
}

func (m *model) enter(name string) error {
	for p := range m.h.Phases {
		if phaseName(p) == name {
			m.phases[p] = checkpoint.Running
			return nil
		}
		if !m.left(p) || !m.phaseSettled(p) {
			return fmt.Errorf("%s is not complete", phaseName(p))
		}
	}
	return errors.New("there is no such phase")
}

// left reports whether a phase is over, as far as is on record.
func (m *model) left(p int) bool {
	return m.phases[p] == checkpoint.Completed || m.phases[p] == checkpoint.Skipped && m.allOff(phaseName(p))
}

func (m *model) passOver(name string) error {
	for p, phase := range m.h.Phases {
		if phaseName(p) == name {
			m.phases[p] = checkpoint.Skipped
			for _, g := range phase.Gates {
				m.gates[g.label(name)].reset()
				m.gates[g.label(name)].status = checkpoint.Skipped
			}
		}
	}
	return m.mustBe(m.allOff(name), "something in it is not skipped")
}

func (m *model) leave(name string) error {
	for p := range m.h.Phases {
		if phaseName(p) == name {
			was := m.phases[p]
			m.phases[p] = checkpoint.Completed
			return errors.Join(m.mustBe(m.phaseSettled(p) && !m.allOff(name), "something in it is not done"), m.mustBe(was != checkpoint.Completed, "it was complete"))
		}
	}
	return errors.New("there is no such phase")
}

// end takes in how the run ended, which must be what it came to.
func (m *model) end(e checkpoint.Event, status checkpoint.Status) error {
	r := m.run
	err := m.mustBe(r.ended == "", "the run ended before, with %s", r.ended)
	m.status, r.ended = status, e.Kind()
	due := m.due()
	want := m.verdictOfRun()
	is := string(e.Kind())
	if p, ok := e.(checkpoint.SessionPaused); ok {
		is += " " + string(p.Reason)
	}
	err = errors.Join(err, m.mustBe(is == want, "it should be %s", want))
	if !r.signal && len(due) > 0 {
		err = errors.Join(err, fmt.Errorf("not done: %s", strings.Join(due, "; ")))
	}
	return err
}

// verdictOfRun is how the run must end.
func (m *model) verdictOfRun() string {
	r := m.run
	waiting := false
	for label := range m.gates {
		g, owner := m.gate(label)
		waiting = waiting || m.waits(g, owner) && m.mayJudge(g, owner) == nil
	}
	switch {
	case r.signal:
		return string(checkpoint.KindSessionInterrupted)
	case len(r.failures) > 0:
		return string(checkpoint.KindSessionFailed)
	case m.stuck():
		return string(checkpoint.KindSessionPaused) + " " + string(checkpoint.PauseUncertain)
	case waiting:
		return string(checkpoint.KindSessionPaused) + " " + string(checkpoint.PauseApproval)
	case m.complete():
		return string(checkpoint.KindSessionCompleted)
	case r.excluded:
		return string(checkpoint.KindSessionPaused) + " " + string(checkpoint.PauseRequested)
	}
	return "anything but this"
}

// stuck reports whether the turn of a workstream has come that nobody knows
// the end of.
func (m *model) stuck() bool {
	return slices.ContainsFunc(m.h.works(), func(w *histWork) bool {
		return m.works[w.Name].status == checkpoint.Uncertain && !m.v.off[w.Name] && m.reached(w.Name)
	})
}

func (m *model) complete() bool {
	for p := range m.h.Phases {
		if !m.left(p) || !m.phaseSettled(p) {
			return false
		}
	}
	return true
}

// reached reports whether it is a workstream's turn.
func (m *model) reached(name string) bool {
	for p := range m.phaseOf(name) {
		if !m.left(p) || !m.phaseSettled(p) {
			return false
		}
	}
	return !slices.ContainsFunc(m.work(name).On, func(up string) bool { return !m.settled(up) || !m.reached(up) })
}

// due is what ought to have been done in a run that nothing cut short.
func (m *model) due() []string {
	var due []string
	r := m.run
	r.halted = r.halted || !r.act.KeepGoing && m.stuck()
	for p, phase := range m.h.Phases {
		all := true
		for _, w := range phase.Works {
			if m.settled(w.Name) {
				continue
			}
			all = false
			if what := m.dueOf(w); what != "" {
				due = append(due, what)
			}
		}
		if !all || r.halted {
			return due
		}
		if what := m.dueGates(phase.Gates, phaseName(p)); what != "" {
			return append(due, what)
		}
		if !m.phaseSettled(p) {
			return due
		}
		if !m.left(p) {
			return append(due, phaseName(p)+" is not complete")
		}
	}
	return due
}

func (m *model) dueOf(w histWork) string {
	r, is := m.run, m.works[w.Name]
	switch {
	case r.over[w.Name] || is.status == checkpoint.Uncertain:
		return ""
	case is.status == checkpoint.Running:
		return w.Name + " runs for ever"
	case r.tries[w.Name] == 0 && (r.halted || !m.reached(w.Name)):
		return ""
	case r.allowed != nil && !r.allowed[w.Name] && r.tries[w.Name] == 0:
		r.excluded = true
		return ""
	case !is.done():
		return fmt.Sprintf("%s is %s", w.Name, is.status)
	case r.tries[w.Name] == 0 && len(m.reasons(w.Name)) > 0:
		return fmt.Sprintf("%s ought to run again: %v", w.Name, m.reasons(w.Name))
	}
	if missing, edited := m.touched(w.Name); len(missing)+len(edited) > 0 {
		return fmt.Sprintf("%s is not as %s made it", append(missing, edited...), w.Name)
	}
	return m.dueGates(w.Gates, w.Name)
}

// dueGates is the first gate of an owner that ought to have been judged.
func (m *model) dueGates(gates []histGate, owner string) string {
	for _, g := range gates {
		label := g.label(owner)
		if m.holds(g, owner) {
			continue
		}
		is := m.gates[label]
		if m.waits(g, owner) {
			return ""
		}
		if !m.run.over[label] {
			return fmt.Sprintf("%s is %s, and ought to be judged", label, is.status)
		}
		if !m.run.act.KeepGoing {
			return ""
		}
	}
	return ""
}
