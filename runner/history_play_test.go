//go:build unix

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/runner"
)

// play is a history that is under way: the engine, the model beside it, and
// what both have come to.
type play struct {
	*stage
	m      *model
	seq    uint64 // of the journal, up to which the model knows it
	id     string // of the session
	builds int
	points map[string]known
	trees  map[string]map[string]string
	told   []string // for people, when it fails
}

// playHistory plays a history to its end in a directory below the one given,
// and says where the engine and the model disagree.
func playHistory(h history, below string) (err error) {
	s, err := newStage(&h, below)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	p := &play{stage: s, m: newModel(&h, s.v, s.tree()), points: map[string]known{}, trees: map[string]map[string]string{}}
	for i, a := range h.Acts {
		p.now = p.now.Add(time.Hour)
		p.told = append(p.told, fmt.Sprintf("-- %d: %s", i, a))
		if err := p.do(a); err != nil {
			return fmt.Errorf("act %d, %s: %w\n%s\n%s", i, a.Do, err, strings.Join(p.told, "\n"), h.source(s.v))
		}
	}
	return nil
}

func (p *play) do(a act) error {
	switch a.Do {
	case "build":
		return p.build(a)
	case "edit":
		return p.edit(sources[a.Pick%len(sources)], a.Text, a.Text == "")
	case "meddle", "remove":
		if made := p.madeFiles(); len(made) > 0 {
			return p.edit(made[a.Pick%len(made)], "meddled with", a.Do == "remove")
		}
	case "redefine":
		all := p.h.works()
		if done := slices.DeleteFunc(slices.Clone(all), func(w *histWork) bool { return !p.m.works[w.Name].done() }); len(done) > 0 {
			all = done
		}
		p.v.works[all[a.Pick%len(all)].Name]++
	case "regate":
		labels := p.gatesThat(func(g *modelGate) bool { return g.status == checkpoint.Passed })
		if len(labels) == 0 {
			labels = p.gatesThat(func(*modelGate) bool { return true })
		}
		if len(labels) > 0 {
			p.v.gates[labels[a.Pick%len(labels)]]++
		}
	case "toggle":
		all := slices.DeleteFunc(p.h.works(), func(w *histWork) bool { return !w.Toggled })
		if len(all) > 0 {
			name := all[a.Pick%len(all)].Name
			p.v.off[name] = !p.v.off[name]
		}
	case "approve", "reject":
		return p.answer(a)
	case "done", "rerun":
		return p.resolve(a)
	case "rollback":
		return p.rollback(a)
	case "checkpoint":
		return p.create()
	default:
		return errors.New("nobody knows how")
	}
	return nil
}

func (p *play) madeFiles() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.m.tree)), func(name string) bool { return !strings.HasPrefix(name, "out/") })
}

func (p *play) gatesThat(are func(*modelGate) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.m.gates)), func(label string) bool { return !are(p.m.gates[label]) })
}

// edit is done by a person.
func (p *play) edit(name, text string, gone bool) error {
	if gone {
		delete(p.m.tree, name)
	} else {
		p.m.tree[name] = text
	}
	return p.put(p.m.tree)
}

// build has the engine run, and compares what it did with what it had to.
func (p *play) build(a act) error {
	m := p.m
	p.builds++
	resumed := m.session && !a.Fresh && (m.status != checkpoint.StatusComplete || a.Select.From != "" || len(a.Select.Only)+len(a.Select.Invalidate) > 0)
	before := m.clone()
	if !resumed {
		m.begin()
	}
	m.plan(a, p.builds)
	want := m.outlook(a.Conflict)
	refusal := m.refusal(a, want)
	ending, err := p.stage.build(a)
	dead := p.killed != nil
	switch {
	case dead:
	case refusal != nil:
		m.known, m.run = before, nil
		if !errors.Is(err, refusal) && !isSelection(err, refusal) {
			return fmt.Errorf("the build gave %w, and should be refused: %w", err, refusal)
		}
		return p.same(m.tree)
	case err != nil:
		return fmt.Errorf("build: %w", err)
	}
	if p.plan != nil {
		if err := p.samePlan(want); err != nil && !dead {
			return err
		}
	}
	m.run.log, m.run.signal = p.log, a.Interrupt > 0 && p.tasks >= a.Interrupt
	if resumed {
		m.expect(want)
	} else {
		m.known = before
	}
	if err := p.follow(); err != nil {
		return err
	}
	if dead {
		return p.buried(resumed)
	}
	return p.concluded(ending)
}

// plan works out what a build was asked for.
func (m *model) plan(a act, number int) {
	r := &modelRun{act: a, number: number, forced: map[string]bool{}, tries: map[string]int{}, over: map[string]bool{}, retries: map[string]bool{}, takes: map[string]bool{}}
	m.run = r
	from := false
	for i, phase := range m.h.Phases {
		from = from || a.Select.From == phaseName(i)
		r.forced[phaseName(i)] = from
		for _, w := range phase.Works {
			r.forced[w.Name] = from || slices.Contains(a.Select.Invalidate, w.Name) ||
				slices.Contains(a.Select.Only, w.Name) && m.works[w.Name].ended
			for _, up := range w.On {
				r.forced[w.Name] = r.forced[w.Name] || !from && len(a.Select.Invalidate) > 0 && r.forced[up]
			}
		}
	}
	for _, name := range a.Select.Only {
		r.allowed = map[string]bool{}
		m.allow(name)
	}
	for path, text := range m.scope(m.tree) {
		if was, ok := m.captured[path]; !ok || was != text {
			r.moved = true
		}
	}
	for path := range m.scope(m.captured) {
		if _, ok := m.tree[path]; !ok {
			r.moved = true
		}
	}
}

// scope are those of the files that the pipeline names, so that captures take
// them in.
func (m *model) scope(files map[string]string) map[string]string {
	var named []string
	for _, p := range m.h.Phases {
		for _, g := range p.Gates {
			named = append(named, g.Inputs...)
		}
		for _, w := range p.Works {
			named = append(named, m.h.inputs(w)...)
			if w.Makes {
				named = append(named, w.artifact())
			}
			for _, g := range w.Gates {
				named = append(named, g.Inputs...)
			}
		}
	}
	some := maps.Clone(files)
	maps.DeleteFunc(some, func(path, _ string) bool { return !slices.Contains(named, path) })
	return some
}

// allow lets a workstream run with all that it needs.
func (m *model) allow(name string) {
	m.run.allowed[name] = true
	for _, phase := range m.h.Phases[:m.phaseOf(name)] {
		for _, w := range phase.Works {
			m.run.allowed[w.Name] = true
		}
	}
	for _, up := range m.work(name).On {
		m.allow(up)
	}
}

var errSelection = errors.New("an uncertain workstream was chosen")

func isSelection(err, want error) bool {
	var s *runner.SelectionError
	return errors.Is(want, errSelection) && errors.As(err, &s)
}

// refusal is why a build must not begin.
func (m *model) refusal(a act, want map[string]runner.Decision) error {
	for _, name := range slices.Concat(a.Select.Only, a.Select.Invalidate) {
		if m.works[name].status == checkpoint.Uncertain {
			return errSelection
		}
	}
	if m.refuses(a.Conflict, want) {
		return runner.ErrConflict
	}
	return nil
}

// expect notes what a plan takes back at once.
func (m *model) expect(want map[string]runner.Decision) {
	for name, w := range m.works {
		if want[name] == runner.Rerun && w.status != checkpoint.Pending {
			m.run.takes[name] = true
		}
	}
	for label, g := range m.gates {
		if want[label] == runner.Judge && g.status == checkpoint.Passed {
			m.run.takes[label] = true
		}
	}
	// What is taken back takes the gates of its phase with it.
	for label := range m.run.takes {
		if g, owner := m.gate(label); g.Name != "" {
			for _, name := range m.judges(owner) {
				if m.run.takes[name] {
					delete(m.run.takes, label)
				}
			}
		}
	}
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

// follow gives the model what is new in the journal.
func (p *play) follow() error {
	commits, err := p.commits()
	if err != nil {
		return err
	}
	if len(commits) > 0 {
		if e, ok := commits[0].Events[0].(checkpoint.SessionStarted); ok && e.Session != p.id {
			p.id, p.seq = e.Session, 0
		}
	}
	for _, c := range commits {
		if c.Seq <= p.seq {
			continue
		}
		p.seq = c.Seq
		for _, e := range c.Events {
			if e.Kind() != checkpoint.KindCheckpointCreated {
				p.told = append(p.told, fmt.Sprintf("   %d %s", c.Seq, brief(e)))
			}
			if err := p.m.apply(e); err != nil {
				return err
			}
		}
		for _, e := range c.Events { // a checkpoint is of its whole commit
			if made, ok := e.(checkpoint.CheckpointCreated); ok {
				p.points[made.ID] = p.m.clone()
			}
		}
	}
	return nil
}

// concluded compares what a run left behind.
func (p *play) concluded(ending runner.Ending) error {
	m := p.m
	if m.run.ended == "" {
		return errors.New("the run has no end")
	}
	if ending.Status != m.status {
		return fmt.Errorf("the run ended %s, and is %s on record", ending.Status, m.status)
	}
	if (ending.Signal != "") != m.run.signal || (ending.Error != nil) != (ending.Status == checkpoint.StatusFailed) {
		return fmt.Errorf("the run ended with %+v", ending)
	}
	if err := p.unrecorded(func(string) bool { return true }); err != nil {
		return err
	}
	m.run = nil
	return p.same(m.tree)
}

// unrecorded names a workstream of those that ran although no start of it is on
// record.
func (p *play) unrecorded(concerns func(name string) bool) error {
	for key := range p.log {
		name, number, _ := strings.Cut(key, "/")
		w := p.m.works[name]
		if w == nil || !concerns(name) {
			continue
		}
		if attempt, err := strconv.Atoi(number); err != nil || attempt > w.attempts {
			return fmt.Errorf("%s ran, and that is not on record", key)
		}
	}
	return nil
}

// lostStarts names a workstream that wrote over what is on record although no
// start of it is: it would be taken for an edit of somebody's.
func (p *play) lostStarts() error {
	tree := p.tree()
	return p.unrecorded(func(name string) bool {
		w := p.m.work(name)
		is := p.m.works[name]
		return w.Makes && is.done() && is.made[w.artifact()] != tree[w.artifact()]
	})
}

// buried goes on after the death of a process.
func (p *play) buried(resumed bool) error {
	m := p.m
	if err := p.unrecorded(func(name string) bool { return m.work(name).Effect == "once" }); err != nil {
		return err
	}
	if err := p.lostStarts(); err != nil {
		return err
	}
	if p.shown > p.seq {
		return fmt.Errorf("commit %d was acknowledged, and the journal ends with %d", p.shown, p.seq)
	}
	m.run = nil
	m.tree = p.tree()
	if _, err := p.store.Load("PRD-001"); !resumed && errors.Is(err, checkpoint.ErrNoSession) {
		m.begin() // it died between two sessions
	}
	return p.same(m.tree)
}

// same compares the files and the state with those that must be.
func (p *play) same(tree map[string]string) error {
	if is := p.tree(); !maps.Equal(is, tree) {
		return fmt.Errorf("the files are\n%q, and must be\n%q", is, tree)
	}
	snap, err := p.store.Load("PRD-001")
	if errors.Is(err, checkpoint.ErrNoSession) {
		return p.m.mustBe(!p.m.session, "there is no session")
	}
	if err != nil {
		return err
	}
	m, st := p.m, snap.State
	if m.status != st.Status && st.RunningAt == nil {
		return fmt.Errorf("the session is %s, and must be %s", st.Status, m.status)
	}
	for name, w := range m.works {
		is := st.Workstream(name)
		if is.Status != w.status || is.Attempts != w.attempts {
			return fmt.Errorf("%s is %s after %d attempts, and must be %s after %d", name, is.Status, is.Attempts, w.status, w.attempts)
		}
	}
	for label, g := range m.gates {
		if is := st.Gate(label); is.Status != g.status || is.Attempts != g.attempts {
			return fmt.Errorf("%s is %s after %d attempts, and must be %s after %d", label, is.Status, is.Attempts, g.status, g.attempts)
		}
	}
	return nil
}

// answer gives or refuses an approval while nothing runs.
func (p *play) answer(a act) error {
	labels := p.gatesThat(func(g *modelGate) bool { return g.status == checkpoint.Waiting })
	if len(labels) == 0 {
		return nil
	}
	label := labels[a.Pick%len(labels)]
	err := p.locked(func(x *checkpoint.Session) error {
		g := x.State().Gate(label)
		v := checkpoint.Verdict{Gate: label, Definition: g.Definition, Judged: g.Judged}
		if a.Do == "approve" {
			x.Add(checkpoint.GateApproved{Verdict: v})
		} else {
			x.Add(checkpoint.GateRejected{Verdict: v})
		}
		return nil
	})
	return errors.Join(err, p.follow())
}

// resolve says what came of a workstream that nobody knows the end of. One
// whose result is used is run again, since its outputs are lost.
func (p *play) resolve(a act) error {
	all := slices.DeleteFunc(p.h.works(), func(w *histWork) bool { return p.m.works[w.Name].status != checkpoint.Uncertain })
	if len(all) == 0 {
		return nil
	}
	w := all[a.Pick%len(all)]
	resolution := checkpoint.ResolvedRerun
	if a.Do == "done" && w.Toggled {
		resolution = checkpoint.ResolvedDone
		if _, made := p.m.tree[w.artifact()]; w.Makes && !made {
			return nil // what it made must be there
		}
	}
	err := p.locked(func(x *checkpoint.Session) error {
		x.Add(checkpoint.WorkstreamResolved{Workstream: w.Name, Resolution: resolution})
		return nil
	})
	return errors.Join(err, p.follow())
}

func (p *play) create() error {
	if !p.m.session {
		return nil
	}
	run := p.m.captured
	err := p.locked(func(x *checkpoint.Session) error {
		_, err := x.Create(context.Background(), p.files, "asked for")
		return err
	})
	err = errors.Join(err, p.follow())
	p.m.captured = run // it is of no run
	return err
}

// rollback goes back to any checkpoint that is valid. That the files go back as
// well is TestOperations' to prove: here they are taken as they are then.
func (p *play) rollback(a act) error {
	if !p.m.session {
		return nil
	}
	snap, err := p.store.Load("PRD-001")
	if err != nil {
		return err
	}
	valid := slices.DeleteFunc(slices.Clone(snap.State.Checkpoints), func(ref *checkpoint.CheckpointRef) bool { return !ref.Valid })
	if len(valid) == 0 {
		return nil
	}
	id := valid[a.Pick%len(valid)].ID
	err = p.locked(func(x *checkpoint.Session) error {
		_, err := x.Rollback(context.Background(), p.files, checkpoint.RollbackOptions{To: id})
		return err
	})
	if err = errors.Join(err, p.follow()); err != nil {
		return err
	}
	p.m.jump(p.points[id])
	p.m.tree = p.tree()
	return p.same(p.m.tree)
}

// jump goes back to what was known at a checkpoint. What does not go back are
// the numbers of attempts, and that a once step may have happened.
func (m *model) jump(to known) {
	was := m.known
	m.known = to.clone()
	if m.status == checkpoint.StatusInProgress || m.status == checkpoint.StatusInitialized {
		m.status = checkpoint.StatusPaused
	}
	for name, w := range m.works {
		since := was.works[name].attempts > w.attempts
		w.attempts = max(w.attempts, was.works[name].attempts)
		switch once := m.work(name).Effect == "once"; {
		case once && (since || w.status == checkpoint.Running):
			w.status = checkpoint.Uncertain
		case w.status == checkpoint.Running:
			w.status = checkpoint.Interrupted
		}
	}
	for label, g := range m.gates {
		if g.status == checkpoint.Running {
			g.reset()
		}
		g.attempts = max(g.attempts, was.gates[label].attempts)
	}
}

// brief is an event in a few words.
func brief(e checkpoint.Event) string {
	text := fmt.Sprintf("%s %+v", e.Kind(), e)
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return text
}
