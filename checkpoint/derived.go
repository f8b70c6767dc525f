package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// errNotDurable says that something is derived from what a power cut may undo.
var errNotDurable = errors.New("not all that was added is durable")

// derived is what must still be written, and from what.
type derived struct {
	base  *state.State   // where no checkpoint file that is due lies before
	since []state.Commit // durable since then
	// due are the kept checkpoints without a file that lie after base or are encoded,
	// lost others, which only the journal can give. What could not be written may have
	// a file all the same, of which the disk does not have the name.
	due     map[string]bool
	lost    map[string]bool
	tried   map[string]bool          // of those that are lost, what could not be written in this session
	left    map[string]bool          // to the next owner, since they may not be skipped
	encoded []disk.EncodedCheckpoint // while they are written, those of due that base has passed
	size    int                      // bytes of these
	unkept  []string                 // may have a file, which must go
	latest  string                   // the file that the link names; "" is not known
	index   uint64                   // Seq of the manifest on disk, 0 is not known
	written uint64                   // Seq of the document on disk, likewise
	at      time.Time                // when that was written, or could not be
	rest    time.Duration            // how long it stays so at least
}

func (d *derived) reset() {
	*d = derived{due: map[string]bool{}, lost: map[string]bool{}, tried: map[string]bool{}, left: map[string]bool{}}
}

func (d *derived) begin(s *state.State) { d.base = s.Clone() }

// recover finds out which files are missing, and which are nobody's.
func (d *derived) recover(x *Session) error {
	d.begin(x.live.State)
	if err := x.checkpoints().RemoveDuplicates(); err != nil {
		return err
	}
	ids, err := x.checkpoints().IDs()
	if err != nil {
		return err
	}
	for _, ref := range x.live.State.Checkpoints {
		d.lost[ref.ID] = true
	}
	for _, id := range ids {
		if !d.lost[id] {
			d.unkept = append(d.unkept, id)
		}
		delete(d.lost, id)
	}
	return nil
}

// take notes what a durable commit asks for, and folds into the base what no
// checkpoint file that is due lies before.
func (d *derived) take(c state.Commit) error {
	d.since = append(d.since, c)
	for _, e := range c.Events {
		switch e := e.(type) {
		case state.CheckpointCreated:
			d.due[e.ID] = true
			d.drop(e.Removes)
		case state.CheckpointsRemoved:
			d.drop(e.IDs)
		}
	}
	for len(d.since) > 0 && !d.isDue(d.since[0]) {
		if err := d.reach(d.since[0]); err != nil {
			return err
		}
		d.pass()
	}
	return nil
}

// isDue reports whether a checkpoint of a commit must still get its file.
func (d *derived) isDue(c state.Commit) bool {
	return slices.ContainsFunc(c.Events, func(e state.Event) bool {
		created, ok := e.(state.CheckpointCreated)
		return ok && d.due[created.ID]
	})
}

// reach brings the base up to a commit, where it is not there.
func (d *derived) reach(c state.Commit) error {
	if c.Seq <= d.base.Seq {
		return nil
	}
	if err := d.base.Apply(c); err != nil {
		return fmt.Errorf("fold the journal again: %w", err)
	}
	return nil
}

// pass forgets the first commit since, where the base is.
func (d *derived) pass() {
	d.since[0] = state.Commit{}
	d.since = d.since[1:]
}

func (d *derived) drop(ids []string) {
	for _, id := range ids {
		if !d.due[id] {
			d.unkept = append(d.unkept, id)
		}
		delete(d.due, id)
		delete(d.left, id)
		d.found(id)
	}
}

// found notes that a checkpoint is not lost any more.
func (d *derived) found(id string) {
	delete(d.lost, id)
	delete(d.tried, id)
}

// DocumentDue reports whether WriteDerived would write the document without
// being forced to: it is not written at each boundary that nobody waits for.
func (x *Session) DocumentDue() bool {
	if x.live == nil || x.derived.written == x.acked && !x.Unacknowledged() {
		return false
	}
	return x.store.o.Now().Sub(x.derived.at).Abs() >= max(documentInterval, x.derived.rest)
}

// WriteDerived brings what is derived up to the state: the checkpoint files
// that are due, their index, and the PRD document. Without force, it writes the
// document only. All that was added must be durable.
// What fails is a *DerivedError; WriteDerived may be called again then.
func (x *Session) WriteDerived(ctx context.Context, force bool) error {
	if x.live == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("write what is derived: %w", err)
	}
	if err := x.owns(); err != nil {
		return err
	}
	if x.Unacknowledged() {
		return fmt.Errorf("write what is derived: %w", errNotDurable)
	}
	if !force {
		return x.writeDocument()
	}
	lost := x.writeLost()
	if x.bad != nil {
		return x.bad
	}
	due := x.writeDue()
	if err := cmp.Or(x.owns(), lost, due); err != nil {
		if x.bad == nil {
			_ = x.writeEncoded() // what can be written is
			x.writeDocumentAlone()
		}
		return err
	}
	if err := x.writeHeads(); err != nil {
		x.writeDocumentAlone()
		return err
	}
	return x.removeUnkept()
}

// writeDocumentAlone writes the document where checkpoint files can't be written: it
// lies in another directory, and tells people how the session stands. The caller
// returns why those could not be written; a failure here adds nothing to that.
func (x *Session) writeDocumentAlone() {
	if x.owns() == nil {
		_ = x.writeDocument()
	}
}

// checkpoints returns the files of the session's checkpoints.
func (x *Session) checkpoints() disk.CheckpointDir {
	return x.store.layout.CheckpointsIn(x.store.layout.PRDDir(x.prd))
}

// SkipDerived gives up the checkpoint files that are due, and returns the ids, sorted,
// of the checkpoints that are given up with them, and of those that stay on record
// without a file, which the next owner writes: they may hold the only copy of what was
// overwritten, or a person or a rollback needs them. The states of all can still be
// read from the journal.
func (x *Session) SkipDerived() (skipped, left []string) {
	d, s := &x.derived, x.live.State
	needed := s.Irreplaceable()
	for _, id := range slices.Concat(slices.Sorted(maps.Keys(d.due)), slices.Sorted(maps.Keys(d.lost))) {
		if ref := s.Checkpoint(id); ref != nil && (needed[id] != "" || deletable(s, ref, true) != nil) {
			d.left[id] = true
			left = append(left, id)
			continue
		}
		skipped = append(skipped, id)
		if !d.due[id] {
			d.unkept = append(d.unkept, id)
		}
	}
	clear(d.due)
	clear(d.lost)
	clear(d.tried)
	return skipped, left
}

// Written reports whether a checkpoint is on record and its file is written.
func (x *Session) Written(id string) bool {
	d := &x.derived
	return x.live != nil && x.live.State.Checkpoint(id) != nil && !d.due[id] && !d.lost[id] && !d.left[id]
}
