package transfer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Import is an archive that was unpacked and found to be whole and consistent. Opening it
// does not change any session. An Import of OpenImport holds the lock that keeps other
// processes from collecting garbage. The caller must close it: Close removes the unpacked
// files, and a state directory that was created for the import unless the archive was
// placed.
type Import struct {
	ExportHeader
	State       *state.State // of the archive's session
	Checkpoints int
	Objects     int
	Bytes       int64
	Logs        int
	Relation    journal.Relation
	Here        *state.State // state of the PRD's current session; nil if there is none or it can't be read
	Damage      error        // why the current session can't be read

	aside   []*state.State // states of the PRD's archived sessions that can be read
	unread  state.Text     // directory of an archived session that can't be read; "" if all can be
	store   *checkpoint.Store
	path    string // names the archive in errors
	shared  store.Lock
	made    []string // paths that were created for the state directory; Close removes them
	staged  *bundle.Staged
	objects map[string]int64 // sizes of the archive's objects, by digest
	lineage *journal.Lineage
}

// ImportConflictError reports that the archive's session does not continue the session or
// document that it would replace.
type ImportConflictError struct {
	PRD      string
	Relation journal.Relation
	Here     *state.State // nil if there is no session that can be read
}

func (e *ImportConflictError) Error() string {
	what := map[journal.Relation]string{
		journal.RelationOlder:    "the session here has gone on from there",
		journal.RelationDiverged: "the session here has gone on in another way",
		journal.RelationForeign:  "another session is here",
		journal.RelationDamaged:  "what is here can't be read",
	}[e.Relation]
	if e.Here == nil && e.Relation == journal.RelationForeign {
		what = "a document written by hand is here"
	}
	return fmt.Sprintf("import %s: %s", e.PRD, what)
}

// OpenImport unpacks an archive into the trash and verifies that it is an archive, that
// its journal is whole, that every other member belongs to that journal, and that nothing
// is missing except what the header says. Faults are a *bundle.DamagedError,
// *bundle.VersionError, *bundle.LimitError or *VersionError; the sessions are unchanged.
// path names the archive in errors.
func OpenImport(ctx context.Context, s *checkpoint.Store, r io.Reader, path string, limits bundle.Limits) (*Import, error) {
	i := &Import{store: s, path: path}
	err := i.lockShared()
	if err == nil {
		err = i.unpack(ctx, r, limits)
	}
	return i.opened(ctx, err)
}

// PreviewImport is like OpenImport, for a dry run. It only reads the state directory: it
// locks, creates and writes nothing there. It unpacks the archive into unnamed files in
// dir, as bundle.Spool does. The Import that it returns can't be placed.
func PreviewImport(ctx context.Context, s *checkpoint.Store, r io.Reader, path, dir string, limits bundle.Limits) (*Import, error) {
	i := &Import{store: s, path: path}
	err := s.Layout().CheckLayout("")
	if err == nil {
		i.staged, err = bundle.Spool(ctx, dir, r, limits)
		err = i.because(err)
	}
	return i.opened(ctx, err)
}

// opened verifies the unpacked archive and compares it with the sessions of its PRD. err
// is the error of unpacking: opened then only closes the Import and returns the error.
func (i *Import) opened(ctx context.Context, err error) (*Import, error) {
	if err == nil {
		err = i.because(i.verify(ctx, i.path))
	}
	if err == nil {
		i.Relation, i.Here, i.Damage, err = i.store.Reader().RelationTo(i.PRD, i.lineage)
	}
	if err == nil {
		err = i.readAside()
	}
	if err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// readAside reads the archived sessions of the PRD into i.aside and i.unread.
func (i *Import) readAside() error {
	aside, err := i.store.Reader().ArchivedOf(i.PRD, disk.PlaceHistory, disk.PlaceFailed)
	if err != nil {
		return fmt.Errorf("import %s: %w", i.PRD, err)
	}
	i.aside, i.unread = nil, ""
	for _, at := range aside {
		if at.State != nil {
			i.aside = append(i.aside, at.State)
		} else if i.unread == "" {
			i.unread = state.Text(i.store.Layout().Within(at.Dir))
		}
	}
	return nil
}

// because adds the name of the archive to an error.
func (i *Import) because(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("import %s: %w", i.path, err)
}

// lockShared takes the shared lock that keeps other processes from collecting garbage. It
// creates the state directory if there is none.
func (i *Import) lockShared() (err error) {
	s := i.store
	if i.made, err = s.Layout().MissingRoot(); err != nil {
		return err
	}
	i.shared, err = s.LockShared()
	return err
}

// unpack stages the archive in the trash. The file system of the trash needs room for the
// objects anyway. Files that a crash leaves there are removed by the next collection,
// which the shared lock prevents while the import is open.
func (i *Import) unpack(ctx context.Context, r io.Reader, limits bundle.Limits) (err error) {
	dir := i.store.Layout().TrashPath()
	if err := store.MkdirAll(i.store.FS(), dir); err != nil {
		return err
	}
	i.staged, err = bundle.Stage(ctx, i.store.FS(), filepath.Join(dir, rand.Text()), r, limits)
	return i.because(err)
}

// Close removes the unpacked files and unlocks the store. Unless the archive was placed,
// it also removes the state directory if that was created for the import.
func (i *Import) Close() error {
	var err error
	if i.staged != nil {
		err = i.staged.Remove()
		i.staged = nil
	}
	if i.shared != nil {
		_ = i.store.FS().Remove(i.store.Layout().TrashPath()) // only succeeds if the trash is empty
		err = errors.Join(err, i.shared.Unlock())
		i.shared = nil
	}
	if len(i.made) > 0 {
		err = errors.Join(err, i.store.Layout().UnmakeRoot(i.made))
		i.made = nil
	}
	return err
}

// readHeader checks the version of the header and then decodes it.
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
	if err := i.store.Reader().CheckID(i.PRD); err != nil {
		return &bundle.DamagedError{Detail: err.Error()}
	}
	return nil
}

// ReadHeader returns the header of an archive. It reads and verifies the whole archive and
// writes nothing.
func ReadHeader(ctx context.Context, r io.Reader) (*ExportHeader, error) {
	c, err := bundle.Verify(ctx, r, bundle.Limits{})
	if err != nil {
		return nil, err
	}
	header := &ExportHeader{}
	if err := json.Unmarshal(c.Header, header); err != nil {
		return nil, &bundle.DamagedError{Detail: "its header cannot be read: " + err.Error()}
	}
	return header, nil
}
