package transfer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Placed is the result of placing an archive.
type Placed struct {
	Relation journal.Relation // determined under the lock
	Archived string           // directory of the session that was replaced; "" if none was
	// Uncertain are the workstreams that must happen only once and that may have happened:
	// only the replaced sessions record that they started.
	Uncertain []string
}

// PlaceOptions are the options of Place.
type PlaceOptions struct {
	Replace bool // archive the current session if the imported one does not continue it
	// Files are the files to restore after placing. disk.PendingImport reports the
	// import until RestoreImported, or FinishImport after a crash, has restored them.
	// nil: no files are restored.
	Files     *ImportFiles
	Overwrite bool // overwrite files that differ
}

// Place makes the archive's session the current session of its PRD. If it does not
// continue the current session, Place returns an *ImportConflictError, unless Replace
// allows it to archive that session. If the current session is at the same commit, or has
// only captured files since, Place does not change its state.
//
// Place first adds the objects, which do no harm on their own. It then writes the whole
// session into a new directory and renames that directory. The import takes effect with
// the rename. finishImport does the rest, now or, after a crash, under the next lock.
func (i *Import) Place(ctx context.Context, by state.Actor, o PlaceOptions) (*Placed, error) {
	s := i.store
	if i.shared == nil {
		return nil, fmt.Errorf("import %s: it was only looked at", i.PRD)
	}
	i.made = nil // the state directory stays from now on
	u, err := s.LockUnopened(ctx, i.PRD)
	if err != nil {
		return nil, err
	}
	if err := u.EndOrphans(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("import %s: %w", i.PRD, err), u.Close())
	}
	done, err := i.placeLocked(ctx, u, o, i.pending(by, o))
	if err != nil || done.Relation == journal.RelationEqual || done.Relation == journal.RelationSame {
		return done, errors.Join(err, u.Close())
	}
	x, err := u.Open(by)
	if err != nil {
		return nil, errors.Join(err, u.Close())
	}
	return done, errors.Join(x.Publish(ctx), x.Close())
}

func (i *Import) placeLocked(ctx context.Context, u *checkpoint.Unopened, o PlaceOptions, pending *disk.PendingImport) (*Placed, error) {
	s := i.store
	if err := u.FinishInterrupted(); err != nil {
		return nil, err
	}
	relation, here, _, err := s.Reader().RelationTo(i.PRD, i.lineage)
	if err != nil {
		return nil, err
	}
	switch relation {
	case journal.RelationEqual, journal.RelationSame:
		if err := i.placeObjects(ctx); err != nil { // some objects may have been collected or lost
			return nil, err
		}
		return &Placed{Relation: relation}, s.Layout().WritePending(s.Layout().PRDDir(i.PRD), pending)
	case journal.RelationNew:
	case journal.RelationForward:
		if err := u.Mend(); err != nil { // so that incomplete lines of the journal are kept for people
			return nil, err
		}
	case journal.RelationOlder, journal.RelationDiverged, journal.RelationForeign, journal.RelationDamaged:
		if !o.Replace {
			return nil, &ImportConflictError{PRD: i.PRD, Relation: relation, Here: here}
		}
		if here != nil && here.Rollback != nil { // its files match neither side of the rollback
			return nil, fmt.Errorf("import %s: %w", i.PRD, checkpoint.UnfinishedRollback(here))
		}
	}
	if err := checkpoint.CheckReturned(here); err != nil {
		return nil, fmt.Errorf("import %s: %w", i.PRD, err)
	}
	if err := i.placeObjects(ctx); err != nil {
		return nil, err
	}
	if err := i.readAside(); err != nil {
		return nil, err
	}
	uncertain := i.uncertain(relation, here)
	acts, err := i.unknownTo(relation, here)
	if err != nil {
		return nil, err
	}
	prepared, err := i.prepare(ctx, o, pending)
	if err == nil {
		err = i.addKnown(prepared, uncertain, acts)
	}
	if err != nil {
		return nil, errors.Join(err, store.RemoveAll(s.Layout().FS, prepared))
	}
	archived, err := u.Replace(prepared)
	if err != nil {
		return nil, errors.Join(err, store.RemoveAll(s.Layout().FS, prepared))
	}
	if pending == nil {
		err = s.Layout().WritePending(s.Layout().PRDDir(i.PRD), nil) // remove the note of an earlier import that this one continues
	}
	return &Placed{Relation: relation, Archived: archived, Uncertain: workstreamNames(uncertain)}, err
}

// placeObjects copies the archive's objects into the state directory.
func (i *Import) placeObjects(ctx context.Context) (err error) {
	batch := i.store.Objects().Begin()
	defer func() { err = errors.Join(err, batch.Abandon()) }()
	for _, digest := range slices.Sorted(maps.Keys(i.objects)) {
		r, err := i.staged.Open(objectMember(digest))
		if err != nil {
			return err
		}
		ref, err := batch.Copy(ctx, r)
		if closed := r.Close(); err == nil {
			err = closed
		}
		if err == nil && ref.Digest != digest {
			err = damagedMember(objectMember(digest), "its bytes are not what its name says")
		}
		if err != nil {
			return fmt.Errorf("import an object: %w", err)
		}
	}
	return batch.Commit(ctx)
}

// prepare copies the session into a directory in the trash, where no command takes it for
// a session, and makes it durable.
func (i *Import) prepare(ctx context.Context, o PlaceOptions, pending *disk.PendingImport) (dir string, err error) {
	s := i.store
	dir = filepath.Join(s.Layout().TrashPath(), rand.Text())
	if err := store.MkdirAll(s.FS(), filepath.Join(dir, disk.CheckpointsDir), filepath.Join(dir, disk.LogsDir)); err != nil {
		return dir, err
	}
	for _, m := range i.staged.Members {
		if err := ctx.Err(); err != nil {
			return dir, err
		}
		top, _, _ := strings.Cut(m.Name, "/")
		if top == disk.ObjectsDir || m.Name == exportDocument || m.Name == disk.ManifestName {
			continue // objects are placed separately; the document and the index are regenerated
		}
		if err := i.copyOut(m.Name, dir); err != nil {
			return dir, fmt.Errorf("import %s: %w", m.Name, err)
		}
	}
	var own disk.OwnFiles
	if o.Files != nil {
		own = o.Files.own
	}
	if err := errors.Join(i.writeOrigin(dir, own), s.Layout().WritePending(dir, pending)); err != nil {
		return dir, err
	}
	for _, sub := range []string{disk.CheckpointsDir, disk.LogsDir, ""} {
		if err := s.FS().SyncDir(filepath.Join(dir, sub)); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// copyOut copies a member into a session's directory. It writes checkpoints in the form
// that this store uses.
func (i *Import) copyOut(name, dir string) error {
	if id, ok := disk.CheckpointOfMember(name); ok {
		data, err := i.readMember(name, disk.MaxCheckpoint)
		if err != nil {
			return err
		}
		return i.store.Layout().CheckpointsIn(dir).Put(disk.EncodedCheckpoint{ID: id, JSON: [][]byte{data}})
	}
	r, err := i.staged.Open(name)
	if err != nil {
		return err
	}
	f, err := i.store.FS().OpenFile(filepath.Join(dir, filepath.FromSlash(name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, store.FilePerm)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), r.Close())
}
