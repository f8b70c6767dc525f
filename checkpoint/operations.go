package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// ErrSwitchedOff says that the configuration makes no checkpoints.
var ErrSwitchedOff = errors.New("checkpoints are switched off in the configuration")

// Create makes a checkpoint because somebody asked for it, of the files as they
// are now where a workspace is given. It is durable, with its file, when Create
// returns. While a run owns the session, Ask hands the request to it.
func (x *Session) Create(ctx context.Context, w *workspace.Workspace, reason string) (*state.CheckpointRef, error) {
	if x.live == nil {
		return nil, fmt.Errorf("create a checkpoint of %s: %w", x.prd, ErrNoSession)
	}
	if err := x.captureAgain(ctx, w); err != nil {
		return nil, err
	}
	id, made := x.Checkpoint(state.TriggerManual, reason, gitOf(ctx, w))
	if !made {
		return nil, fmt.Errorf("create a checkpoint of %s: %w", x.prd, ErrSwitchedOff)
	}
	if err := x.Publish(ctx); err != nil {
		return nil, err
	}
	return x.State().Checkpoint(id), nil
}

// captureAgain captures what was captured last and what was configured since,
// and keeps again what is lost of that: whoever asks for it relies on all of it
// being there. What the last capture kept is looked for while the files are looked at.
func (x *Session) captureAgain(ctx context.Context, w *workspace.Workspace) error {
	if w == nil {
		return nil
	}
	patterns, err := x.store.CapturePatterns(ctx, w, x.State())
	if err != nil {
		return err
	}
	secure := w.SecureAhead(ctx, x.lastListing(ctx, w))
	defer secure.Stop()
	lost, err := x.keepRefs(ctx, w.Git())
	if err != nil {
		return err
	}
	captured, err := x.capture(ctx, w, patterns, captureHow{anew: lost, trigger: state.TriggerManual})
	if err != nil {
		return err
	}
	l, err := w.Load(ctx, captured.Listing)
	if err == nil {
		err = secure.Finish(ctx, l)
	}
	if err != nil {
		return fmt.Errorf("make sure that what was captured is there: %w", err)
	}
	return nil
}

// lastListing lists what was captured last, nil where nothing was, or the listing
// can't be read any more.
func (x *Session) lastListing(ctx context.Context, w *workspace.Workspace) *workspace.Listing {
	last := x.State().Capture
	if last == nil {
		return nil
	}
	l, err := w.Load(ctx, last.Listing)
	if err != nil {
		return nil // whoever needs it says so
	}
	return l
}

// commit makes everything durable, and what is derived from it too. It does so
// although ctx may be done: Close would do it in any case, and nobody would know.
func (x *Session) commit(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := x.Drain(ctx); err != nil {
		return err
	}
	return x.WriteDerived(ctx, true)
}

// Publish is commit where the first is all that was asked for: it is done even
// if what is derived from it can't be written, which Options.Late is told then.
func (x *Session) Publish(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := x.Drain(ctx); err != nil {
		return err
	}
	return x.tellLate(x.WriteDerived(ctx, true))
}

// tellLate tells once of derived files that could not be written. Close does
// not take them for an error then, and leaves them to the next owner.
func (x *Session) tellLate(err error) error {
	var derived *DerivedError
	if x.store.o.Late == nil || !errors.As(err, &derived) {
		return err
	}
	if !x.late {
		x.late = true
		x.store.o.Late(err)
	}
	return nil
}

// Pin keeps a checkpoint from retention, or no longer does. It returns the
// checkpoint, and whether anything changed.
func (x *Session) Pin(ctx context.Context, reference string, pinned bool, by state.Actor, reason string) (*state.CheckpointRef, bool, error) {
	if x.live == nil {
		return nil, false, fmt.Errorf("pin a checkpoint of %s: %w", x.prd, ErrNoSession)
	}
	ref, err := x.State().FindCheckpoint(reference)
	if err != nil {
		return nil, false, fmt.Errorf("find checkpoint %q of %s: %w", reference, x.prd, err)
	}
	if ref.Pinned == pinned {
		return ref, false, nil
	}
	if pinned {
		x.Add(state.CheckpointPinned{ID: ref.ID, By: by, Reason: state.Text(reason)})
	} else {
		x.Add(state.CheckpointUnpinned{ID: ref.ID, By: by})
	}
	return ref, true, x.Publish(ctx)
}
