package git

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/store"
)

// distinguishesCase reports whether names that differ only in case are different files in
// the directory that holds the repository. core.ignoreCase may say otherwise, as after a
// clone was copied from another machine: then git would list only one of two such files.
func distinguishesCase(dir string) bool {
	for repository, err := range repositoriesOf(dir) {
		if err != nil {
			return false
		}
		is, err := os.Lstat(repository)
		if err != nil {
			continue
		}
		also, err := os.Lstat(filepath.Join(filepath.Dir(repository), strings.ToUpper(filepath.Base(repository))))
		return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(is, also)
	}
	return false
}

// Exists reports whether a directory, or one above it, has an entry .git, without which
// there is no work tree. It does not start git, which would take longer than many
// commands of Runner.
func Exists(dir string) (bool, error) {
	for repository, err := range repositoriesOf(dir) {
		if err != nil {
			return false, err
		}
		if _, err := os.Lstat(repository); !errors.Is(err, fs.ErrNotExist) {
			return true, nil // git will report any other error
		}
	}
	return false, nil
}

// repositoriesOf yields the paths at which a directory's repository may be: .git in the
// directory, and in each one above it.
func repositoriesOf(dir string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		at, err := filepath.EvalSymlinks(dir)
		if err != nil {
			yield("", fmt.Errorf("look for the git work tree of %s: %w", dir, err))
			return
		}
		for yield(filepath.Join(at, ".git"), nil) && at != filepath.Dir(at) {
			at = filepath.Dir(at)
		}
	}
}

// missingGit returns the error for a machine without the git program, or nil if there is
// no repository that would need it.
func missingGit(dir string) error {
	for repository, err := range repositoriesOf(dir) {
		if err != nil {
			return err
		}
		info, err := os.Stat(repository)
		if err == nil && info.IsDir() { // git ignores an empty .git
			_, err = os.Lstat(filepath.Join(repository, "HEAD"))
		}
		if err == nil {
			return &StateError{
				Detail: fmt.Sprintf("git is needed, since there is %s, and is not found in PATH", repository),
				Remedy: "put git on PATH; a new session does without it where checkpoint.git.mode is off",
			}
		}
	}
	return nil
}

// workTree is the git work tree that a directory lies in.
type workTree struct {
	top       string
	gitDir    string
	below     string // the directory's path below top, slash-separated; "" for top itself
	foldsCase bool   // names that differ only in case are the same file
}

// findWorkTree finds the work tree that a directory lies in without starting git. It
// returns nil outside a work tree.
func findWorkTree(dir string) (*workTree, error) {
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
		t := &workTree{top: top, gitDir: gitDir, foldsCase: foldsCase(at)}
		if rel != "." {
			t.below = filepath.ToSlash(rel)
		}
		return t, nil
	}
	return nil, nil //nolint:nilnil // documented above
}

// gitDirOf returns the directory that a .git is or names, or "" if it is neither a
// repository nor names one: git ignores it then, too.
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
