package survey

import (
	"testing"

	"prdrunner/checkpoint/workspace"
)

// TestFirstChangeSparse ends a sparse checkout in a run: its files appear without being
// added, although their content in git may no longer be known.
func TestFirstChangeSparse(t *testing.T) {
	t.Parallel()
	was := &workspace.Listing{Sparse: []workspace.Entry{{Path: "y/g", Mode: 0o644, Blob: "0123"}}}
	is := &workspace.Listing{Entries: []workspace.Entry{{Path: "y/g", Mode: 0o644, Digest: "sha256:4567"}}}
	if got := firstChange(was, is, workspace.Scope{Git: true}, workspace.Scope{Git: true}); got != otherSparse {
		t.Errorf("it says %q, want %q", got, otherSparse)
	}
}
