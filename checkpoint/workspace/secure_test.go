//go:build unix

package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecure: lost bytes are stored again from the file, even if the cache knows the
// file. Damaged bytes are stored again only if all bytes are read.
func TestSecure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		damage func(path string) error
		deep   bool // found only if all bytes are read
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
				hexa := strings.TrimPrefix(l.Entries[0].Digest, "sha256:")
				object := filepath.Join(dir, ".state", "objects", hexa[:2], hexa[2:])
				must(t, os.Chmod(object, 0o600))
				must(t, test.damage(object))
				must(t, w.Secure(t.Context(), l.Entries, deep))
				missing, err := w.contents.Missing(t.Context(), l.Entries, true)
				if found := deep || !test.deep; err != nil || found != (len(missing) == 0) {
					t.Errorf("deep %t: missing %v, %v", deep, missing, err)
				}
			})
		}
	}
}

// TestSecureChanged: a changed file is not stored.
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

// TestSecureAhead: lost bytes of unchanged and of new files are stored again, and a file
// that is no longer in the listing is not needed.
func TestSecureAhead(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	for _, name := range []string{"edited", "gone", "lost", "same"} {
		put(t, dir, name, "content of "+name)
	}
	before := captured(t, w)
	lose := func(l *Listing, path string) {
		e, _ := l.entryAt(path)
		must(t, w.o.Objects.Remove(e.Digest))
	}
	lose(before, "lost")
	lose(before, "gone")
	must(t, os.Remove(filepath.Join(dir, "gone")))
	put(t, dir, "edited", "another content")
	put(t, dir, "new", "content of new")
	secure := w.StartSecuring(t.Context(), before)
	defer secure.Stop()
	now := captured(t, w)
	lose(now, "new")
	must(t, secure.Finish(t.Context(), now))
	if missing, err := w.contents.Missing(t.Context(), now.Entries, true); err != nil || len(missing) > 0 {
		t.Errorf("missing %v, %v", missing, err)
	}
}

// TestSecureAheadUnchanged: lost bytes are stored again even if the capture equals the
// last one. Finish returns an error if the context has ended.
func TestSecureAheadUnchanged(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	put(t, dir, "f", "important")
	l := captured(t, w)
	must(t, w.o.Objects.Remove(l.Entries[0].Digest))
	secure := w.StartSecuring(t.Context(), l)
	defer secure.Stop()
	must(t, secure.Finish(t.Context(), l))
	if missing, err := w.contents.Missing(t.Context(), l.Entries, true); err != nil || len(missing) > 0 {
		t.Errorf("missing %v, %v", missing, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := w.StartSecuring(ctx, l)
	defer ended.Stop()
	if err := ended.Finish(t.Context(), l); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// captured captures all files, and returns the listing.
func captured(t *testing.T, w *Workspace) *Listing {
	t.Helper()
	c, err := w.Capture(t.Context(), CaptureOptions{Patterns: []string{"**"}})
	must(t, err)
	l, err := w.Load(t.Context(), c.Listing)
	must(t, err)
	return l
}
