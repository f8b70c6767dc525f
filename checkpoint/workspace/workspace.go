// Package workspace captures, compares and restores the files of a workspace.
//
// Begin with Open. A Listing is the files at one moment: paths, modes and digests.
// Capture records one as objects and, in a git work tree, as a commit that is on no
// branch. Now lists the present files, Diff compares two listings, and Restore makes the
// changes between them.
//
// Three words say why a capture or a restore lacks a file. It is excluded if its name or
// its content looks sensitive. It is unreadable if Runner could not read it: Runner lacks
// permission, the file kept changing (unstable), or it is no file, such as a pipe or
// another repository. It is missing if a capture names it and its bytes are lost or
// damaged.
//
// Git's commands belong in package git, finding files in package tree, and digests of
// unchanged files in package statcache. Every access goes through an os.Root, so that no
// link and no pattern leads outside.
package workspace

import (
	"errors"
	"fmt"
	"sync/atomic"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/statcache"
	"prdrunner/checkpoint/workspace/tree"
)

// Errors of a single file.
var (
	// ErrNotRegular says that a path has no content that a capture could record.
	ErrNotRegular = errors.New("is neither a regular file nor a symbolic link")
	// errTooLong is the ErrNotRegular of a file that is longer than maxFile.
	errTooLong = &tooLongError{}
	// ErrUnstable says that a file changed while it was read.
	ErrUnstable = errors.New("changed while it was read")
)

// maxFile bounds the size of a file. A longer one is a disk image, or has holes that would
// take hours to read and fill the disk as an object. No archive could hold it either.
const maxFile = objects.MaxSize

type tooLongError struct{}

func (*tooLongError) Error() string {
	return fmt.Sprintf("is longer than %d GiB, and so is not read", maxFile>>30)
}

// Is implements errors.Is.
func (*tooLongError) Is(target error) bool { return target == ErrNotRegular }

// The kinds of file that Entry.Mode holds besides permission bits, as in a git tree.
const (
	ModeSymlink uint32 = 0o120000
	ModeDir     uint32 = 0o040000 // an empty directory
)

// Entry is a file, a symbolic link or an empty directory.
type Entry struct {
	Path   string // relative to the workspace, slash-separated; any bytes but NUL
	Mode   uint32 // permission bits (0o7777 masked to 0o777), and ModeSymlink or ModeDir
	Size   int64
	Digest string // "sha256:…" of the bytes, or of a link's target; "" for a directory
	// Blob is git's name of the bytes if git's store keeps them; "" if an object does.
	Blob string
}

// Options describe a workspace. Dir is required.
type Options struct {
	Dir     string          // absolute
	Skip    []string        // absolute paths of directories that are not part of the workspace, such as the state directory
	Objects *objects.Store  // nil: nothing can be kept or restored
	FS      store.FS        // holds the cache
	Cache   string          // the file of the stat cache; "": none
	Git     *git.Repository // nil outside a work tree, and if git is not used
	Mode    GitMode         // how Capture uses Git
	// Sensitive are patterns in addition to SensitivePatterns, in the same form. Of several
	// patterns that match, the last one counts.
	Sensitive []string
}

// GitMode is how a capture uses git.
type GitMode string

// The modes (git.mode in the configuration).
const (
	GitRef    GitMode = "ref"    // a commit under refs/runner/, on no branch
	GitCommit GitMode = "commit" // a commit on the current branch
	GitOff    GitMode = "off"    // as if there were no git
)

// Workspace is a directory of files. It is safe for concurrent use.
type Workspace struct {
	o           Options
	tree        *tree.Tree
	cache       *statcache.Cache
	files       *files
	contents    *Contents
	sensitivity *sensitivity
	last        *atomic.Pointer[loaded]
	memo        *memo // nil except in a workspace that WithMemo returned
	narrow      bool  // only files that match the patterns are in scope
	unguarded   bool  // no file is excluded
}

// Open opens a workspace.
func Open(o Options) (*Workspace, error) {
	t, err := tree.Open(o.Dir, o.Skip)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	cache, buffers := statcache.New(o.FS, o.Cache, o.Dir), newBuffers()
	return &Workspace{
		o: o, tree: t, cache: cache,
		files:       &files{tree: t, cache: cache, git: o.Git, namesBlobs: o.usedGit() != nil, buffers: buffers},
		contents:    &Contents{dir: o.Dir, mode: o.Mode, git: o.Git, objects: o.Objects, tree: t, buffers: buffers},
		sensitivity: newSensitivity(o.Sensitive), last: new(atomic.Pointer[loaded]),
	}, nil
}

// Git returns the work tree that captures use; nil if they use none.
func (w *Workspace) Git() *git.Repository { return w.o.usedGit() }

// usedGit returns the work tree that captures use; nil if they use none.
func (o *Options) usedGit() *git.Repository {
	if o.Mode == GitOff {
		return nil
	}
	return o.Git
}

// Repository returns the work tree that may keep the bytes of captures, even if new
// captures do not use it. It returns nil outside a work tree, or if the repository could
// not be opened.
func (w *Workspace) Repository() *git.Repository { return w.o.Git }

// CommitsToBranch reports whether captures are commits on the user's branch.
func (w *Workspace) CommitsToBranch() bool { return w.o.Mode == GitCommit && w.o.Git != nil }

// Close closes the directory.
func (w *Workspace) Close() error { return w.tree.Close() }

// Tree returns the tree of the workspace's files, which finds files by patterns and
// follows links.
func (w *Workspace) Tree() *tree.Tree { return w.tree }
