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

// TrackedBelow returns the paths that git tracks below a directory, relative to it. It
// returns none if the directory is in no git work tree, or if there is no git program. It
// starts git only if the bytes of the index show that git may track something there.
func TrackedBelow(ctx context.Context, c Commander, dir string) ([]string, error) {
	t, err := findWorkTree(dir)
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
	if t.below != "" && !t.foldsCase {
		list = append(list, "--", t.below)
	}
	g := t.repository(c)
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
	return slices.Compact(tracked), nil // a file in conflict is listed once for each side
}

// Untrack removes files below a directory from git's index, and does not change the
// files. The paths are those that TrackedBelow returned.
func Untrack(ctx context.Context, c Commander, dir string, paths []string) error {
	t, err := findWorkTree(dir)
	if err != nil || t == nil {
		return err
	}
	var names strings.Builder
	for _, p := range paths {
		names.WriteString(path.Join(t.below, p) + "\x00")
	}
	if _, err := t.repository(c).output(ctx, strings.NewReader(names.String()), "update-index", "-z", "--force-remove", "--stdin"); err != nil {
		return fmt.Errorf("take the files in %s out of git's index: %w", dir, err)
	}
	return nil
}

// repository returns the repository for commands with paths relative to the top of the
// work tree.
func (t *workTree) repository(c Commander) *Repository {
	return &Repository{commander: c, dir: t.top, gitDir: t.gitDir, fs: store.OS()}
}

// mayTrack reports whether an index may have an entry below the directory. Versions 2 and
// 3 of the index hold whole paths, unless a second file has a part of the index (the
// extension "link") or one entry covers a directory ("sdir").
func (t *workTree) mayTrack(index []byte) bool {
	const header = 12
	if t.below == "" || len(index) < header || string(index[:4]) != "DIRC" || binary.BigEndian.Uint32(index[4:8]) > 3 {
		return true
	}
	if bytes.Contains(index, []byte("link\x00")) || bytes.Contains(index, []byte("sdir\x00")) {
		return true
	}
	below := []byte(t.below + "/")
	if t.foldsCase {
		index, below = bytes.ToLower(index), bytes.ToLower(below)
	}
	return bytes.Contains(index, below)
}

// relative returns the path of an index entry relative to the directory. ok is false if
// the entry is not below the directory.
func (t *workTree) relative(name string) (rel string, ok bool) {
	if t.below == "" {
		return name, true
	}
	n := len(t.below) + 1
	if len(name) <= n {
		return "", false
	}
	prefix := t.below + "/"
	if name[:n] == prefix || t.foldsCase && strings.EqualFold(name[:n], prefix) {
		return name[n:], true
	}
	return "", false
}
