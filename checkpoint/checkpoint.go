// Package checkpoint stores the runs of a pipeline. The journal is the only source of
// truth. Package checkpoint folds it into a state, and derives the PRD document, the
// checkpoint files and their index from that.
//
// A Store is a state directory. Load reads it without a lock. Lock gives a
// Session, the handle of the one process that may write:
//
//	Session.Add        applies an event to the state, and queues it (session_commit.go, commits.go)
//	Session.Flush      hands the line of a commit to the writer's goroutine (writer.go)
//	store.Log          appends and fsyncs it: the commit point
//	Session.Acknowledge, and later WriteDerived (derived.go): the files that are made from the journal
//
// FORMAT.md in this directory describes the formats, and which checkpoint files are
// written when. Package state defines the events and the state that they fold into;
// package journal encodes and reads the journal; package disk knows where each file is;
// package reader reads a session without a lock. Here lock.go and recover.go open a
// session, move.go completes what was interrupted, session_commit.go commits events, and
// derived.go writes the derived files.
//
// What is done with checkpoints is done by packages that import this one: rollback,
// transfer, prune, validate, repair and compare. Package inventory tells what the sessions
// need. They lock a PRD with Lock or, if its session may be damaged, with LockUnopened.
package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/savepoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/git"
)

// Options configure a Store. The zero value is valid.
type Options struct {
	FS        store.FS         // nil: the operating system's
	Now       func() time.Time // nil: time.Now
	Policy    Policy           // zero: DefaultPolicy
	IDPattern *regexp.Regexp   // of PRDs and called pipelines; nil: PRD- and at least three digits, and what a call adds
	Version   string           // the version of Runner
	RescueDir string           // for commits that could not be written to the journal; "": the system's temporary directory
	// Git starts git, to find out which files of the state directory it tracks; nil: Runner
	// does not check that.
	Git     git.Commander
	Include []string // globs that every capture includes, in addition to those that the pipeline declares
	// Sensitive are patterns of further files that look sensitive, see workspace.Options.
	Sensitive []string
	// OpenDatabase opens the database that a savepoint block of a PRD's pipeline names, whose
	// dumps are kept in objects; nil: safety checkpoints with databases can only be listed.
	OpenDatabase func(ctx context.Context, prd, name string, objects *objects.Store) (*savepoint.Database, error)
	// EndOrphans is called, with the lock held, for a session whose runner was killed;
	// nil if no process can be left running.
	EndOrphans EndOrphans
	// Late receives the error if a line of the audit log or a derived file could not be
	// written after the operation itself was durable. The operation then succeeds; the next
	// owner writes the derived file. nil: the operation returns the error.
	Late func(error)
	// Warn receives the error if git could not be asked for something that a checkpoint
	// does without, and if the copy of a database could not be removed from its server. nil:
	// nobody is told.
	Warn func(error)
}

// Store is a state directory. It is safe for concurrent use.
type Store struct {
	layout disk.Layout
	reader reader.Reader
	o      Options
	fs     store.FS
}

// OpenStore returns the store in a directory. The directory need not exist: Runner creates
// nothing before the first Lock. A directory that is not safe, or holds only files of
// other programs, is a *DirError.
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
		o.IDPattern = regexp.MustCompile(state.DefaultIDPattern + "(?:" + state.CalledIDPattern + ")?")
	}
	if o.RescueDir == "" {
		o.RescueDir = os.TempDir()
	}
	s := &Store{layout: disk.NewLayout(dir, o.FS, o.Policy.Compress), o: o, fs: o.FS}
	s.reader = reader.Reader{Layout: &s.layout, Rescues: journal.RescueDir{FS: o.FS, Path: o.RescueDir}, IDPattern: o.IDPattern}
	if err := s.layout.CheckDir(s.layout.Path); err != nil {
		return nil, err
	}
	return s, s.checkOurs()
}

// Layout returns the paths of the state directory.
func (s *Store) Layout() *disk.Layout { return &s.layout }

// Reader returns what reads the sessions of the state directory.
func (s *Store) Reader() reader.Reader { return s.reader }

// FS returns the file system that holds the state directory.
func (s *Store) FS() store.FS { return s.fs }

// Dir returns the state directory.
func (s *Store) Dir() string { return s.layout.Path }

// checkOurs returns a *DirError for a directory that is not empty and holds no file of
// Runner's. It ignores the directory lost+found, which an ext4 volume has at its root.
func (s *Store) checkOurs() error {
	// A state directory with many sessions takes long to list.
	if info, err := s.fs.Lstat(filepath.Join(s.layout.Path, disk.LocksDir)); err == nil && info.IsDir() {
		return nil
	}
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
		// Another process may have created the directory of locks just now.
		if s.reader.IsDocument(e) || e.Name() == disk.LocksDir && e.IsDir() {
			return nil
		}
	}
	return &disk.DirError{Path: s.layout.Path, Detail: "it is not empty, and nothing in it is Runner's; choose another directory"}
}

// Policy returns the policy that the store was opened with.
func (s *Store) Policy() Policy { return s.o.Policy }

// Now returns the time, in UTC and in whole milliseconds, as the journal records it.
func (s *Store) Now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }
