// Package checkpoint keeps what is known of a pipeline's run: the journal,
// which is the one source of truth, the state that it folds into, and all
// that is derived from it: the PRD document, checkpoint files and their index.
//
// A Store is a state directory. Load reads it without a lock. Lock gives a
// Session, the handle of the one process that may write:
//
//	Session.Add → journal (fsync: the commit point) → Session.Acknowledge → WriteDerived
//
// The formats are described in FORMAT.md beside this file. Package state holds what
// can happen and what that folds into; journal.go reads it back, session.go writes it.
// Package retention decides which checkpoints are kept; package compare, above this one,
// says how two points of a session differ.
package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace/git"
)

// Options are what a Store needs to know; the zero value serves.
type Options struct {
	FS        store.FS         // nil: the operating system's
	Now       func() time.Time // nil: time.Now
	Policy    Policy           // zero: DefaultPolicy
	IDPattern *regexp.Regexp   // nil: PRD- and at least three digits
	Version   string           // of the runner
	RescueDir string           // for what the journal could not take; "": the system's temporary directory
	// Git starts git, which tells what it tracks of the state directory; nil: that is
	// not looked at.
	Git     git.Commander
	Include []string // globs that every capture takes in, besides what the pipeline declares
	// EndOrphans is called under the lock of a session whose runner was killed;
	// nil where nothing can be left running.
	EndOrphans EndOrphans
	// Late is told what could not be written behind what is done already and
	// stays so: a line of the audit log, or a derived file, which the next owner
	// writes. nil: that is an error.
	Late func(error)
}

// Store is a state directory. It is safe for concurrent use.
type Store struct {
	dir  string
	o    Options
	fs   store.FS
	zstd *compressor // of checkpoint files
}

// OpenStore returns the store in a directory, which need not exist: nothing is
// created before the first Lock. A directory that is not safe, or not ours, is
// a *DirError.
func OpenStore(dir string, o Options) (*Store, error) {
	if o.FS == nil {
		o.FS = store.OS()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Policy.isZero() {
		o.Policy = DefaultPolicy()
	}
	if o.IDPattern == nil {
		o.IDPattern = regexp.MustCompile(state.DefaultIDPattern)
	}
	if o.RescueDir == "" {
		o.RescueDir = os.TempDir()
	}
	s := &Store{dir: filepath.Clean(dir), o: o, fs: o.FS, zstd: newCompressor(maxCheckpoint)}
	if err := s.checkDir(s.dir); err != nil {
		return nil, err
	}
	return s, s.checkOurs()
}

// Dir returns the state directory.
func (s *Store) Dir() string { return s.dir }

// checkDir refuses a directory that somebody else could have a hand in: the
// state directory, or one in it.
func (s *Store) checkDir(dir string) error {
	info, err := s.fs.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the state directory: %w", err)
	}
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		if dir != s.dir {
			return &DirError{dir, "it is a symbolic link, and what lies behind it is not touched; remove it, or put what it names in its place"}
		}
		return &DirError{dir, "it is a symbolic link; name the directory itself: set checkpoint.storage.location to what `readlink -f " + text.ShellWord(dir) + "` prints"}
	case !info.IsDir():
		return &DirError{dir, "it is not a directory"}
	case isForeign(info):
		return &DirError{dir, fmt.Sprintf("it belongs to another user, who could change what is in it; as root, chown -R %d %s makes it yours", os.Geteuid(), text.ShellWord(dir))}
	case isWorldWritable(info):
		return &DirError{dir, "everybody may write to it; chmod o-w " + text.ShellWord(dir)}
	}
	return nil
}

// checkOurs refuses a directory that holds something, and nothing of ours. The
// directory lost+found, which an ext4 volume has at its root, counts as nothing.
func (s *Store) checkOurs() error {
	entries, err := s.fs.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the state directory: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "lost+found" && e.IsDir() })
	if len(entries) == 0 {
		return nil
	}
	for _, e := range entries {
		if e.Name() == locksDir && e.IsDir() || s.isDocument(e) {
			return nil
		}
	}
	return &DirError{s.dir, "it is not empty, and nothing in it is Runner's; choose another directory"}
}

func (s *Store) isDocument(e fs.DirEntry) bool {
	id, ok := strings.CutSuffix(e.Name(), ".json")
	return ok && e.Type().IsRegular() && s.isID(id)
}

// isID reports whether the whole of a name is a PRD id.
func (s *Store) isID(name string) bool { return s.checkID(name) == nil }

// PRDs returns the ids that have a journal or a document, sorted.
func (s *Store) PRDs() ([]string, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the state directory: %w", err)
	}
	var ids []string
	for _, e := range entries {
		id := strings.TrimSuffix(e.Name(), ".json")
		is := s.isDocument(e)
		if !is && e.IsDir() && s.isID(id) {
			if is, err = s.exists(s.journalPath(id)); err != nil {
				return nil, fmt.Errorf("list the state directory: %w", err)
			}
		}
		if is {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// exists reports whether something is at a path. That this can't be found out is
// an error, never a no: what follows may remove, replace or forget things.
func (s *Store) exists(path string) (bool, error) {
	_, err := s.fs.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}

// isKnown reports whether there is anything of a PRD: a directory, or a
// document.
func (s *Store) isKnown(prd string) (bool, error) {
	there, err := s.exists(s.prdDir(prd))
	if there || err != nil {
		return there, err
	}
	return s.exists(s.documentPath(prd))
}

// freePath returns a path that nothing is at: the one that is wished for, or
// that with a number behind it.
func (s *Store) freePath(wish string) (string, error) {
	path := wish
	for n := 2; ; n++ {
		there, err := s.exists(path)
		if !there {
			return path, err
		}
		path = fmt.Sprintf("%s-%d", wish, n)
	}
}

func (s *Store) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }
