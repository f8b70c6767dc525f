package checkpoint

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
)

// glance is what a look at the journals of a PRD tells at once, without its
// objects.
type glance struct {
	records []*recordedSession
	atMost  int64 // bytes that the PRD can hold
	// dropped are objects that the current session recorded and that are still
	// there, though neither it nor a checkpoint of it needs them. Others may.
	dropped  []string
	warnings []string
}

// look reads the journals of a PRD once each, but for the one that the session
// owns, of which all that was added is durable: that was read when it was opened.
func (x *Session) look(ctx context.Context) (*glance, error) {
	g := &glance{dropped: []string{}}
	places, err := x.store.placesOf(x.prd)
	if err != nil {
		return nil, err
	}
	files := &holdings{Usage: retention.Usage{Held: map[string]retention.Holding{}}}
	if err := x.store.fileSizes(x.prd, files); err != nil {
		return nil, err
	}
	g.atMost = files.files
	for _, p := range places {
		r := &recordedSession{place: p, state: x.State()}
		if p.kind != PlaceCurrent {
			if r, err = x.store.record(p); err != nil || r.state == nil {
				continue // collecting says so, if it comes to that
			}
		}
		g.records = append(g.records, r)
		err := x.store.glanceAt(ctx, g, r, x.live.Spans)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			g.warnings = append(g.warnings, fmt.Sprintf("what %s holds is not known: %v", filepath.FromSlash(p.id), err))
		}
	}
	return g, nil
}

// glanceAt notes all that a session ever recorded, and, of the current one,
// what was dropped of it.
func (s *Store) glanceAt(ctx context.Context, g *glance, r *recordedSession, owned *journal.Spans) error {
	ever, needed := newReferences(s.Objects()), newReferences(s.Objects())
	ever.shallow, needed.shallow = true, true
	if r.kind == PlaceCurrent && !owned.Behind {
		addSpans(owned, r.state.Checkpoints, ever, needed)
	} else if err := s.visitRecorded(ctx, r, ever, needed); err != nil {
		return err
	}
	for _, size := range ever.names {
		g.atMost += max(0, size)
	}
	if r.kind != PlaceCurrent {
		return nil
	}
	if err := needed.addState(ctx, r.state); err != nil {
		return err
	}
	for _, ref := range r.state.Checkpoints {
		if err := needed.addCapture(ctx, ref.Capture); err != nil {
			return err
		}
	}
	return s.findDropped(ctx, g, r, ever, needed)
}

// addSpans adds to ever what a session ever recorded, and to needed what the states at
// the kept checkpoints need of that.
func addSpans(t *journal.Spans, kept []*state.CheckpointRef, ever, needed *references) {
	t.Each(kept, func(digest string, size int64, isNeeded bool) {
		ever.add(digest, size)
		if isNeeded {
			needed.add(digest, size)
		}
	})
}

// visitRecorded reads the journals of a session for all that it ever recorded,
// and, of the current one, for what its checkpoints need.
func (s *Store) visitRecorded(ctx context.Context, r *recordedSession, ever, needed *references) error {
	v := visitor{commit: func(c state.Commit) error { return ever.addCommit(ctx, c) }}
	if r.kind == PlaceCurrent {
		v.wanted = r.wanted()
		v.state = func(_ string, at *state.State) error { return needed.addState(ctx, at) }
	}
	return s.visit(ctx, r, v)
}

// findDropped sets aside what is needed: first what the states name, and only
// if something that is still there is left, what their listings name.
func (s *Store) findDropped(ctx context.Context, g *glance, r *recordedSession, ever, needed *references) error {
	for n := range ever.names {
		if _, ok := needed.names[n]; ok {
			continue
		}
		there, err := ever.objects.Has(n.digest())
		if err != nil {
			return err
		}
		if there {
			g.dropped = append(g.dropped, n.digest())
		}
	}
	if len(g.dropped) == 0 {
		return nil
	}
	whole := newReferences(ever.objects)
	if err := s.addSession(ctx, whole, r, nil); err != nil {
		g.dropped = []string{}
		return err
	}
	g.dropped = slices.DeleteFunc(g.dropped, whole.needs)
	return nil
}

// addCommit adds what a commit records, needed or not.
func (r *references) addCommit(ctx context.Context, c state.Commit) error {
	if c.State != nil {
		return r.addState(ctx, c.State)
	}
	for _, e := range c.Events {
		var err error
		switch e := e.(type) {
		case state.WorkstreamAttemptFailed:
			r.addArtifacts(e.Left)
		case state.WorkstreamFailed:
			r.addArtifacts(e.Left)
		case state.WorkstreamSucceeded:
			r.addArtifacts(e.Work.Artifacts)
		case state.WorkstreamCompleted:
			if e.Work != nil {
				r.addArtifacts(e.Work.Artifacts)
			}
		case state.WorkstreamEdited:
			r.addArtifacts(e.Artifacts)
		case state.WorkspaceCaptured:
			err = r.addCapture(ctx, &state.Capture{Capture: e.Capture})
		case state.RollbackCompleted:
			if e.State != nil {
				err = r.addState(ctx, e.State)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
