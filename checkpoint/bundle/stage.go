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

// Staged is an archive whose members lie unpacked, all of them verified. It is
// not durable: it is there for its members to be copied from, and to be
// removed.
type Staged struct {
	Contents
	open   func(i int) (io.ReadCloser, error) // a member, by its place in the table
	remove func() error
}

// Stage unpacks an archive into a new directory, whose parent must exist. The
// members lie in it under numbers, never under a name of the archive's. After
// an error there is no directory, unless it could not be removed, which the
// error says too; errors are those of Verify, and those of fsys.
func Stage(ctx context.Context, fsys store.FS, dir string, r io.Reader, limits Limits) (*Staged, error) {
	if err := fsys.Mkdir(dir, store.DirPerm); err != nil {
		return nil, fmt.Errorf("make a directory for the archive: %w", err)
	}
	c, err := read(ctx, r, limits, func(i int) (io.WriteCloser, error) {
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

// Unstage removes a directory that Stage made, such as one that a crash left
// behind. One that is not there is no error; in one with other files in it
// nothing is removed.
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

// Remove removes what was staged.
func (s *Staged) Remove() error { return s.remove() }

// Open returns the bytes of a member, or fs.ErrNotExist. They are verified
// again while they are read, since a directory lies open to others: the read
// that would reach their end returns *DamagedError in place of io.EOF if they
// are no longer what the table says.
func (s *Staged) Open(name string) (io.ReadCloser, error) {
	i := find(s.Members, name)
	if i < 0 {
		return nil, fmt.Errorf("open %s of the archive: %w", quote(name), fs.ErrNotExist)
	}
	f, err := s.open(i)
	if err != nil {
		return nil, fmt.Errorf("open %s of the archive: %w", quote(name), err)
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
