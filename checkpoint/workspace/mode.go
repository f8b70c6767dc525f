package workspace

import (
	"fmt"
	"io/fs"

	"prdrunner/checkpoint/workspace/git"
)

// Git returns the work tree that captures use, nil where they use none.
func (w *Workspace) Git() *git.Repository {
	if w.o.Mode == GitOff {
		return nil
	}
	return w.o.Git
}

// Repository returns the work tree that may keep the bytes of captures, also where new ones use
// none; nil where there is none, or where it could not be opened.
func (w *Workspace) Repository() *git.Repository { return w.o.Git }

// UnaskedRepositoryError says that there is a repository that could not be opened, so that it is
// not known what it keeps. It is an fs.ErrPermission: nothing is lost because of it.
type UnaskedRepositoryError struct{ Dir string }

func (e *UnaskedRepositoryError) Error() string {
	return fmt.Sprintf("the git repository of %s cannot be asked what it keeps of earlier captures: make git work there, or set checkpoint.git.mode to ref to see why not", e.Dir)
}

// Is implements errors.Is.
func (*UnaskedRepositoryError) Is(target error) bool { return target == fs.ErrPermission }

// Unasked says why what a capture has in git can't be judged: an *UnaskedRepositoryError, or nil.
func (w *Workspace) Unasked() error {
	if w.o.Git != nil || w.o.Mode != GitOff {
		return nil // whoever opened it with git was told
	}
	there, err := git.Exists(w.o.Dir)
	if err == nil && there {
		err = &UnaskedRepositoryError{Dir: w.o.Dir}
	}
	return err
}

// CommitsToBranch reports whether captures are commits on the user's branch.
func (w *Workspace) CommitsToBranch() bool { return w.o.Mode == GitCommit && w.o.Git != nil }

// Kept reports whether the bytes of a digest are an object. It does not read
// them.
func (w *Workspace) Kept(digest string) (bool, error) {
	if w.o.Objects == nil || digest == "" {
		return false, nil
	}
	return w.o.Objects.Has(digest)
}
