package state

import (
	"slices"

	"prdrunner/checkpoint/workspace/git"
)

// MostModified is how many files a WorkTree names at most.
const MostModified = 1000

// WorkTree says how the files of a git work tree differed from HEAD when git was last
// asked.
type WorkTree struct {
	Modified []ModifiedFile `json:"modified"`
	Omitted  int            `json:"omitted,omitempty"` // how many more files differed
	// Later says that work was recorded or files were captured since git was asked.
	// Events never have it.
	Later bool `json:"later,omitempty"`
}

// ModifiedFile is a file that differs from HEAD.
type ModifiedFile struct {
	Path   Text           `json:"path"`
	Status git.FileStatus `json:"status"`
	Staged bool           `json:"staged"` // the index differs from HEAD
}

// NewWorkTree returns a work tree in which the given files differ from HEAD.
func NewWorkTree(files []git.Modified) *WorkTree {
	kept := files[:min(len(files), MostModified)]
	t := &WorkTree{Modified: make([]ModifiedFile, len(kept)), Omitted: len(files) - len(kept)}
	for i, f := range kept {
		t.Modified[i] = ModifiedFile{Path: Text(f.Path), Status: f.Status, Staged: f.Staged}
	}
	return t
}

// passWorkTree records that the files may differ from those about which git was asked.
func (s *State) passWorkTree() {
	if t := s.WorkTree; t != nil && !t.Later {
		s.WorkTree = &WorkTree{Modified: t.Modified, Omitted: t.Omitted, Later: true}
	}
}

// CurrentWorkTree returns how the files of the state differ from HEAD, nil if git was not
// asked since work was recorded or files were captured.
func (s *State) CurrentWorkTree() *WorkTree {
	if s.WorkTree == nil || s.WorkTree.Later {
		return nil
	}
	return s.WorkTree
}

// Equal reports whether the same files differ from HEAD in the same way, whenever git was
// asked. A nil work tree equals only a nil one.
func (t *WorkTree) Equal(other *WorkTree) bool {
	if t == nil || other == nil {
		return t == other
	}
	return t.Omitted == other.Omitted && slices.Equal(t.Modified, other.Modified)
}
