// Package store holds the operations that everything durable is built on.
//
// There are two interfaces, each with one implementation on the operating
// system and one in memory:
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

// ErrLocked says that somebody else holds a lock.
var ErrLocked = errors.New("locked by another process")

// ErrLockLost says that a lock keeps nobody out any more: its file, or a
// directory on the way to it, was moved, deleted or replaced.
var ErrLockLost = errors.New("the lock file was moved, deleted or replaced, so that another process may have taken the lock")

// ErrNotRegular says that something else is in the place of a file.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLong says that a file is longer than one that is read whole can be.
var ErrTooLong = errors.New("longer than 512 MiB, which no such file is")

// FilePerm and DirPerm are the modes of everything that is created: state may
// hold what is nobody else's business.
const (
	FilePerm fs.FileMode = 0o600
	DirPerm  fs.FileMode = 0o700
)

// FS is the file-system operations under everything durable. Names are paths
// of the operating system; errors satisfy errors.Is with fs.ErrNotExist and
// fs.ErrExist. It has more methods than an interface should, because a fault
// must be injectable at each of them.
type FS interface {
	// OpenFile opens a file with the flags of package os.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Mkdir(name string, perm fs.FileMode) error
	// Rename replaces a file of the new name. It is atomic, and durable once
	// the directories are synced.
	Rename(from, to string) error
	// Link gives a file a second name, and fails if that name is taken.
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
	// TryLock locks the file of the given name, which is made if it does not
	// exist and must never be removed. It does not wait: ErrLocked.
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

// Lock is a lock that is held.
type Lock interface {
	// Check is ErrLockLost once another file has the name of the one that is
	// locked, or none. It costs one look at the file's description.
	Check() error
	Unlock() error
}

// Same reports whether two descriptions are of the same file.
func Same(a, b fs.FileInfo) bool {
	if a, ok := a.(*memoryInfo); ok {
		b, ok := b.(*memoryInfo)
		return ok && a.node == b.node
	}
	return os.SameFile(a, b)
}
