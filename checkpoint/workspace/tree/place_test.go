package tree

import (
	"context"
	"errors"
	"testing"
)

// TestStatusLeadsElsewhere: git's index may contain any name. The status of a name that
// leads out of its directory is refused.
func TestStatusLeadsElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "d/f", "")
	c := openTree(t, dir).Cursor()
	defer c.Close()
	for path, want := range map[string]bool{"d/f": true, "d": true, "": false, ".": false, "..": false, "d/": false, "d/.": false, "d/..": false} {
		if _, err := c.Place(path).Status(); (err == nil) != want {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestParentsStop takes only the nearest directory.
func TestParentsStop(t *testing.T) {
	t.Parallel()
	for dir := range Parents("a/b/c") {
		if dir != "a/b" {
			t.Errorf("%q", dir)
		}
		break
	}
}

// TestEachStopped: a worker does no more of its files once the caller cancels, and the
// error is the reason that the caller gave.
func TestEachStopped(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	done := 0 // one chunk has one worker
	err := openTree(t, t.TempDir()).Each(ctx, 3, 3, func(context.Context, *Cursor, int) error {
		done++
		cancel(why)
		return nil
	})
	if done != 1 || !errors.Is(err, why) {
		t.Errorf("%d files, %v", done, err)
	}
}
