//go:build unix

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
)

// What the user does between builds.

// answer approves or rejects a waiting gate between two builds.
func (p *play) answer(a act) error {
	labels := p.gatesThat(func(g *modelGate) bool { return g.status == state.Waiting })
	if len(labels) == 0 {
		return nil
	}
	label := labels[a.Pick%len(labels)]
	err := p.locked(func(x *checkpoint.Session) error {
		g := x.State().Gate(label)
		v := state.Verdict{Gate: label, Definition: g.Definition, Judged: g.Judged}
		if a.Do == "approve" {
			x.Add(state.GateApproved{Verdict: v})
		} else {
			e := state.GateRejected{Verdict: v, By: state.Actor{User: "tester"}}
			ending, err := state.Rejection{State: x.State(), Gate: g}.Ending(p.now, e)
			if err != nil {
				return err
			}
			x.Add(append([]state.Event{e}, ending...)...)
		}
		return nil
	})
	if err = errors.Join(err, p.follow()); err != nil {
		return err
	}
	if label := p.m.answering; label != "" && p.m.endsIteration(label) {
		return fmt.Errorf("the rejection of %s does not end the iteration", label)
	}
	return p.same(p.m.tree)
}

// resolve resolves an uncertain workstream. If other workstreams use its outputs, the
// workstream runs again, because the outputs are lost.
func (p *play) resolve(a act) error {
	all := slices.DeleteFunc(p.h.works(), func(w *histWork) bool { return p.m.works[w.Name].status != state.Uncertain })
	if len(all) == 0 {
		return nil
	}
	w := all[a.Pick%len(all)]
	resolution := state.ResolvedRerun
	if a.Do == "done" && w.Toggled {
		resolution = state.ResolvedDone
		if _, made := p.m.tree[w.artifact()]; w.Makes && !made {
			return nil // its artifacts must exist
		}
	}
	err := p.locked(func(x *checkpoint.Session) error {
		x.Add(state.WorkstreamResolved{Workstream: w.Name, Resolution: resolution})
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
	p.m.captured = run // the checkpoint belongs to no run
	return err
}

// rollback rolls back to a random valid checkpoint. If the process dies during the
// rollback, the next process finishes the rollback, unless it had not begun.
// TestOperations proves that the files are restored, too; here the model takes over the
// files that it finds.
func (p *play) rollback(a act) error {
	if !p.m.session {
		return nil
	}
	snap, err := p.store.Load("PRD-001")
	if err != nil {
		return err
	}
	valid := slices.DeleteFunc(slices.Clone(snap.State.Checkpoints), func(ref *state.CheckpointRef) bool { return !ref.Valid })
	if len(valid) == 0 {
		return nil
	}
	id, run, before := valid[a.Pick%len(valid)].ID, p.m.captured, p.seq
	p.disk.left = a.Kill
	err = p.locked(func(x *checkpoint.Session) error {
		_, err := rollback.Run(context.Background(), x, p.files, rollback.Options{To: id})
		return err
	})
	if p.disk.dead {
		if err = p.reopen(); err == nil {
			err = p.locked(func(x *checkpoint.Session) error {
				_, err := rollback.Finish(context.Background(), x, p.files)
				return err
			})
		}
	}
	p.disk.left = 0
	if err = errors.Join(err, p.follow()); err != nil {
		return err
	}
	switch back, err := p.hasGoneBack(before); {
	case err != nil:
		return err
	case back:
		to, err := p.wentBackTo(id)
		if err != nil {
			return err
		}
		p.m.jump(to)
		p.m.tree = p.tree()
	default:
		p.m.captured = run // the files kept before the rollback belong to no run
	}
	return p.same(p.m.tree)
}

// hasGoneBack reports whether a rollback was completed after a commit.
func (p *play) hasGoneBack(after uint64) (bool, error) {
	commits, err := p.commits()
	return slices.ContainsFunc(commits, func(c state.Commit) bool {
		return c.Seq > after && slices.ContainsFunc(c.Events, func(e state.Event) bool { return e.Kind() == state.KindRollbackCompleted })
	}), err
}

// wentBackTo returns the model at the moment to which the last rollback went: its
// checkpoint, or an earlier moment if the files of the checkpoint do not prove its state.
func (p *play) wentBackTo(id string) (known, error) {
	snap, err := p.store.Load("PRD-001")
	if err != nil {
		return known{}, err
	}
	last := snap.State.Rollbacks[len(snap.State.Rollbacks)-1]
	if last.StateSeq == 0 {
		return p.points[id], nil
	}
	to, ok := p.after[last.StateSeq]
	if !ok {
		return known{}, fmt.Errorf("a rollback to %s took the state of commit %d, which the model has not seen", id, last.StateSeq)
	}
	return to, nil
}

// jump restores the model of a checkpoint, except for the numbers of attempts and for
// once steps that may have happened.
func (m *model) jump(to known) {
	was := m.known
	m.known = to.clone()
	m.happened, m.maybe, m.spent = was.happened, was.maybe, was.spent
	maps.Copy(m.told.captured, was.told.captured)
	m.jumpReview(m.review, was.review)
	if m.status == state.StatusInProgress || m.status == state.StatusInitialized {
		m.status = state.StatusPaused
	}
	for name, w := range m.works {
		had := was.works[name]
		if w.had = had.had; had.done() {
			w.had = &modelRecord{attempt: had.attempts, made: had.made, value: had.value, metric: had.metric}
		}
		w.told, w.read, w.billed = had.told, had.read, had.billed
		since := had.attempts > w.attempts
		w.attempts = max(w.attempts, had.attempts)
		switch once := m.work(name).Effect == "once"; {
		case once && (since || w.status == state.Running):
			w.status = state.Uncertain
			if since && !had.done() {
				m.maybe[name] = true
			}
		case w.status == state.Running:
			w.status = state.Interrupted
		}
	}
	for label, g := range m.gates {
		if g.status == state.Running {
			g.reset()
		}
		if had := was.gates[label]; had != nil {
			g.attempts = max(g.attempts, had.attempts)
		}
	}
}
