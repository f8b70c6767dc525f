//go:build unix

package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEntriesOf: entriesOf lists all names, even if this takes several reads, and tells
// directories from other files.
func TestEntriesOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := map[string]bool{"dir": true, "link": false, "...": false, "\xff\n": false, strings.Repeat("x", 255): false}
	for i := range 2000 {
		want[fmt.Sprint(i)] = i%7 == 0
	}
	for name, isDir := range want {
		var err error
		switch {
		case name == "link":
			err = os.Symlink("dir", filepath.Join(dir, name))
		case isDir:
			err = os.Mkdir(filepath.Join(dir, name), 0o755)
		default:
			err = os.WriteFile(filepath.Join(dir, name), nil, 0o644)
		}
		must(t, err)
	}
	f, err := os.Open(dir)
	must(t, err)
	defer func() { _ = f.Close() }()
	entries, err := entriesOf(f)
	must(t, err)
	got := map[string]bool{}
	for _, e := range entries {
		got[e.Name] = e.IsDir
		if want[e.Name] != e.IsDir || e.isLink != (e.Name == "link") {
			t.Errorf("%q: %v", e.Name, e.IsDir)
		}
	}
	if len(entries) != len(want) || len(got) != len(want) {
		t.Errorf("%d names, %d of them different, want %d", len(entries), len(got), len(want))
	}
}
