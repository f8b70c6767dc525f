package workspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/store"
)

// TrackedBelow returns what git's index has below a directory: paths relative to the
// directory. It is empty where the directory is in no git work tree, or where there is no
// git program. Git is started only where the bytes of the index show that something
// may be tracked there.
func TrackedBelow(ctx context.Context, c Commander, dir string) ([]string, error) {
	t, err := findTree(dir)
	if err != nil || t == nil {
		return nil, err
	}
	index, err := os.ReadFile(filepath.Join(t.gitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read git's index: %w", err)
	}
	if !t.mayTrack(index) {
		return nil, nil
	}
	var tracked []string
	list := []string{"ls-files", "-z", "--cached"}
	if t.below != "" && !t.folds {
		list = append(list, "--", t.below)
	}
	g := t.git(c)
	err = g.eachRecord(ctx, g.command(list...), func(name string) error {
		if rel, ok := t.relative(name); ok {
			tracked = append(tracked, rel)
		}
		return nil
	})
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask git what it tracks in %s: %w", dir, err)
	}
	return slices.Compact(tracked), nil // a conflicted file is listed once for each side
}

// Untrack takes files below a directory out of git's index, and leaves the files
// themselves as they are. The paths are those that TrackedBelow returned.
func Untrack(ctx context.Context, c Commander, dir string, paths []string) error {
	t, err := findTree(dir)
	if err != nil || t == nil {
		return err
	}
	var names strings.Builder
	for _, p := range paths {
		names.WriteString(path.Join(t.below, p) + "\x00")
	}
	if _, err := t.git(c).output(ctx, strings.NewReader(names.String()), "update-index", "-z", "--force-remove", "--stdin"); err != nil {
		return fmt.Errorf("take the files in %s out of git's index: %w", dir, err)
	}
	return nil
}

// workTree is the git work tree that a directory lies in.
type workTree struct {
	top    string
	gitDir string
	below  string // the directory's path below top, slash-separated; "" for top itself
	folds  bool   // names that differ only in case are the same file there
}

// findTree finds the work tree that a directory lies in without starting git. It is nil where
// there is none.
func findTree(dir string) (*workTree, error) {
	at, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // documented above
	}
	if err == nil {
		at, err = filepath.Abs(at)
	}
	if err != nil {
		return nil, fmt.Errorf("look for the git work tree of %s: %w", dir, err)
	}
	for repository, err := range repositoriesOf(at) {
		if err != nil {
			return nil, err
		}
		gitDir, err := gitDirOf(repository)
		if err != nil {
			return nil, fmt.Errorf("look for the git work tree of %s: %w", dir, err)
		}
		if gitDir == "" {
			continue
		}
		top := filepath.Dir(repository)
		rel, err := filepath.Rel(top, at)
		if err != nil {
			return nil, fmt.Errorf("look for the git work tree of %s: %w", dir, err)
		}
		t := &workTree{top: top, gitDir: gitDir, folds: foldsCase(at)}
		if rel != "." {
			t.below = filepath.ToSlash(rel)
		}
		return t, nil
	}
	return nil, nil //nolint:nilnil // documented above
}

// gitDirOf returns the directory that a .git is or names, "" where it is neither: git
// passes by it then, too.
func gitDirOf(repository string) (string, error) {
	info, err := os.Stat(repository)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	gitDir := repository
	if info.Mode().IsRegular() {
		data, err := store.ReadFile(store.OS(), repository)
		if err != nil {
			return "", err
		}
		name, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: ")
		if !ok {
			return "", nil
		}
		if gitDir = filepath.FromSlash(name); !filepath.IsAbs(gitDir) {
			gitDir = filepath.Join(filepath.Dir(repository), gitDir)
		}
	}
	if _, err := os.Stat(filepath.Join(gitDir, "HEAD")); err != nil {
		return "", nil //nolint:nilerr // it is no repository
	}
	return gitDir, nil
}

// foldsCase reports whether the last element of a path names the same file when its
// case is changed.
func foldsCase(at string) bool {
	dir, name := filepath.Split(at)
	other := strings.ToUpper(name)
	if other == name {
		other = strings.ToLower(name)
	}
	if other == name {
		return false
	}
	is, err := os.Lstat(at)
	if err != nil {
		return false
	}
	also, err := os.Lstat(filepath.Join(dir, other))
	return err == nil && os.SameFile(is, also)
}

// git is the work tree for git commands that take no path relative to another
// directory than its top.
func (t *workTree) git(c Commander) *Git {
	return &Git{commander: c, dir: t.top, gitDir: t.gitDir, fs: store.OS()}
}

// mayTrack reports whether an index may have something below the directory. In
// versions 2 and 3 it holds whole paths, unless a part of it stands in another
// file (the extension "link") or a directory stands for what is in it ("sdir").
func (t *workTree) mayTrack(index []byte) bool {
	const header = 12
	if t.below == "" || len(index) < header || string(index[:4]) != "DIRC" || binary.BigEndian.Uint32(index[4:8]) > 3 {
		return true
	}
	if bytes.Contains(index, []byte("link\x00")) || bytes.Contains(index, []byte("sdir\x00")) {
		return true
	}
	below := []byte(t.below + "/")
	if t.folds {
		index, below = bytes.ToLower(index), bytes.ToLower(below)
	}
	return bytes.Contains(index, below)
}

// relative returns the path of a file of the index below the directory; ok is false
// for one that is elsewhere.
func (t *workTree) relative(name string) (rel string, ok bool) {
	if t.below == "" {
		return name, true
	}
	n := len(t.below) + 1
	if len(name) <= n {
		return "", false
	}
	prefix := t.below + "/"
	if name[:n] == prefix || t.folds && strings.EqualFold(name[:n], prefix) {
		return name[n:], true
	}
	return "", false
}
