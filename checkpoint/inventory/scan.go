package inventory

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
)

// Scan is the result of a quick pass over the journals of a PRD, mostly without reading
// objects.
type Scan struct {
	Records []*reader.Record
	AtMost  int64 // upper bound of the bytes that the PRD occupies
	// Dropped holds objects that the current session recorded and that still exist,
	// although neither the session nor its checkpoints need them. Other sessions may
	// need them.
	Dropped  []string
	Warnings []string
}

// ScanJournals reads the journals of the PRD's archived sessions once each. It reads the
// session's own journals only if x.Spans() does not reach back to the oldest checkpoint.
// All that the session added must be durable.
func ScanJournals(ctx context.Context, x *checkpoint.Session) (*Scan, error) {
	g := &Scan{Dropped: []string{}}
	places, err := x.Store().Layout().SessionDirs(x.PRD())
	if err != nil {
		return nil, err
	}
	files := &Holdings{Usage: retention.Usage{Held: map[string]retention.Holding{}}}
	if err := fileSizes(x.Store(), x.PRD(), files); err != nil {
		return nil, err
	}
	g.AtMost = files.Files
	for _, p := range places {
		r := &reader.Record{SessionDir: p, State: x.State()}
		if p.Place != disk.PlaceCurrent {
			if r, err = x.Store().Reader().ReadRecord(p); err != nil || r.State == nil {
				continue // a collection reports the error, if it runs
			}
		}
		g.Records = append(g.Records, r)
		err := scanSession(ctx, x.Store(), g, r, x.Spans())
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			g.Warnings = append(g.Warnings, fmt.Sprintf("what %s holds is not known: %v", filepath.FromSlash(p.ID), err))
		}
	}
	return g, nil
}

// scanSession adds everything that a session ever recorded to the upper bound. For the
// current session it also finds the objects that were dropped.
func scanSession(ctx context.Context, s *checkpoint.Store, g *Scan, r *reader.Record, owned *journal.Spans) error {
	if r.Place != disk.PlaceCurrent {
		owned = nil
	}
	ever, needed, err := Recorded(ctx, s, r, owned)
	if err != nil {
		return err
	}
	for _, size := range ever.All() {
		g.AtMost += max(0, size)
	}
	if r.Place != disk.PlaceCurrent {
		return nil
	}
	return findDropped(ctx, s, g, r, ever, needed)
}

// Recorded returns everything that a session ever recorded and, if it is a current
// session, what its state and its checkpoints need. Both hold a listing as one object.
// spans are those of the session's owner; if they are nil, or do not reach back to the
// oldest checkpoint, Recorded reads the journals.
func Recorded(ctx context.Context, s *checkpoint.Store, r *reader.Record, spans *journal.Spans) (ever, needed *References, err error) {
	ever, needed = newReferences(s.Objects()), newReferences(s.Objects())
	ever.shallow, needed.shallow = true, true
	if spans != nil && !spans.Behind {
		addSpans(spans, r.State.Checkpoints, ever, needed)
	} else if err := visitRecorded(ctx, s, r, ever, needed); err != nil {
		return nil, nil, err
	}
	if r.Place != disk.PlaceCurrent {
		return ever, needed, nil
	}
	if err := needed.addState(ctx, r.State); err != nil {
		return nil, nil, err
	}
	for _, ref := range r.State.Checkpoints {
		if err := needed.addCapture(ctx, ref.Capture); err != nil {
			return nil, nil, err
		}
	}
	return ever, needed, nil
}

// addSpans adds everything that a session ever recorded to ever, and what the states at
// kept checkpoints need to needed.
func addSpans(t *journal.Spans, kept []*state.CheckpointRef, ever, needed *References) {
	t.Each(kept, func(digest string, size int64, isNeeded bool) {
		ever.addObject(digest, size)
		if isNeeded {
			needed.addObject(digest, size)
		}
	})
}

// visitRecorded reads the journals of a session and adds everything that it ever recorded
// to ever. For the current session it adds what the checkpoints need to needed.
func visitRecorded(ctx context.Context, s *checkpoint.Store, r *reader.Record, ever, needed *References) error {
	v := reader.Visitor{Commit: func(c state.Commit) error { return ever.addCommit(ctx, c) }}
	if r.Place == disk.PlaceCurrent {
		v.Wanted = r.NeededCheckpoints()
		v.Checkpoint = func(_ string, at *state.State) error { return needed.addState(ctx, at) }
	}
	return s.Reader().VisitRecord(ctx, r, v)
}

// findDropped sets g.Dropped to the existing objects in ever that are not needed. It reads
// the listings of captures, which name more needed objects, only if objects remain without
// them.
func findDropped(ctx context.Context, s *checkpoint.Store, g *Scan, r *reader.Record, ever, needed *References) error {
	for n := range ever.names {
		if _, ok := needed.names[n]; ok {
			continue
		}
		there, err := ever.objects.Has(n.digest())
		if err != nil {
			return err
		}
		if there {
			g.Dropped = append(g.Dropped, n.digest())
		}
	}
	if len(g.Dropped) == 0 {
		return nil
	}
	whole := newReferences(ever.objects)
	if err := addSession(ctx, s, whole, r, nil); err != nil {
		g.Dropped = []string{}
		return err
	}
	g.Dropped = slices.DeleteFunc(g.Dropped, whole.Needs)
	return nil
}

// addCommit adds everything that a commit records, whether it is still needed or not.
func (r *References) addCommit(ctx context.Context, c state.Commit) error {
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
			if e.Held != nil {
				r.addArtifacts(e.Held.Before)
			}
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
