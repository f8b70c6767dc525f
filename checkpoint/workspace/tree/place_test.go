package tree

import (
	"context"
	"errors"
	"slices"
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

// TestParents: the directories above a path come nearest first, and a caller may stop.
func TestParents(t *testing.T) {
	t.Parallel()
	if got := slices.Collect(Parents("a/b/c")); !slices.Equal(got, []string{"a/b", "a"}) {
		t.Errorf("%q", got)
	}
	for range Parents("a/b/c") {
		break
	}
	if !IsBelow("a/b/c", map[string]bool{"a": true}) || IsBelow("a/b/c", map[string]bool{"a/b/c": true, "b": true}) {
		t.Error("the wrong path is below")
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
