package workspace

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/workspace/tree"
)

// TestRestoreKeepsStateDirectories: if a listing of an earlier version has files of a state
// directory, a restore neither restores nor removes files there, whether the directory's
// lock is in the listing or only in the workspace.
func TestRestoreKeepsStateDirectories(t *testing.T) {
	t.Parallel()
	entry := func(path, data string) Entry {
		return Entry{Path: path, Mode: 0o644, Size: int64(len(data)), Digest: shaOf(data)}
	}
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	put(t, dir, "here/"+tree.StateLock, "")
	put(t, dir, "here/PRD-001.json", "new")
	put(t, dir, "here/more.json", "more")

	shown := &Listing{Entries: []Entry{entry("gone/PRD-001.json", "old"), entry("gone/"+tree.StateLock, ""), entry("gone/run/x", "old")}}
	if changes := Diff(&Listing{}, shown); len(changes) > 0 {
		t.Errorf("a listing with a lock leads to changes: %v", changes)
	}

	old, is := entry("here/PRD-001.json", "old"), entry("here/PRD-001.json", "new")
	more := entry("here/more.json", "more")
	changes := []Change{{Path: is.Path, From: &is, To: &old}, {Path: more.Path, From: &more}}
	if left := w.OutsideState(Diff(&Listing{Entries: []Entry{is, more}}, &Listing{Entries: []Entry{old}})); len(left) > 0 {
		t.Errorf("changes in a state directory are left: %v", left)
	}
	done, err := w.Restore(context.Background(), changes, RestoreOptions{})
	if err != nil || done.Written+done.Deleted > 0 {
		t.Errorf("Restore = %+v, %v", done, err)
	}
	for name, want := range map[string]string{"PRD-001.json": "new", "more.json": "more"} {
		if got, err := os.ReadFile(filepath.Join(dir, "here", name)); string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}
