package workspace

import (
	"fmt"
	"io/fs"

	"prdrunner/checkpoint/workspace/git"
)

// Git returns the work tree that captures use; nil if they use none.
func (w *Workspace) Git() *git.Repository {
	if w.o.Mode == GitOff {
		return nil
	}
	return w.o.Git
}

// Repository returns the work tree that may keep the bytes of captures, even if new
// captures do not use it. It returns nil outside a work tree, or if the repository could
// not be opened.
func (w *Workspace) Repository() *git.Repository { return w.o.Git }

// UnaskedRepositoryError says that a repository exists and could not be opened, so that
// Runner does not know which bytes it keeps. It is an fs.ErrPermission: nothing is lost.
type UnaskedRepositoryError struct{ Dir string }

func (e *UnaskedRepositoryError) Error() string {
	return fmt.Sprintf("the git repository of %s cannot be asked what it keeps of earlier captures: make git work there, or set checkpoint.git.mode to ref to see why not", e.Dir)
}

// Is implements errors.Is.
func (*UnaskedRepositoryError) Is(target error) bool { return target == fs.ErrPermission }

// Unasked returns an *UnaskedRepositoryError if Runner can't tell whether git has the
// bytes of a capture, else nil.
func (w *Workspace) Unasked() error {
	if w.o.Git != nil || w.o.Mode != GitOff {
		return nil // with another mode, opening the workspace reported the error
	}
	there, err := git.Exists(w.o.Dir)
	if err == nil && there {
		err = &UnaskedRepositoryError{Dir: w.o.Dir}
	}
	return err
}

// CommitsToBranch reports whether captures are commits on the user's branch.
func (w *Workspace) CommitsToBranch() bool { return w.o.Mode == GitCommit && w.o.Git != nil }

// Kept reports whether there is an object of a digest. It does not read the object.
func (w *Workspace) Kept(digest string) (bool, error) {
	if w.o.Objects == nil || digest == "" {
		return false, nil
	}
	return w.o.Objects.Has(digest)
}
