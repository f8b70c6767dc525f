package git

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

// git is the work tree for git commands that take no path relative to another
// directory than its top.
func (t *workTree) git(c Commander) *Repository {
	return &Repository{commander: c, dir: t.top, gitDir: t.gitDir, fs: store.OS()}
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
