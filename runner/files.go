package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"prdrunner/checkpoint"
)

// symlinkMode marks a symbolic link in checkpoint.Artifact.Mode.
const symlinkMode = 0o120000

// tree reads the workspace. Everything goes through an os.Root, so that no
// link and no pattern leads outside it.
type tree struct {
	root *os.Root
	skip []string // slash-separated directories that are never part of a glob
}

// openTree opens the workspace. skip names directories (absolute) whose files
// never count, such as the state directory.
func openTree(workspace string, skip ...string) (*tree, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	t := &tree{root: root, skip: []string{".git"}}
	for _, dir := range skip {
		if rel, err := filepath.Rel(workspace, dir); err == nil && filepath.IsLocal(rel) {
			t.skip = append(t.skip, filepath.ToSlash(rel))
		}
	}
	return t, nil
}

func (t *tree) close() error { return t.root.Close() }

// glob returns the files that match any of the patterns, sorted, without
// duplicates. Directories do not match; symbolic links do, and are not followed.
func (t *tree) glob(ctx context.Context, patterns []string) ([]string, error) {
	var found []string
	fsys := t.root.FS()
	for _, pattern := range patterns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !strings.ContainsAny(pattern, `*?[{\`) {
			if info, err := t.root.Lstat(filepath.FromSlash(pattern)); err == nil && !info.IsDir() {
				found = append(found, path.Clean(pattern))
			}
			continue
		}
		err := doublestar.GlobWalk(fsys, pattern, func(p string, d fs.DirEntry) error {
			if t.skipped(p) {
				if d.IsDir() {
					return doublestar.SkipDir
				}
				return nil
			}
			if !d.IsDir() {
				found = append(found, p)
			}
			return ctx.Err()
		}, doublestar.WithNoFollow(), doublestar.WithFailOnIOErrors())
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // what vanishes meanwhile is not there
			return nil, fmt.Errorf("match %q: %w", pattern, err)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

func (t *tree) skipped(p string) bool {
	for _, dir := range t.skip {
		if p == dir || strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

// errNotRegular says that a path is something that has no content to record.
var errNotRegular = errors.New("is neither a regular file nor a symbolic link")

// errUnstable says that a file changed while it was read.
var errUnstable = errors.New("changed while it was read")

// describe records one file: its size, mode and digest.
func (t *tree) describe(ctx context.Context, p string) (checkpoint.Artifact, error) {
	name := filepath.FromSlash(p)
	info, err := t.root.Lstat(name)
	if err != nil {
		return checkpoint.Artifact{}, err
	}
	a := checkpoint.Artifact{Path: checkpoint.Text(p), Mode: uint32(info.Mode().Perm())}
	switch {
	case info.Mode().IsRegular():
		a.Size, a.Digest, err = t.digestFile(ctx, name)
	case info.Mode()&fs.ModeSymlink != 0:
		var target string
		target, err = t.root.Readlink(name)
		a.Size, a.Mode, a.Digest = int64(len(target)), symlinkMode, sum([]byte(target))
	default:
		err = errNotRegular
	}
	if err != nil {
		return checkpoint.Artifact{}, fmt.Errorf("%s: %w", p, err)
	}
	return a, nil
}

// digestFile hashes a regular file, and makes sure that it was not written
// to meanwhile.
func (t *tree) digestFile(ctx context.Context, name string) (int64, string, error) {
	f, err := t.root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = f.Close() }()
	before, err := f.Stat()
	if err != nil {
		return 0, "", err
	}
	if !before.Mode().IsRegular() {
		return 0, "", errNotRegular
	}
	h := sha256.New()
	n, err := io.Copy(h, &contextReader{ctx: ctx, r: f})
	if err != nil {
		return 0, "", err
	}
	after, err := f.Stat()
	if err != nil {
		return 0, "", err
	}
	if n != after.Size() || before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime()) {
		return 0, "", errUnstable
	}
	return n, "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// contextReader stops reading when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// describeAll records all files that match the patterns, without those that
// leaveOut names (nil: none). What vanishes between matching and reading is
// left out, too.
func (t *tree) describeAll(ctx context.Context, patterns []string, leaveOut func(string) bool) ([]checkpoint.Artifact, error) {
	paths, err := t.glob(ctx, patterns)
	if err != nil {
		return nil, err
	}
	all := make([]checkpoint.Artifact, 0, len(paths))
	for _, p := range paths {
		if leaveOut != nil && leaveOut(p) {
			continue
		}
		a, err := t.describe(ctx, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// artifacts records what a workstream was to make. A pattern that matches
// nothing is a failure of the workstream, and so is a file that has no content.
func (t *tree) artifacts(ctx context.Context, patterns []string) ([]checkpoint.Artifact, error) {
	for _, pattern := range patterns {
		paths, err := t.glob(ctx, []string{pattern})
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			if info, err := t.root.Lstat(filepath.FromSlash(pattern)); err == nil && info.IsDir() {
				return nil, fmt.Errorf("the declared artifact %q is a directory; %q names the files in it", pattern, pattern+"/**")
			}
			return nil, fmt.Errorf("the declared artifact %q does not exist", pattern)
		}
	}
	return t.describeAll(ctx, patterns, nil)
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(s[:])
}

// digestOf is the digest of a list of parts; no two different lists have the same.
func digestOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
