package workspace

import (
	"context"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
)

// found is a file as it was met.
type found struct {
	entry  Entry  // without a Digest: nobody has read it yet
	blob   string // git's name of the bytes, if it was asked for
	target string // of a symbolic link
}

func (f *found) known() bool { return f.entry.Digest != "" }

func (f *found) isLink() bool { return f.entry.Mode == ModeSymlink }

func (f *found) set(s sums) {
	f.entry.Digest = digestOf(s.sha)
	f.blob = hex.EncodeToString([]byte(s.blob))
}

// look describes a file by what stat, a link's target and the cache say of it.
// A regular file that the cache does not know remains unknown.
func (w *Workspace) look(dir *os.Root, name, path string, withBlob bool) (found, error) {
	info, err := dir.Lstat(native(name))
	if err != nil {
		return found{}, err
	}
	f := found{entry: Entry{Path: path, Mode: uint32(info.Mode().Perm()), Size: info.Size()}}
	switch {
	case info.Mode().IsRegular():
		if s, ok := w.cache.get(path, statOf(info), withBlob); ok {
			f.set(s)
		}
	case info.Mode()&fs.ModeSymlink != 0:
		f.target, err = dir.Readlink(native(name))
		f.entry.Size, f.entry.Mode = int64(len(f.target)), ModeSymlink
		f.set(w.sumText(f.target, withBlob))
	default:
		err = ErrNotRegular
	}
	return f, err
}

// hash reads a regular file that look did not know, and writes its bytes to
// the given writers, too.
func (w *Workspace) hash(ctx context.Context, dir *os.Root, name string, f *found, withBlob bool) error {
	return w.readInto(ctx, dir, name, f, withBlob, func(r io.Reader, _ int64) error { return w.copy(io.Discard, r) })
}

// readInto gives the bytes of a regular file to consume, and describes them as
// they were read.
func (w *Workspace) readInto(ctx context.Context, dir *os.Root, name string, f *found, withBlob bool, consume func(r io.Reader, size int64) error) error {
	began := w.cache.now()
	var s *summer
	info, err := w.read(ctx, dir, native(name), func(r io.Reader, size int64) error {
		s = w.newSummer(size, withBlob)
		return consume(io.TeeReader(r, s), size)
	})
	if err != nil {
		return err
	}
	f.entry.Mode, f.entry.Size = uint32(info.Mode().Perm()), info.Size()
	sums := s.sums()
	f.set(sums)
	w.cache.put(f.entry.Path, statOf(info), sums, began)
	return nil
}

// Describe looks at one file: fs.ErrNotExist, ErrNotRegular, ErrUnstable.
func (w *Workspace) Describe(ctx context.Context, path string) (Entry, error) {
	f, err := w.look(w.root, path, path, false)
	if err == nil && !f.known() {
		err = w.hash(ctx, w.root, path, &f, false)
	}
	if err != nil {
		return Entry{}, failed(path, err)
	}
	return f.entry, nil
}

// DescribeAll looks at all files that match, without those that leaveOut names
// (nil: none). What vanishes between matching and reading is left out, too.
func (w *Workspace) DescribeAll(ctx context.Context, patterns []string, leaveOut func(string) bool) ([]Entry, error) {
	paths, err := w.Glob(ctx, patterns)
	if err != nil {
		return nil, err
	}
	if leaveOut != nil {
		kept := paths[:0]
		for _, p := range paths {
			if !leaveOut(p) {
				kept = append(kept, p)
			}
		}
		paths = kept
	}
	entries := make([]Entry, len(paths))
	err = w.each(ctx, len(paths), 1+min(chunkSize, len(paths)/8), func(ctx context.Context, _ *cursor, i int) error {
		e, err := w.Describe(ctx, paths[i])
		if absent(err) {
			return nil
		}
		entries[i] = e
		return err
	})
	if err != nil {
		return nil, err
	}
	all := entries[:0]
	for _, e := range entries {
		if e.Path != "" {
			all = append(all, e)
		}
	}
	return all, nil
}

// chunkSize is how many files one of several workers takes at once.
const chunkSize = 64
