package checkpoint

import (
	"cmp"
	"errors"
	"maps"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// encodedMost is from how many bytes on checkpoint files are not put off any more so
// that they become durable together: each flush by itself costs more than it takes to
// write little.
const encodedMost = 1 << 20

// errGone says that a checkpoint can't be made again, although this session made it.
var errGone = errors.New("it could not be written at first, and the journal has it no more")

// writeDue encodes the checkpoint files that were put off, folding the base forward
// on the way, and leaves the last of them to be written with the heads. It returns the
// first error, and can be repeated after one: the base never passes a commit whose
// files are not encoded.
func (x *Session) writeDue() error {
	d := &x.derived
	var failed error
	for len(d.since) > 0 {
		if d.size >= encodedMost {
			failed = cmp.Or(failed, x.writeEncoded())
		}
		c := d.since[0]
		if err := d.reach(c); err != nil {
			return err
		}
		if err := x.encodeCheckpoints(c); err != nil {
			return err
		}
		d.pass()
	}
	d.since = nil
	return failed
}

// encodeCheckpoints encodes the files of a commit's checkpoints; the base stands
// there.
func (x *Session) encodeCheckpoints(c state.Commit) error {
	var files []disk.EncodedCheckpoint
	var current []byte
	for _, e := range c.Events {
		created, ok := e.(state.CheckpointCreated)
		if !ok || !x.derived.due[created.ID] {
			continue
		}
		if current == nil {
			var err error
			if current, err = disk.EncodeState(x.derived.base); err != nil {
				return err
			}
		}
		ref := x.derived.base.Checkpoint(created.ID)
		if ref == nil { // dropped by the same commit
			delete(x.derived.due, created.ID)
			continue
		}
		json, err := disk.EncodeCheckpoint(disk.NewCheckpointFile(x.derived.base, ref), current)
		if err != nil {
			return err
		}
		files = append(files, disk.EncodedCheckpoint{ID: ref.ID, JSON: json})
	}
	d := &x.derived
	for _, f := range files {
		d.encoded, d.size = append(d.encoded, f), d.size+f.Size()
	}
	return nil
}

// writeEncoded writes what is encoded.
func (x *Session) writeEncoded() error {
	if err := x.checkpoints().Put(x.derived.encoded...); err != nil {
		x.writeApart()
		return derivedError(err)
	}
	x.wroteEncoded()
	return nil
}

// writeApart writes one by one what could not be written together, so that one file
// does not keep the others from being written. Of what can't be, no more is kept in
// memory than which files it names.
func (x *Session) writeApart() {
	d := &x.derived
	for _, c := range d.encoded {
		delete(d.due, c.ID)
		if x.owns() != nil || x.checkpoints().Put(c) != nil {
			d.lost[c.ID], d.tried[c.ID] = true, true
			continue
		}
	}
	d.encoded, d.size = nil, 0
}

// wroteEncoded notes that what is encoded has been written.
func (x *Session) wroteEncoded() {
	d := &x.derived
	for _, c := range d.encoded {
		delete(d.due, c.ID)
	}
	d.encoded, d.size = nil, 0
}

// putCheckpoint writes the file of a checkpoint.
func (x *Session) putCheckpoint(f disk.CheckpointFile) error {
	state, err := disk.EncodeState(f.State)
	if err != nil {
		return err
	}
	json, err := disk.EncodeCheckpoint(f, state)
	if err != nil {
		return err
	}
	if err := x.checkpoints().Put(disk.EncodedCheckpoint{ID: f.ID, JSON: json}); err != nil {
		return derivedError(err)
	}
	return nil
}

// writeLost writes the files that an earlier owner did not come to write, or that could
// not be written before. It returns the first error.
func (x *Session) writeLost() error {
	d := &x.derived
	if len(d.lost) == 0 {
		return nil
	}
	var failed error
	found, err := x.store.rebuild(x.prd, maps.Clone(d.lost), func(f disk.CheckpointFile) error {
		err := x.putCheckpoint(f)
		if err == nil {
			d.found(f.ID)
		}
		failed = cmp.Or(failed, err)
		return nil
	})
	for id := range maps.Clone(d.lost) {
		switch {
		case err != nil || found[id]:
		case d.tried[id]:
			failed = cmp.Or(failed, error(&DerivedError{x.checkpoints().FilePath(id), errGone}))
		default:
			d.found(id) // the journal that held it is gone; reading it says so
		}
	}
	return cmp.Or(err, failed, x.owns()) // which may have taken long
}

// removeUnkept removes the files of checkpoints that are no longer kept. It
// comes last, when nothing on disk names them any more.
func (x *Session) removeUnkept() error {
	d := &x.derived
	remove, err := x.checkpoints().Remover(len(d.unkept))
	if err != nil {
		return &DerivedError{x.checkpoints().Path, err}
	}
	for len(d.unkept) > 0 {
		id := d.unkept[len(d.unkept)-1]
		if err := remove(id); err != nil {
			return &DerivedError{x.checkpoints().FilePath(id), err}
		}
		d.unkept = d.unkept[:len(d.unkept)-1]
	}
	return nil
}
