//go:build unix

package runner_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
)

// Playing a history: acts of the user, and the events of the journal.

// play is a running history: the engine and its model.
type play struct {
	*stage
	m      *model
	seq    uint64 // the commit of the journal up to which the model is current
	id     string // of the session
	builds int
	points map[string]known // by checkpoint
	after  map[uint64]known // each commit of the session
	trees  map[string]map[string]string
	told   []string // a log of the history, for the message of a failure
}

// playHistory plays a history to its end in a new directory below the given one. It
// returns an error if the engine and the model disagree.
func playHistory(h history, below string) (err error) {
	s, err := newStage(&h, below)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	p := &play{stage: s, m: newModel(&h, s.v, s.tree()), points: map[string]known{}, after: map[uint64]known{}, trees: map[string]map[string]string{}}
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
		labels := p.gatesThat(func(g *modelGate) bool { return g.status == state.Passed })
		if len(labels) == 0 {
			labels = p.gatesThat(func(*modelGate) bool { return true })
		}
		labels = slices.DeleteFunc(labels, func(label string) bool { return strings.HasPrefix(label, "finding-") })
		if len(labels) > 0 {
			p.v.gates[labels[a.Pick%len(labels)]]++
		}
	case "grow":
		p.v.grown[[]string{"budget", "max", "review"}[a.Pick%3]]++
	case "override":
		return p.override()
	case "revalue":
		p.v.vars[variables[a.Pick%len(variables)]]++
	case "toggle":
		all := slices.DeleteFunc(p.h.works(), func(w *histWork) bool { return !w.Toggled })
		if len(all) > 0 {
			name := all[a.Pick%len(all)].Name
			p.v.off[name] = !p.v.off[name]
		}
	case "permit":
		all := slices.DeleteFunc(p.h.works(), func(w *histWork) bool { return !w.Permits })
		if len(all) > 0 {
			name := all[a.Pick%len(all)].Name
			p.v.harsh[name] = !p.v.harsh[name]
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
		return errors.New("unknown act")
	}
	return nil
}

func (p *play) madeFiles() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.m.tree)), func(name string) bool { return !strings.HasPrefix(name, "out/") })
}

func (p *play) gatesThat(are func(*modelGate) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.m.gates)), func(label string) bool { return !are(p.m.gates[label]) })
}

// edit writes or removes a file, as the user does between builds.
func (p *play) edit(name, text string, gone bool) error {
	if gone {
		delete(p.m.tree, name)
	} else {
		p.m.tree[name] = text
	}
	return p.put(p.m.tree)
}

// follow applies the new events of the journal to the model.
func (p *play) follow() error {
	commits, err := p.commits()
	if err != nil {
		return err
	}
	if len(commits) > 0 {
		if e, ok := commits[0].Events[0].(state.SessionStarted); ok && e.Session != p.id {
			p.id, p.seq = e.Session, 0
		}
	}
	for _, c := range commits {
		if c.Seq <= p.seq {
			continue
		}
		p.seq, p.m.seq = c.Seq, c.Seq
		for _, e := range c.Events {
			if e.Kind() != state.KindCheckpointCreated {
				p.told = append(p.told, fmt.Sprintf("   %d %s", c.Seq, brief(e)))
			}
			if err := p.m.apply(e); err != nil {
				return err
			}
		}
		p.after[c.Seq] = p.m.clone()
		for _, e := range c.Events { // a checkpoint holds the state after its whole commit
			if made, ok := e.(state.CheckpointCreated); ok {
				p.points[made.ID] = p.after[c.Seq]
			}
		}
	}
	return nil
}

// same compares the files and the state with the model.
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
	for i := range m.h.Phases {
		if is, want := st.IterationOf(phaseName(i)), m.loops[i].iteration; is != want {
			return fmt.Errorf("%s is in iteration %d, and must be in %d", phaseName(i), is, want)
		}
	}
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
	return errors.Join(m.sameTold(st), m.sameSpent(st), m.sameReview(st))
}

// brief describes an event in a few words.
func brief(e state.Event) string {
	text := fmt.Sprintf("%s %+v", e.Kind(), e)
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return text
}
