package tree

import (
	"os"
	"path/filepath"
	"testing"
)

// openTree opens the tree in a directory.
func openTree(t testing.TB, dir string, skip ...string) *Tree {
	t.Helper()
	tree, err := Open(dir, skip)
	must(t, err)
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

// writeFile writes a file, and makes the directories above it.
func writeFile(t testing.TB, dir, path, data string) {
	t.Helper()
	name := filepath.Join(dir, Native(path))
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(data), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
