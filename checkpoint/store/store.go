// Package store holds the operations that everything durable is built on.
//
// There are two interfaces. FS has one implementation on the operating system and one in
// memory; Log has one, over any FS:
//
//   - FS is the set of file-system operations that Runner uses. Tests inject
//     faults by wrapping it.
//   - Log is an append log of records. Each append ends with one fsync.
//
// The functions WriteFile, Write, ReadFile and MkdirAll do on an FS what takes
// several operations: write a temporary file, sync it, rename it, sync the
// directory. Memory is the FS in memory. It can tell which files could be there
// after a power cut.
//
// Package storetest holds the contract of both interfaces as tests. To add an
// implementation, such as one over a network, implement FS and run storetest
// over it in TestContracts. A store of buckets, which have neither directories
// nor rename, does not belong behind FS; it needs an interface of its own.
//
// Read store.go for the interfaces, write.go for the functions, log.go for the
// log, and memory.go for the file system in memory.
package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// ErrLocked says that another process holds a lock.
var ErrLocked = errors.New("locked by another process")

// ErrLockLost says that a lock protects nothing any more, because its file, or a directory
// above it, was moved, deleted or replaced.
var ErrLockLost = errors.New("the lock file was moved, deleted or replaced, so that another process may have taken the lock")

// ErrNotRegular says that a path is not a regular file.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLong says that a file is too long to be read into memory.
var ErrTooLong = errors.New("longer than 512 MiB, which no such file is")

// FilePerm and DirPerm are the modes of everything that Runner creates: other users may not
// read the state.
const (
	FilePerm fs.FileMode = 0o600
	DirPerm  fs.FileMode = 0o700
)

// FS is the set of file-system operations that Runner uses. Names are paths of the
// operating system. Errors satisfy errors.Is with fs.ErrNotExist and fs.ErrExist. It has
// many methods, because tests must be able to inject a fault at each operation.
type FS interface {
	// OpenFile opens a file with the flags of package os.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Mkdir(name string, perm fs.FileMode) error
	// Rename moves a file, and replaces a file at the new path. It is atomic, and durable
	// once the directories of both paths are synced.
	Rename(from, to string) error
	// Link gives a file a second name. It returns fs.ErrExist if the name exists.
	Link(from, to string) error
	Symlink(target, name string) error
	Readlink(name string) (string, error)
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	Lstat(name string) (fs.FileInfo, error)
	// TryLock locks a file, which it creates if needed and which must never be removed. It
	// does not wait: ErrLocked.
	TryLock(name string, shared bool) (Lock, error)
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	// Sync makes the content durable, but not the name.
	Sync() error
}

// Lock is a lock that this process holds.
type Lock interface {
	// Check returns ErrLockLost if the locked file no longer has its name. It costs one
	// Lstat.
	Check() error
	Unlock() error
}

// Same reports whether two descriptions are of the same file. An FS whose descriptions do
// not come from package os gives them a method SameFile.
func Same(a, b fs.FileInfo) bool {
	if a, ok := a.(interface{ SameFile(fs.FileInfo) bool }); ok {
		return a.SameFile(b)
	}
	return os.SameFile(a, b)
}
