//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/workspace/tree"
)

// TestRestoreHardLinks: when a restore changes one hard link of a file, the times of the
// other links change, which does not count as an edit. A write to the file does.
func TestRestoreHardLinks(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d/e", "d/f"}
	entry := func(path, data string, mode uint32) *Entry {
		return &Entry{Path: path, Mode: mode, Size: int64(len(data)), Digest: shaOf(data)}
	}
	for name, to := range map[string]func(path string) *Entry{
		"delete":  func(string) *Entry { return nil },
		"replace": func(path string) *Entry { return entry(path, "yy", 0o644) },
		"mode":    func(path string) *Entry { return entry(path, "x", 0o600) },
		"both": func(path string) *Entry {
			if path < "c" {
				return nil
			}
			return entry(path, "yy", 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := keeper(t)
			put(t, dir, "kept", "yy")
			put(t, dir, "a", "x")
			put(t, dir, "d/keep", "")
			_, _, err := w.Keep(t.Context(), []string{"kept", "a"})
			must(t, err)
			var changes []Change
			for _, path := range names {
				if path != "a" {
					must(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, tree.Native(path))))
				}
				changes = append(changes, Change{Path: path, From: entry(path, "x", 0o644), To: to(path)})
			}
			_, err = w.Restore(t.Context(), changes, RestoreOptions{ID: "x"})
			must(t, err)
			for _, c := range changes {
				now, err := w.Describe(t.Context(), c.Path)
				if c.To == nil != tree.IsAbsent(err) || c.To != nil && !sameEntry(now, *c.To) {
					t.Errorf("%s is %+v, %v", c.Path, now, err)
				}
			}
		})
	}
}
