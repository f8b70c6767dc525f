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
