package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/statcache"
	"prdrunner/checkpoint/workspace/tree"
)

// files describes and reads the files of the tree, and records their digests in the cache.
// It is safe for concurrent use.
type files struct {
	tree       *tree.Tree
	cache      *statcache.Cache
	git        *git.Repository // nil outside a work tree
	namesBlobs bool            // captures use git, so that git's names of files are needed
	buffers    *buffers
	refusal    *refusal // nil: no detector is set
}

// found describes a file in the workspace.
type found struct {
	entry  Entry  // Digest is "" until the file is read or found in the cache
	blob   string // git's name of the bytes, if the caller needs it
	target string // of a symbolic link
}

func (f *found) hasDigest() bool { return f.entry.Digest != "" }

// dropDigest drops the digest of a regular file, so that the file is read again even if
// the cache has its digest.
func (f *found) dropDigest() {
	if !f.isLink() {
		f.entry.Digest = ""
	}
}

func (f *found) isLink() bool { return f.entry.Mode == ModeSymlink }

func (f *found) setSums(s statcache.Sums) {
	f.entry.Digest, f.blob = s.Digest, s.Blob
	f.entry.Mode &^= s.MaskOnly
}

// inspect describes a file from its stat, a link's target and the cache. A regular file
// that is not in the cache has no digest yet. If withBlob returns true for its size, the
// cache must have git's name of the bytes, too.
func (in *files) inspect(at tree.Place, path string, withBlob func(size int64) bool) (found, error) {
	is, err := at.Status()
	if err != nil {
		return found{}, err
	}
	return in.inspectStatus(is, at, path, withBlob)
}

// inspectStatus describes a file like inspect. The caller passes the status of the file.
func (in *files) inspectStatus(is tree.Status, at tree.Place, path string, withBlob func(size int64) bool) (f found, err error) {
	f = found{entry: Entry{Path: path, Mode: uint32(is.Mode.Perm()), Size: is.Stat.Size}}
	switch {
	case is.Mode.IsRegular() && is.Stat.Size > maxFile:
		err = errTooLong
	case is.Mode.IsRegular():
		if s, ok := in.cache.Get(path, is.Stat, withBlob(is.Stat.Size), at.Near()); ok {
			f.setSums(s)
		}
	case is.Mode&fs.ModeSymlink != 0:
		if f.target, err = at.Readlink(); err != nil {
			return f, err
		}
		f.entry.Size, f.entry.Mode = int64(len(f.target)), ModeSymlink
		sha := sha256.Sum256([]byte(f.target))
		s := statcache.Sums{Digest: objects.DigestOf(sha[:])}
		if withBlob(f.entry.Size) {
			s.Blob = in.blobOf(f.target)
		}
		f.setSums(s)
	case is.Mode.IsDir():
		f.entry.Mode |= ModeDir
		err = ErrNotRegular
	default:
		err = ErrNotRegular
	}
	return f, err
}

func (in *files) blobOf(target string) string {
	h := in.git.NewBlobHash(int64(len(target)))
	_, _ = io.WriteString(h, target) // a hash returns no error
	return hex.EncodeToString(h.Sum(nil))
}

// readDigest reads a regular file whose digest is not in the cache.
func (in *files) readDigest(ctx context.Context, at tree.Place, f *found, withBlob func(size int64) bool) error {
	return in.readDigestInto(ctx, at, f, withBlob, io.Discard)
}

// readDigestInto is like readDigest, and also writes the bytes to too.
func (in *files) readDigestInto(ctx context.Context, at tree.Place, f *found, withBlob func(size int64) bool, too io.Writer) error {
	return in.readTo(ctx, at, f, withBlob, func(r io.Reader, _ *origin) (string, error) {
		h := sha256.New()
		to := io.Writer(h)
		if too != io.Discard {
			to = io.MultiWriter(h, too)
		}
		err := in.buffers.copyBytes(to, r)
		return objects.DigestOf(h.Sum(nil)), err
	})
}

// readTo passes the bytes of a regular file to consume, which returns their digest. It
// updates f and the cache with the results.
func (in *files) readTo(ctx context.Context, at tree.Place, f *found, withBlob func(size int64) bool, consume func(r io.Reader, from *origin) (digest string, err error)) error {
	began := in.cache.Now()
	var s statcache.Sums
	var blob hash.Hash
	info, err := in.readStable(ctx, at, func(r io.Reader, from *origin) (err error) {
		if withBlob(from.size) {
			blob = in.git.NewBlobHash(from.size)
			r = io.TeeReader(r, blob)
		}
		if s.MaskOnly, err = maskOnly(from.file, from.perm); err == nil {
			s.Digest, err = consume(r, from)
		}
		return err
	})
	if err != nil {
		return err
	}
	if blob != nil {
		s.Blob = hex.EncodeToString(blob.Sum(nil))
	}
	f.entry.Mode, f.entry.Size = uint32(info.Mode().Perm()), info.Size()
	f.setSums(s)
	in.cache.Put(f.entry.Path, statcache.StatOf(info), s, began)
	return nil
}

// maxGitBlob bounds the size of files that a capture keeps in git. Git compresses slowly,
// and large files would bloat the user's repository.
const maxGitBlob = 32 << 20

// wantsBlob reports whether git's name is needed for a file of the given size.
func (in *files) wantsBlob(size int64) bool { return in.namesBlobs && size <= maxGitBlob }

// Describe returns the entry of one file. Its errors include fs.ErrNotExist, ErrNotRegular
// and ErrUnstable. Links in the directories above the file are followed within the
// workspace; a link at the path itself is not.
func (w *Workspace) Describe(ctx context.Context, path string) (Entry, error) {
	if e, ok := w.memo.lookup(path); ok {
		return e, nil
	}
	f, err := w.files.describe(ctx, w.tree.Place(path), path, w.files.wantsBlob)
	if tree.RefusedByRoot(err) {
		if real := w.tree.RealPath(path); real != path {
			f, err = w.files.describe(ctx, w.tree.Place(real), path, w.files.wantsBlob)
		}
	}
	return f.entry, err
}

func (in *files) describe(ctx context.Context, at tree.Place, path string, withBlob func(size int64) bool) (found, error) {
	f, err := in.inspect(at, path, withBlob)
	if err == nil && !f.hasDigest() {
		err = in.readDigest(ctx, at, &f, withBlob)
	}
	if err != nil {
		return found{}, withPath(path, in.tree.MarkOutside(path, err))
	}
	return f, nil
}

// DescribeEach returns the entries of the files at sorted paths. No directory above them
// may be a link, as in the results of Match. Files that have vanished are omitted. The
// caller must not change the entries, since they may be shared.
func (w *Workspace) DescribeEach(ctx context.Context, paths []string) ([]Entry, error) {
	if run, ok := w.memo.lookupRun(paths); ok {
		return run, nil
	}
	entries := make([]Entry, len(paths))
	rest := w.memo.recall(paths, entries)
	err := w.tree.Each(ctx, len(rest), 1+min(chunkSize, len(rest)/8), func(ctx context.Context, c *tree.Cursor, n int) error {
		i := rest[n]
		f, err := w.files.describeIn(ctx, c, paths[i])
		if tree.IsAbsent(err) {
			return nil
		}
		entries[i] = f.entry
		return err
	})
	if err != nil {
		return nil, err
	}
	w.memo.record(entries, rest)
	all := entries[:0]
	for _, e := range entries {
		if e.Path != "" {
			all = append(all, e)
		}
	}
	return all, nil
}

func (in *files) describeIn(ctx context.Context, c *tree.Cursor, path string) (found, error) {
	return in.describe(ctx, c.Place(path), path, in.wantsBlob)
}

// chunkSize is the number of files that a worker takes at once.
const chunkSize = 64

// bufferSize is the number of bytes that are read from a file at once.
const bufferSize = 256 << 10

// readStable passes the bytes of a regular file to consume, which reads them to their
// end. It checks that no process wrote to the file meanwhile, and returns the file's
// status. It never waits for the writer of a pipe.
func (in *files) readStable(ctx context.Context, at tree.Place, consume func(r io.Reader, from *origin) error) (os.FileInfo, error) {
	f, err := at.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	before, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	if before.Size() > maxFile {
		return nil, errTooLong
	}
	// Read at most one byte more than the size, since a file may grow while it is read.
	from := &origin{file: f, size: before.Size(), perm: before.Mode().Perm(), below: &contextReader{ctx: ctx, r: f}}
	counted := &countingReader{r: io.LimitReader(from.below, before.Size()+1)}
	err = consume(counted, from)
	if counted.n > before.Size() || errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrUnstable
	}
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if counted.n != before.Size() || statcache.StatOf(before) != statcache.StatOf(after) {
		return nil, ErrUnstable
	}
	return before, nil
}

// origin is a file that is being read.
type origin struct {
	file  *os.File
	size  int64
	perm  fs.FileMode
	below *contextReader // the reader of the bytes; consume may set it to a clone of the file before it reads
}

// contextReader is a reader that fails once its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// buffers holds buffers to copy bytes with.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{sync.Pool{New: func() any {
		b := make([]byte, bufferSize)
		return &b
	}}}
}

// copyBytes copies bytes through one of the buffers.
func (b *buffers) copyBytes(to io.Writer, from io.Reader) error {
	buf := b.pool.Get().(*[]byte)
	defer b.pool.Put(buf)
	// Hide the methods of both ends, which would use smaller buffers of their own.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, *buf)
	return err
}

// withPath adds the path to an error.
func withPath(path string, err error) error { return fmt.Errorf("%s: %w", path, err) }

// SaveCache writes the cache if it has changed. A failure only costs time later, so that
// callers may ignore it.
func (w *Workspace) SaveCache() error {
	if !w.cache.HasChanges() {
		return nil
	}
	err := dropRemoved(w)
	if err == nil {
		err = dropHidden(w)
	}
	if err == nil {
		err = w.cache.Save()
	}
	if err != nil {
		return fmt.Errorf("save the cache: %w", err)
	}
	return nil
}

// dropRemoved drops the entries of files that no longer exist.
func dropRemoved(w *Workspace) error {
	paths := w.cache.UnusedPaths()
	gone := make([]bool, len(paths))
	err := w.tree.Each(context.Background(), len(paths), chunkSize, func(_ context.Context, _ *tree.Cursor, i int) error {
		_, err := w.tree.Lstat(paths[i])
		gone[i] = tree.IsAbsent(err)
		return nil
	})
	n := 0
	w.cache.Remove(slices.DeleteFunc(paths, func(string) bool {
		n++
		return !gone[n-1]
	}))
	return err
}

// dropHidden drops the entries of files whose names may not be recorded.
func dropHidden(w *Workspace) error {
	if w.files.refusal == nil {
		return nil
	}
	var hidden []string
	for _, path := range w.cache.Paths() {
		found, err := w.files.refusal.detectIn(path)
		if err != nil {
			return err
		}
		if found {
			hidden = append(hidden, path)
		}
	}
	w.cache.Remove(hidden)
	return nil
}

// OpenNow returns the bytes that the workspace has now at an entry's path.
func (w *Workspace) OpenNow(_ context.Context, e Entry) (io.ReadCloser, error) {
	name := tree.Native(e.Path)
	info, err := w.tree.Root().Lstat(name)
	if err != nil {
		return nil, withPath(e.Path, w.tree.MarkOutside(e.Path, err))
	}
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := w.tree.Root().Readlink(name)
		if err != nil {
			return nil, withPath(e.Path, err)
		}
		return io.NopCloser(strings.NewReader(target)), nil
	}
	f, err := w.tree.Root().OpenFile(name, os.O_RDONLY|NonBlock, 0)
	if err != nil {
		return nil, withPath(e.Path, err)
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	} else if err == nil && info.Size() > maxFile {
		err = errTooLong
	}
	if err != nil {
		return nil, errors.Join(withPath(e.Path, err), f.Close())
	}
	return f, nil
}

// OpenFile returns the bytes of the file that the workspace now has at the path of an
// entry, verified as by Open. If they do not match the entry, reading ends with a
// *ChangedError.
func (w *Workspace) OpenFile(ctx context.Context, e Entry) (io.ReadCloser, error) {
	r, err := w.OpenNow(ctx, e)
	if err != nil {
		return nil, err
	}
	return &verifier{r: r, e: e, sha: sha256.New(), wrong: &ChangedError{Path: e.Path}}, nil
}
