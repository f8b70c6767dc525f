package workspace

// Git returns the work tree that captures use, nil where they use none.
func (w *Workspace) Git() *Git {
	if w.o.Mode == GitOff {
		return nil
	}
	return w.o.Git
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

// NonBlock is the flag that keeps opening a file from waiting for the writer of
// a named pipe that took its place.
const NonBlock = openNonblock
