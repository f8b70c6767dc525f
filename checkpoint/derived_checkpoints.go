package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// encodedMost is the number of bytes of encoded checkpoint files at which they are
// written. Below it, they are postponed so that they become durable together: a flush of
// each file costs more than writing a small one.
const encodedMost = 1 << 20

// errGone says that a checkpoint can't be rebuilt, although this session created it.
var errGone = errors.New("it could not be written at first, and the journal has it no more")

// encodeDue encodes the postponed checkpoint files, and applies commits to base on the
// way. It leaves the last files encoded, for writeFilesAndIndex to write. It returns the
// first error, and can be called again after one: base never passes a commit whose files
// are not encoded.
func (d *derived) encodeDue() error {
	var failed error
	for len(d.since) > 0 {
		if d.size >= encodedMost {
			failed = cmp.Or(failed, d.writeEncoded())
		}
		c := d.since[0]
		if err := d.advanceTo(c); err != nil {
			return err
		}
		if err := d.encodeCheckpoints(c); err != nil {
			return err
		}
		d.passFirst()
	}
	d.since = nil
	return failed
}

// encodeCheckpoints encodes the files of a commit's checkpoints. base must be the state at
// that commit.
func (d *derived) encodeCheckpoints(c state.Commit) error {
	var files []disk.EncodedCheckpoint
	var current []byte
	for _, e := range c.Events {
		created, ok := e.(state.CheckpointCreated)
		if !ok || !d.due[created.ID] {
			continue
		}
		if current == nil {
			var err error
			if current, err = disk.EncodeState(d.base); err != nil {
				return err
			}
		}
		ref := d.base.Checkpoint(created.ID)
		if ref == nil { // removed by the same commit
			delete(d.due, created.ID)
			continue
		}
		json, err := disk.EncodeCheckpoint(disk.NewCheckpointFile(d.base, ref), current)
		if err != nil {
			return err
		}
		files = append(files, disk.EncodedCheckpoint{ID: ref.ID, JSON: json})
	}
	for _, f := range files {
		d.encoded, d.size = append(d.encoded, f), d.size+f.Size()
	}
	return nil
}

// writeEncoded writes the encoded files.
func (d *derived) writeEncoded() error {
	if err := d.session.Files().Put(d.encoded...); err != nil {
		d.writeApart()
		return derivedError(err)
	}
	d.wroteEncoded()
	return nil
}

// writeApart writes the encoded files one by one after they could not be written together,
// so that one file does not keep the others from being written. Of a file that can't be
// written, it keeps only the checkpoint's ID in memory.
func (d *derived) writeApart() {
	for _, c := range d.encoded {
		delete(d.due, c.ID)
		if d.checkOwner() != nil || d.session.Files().Put(c) != nil {
			d.lost[c.ID], d.tried[c.ID] = true, true
			continue
		}
	}
	d.encoded, d.size = nil, 0
}

// wroteEncoded records that all encoded files are written.
func (d *derived) wroteEncoded() {
	for _, c := range d.encoded {
		delete(d.due, c.ID)
	}
	d.encoded, d.size = nil, 0
}

// putFile writes the file of a checkpoint.
func (d *derived) putFile(f disk.CheckpointFile) error {
	state, err := disk.EncodeState(f.State)
	if err != nil {
		return err
	}
	json, err := disk.EncodeCheckpoint(f, state)
	if err != nil {
		return err
	}
	if err := d.session.Files().Put(disk.EncodedCheckpoint{ID: f.ID, JSON: json}); err != nil {
		return derivedError(err)
	}
	return nil
}

// rewrite replaces the damaged file of a checkpoint with the content that the
// journal holds. It keeps the damaged files under other names, and returns their paths. It
// does nothing for a checkpoint that has no file yet: WriteDerived writes that one.
func (d *derived) rewrite(id string) (kept []string, err error) {
	if d.lost[id] {
		return nil, nil
	}
	f, err := d.session.Rebuild(id)
	if err != nil {
		return nil, err
	}
	paths, err := d.session.Files().Paths(id)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		to, err := keepDamaged(d.session.Layout, d.session.PRD, path)
		if err != nil {
			return kept, err
		}
		kept = append(kept, to)
	}
	if err := d.putFile(*f); err != nil {
		return kept, err
	}
	d.index = 0 // `latest` may have to point to another file
	return kept, nil
}

// keepDamaged renames a damaged file and keeps it for people. The new path is in the
// journal's directory, where the file is not taken for a checkpoint.
func keepDamaged(l *disk.Layout, prd, path string) (string, error) {
	to, err := store.FreePath(l.FS, filepath.Join(l.PRDDir(prd), filepath.Base(path)+".damaged"))
	if err == nil {
		err = l.Move(prd, path, to)
	}
	if err != nil {
		return "", fmt.Errorf("keep %s: %w", path, err)
	}
	return to, nil
}

// writeLost writes the files that an earlier owner did not write, or that this one failed
// to write. It returns the first error.
func (d *derived) writeLost() error {
	if len(d.lost) == 0 {
		return nil
	}
	var failed error
	found, err := d.session.RebuildAll(maps.Clone(d.lost), func(f disk.CheckpointFile) error {
		err := d.putFile(f)
		if err == nil {
			d.foundFile(f.ID)
		}
		failed = cmp.Or(failed, err)
		return nil
	})
	for id := range maps.Clone(d.lost) {
		switch {
		case err != nil || found[id]:
		case d.tried[id]:
			failed = cmp.Or(failed, error(&DerivedError{d.session.Files().FilePath(id), errGone}))
		default:
			d.foundFile(id) // its journal is gone; reading the checkpoint returns that error
		}
	}
	return cmp.Or(err, failed, d.checkOwner()) // rebuilding may have taken long: check the locks again
}

// removeUnkept removes the files of checkpoints that are no longer kept. writeAll calls it
// last, when nothing on disk names these files any more.
func (d *derived) removeUnkept() error {
	remove, err := d.session.Files().Remover(len(d.unkept))
	if err != nil {
		return &DerivedError{d.session.Files().Path, err}
	}
	for len(d.unkept) > 0 {
		id := d.unkept[len(d.unkept)-1]
		if err := remove(id); err != nil {
			return &DerivedError{d.session.Files().FilePath(id), err}
		}
		d.unkept = d.unkept[:len(d.unkept)-1]
	}
	return nil
}
