package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Import is an archive that was looked at, and found to be whole and what it
// says. Nothing of it is in the state yet. It keeps others from collecting, and
// must be closed: a state directory that was made for it is there until then, and
// stays only if the archive was placed.
type Import struct {
	ExportHeader
	State       *state.State // where its session stands
	Checkpoints int
	Objects     int
	Bytes       int64
	Logs        int
	Relation    Relation
	Here        *state.State // the session of the PRD that is here; nil: none, or it can't be read
	Damage      error        // why it can't

	aside   []*state.State // the sessions of the PRD that were set aside, as far as they can be read
	unread  state.Text     // the directory of one of them that can not be read, "" if there is none
	store   *Store
	path    string // that names the archive
	shared  store.Lock
	made    []string // of the state directory, and to be removed with what was unpacked
	staged  *bundle.Staged
	objects map[string]int64 // of the archive, to their sizes
	lineage *lineage
}

// ImportConflictError says that an archive would take the place of something
// that it does not continue.
type ImportConflictError struct {
	PRD      string
	Relation Relation
	Here     *state.State // nil: none that can be read
}

func (e *ImportConflictError) Error() string {
	what := map[Relation]string{
		RelationOlder:    "the session here has gone on from there",
		RelationDiverged: "the session here has gone on in another way",
		RelationForeign:  "another session is here",
		RelationDamaged:  "what is here can't be read",
	}[e.Relation]
	if e.Here == nil && e.Relation == RelationForeign {
		what = "a document written by hand is here"
	}
	return fmt.Sprintf("import %s: %s", e.PRD, what)
}

// OpenImport unpacks an archive aside, and verifies everything: that it is an
// archive, that its journal is whole, that all else in it belongs to that, and
// that nothing is missing that it does not admit. What is wrong is a
// *bundle.DamagedError, *bundle.VersionError, *bundle.LimitError or
// *VersionError; the state is as it was. path names the archive in errors.
func (s *Store) OpenImport(ctx context.Context, r io.Reader, path string, limits bundle.Limits) (*Import, error) {
	i := &Import{store: s, path: path}
	err := i.share()
	if err == nil {
		err = i.unpack(ctx, r, limits)
	}
	return i.opened(ctx, err)
}

// LookAtImport is OpenImport for a dry run: the state directory is only read,
// and nothing is locked, made or written in it. What it unpacks lies in dir
// without a name, as bundle.Spool has it. What it returns can't be placed.
func (s *Store) LookAtImport(ctx context.Context, r io.Reader, path, dir string, limits bundle.Limits) (*Import, error) {
	i := &Import{store: s, path: path}
	err := s.layout.CheckLayout("")
	if err == nil {
		i.staged, err = bundle.Spool(ctx, dir, r, limits)
		err = i.because(err)
	}
	return i.opened(ctx, err)
}

// opened looks at what was unpacked, unless that failed.
func (i *Import) opened(ctx context.Context, err error) (*Import, error) {
	if err == nil {
		err = i.because(i.check(ctx, i.path))
	}
	if err == nil {
		i.Relation, i.Here, i.Damage, err = i.store.relation(i.PRD, i.lineage)
	}
	if err == nil {
		err = i.readAside()
	}
	if err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// readAside reads the sessions of the PRD that were set aside.
func (i *Import) readAside() error {
	aside, err := i.store.archived(i.PRD, PlaceHistory, PlaceFailed)
	if err != nil {
		return fmt.Errorf("import %s: %w", i.PRD, err)
	}
	i.aside, i.unread = nil, ""
	for _, at := range aside {
		if at.State != nil {
			i.aside = append(i.aside, at.State)
		} else if i.unread == "" {
			i.unread = state.Text(i.store.layout.Within(at.Dir))
		}
	}
	return nil
}

// because names the archive in an error.
func (i *Import) because(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("import %s: %w", i.path, err)
}

// share takes the lock that keeps others from collecting, in a state directory
// that it makes if it must.
func (i *Import) share() (err error) {
	s := i.store
	if i.made, err = s.layout.MissingRoot(); err != nil {
		return err
	}
	if err := s.layout.MakeRoot(); err != nil {
		return err
	}
	shared, err := s.fs.TryLock(s.layout.StoreLockPath(), true)
	if err != nil {
		return s.lockedBy(err)
	}
	if err := s.layout.CheckLayout(""); err != nil {
		return errors.Join(err, shared.Unlock())
	}
	i.shared = shared
	return nil
}

// unpack stages the archive. The trash is where there must be room for the
// objects anyway, and what a crash leaves in it goes with the next collection,
// which the shared lock keeps away meanwhile.
func (i *Import) unpack(ctx context.Context, r io.Reader, limits bundle.Limits) (err error) {
	dir := i.store.layout.TrashPath()
	if err := store.MkdirAll(i.store.fs, dir); err != nil {
		return err
	}
	i.staged, err = bundle.Stage(ctx, i.store.fs, filepath.Join(dir, rand.Text()), r, limits)
	return i.because(err)
}

// Close removes what was unpacked.
func (i *Import) Close() error {
	var err error
	if i.staged != nil {
		err = i.staged.Remove()
		i.staged = nil
	}
	if i.shared != nil {
		_ = i.store.fs.Remove(i.store.layout.TrashPath()) // if nothing else is in it
		err = errors.Join(err, i.shared.Unlock())
		i.shared = nil
	}
	if len(i.made) > 0 {
		err = errors.Join(err, i.store.layout.UnmakeRoot(i.made))
		i.made = nil
	}
	return err
}

// readHeader reads the header, its version first.
func (i *Import) readHeader(path string) error {
	var newer *state.VersionError
	if err := disk.CheckVersion(path, i.staged.Header); errors.As(err, &newer) {
		return newer
	} else if err != nil {
		return &bundle.DamagedError{Detail: "its header cannot be read: " + err.Error()}
	}
	if err := json.Unmarshal(i.staged.Header, &i.ExportHeader); err != nil {
		return &bundle.DamagedError{Detail: "its header cannot be read: " + err.Error()}
	}
	again, err := state.EncodeJSON(i.ExportHeader)
	if err != nil || string(again) != string(i.staged.Header) {
		return &bundle.DamagedError{Detail: "its header is not as it should be"}
	}
	if !i.store.isID(i.PRD) {
		return &bundle.DamagedError{Detail: fmt.Sprintf("%q is not a PRD id: it must match %s", i.PRD, i.store.o.IDPattern)}
	}
	return nil
}

// relation says how a session relates to the one of the PRD that is here. A
// session of a newer version is an error: nothing may be done to it.
func (s *Store) relation(prd string, comes *lineage) (Relation, *state.State, error, error) {
	snap, err := s.Load(prd)
	var damaged *state.DamagedError
	switch {
	case errors.Is(err, ErrNoSession):
		return RelationNew, nil, nil, nil
	case errors.As(err, &damaged):
		return RelationDamaged, nil, damaged, nil
	case err != nil:
		return "", nil, nil, err
	case snap.State == nil:
		return RelationForeign, nil, nil, nil // a document written by hand
	}
	here, state, err := s.lineageIn(prd, s.layout.PRDDir(prd))
	if err == nil && here == nil {
		err = fs.ErrNotExist // archived this moment
	}
	if err != nil {
		return "", nil, nil, fmt.Errorf("read the session of %s: %w", prd, err)
	}
	relation := relate(comes, here)
	if relation == RelationForward && snap.RescuePath != "" {
		relation = RelationDiverged // what was rescued is part of the session, and not of what comes
	}
	return relation, state, nil, nil
}

// ArchivePRD returns the PRD that an archive is of. It reads all of it, and
// keeps nothing.
func ArchivePRD(ctx context.Context, r io.Reader) (string, error) {
	c, err := bundle.Verify(ctx, r, bundle.Limits{})
	if err != nil {
		return "", err
	}
	var header ExportHeader
	if err := json.Unmarshal(c.Header, &header); err != nil {
		return "", &bundle.DamagedError{Detail: "its header cannot be read: " + err.Error()}
	}
	return header.PRD, nil
}
