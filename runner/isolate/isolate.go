// Package isolate makes and removes the work trees of isolated workstreams, and puts what comes
// back from them into the workspace.
//
// A work tree is a directory outside the workspace with copies of its files. Begin with Trees:
// Make makes the work tree of an attempt, Tree.Before says which files the attempt changed, and
// Clear removes what a killed run has left. Return puts artifacts into the workspace, and TakeBack
// undoes that. Settle does one or the other, and Finish does so after a kill. place.go says where
// work trees are.
//
// When a workstream is isolated, what is recorded of that and when its result comes back is
// decided in package runner. How files are copied belongs in package checkpoint/workspace, and
// git's commands in package checkpoint/workspace/git.
package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

	mu   sync.Mutex
	dir  string         // in which work trees were made; "": none was
	made map[*Tree]bool // work trees that are not removed yet

	linking sync.Mutex // held while git adds a work tree
}

// New returns the work trees of a PRD. It makes nothing.
func New(o Options) *Trees {
	t := &Trees{o: o, made: make(map[*Tree]bool)}
	t.repo = sync.OnceValues(func() (*git.Repository, error) {
		return git.Open(context.Background(), o.Commander, o.Workspace)
	})
	return t
}

// Clear removes all work trees of the PRD that earlier runs have left. The caller holds the lock
// of its session, and nothing runs. Where another user could have put something in the place of
// Runner's directories, no work tree was made, and nothing is removed.
func (t *Trees) Clear() error {
	for _, p := range t.places() {
		if _, err := os.Lstat(filepath.Join(p.base, p.own[0])); err != nil {
			continue // nearly always it does not exist, so nothing else is looked up
		}
		var unsafe *PlaceError
		switch dir, err := p.find(); {
		case errors.Is(err, fs.ErrNotExist), errors.As(err, &unsafe), err == nil && isWithin(t.o.Workspace, dir):
		case err != nil:
			return fmt.Errorf("look for work trees of an earlier run: %w", err)
		default:
			if err := t.remove(dir); err != nil {
				return fmt.Errorf("remove the work trees of an earlier run in %s: %w", dir, err)
			}
		}
	}
	return nil
}

// RemoveLeft removes, at the end of a run, the work trees that t has made and that are still
// there. It leaves those of others alone: if the lock of the session was lost, another run may
// have made some meanwhile.
func (t *Trees) RemoveLeft() error {
	t.mu.Lock()
	dir, left := t.dir, slices.Collect(maps.Keys(t.made))
	t.mu.Unlock()
	var errs []error
	for _, tr := range left {
		errs = append(errs, tr.Remove())
	}
	if dir != "" {
		_ = os.Remove(dir) // there may be work trees of others in it
	}
	return errors.Join(errs...)
}

func (t *Trees) remember(tr *Tree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dir = filepath.Dir(tr.top)
	t.made[tr] = true
}

func (t *Trees) forget(tr *Tree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.made, tr)
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
