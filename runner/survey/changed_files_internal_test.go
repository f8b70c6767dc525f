package survey

import (
	"testing"

	"prdrunner/checkpoint/workspace"
)

// TestMovedBetweenSparse has a sparse checkout end in a run: its files have come, and
// nobody has added them, although what git had of them may not be known any more.
func TestMovedBetweenSparse(t *testing.T) {
	t.Parallel()
	was := &workspace.Listing{Sparse: []workspace.Entry{{Path: "y/g", Mode: 0o644, Blob: "0123"}}}
	is := &workspace.Listing{Entries: []workspace.Entry{{Path: "y/g", Mode: 0o644, Digest: "sha256:4567"}}}
	if got := firstChange(was, is, workspace.Scope{Git: true}, workspace.Scope{Git: true}); got != otherSparse {
		t.Errorf("it says %q, want %q", got, otherSparse)
	}
}
