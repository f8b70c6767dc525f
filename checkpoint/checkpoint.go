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
	"regexp"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
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
	layout disk.Layout
	o      Options
	fs     store.FS
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
	s := &Store{layout: disk.NewLayout(dir, o.FS, o.Policy.Compress), o: o, fs: o.FS}
	if err := s.layout.CheckDir(s.layout.Path); err != nil {
		return nil, err
	}
	return s, s.checkOurs()
}

// Layout returns the paths of the state directory.
func (s *Store) Layout() *disk.Layout { return &s.layout }

// Dir returns the state directory.
func (s *Store) Dir() string { return s.layout.Path }

// checkOurs refuses a directory that holds something, and nothing of ours. The
// directory lost+found, which an ext4 volume has at its root, counts as nothing.
func (s *Store) checkOurs() error {
	entries, err := s.fs.ReadDir(s.layout.Path)
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
		if e.Name() == disk.LocksDir && e.IsDir() || s.isDocument(e) {
			return nil
		}
	}
	return &disk.DirError{Path: s.layout.Path, Detail: "it is not empty, and nothing in it is Runner's; choose another directory"}
}

func (s *Store) isDocument(e fs.DirEntry) bool {
	id, ok := strings.CutSuffix(e.Name(), ".json")
	return ok && e.Type().IsRegular() && s.isID(id)
}

// isID reports whether the whole of a name is a PRD id.
func (s *Store) isID(name string) bool { return s.checkID(name) == nil }

// PRDs returns the ids that have a journal or a document, sorted.
func (s *Store) PRDs() ([]string, error) {
	entries, err := s.fs.ReadDir(s.layout.Path)
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
			if is, err = s.layout.Exists(s.layout.JournalPath(id)); err != nil {
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

// isKnown reports whether there is anything of a PRD: a directory, or a
// document.
func (s *Store) isKnown(prd string) (bool, error) {
	there, err := s.layout.Exists(s.layout.PRDDir(prd))
	if there || err != nil {
		return there, err
	}
	return s.layout.Exists(s.layout.DocumentPath(prd))
}

func (s *Store) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }
