// Package isolate makes and removes the work trees of isolated workstreams, and puts what comes
// back from them into the workspace.
//
// A work tree is a directory outside the workspace with copies of its files. Begin with Trees:
// Make makes the work tree of an attempt, Tree.Before says which files the attempt changed, and
// Return puts artifacts into the workspace. Clear removes what a killed run has left.
//
// When a workstream is isolated, what is recorded of that and when its result comes back is
// decided in package runner. How files are copied belongs in package checkpoint/workspace, and
// git's commands in package checkpoint/workspace/git.
package isolate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"prdrunner/checkpoint/failpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// Options describe where work trees are made. All fields but Dir are required.
type Options struct {
	Dir       string // holds the work trees of all workspaces; "": a directory in the user's cache
	Workspace string // absolute
	StateDir  string // absolute
	PRD       string
	Files     *workspace.Workspace // the files of Workspace
	Commander git.Commander
}

// Trees makes the work trees of the workstreams of a PRD. It is safe for concurrent use.
type Trees struct {
	o    Options
	repo func() (*git.Repository, error) // the git work tree of the workspace; nil: there is none

	mu  sync.Mutex
	dir string // the result of place

	linking sync.Mutex // held while git adds a work tree
}

// New returns the work trees of a PRD. It makes nothing.
func New(o Options) *Trees {
	t := &Trees{o: o}
	t.repo = sync.OnceValues(func() (*git.Repository, error) {
		return git.Open(context.Background(), o.Commander, o.Workspace)
	})
	return t
}

// ownName is the name of Runner's directory in the user's cache.
const ownName = "prdrunner"

// errNoPlace says that work trees would be part of the workspace.
var errNoPlace = errors.New("there is no directory for work trees outside of the workspace: the user's cache and the directory for temporary files are in it. Set XDG_CACHE_HOME or TMPDIR to a directory elsewhere")

// place returns the directory that holds the work trees of the PRD, without making it. It is
// in the user's cache: that is rarely in memory, and often on the file system of the workspace,
// so that copies may share blocks.
func (t *Trees) place() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir != "" {
		return t.dir, nil
	}
	base, err := t.base()
	if err != nil {
		return "", err
	}
	t.dir = filepath.Join(base, safeName(t.o.PRD)+"-"+shortSum(t.o.StateDir+"\x00"+t.o.PRD))
	return t.dir, nil
}

func (t *Trees) base() (string, error) {
	if t.o.Dir != "" {
		return t.o.Dir, nil
	}
	var candidates []string
	if cache, err := os.UserCacheDir(); err == nil {
		candidates = append(candidates, filepath.Join(cache, ownName, "worktrees"))
	}
	candidates = append(candidates, filepath.Join(os.TempDir(), fmt.Sprintf("%s-%d", ownName, os.Getuid()), "worktrees"))
	for _, dir := range candidates {
		dir, err := filepath.Abs(dir)
		if err == nil && !isWithin(t.o.Workspace, dir) {
			return dir, nil
		}
	}
	return "", errNoPlace
}

// isWithin reports whether a path is a directory or below it, also behind links.
func isWithin(dir, path string) bool {
	for _, resolve := range []func(string) string{filepath.Clean, realPath} {
		if rel, err := filepath.Rel(resolve(dir), resolve(path)); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// realPath resolves the links on the way to a path, as far as it exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(realPath(dir), filepath.Base(path))
	}
	return path
}

// makePlace makes the directory that holds the work trees of the PRD. Only its owner can enter
// it, because files of the workspace may be secret.
func (t *Trees) makePlace() (string, error) {
	dir, err := t.place()
	if err != nil {
		return "", err
	}
	if err := failpoint.Before(failpoint.Mkdir, filepath.Base(dir)); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil { // fails if another user made it
		return "", err
	}
	return filepath.EvalSymlinks(dir) // git records such a path
}

// Clear removes all work trees of the PRD. The caller holds the lock of its session, and
// nothing runs.
func (t *Trees) Clear() error {
	dir, err := t.place()
	if errors.Is(err, errNoPlace) {
		return nil // so nothing was made either
	}
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for work trees of an earlier run: %w", err)
	}
	return t.remove(real)
}

// remove removes a directory with work trees, and what git knows of them. Git comes first: if
// Runner is killed in between, the directory is still there to say that something is left.
func (t *Trees) remove(dir string) error {
	there, err := git.Exists(t.o.Workspace)
	if err == nil && there {
		var repo *git.Repository
		if repo, err = t.repo(); err == nil && repo != nil {
			err = repo.ForgetLinked(dir)
		}
	}
	return errors.Join(err, removeAll(dir))
}

// removeAll removes a directory, also if a process has made directories in it read-only.
func removeAll(dir string) error {
	if err := failpoint.Before(failpoint.Remove, filepath.Base(dir)); err != nil {
		return err
	}
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory needs the bit to be entered
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// shortSum returns the beginning of the SHA-256 of a text.
func shortSum(text string) string {
	const enough = 6
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:enough])
}

// safeName returns the beginning of a name without characters that are special in some file
// system.
func safeName(name string) string {
	const most = 40
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, name[:min(len(name), most)])
}
