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
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
)

// errNotDurable says that derived files would include events that a power cut may undo.
var errNotDurable = errors.New("not all that was added is durable")

// derived writes the derived files of a session: the checkpoint files, their index, and
// the PRD document. It records which of them must still be written, and the commits to
// write them from.
type derived struct {
	session    reader.Session
	now        func() time.Time
	checkOwner func() error // returns an error if another process may write the same files
	queue
}

// queue holds the checkpoint files that a session must still write or remove, and the
// sequence numbers of the index and the document on disk.
type queue struct {
	base  *state.State   // a state that no due checkpoint precedes
	since []state.Commit // the durable commits after base
	// due and lost are the kept checkpoints without a file. Those in due come after base,
	// or are encoded. Those in lost can only be rebuilt from the journal. After a failed
	// write a checkpoint may have a file nevertheless, whose name is not durable.
	due     map[string]bool
	lost    map[string]bool
	tried   map[string]bool          // the checkpoints in lost that this session failed to write
	left    map[string]bool          // the checkpoints that are left to the next owner, since they may not be skipped
	encoded []disk.EncodedCheckpoint // the checkpoints in due that base has passed, until they are written
	size    int                      // bytes that encoded takes
	unkept  []string                 // removed checkpoints, whose files, if any, must be removed
	latest  string                   // the file that the link to the newest checkpoint names; "": not known
	index   uint64                   // Seq of the manifest on disk; 0: not known
	written uint64                   // Seq of the document on disk; 0: not known
	at      time.Time                // when the document was last written, or failed to be
	rest    time.Duration            // how long the document is then not written again
}

func newDerived(s *Store, prd string, checkOwner func() error) *derived {
	d := &derived{session: s.reader.CurrentSession(prd), now: s.o.Now, checkOwner: checkOwner}
	d.reset()
	return d
}

// reset forgets a session that has been archived.
func (d *derived) reset() {
	d.queue = queue{due: map[string]bool{}, lost: map[string]bool{}, tried: map[string]bool{}, left: map[string]bool{}}
}

func (d *derived) startFrom(s *state.State) { d.base = s.Clone() }

// recover finds out which checkpoint files are missing, and which belong to no checkpoint.
func (d *derived) recover(s *state.State) error {
	d.startFrom(s)
	if err := d.session.Files().RemoveDuplicates(); err != nil {
		return err
	}
	ids, err := d.session.Files().IDs()
	if err != nil {
		return err
	}
	for _, ref := range s.Checkpoints {
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

// noteCommit records which files must be written or removed because of a durable commit.
// It then applies commits to base until it reaches one with a due checkpoint.
func (d *derived) noteCommit(c state.Commit) error {
	d.since = append(d.since, c)
	for _, e := range c.Events {
		switch e := e.(type) {
		case state.CheckpointCreated:
			d.due[e.ID] = true
			d.dropCheckpoints(e.Removes)
		case state.CheckpointsRemoved:
			d.dropCheckpoints(e.IDs)
		}
	}
	for len(d.since) > 0 && !d.hasDueFile(d.since[0]) {
		if err := d.advanceTo(d.since[0]); err != nil {
			return err
		}
		d.passFirst()
	}
	return nil
}

// hasDueFile reports whether a commit has a checkpoint whose file must still be written.
func (d *derived) hasDueFile(c state.Commit) bool {
	return slices.ContainsFunc(c.Events, func(e state.Event) bool {
		created, ok := e.(state.CheckpointCreated)
		return ok && d.due[created.ID]
	})
}

// advanceTo applies a commit to base, unless base includes it.
func (d *derived) advanceTo(c state.Commit) error {
	if c.Seq <= d.base.Seq {
		return nil
	}
	if err := d.base.Apply(c); err != nil {
		return fmt.Errorf("fold the journal again: %w", err)
	}
	return nil
}

// passFirst removes the first commit from since, once base includes it.
func (d *derived) passFirst() {
	d.since[0] = state.Commit{}
	d.since = d.since[1:]
}

func (d *derived) dropCheckpoints(ids []string) {
	for _, id := range ids {
		if !d.due[id] {
			d.unkept = append(d.unkept, id)
		}
		delete(d.due, id)
		delete(d.left, id)
		d.foundFile(id)
	}
}

// foundFile removes a checkpoint from lost.
func (d *derived) foundFile(id string) {
	delete(d.lost, id)
	delete(d.tried, id)
}

// mayWriteDocument reports whether the document was not written recently.
func (d *derived) mayWriteDocument() bool {
	return d.now().Sub(d.at).Abs() >= max(documentInterval, d.rest)
}

// writeAll brings the derived files up to date with a state, all of whose events are
// durable. If a file can't be written, writeAll returns a *DerivedError and can be
// called again.
func (d *derived) writeAll(s *state.State) error {
	lost := d.writeLost()
	if lost != nil {
		if err := d.checkOwner(); err != nil {
			return err
		}
	}
	due := d.encodeDue()
	owner := d.checkOwner()
	if err := cmp.Or(owner, lost, due); err != nil {
		if owner == nil {
			_ = d.writeEncoded() // write the files that can be written
			d.writeDocumentAlone(s)
		}
		return err
	}
	if err := d.writeFilesAndIndex(s); err != nil {
		d.writeDocumentAlone(s)
		return err
	}
	return d.removeUnkept()
}

// writeDocumentAlone writes the document if checkpoint files can't be written: the
// document is in another directory, and shows people the state of the session. The caller
// returns why the checkpoint files could not be written; a failure here adds nothing to
// that.
func (d *derived) writeDocumentAlone(s *state.State) {
	if d.checkOwner() == nil {
		_ = d.writeDocument(s)
	}
}

// skipDue gives up the checkpoint files that are due. It returns two lists of IDs. The
// checkpoints in skipped are given up with their files. Those in left stay on record
// without a file, which the next owner writes: they may hold the only copy of overwritten
// files, or a user or a rollback needs them.
func (d *derived) skipDue(s *state.State) (skipped, left []string) {
	needed := s.Irreplaceable()
	for _, id := range slices.Concat(slices.Sorted(maps.Keys(d.due)), slices.Sorted(maps.Keys(d.lost))) {
		if ref := s.Checkpoint(id); ref != nil && (needed[id] != "" || ref.Pinned || slices.Contains(s.FinishedWith(), id)) {
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

// isWritten reports whether no file of a recorded checkpoint is missing.
func (d *derived) isWritten(id string) bool { return !d.due[id] && !d.lost[id] && !d.left[id] }

// DocumentDue reports whether the document is out of date and was not written recently. A
// caller asks at boundaries that nothing waits for, so that the document is not written at
// each.
func (x *Session) DocumentDue() bool {
	if x.live == nil || x.derived.written == x.acked && !x.Unacknowledged() {
		return false
	}
	return x.derived.mayWriteDocument()
}

// WriteDerived brings the derived files up to date: the checkpoint files that are due,
// their index, and the PRD document. All events must be durable. If a file can't be
// written, WriteDerived returns a *DerivedError and can be called again.
func (x *Session) WriteDerived(ctx context.Context) error {
	return x.writeDerived(ctx, x.derived.writeAll)
}

// WriteDocument is WriteDerived for the document alone.
func (x *Session) WriteDocument(ctx context.Context) error {
	return x.writeDerived(ctx, x.derived.writeDocument)
}

func (x *Session) writeDerived(ctx context.Context, write func(*state.State) error) error {
	if x.live == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("write what is derived: %w", err)
	}
	if err := x.checkOwnership(); err != nil {
		return err
	}
	if x.Unacknowledged() {
		return fmt.Errorf("write what is derived: %w", errNotDurable)
	}
	return write(x.live.State)
}

// SkipDerived gives up the checkpoint files that are due. It returns two lists of IDs. The
// checkpoints in skipped are given up with their files. Those in left stay on record
// without a file, which the next owner writes: they may hold the only copy of overwritten
// files, or a user or a rollback needs them. The states of all can still be read from the
// journal.
func (x *Session) SkipDerived() (skipped, left []string) { return x.derived.skipDue(x.live.State) }

// Written reports whether a checkpoint is on record and its file is written.
func (x *Session) Written(id string) bool {
	return x.live != nil && x.live.State.Checkpoint(id) != nil && x.derived.isWritten(id)
}

// RewriteCheckpoint replaces the damaged file of a checkpoint with the content that the
// journal holds. It keeps the damaged files under other names, and returns their paths. It
// does nothing for a checkpoint that has no file yet: WriteDerived writes that one.
func (x *Session) RewriteCheckpoint(id string) (kept []string, err error) {
	return x.derived.rewrite(id)
}
