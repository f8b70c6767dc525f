package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// ErrSwitchedOff says that the configuration switches checkpoints off.
var ErrSwitchedOff = errors.New("checkpoints are switched off in the configuration")

// Create makes a checkpoint because a user asked for it. If w is not nil, it first
// captures the files as they are now. The checkpoint and its file are durable when Create
// returns. While a run owns the session, Ask hands the request to that run.
func (x *Session) Create(ctx context.Context, w *workspace.Workspace, reason string) (*state.CheckpointRef, error) {
	if x.live == nil {
		return nil, fmt.Errorf("create a checkpoint of %s: %w", x.prd, ErrNoSession)
	}
	if err := x.captureAgain(ctx, w); err != nil {
		return nil, err
	}
	if err := x.readWorkTree(ctx, w); err != nil {
		return nil, err
	}
	id, made := x.Checkpoint(state.TriggerManual, reason, GitOf(ctx, w))
	if !made {
		return nil, fmt.Errorf("create a checkpoint of %s: %w", x.prd, ErrSwitchedOff)
	}
	if err := x.Publish(ctx); err != nil {
		return nil, err
	}
	return x.State().Checkpoint(id), nil
}

// readWorkTree reads the work tree for the next checkpoint. If git can't say what differs
// from HEAD, readWorkTree tells Options.Warn. It only fails when ctx has ended.
func (x *Session) readWorkTree(ctx context.Context, w *workspace.Workspace) error {
	tree, err := ReadWorkTree(ctx, w, x.State())
	switch {
	case err == nil:
		x.RecordWorkTree(tree)
	case ctx.Err() != nil:
		return err
	case x.store.o.Warn != nil:
		x.store.o.Warn(fmt.Errorf("the checkpoint does not say which files differ from the commit of git: %w", err))
	}
	return nil
}

// captureAgain captures the files that the last capture took in and those that were
// configured since. It stores lost objects again, since the user relies on the checkpoint
// being complete. It searches for the objects of the last capture while it reads the
// files.
func (x *Session) captureAgain(ctx context.Context, w *workspace.Workspace) error {
	if w == nil {
		return nil
	}
	patterns, err := x.store.CapturePatterns(ctx, w, x.State())
	if err != nil {
		return err
	}
	secure := w.StartSecuring(ctx, lastListing(ctx, w, x.State().Capture))
	defer secure.Stop()
	lost, err := captureRefs{&x.store.layout, w.Git()}.restore(ctx, x.State())
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

// lastListing returns the listing of the last capture, nil if there was none, or the
// listing can't be read any more.
func lastListing(ctx context.Context, w *workspace.Workspace, last *state.Capture) *workspace.Listing {
	if last == nil {
		return nil
	}
	l, err := w.Load(ctx, last.Listing)
	if err != nil {
		return nil // a caller that needs the listing reports the error
	}
	return l
}

// Commit makes all events durable and writes the derived files. It does so even if ctx has
// ended: Close would write them in any case, without telling the user.
func (x *Session) Commit(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := x.Drain(ctx); err != nil {
		return err
	}
	return x.WriteDerived(ctx)
}

// Publish makes all events durable and writes the derived files, for operations that only
// promise the former. If derived files can't be written, Publish tells Options.Late and
// succeeds.
func (x *Session) Publish(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := x.Drain(ctx); err != nil {
		return err
	}
	return x.tellLate(x.WriteDerived(ctx))
}

// tellLate tells Options.Late, once per session, that derived files could not be written.
// Close then does not return that as an error, and leaves the files to the next owner.
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

// Pin protects a checkpoint from retention, or ends that protection. It returns the
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
