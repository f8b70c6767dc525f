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

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// Builds, compared with the model.

// build runs the engine, and compares the result with the model's.
func (p *play) build(a act) error {
	m := p.m
	p.builds++
	resumed := m.session && !a.Fresh
	another := !resumed || m.status == state.StatusComplete // a new session begins, with the records of a complete session if there is one
	before := m.clone()
	if !resumed {
		m.begin()
	}
	m.plan(a, p.builds)
	want := m.outlook(a.Conflict)
	m.run.left = m.leftOut(want)
	review, attempt := m.reviewDecision()
	refusal := m.refusal(a, want)
	ending, err := p.stage.build(a)
	dead := p.killed != nil
	switch {
	case dead:
	case refusal != nil:
		m.known, m.run = before, nil
		if !errors.Is(err, refusal) && !isSelection(err, refusal) {
			return errors.Join(fmt.Errorf("the build should be refused: %w", refusal), err)
		}
		return p.same(m.tree)
	case err != nil:
		return fmt.Errorf("build: %w", err)
	}
	if p.plan != nil {
		if err := errors.Join(p.samePlan(want), p.samePlannedReview(review, attempt)); err != nil && !dead {
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
		return p.buried(another)
	}
	return p.concluded(ending)
}

// leftOut returns the workstreams that a plan blocks because they are not chosen. A build
// must not touch them or their gates.
func (m *model) leftOut(want map[string]plan.Decision) map[string]bool {
	left := map[string]bool{}
	for _, w := range m.h.works() {
		left[w.Name] = m.run.allowed != nil && !m.run.allowed[w.Name] && want[w.Name] == plan.Blocked
	}
	return left
}

// plan sets the model's run according to the options of a build.
func (m *model) plan(a act, number int) {
	r := &modelRun{act: a, number: number, forced: map[string]bool{}, tries: map[string]int{}, over: map[string]bool{}, retries: map[string]bool{}, skipped: map[string]bool{}, takes: map[string]bool{},
		verified: map[string]state.Resolution{}, asking: map[string]bool{}, fastIn: map[int]bool{}, why: map[string]reason{}, next: map[int]bool{}}
	m.run = r
	from, invalidated := false, map[string]bool{}
	for i, phase := range m.h.Phases {
		from = from || a.Select.From == phaseName(i)
		r.forced[phaseName(i)] = from
		for _, w := range phase.Works {
			invalidated[w.Name] = slices.Contains(a.Select.Invalidate, w.Name) ||
				slices.ContainsFunc(w.On, func(up string) bool { return invalidated[up] })
			is := m.works[w.Name]
			r.forced[w.Name] = from || invalidated[w.Name] || slices.Contains(a.Select.Only, w.Name) && (is.status == state.Completed || is.status == state.Failed && is.permitted)
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

// scope returns those files that the pipeline names. A capture includes them.
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

// allow lets a workstream run, with the workstreams that it needs.
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
	var s *plan.SelectionError
	return errors.Is(want, errSelection) && errors.As(err, &s)
}

// refusal returns the error with which a build must refuse to begin, or nil.
func (m *model) refusal(a act, want map[string]plan.Decision) error {
	for _, name := range slices.Concat(a.Select.Only, a.Select.Invalidate) {
		if m.works[name].status == state.Uncertain {
			return errSelection
		}
	}
	if m.refuses(a.Conflict, want) {
		return runner.ErrConflict
	}
	return nil
}

// expect notes the results and verdicts that the plan invalidates before anything starts. The next
// iteration of a phase takes back those of its phase when it begins.
func (m *model) expect(want map[string]plan.Decision) {
	for name, w := range m.works {
		if !m.run.next[m.phaseOf(name)] && want[name] == plan.Rerun && w.status != state.Pending {
			m.run.takes[name] = true
		}
	}
	for label, g := range m.gates {
		if !m.run.next[m.phaseOfStep(label)] && want[label] == plan.Judge && g.status == state.Passed {
			m.run.takes[label] = true
		}
	}
	// An invalidated workstream invalidates the gates of its phase.
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

// concluded compares the files and the state after a run.
func (p *play) concluded(ending runner.Ending) error {
	m := p.m
	if m.run.ended == "" {
		return errors.New("the run has no end")
	}
	if ending.Status != m.status {
		return fmt.Errorf("the build returned the status %s, but the journal has %s", ending.Status, m.status)
	}
	if (ending.Signal != "") != m.run.signal || (ending.Error != nil) != (ending.Status == state.StatusFailed) {
		return fmt.Errorf("the run ended with %+v", ending)
	}
	if err := p.unrecorded(func(string) bool { return true }); err != nil {
		return err
	}
	if err := m.allHeard(); err != nil {
		return err
	}
	m.run = nil
	return p.same(m.tree)
}

// unrecorded returns an error if a workstream ran and has no start on record.
func (p *play) unrecorded(concerns func(name string) bool) error {
	for key := range p.log {
		name, number, _ := strings.Cut(key, "/")
		w := p.m.works[name]
		if w == nil || !concerns(name) {
			continue
		}
		if attempt, err := strconv.Atoi(number); err != nil || attempt > w.attempts {
			return fmt.Errorf("%s ran, but its start is not recorded", key)
		}
	}
	return nil
}

// lostStarts returns an error if a workstream without a start on record overwrote
// recorded files: that would look like an edit.
func (p *play) lostStarts() error {
	tree := p.tree()
	return p.unrecorded(func(name string) bool {
		w := p.m.work(name)
		is := p.m.works[name]
		return w.Makes && is.done() && is.made[w.artifact()] != tree[w.artifact()]
	})
}

// buried brings the model up to date after the process died.
func (p *play) buried(another bool) error {
	m := p.m
	if err := p.unrecorded(func(name string) bool { return m.work(name).Effect == "once" }); err != nil {
		return err
	}
	if err := p.lostStarts(); err != nil {
		return err
	}
	if err := p.acknowledged(); err != nil {
		return err
	}
	if p.shown > p.seq {
		return fmt.Errorf("commit %d was acknowledged, but the journal ends with %d", p.shown, p.seq)
	}
	m.run = nil
	m.tree = p.tree()
	if _, err := p.store.Load("PRD-001"); another && errors.Is(err, checkpoint.ErrNoSession) {
		return p.betweenSessions()
	}
	return p.same(m.tree)
}

// betweenSessions handles a run that died after it had archived one session and before
// the next session was in its place. If the next session was prepared, the next lock of
// the PRD completes the change.
func (p *play) betweenSessions() error {
	x, err := p.store.Lock(context.Background(), "PRD-001", state.Actor{})
	if err != nil {
		return fmt.Errorf("lock after a kill between two sessions: %w", err)
	}
	prepared := x.State() != nil
	if err := x.Close(); err != nil {
		return err
	}
	if !prepared {
		p.m.begin()
	} else if err := p.follow(); err != nil {
		return err
	}
	return p.same(p.m.tree)
}
