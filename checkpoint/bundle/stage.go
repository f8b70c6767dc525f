package bundle

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
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/store"
)

// Staged is an unpacked archive with verified members. It is not durable: the caller copies
// the members and removes it.
type Staged struct {
	Contents
	open   func(i int) (io.ReadCloser, error) // opens a member by its index in the table
	remove func() error
}

// Stage unpacks an archive into a new directory, whose parent must exist. It names the
// members by numbers, never by names from the archive. After an error it removes the
// directory; if that fails too, the error says so. The errors are those of Verify, and
// those of fsys.
func Stage(ctx context.Context, fsys store.FS, dir string, r io.Reader, limits Limits) (*Staged, error) {
	if err := fsys.Mkdir(dir, store.DirPerm); err != nil {
		return nil, fmt.Errorf("make a directory for the archive: %w", err)
	}
	c, err := readArchive(ctx, r, limits, func(i int) (io.WriteCloser, error) {
		f, err := fsys.OpenFile(stagedPath(dir, i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, store.FilePerm)
		if err != nil {
			return nil, fmt.Errorf("write what the archive holds: %w", err)
		}
		return f, nil
	})
	if err != nil {
		return nil, errors.Join(err, Unstage(fsys, dir))
	}
	open := func(i int) (io.ReadCloser, error) { return store.OpenRegular(fsys, stagedPath(dir, i)) }
	return &Staged{Contents: *c, open: open, remove: func() error { return Unstage(fsys, dir) }}, nil
}

func stagedPath(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("%06d", i+1)) }

func isStaged(name string) bool { return strings.Trim(name, "0123456789") == "" }

// Unstage removes a directory of Stage, for example after a crash. A missing directory is
// no error. It removes nothing from a directory that contains other files.
func Unstage(fsys store.FS, dir string) error {
	info, err := fsys.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return fmt.Errorf("remove the staging directory %s: %w", dir, err)
	}
	files, err := fsys.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("remove the staging directory: %w", err)
	}
	for _, f := range files {
		if !isStaged(f.Name()) {
			return fmt.Errorf("remove the staging directory %s: %s in it is from elsewhere", dir, f.Name())
		}
	}
	for _, f := range files {
		if err := fsys.Remove(filepath.Join(dir, f.Name())); err != nil {
			return fmt.Errorf("remove the staging directory: %w", err)
		}
	}
	if err := fsys.Remove(dir); err != nil {
		return fmt.Errorf("remove the staging directory: %w", err)
	}
	return nil
}

// Remove removes the unpacked members.
func (s *Staged) Remove() error { return s.remove() }

// Open returns a reader of a member, or fs.ErrNotExist. The reader verifies the bytes
// again, because other processes may change the directory: in place of io.EOF it returns
// *DamagedError if they differ from the table.
func (s *Staged) Open(name string) (io.ReadCloser, error) {
	i := memberIndex(s.Members, name)
	if i < 0 {
		return nil, fmt.Errorf("open %s of the archive: %w", quoteName(name), fs.ErrNotExist)
	}
	f, err := s.open(i)
	if err != nil {
		return nil, fmt.Errorf("open %s of the archive: %w", quoteName(name), err)
	}
	return &stagedReader{file: f, member: s.Members[i], sum: sha256.New()}, nil
}

// stagedReader verifies a member while it is read.
type stagedReader struct {
	file   io.ReadCloser
	member Member
	sum    hash.Hash
}

func (r *stagedReader) Read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	r.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(r.sum.Sum(nil)) != r.member.SHA256 {
		err = &DamagedError{Member: r.member.Name, Detail: "it was changed after the archive was unpacked"}
	}
	return n, err
}

func (r *stagedReader) Close() error { return r.file.Close() }
