//go:build unix

package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecure: what is lost is kept again from the file, though the cache knows
// it, and what is damaged is where all is read.
func TestSecure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		damage func(path string) error
		deep   bool // finds it only where all is read
	}{
		"deleted": {os.Remove, false},
		"emptied": {func(path string) error { return os.Truncate(path, 0) }, false},
		"flipped": {func(path string) error { return os.WriteFile(path, []byte("IMPORTANT"), 0o600) }, true},
	} {
		for _, deep := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w, dir := keeper(t)
				put(t, dir, "f", "important")
				c, err := w.Capture(t.Context(), CaptureOptions{Patterns: []string{"**"}})
				must(t, err)
				l, err := w.Load(t.Context(), c.Listing)
				must(t, err)
				hexa := strings.TrimPrefix(l.Entries[0].Digest, digestPrefix)
				object := filepath.Join(dir, ".state", "objects", hexa[:2], hexa[2:])
				must(t, os.Chmod(object, 0o600))
				must(t, test.damage(object))
				must(t, w.Secure(t.Context(), l.Entries, deep))
				missing, err := w.Missing(t.Context(), l.Entries, true)
				if found := deep || !test.deep; err != nil || found != (len(missing) == 0) {
					t.Errorf("deep %t: missing %v, %v", deep, missing, err)
				}
			})
		}
	}
}

// TestSecureChanged: a file that is another one now keeps nothing.
func TestSecureChanged(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	put(t, dir, "f", "important")
	kept, _, err := w.Keep(t.Context(), []string{"f"})
	must(t, err)
	must(t, w.o.Objects.Remove(kept[0].Digest))
	var changed *ChangedError
	for _, change := range []func() error{
		func() error { return os.WriteFile(filepath.Join(dir, "f"), []byte("edited"), 0o600) },
		func() error { return os.Remove(filepath.Join(dir, "f")) },
	} {
		must(t, change())
		if err := w.Secure(t.Context(), kept, true); !errors.As(err, &changed) || changed.Path != "f" {
			t.Errorf("got %v", err)
		}
	}
}
