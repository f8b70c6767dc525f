package state

import "slices"

// Held is the result of work that was done in a work tree, from the end of the process until
// the artifacts are in the workspace.
type Held struct {
	// Before has the files that the work created, changed or deleted, as they were in the work
	// tree before it: without a digest, the file did not exist. Their bytes are kept as objects.
	// An artifact that is not among them is as it was.
	Before []Artifact `json:"before,omitempty"`
}

// Returns reports whether the result of a workstream is held and all its gates have passed. Its
// artifacts go into the workspace, even if Runner is killed meanwhile.
func (w *Workstream) Returns() bool {
	return w.Held != nil && w.Status == Running && !slices.ContainsFunc(w.Gates, func(g *Gate) bool {
		return g.Status != Passed && g.Status != Skipped
	})
}

// Returning returns the workstreams whose artifacts are to be put into the workspace. s may be
// nil.
func (s *State) Returning() []*Workstream {
	if s == nil {
		return nil
	}
	var all []*Workstream
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if w.Returns() {
				all = append(all, w)
			}
		}
	}
	return all
}

// HeldFiles returns the files that the held result of a workstream replaces, nil if none is held.
func (w *Workstream) HeldFiles() []Artifact {
	if w.Held == nil {
		return nil
	}
	return w.Held.Before
}

// dropHeld forgets a held result that does not come back. Its artifacts are not in the
// workspace.
func (w *Workstream) dropHeld() {
	if w.Held != nil {
		w.Held, w.Artifacts, w.Edited = nil, nil, nil
	}
}
