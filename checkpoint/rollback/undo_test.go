//go:build unix

package rollback

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// begun brings a rollback to where its files are about to be restored.
func (h *halfway) begun(x *checkpoint.Session, w *workspace.Workspace) *workspace.Listing {
	h.T.Helper()
	ctx := context.Background()
	plan, err := planTo(ctx, x.Store(), w, x.State(), Options{To: h.first})
	checkpointtest.Must(h.T, err)
	checkpointtest.Must(h.T, begin(ctx, x, w, plan, Options{}))
	before, err := filesBefore(ctx, x, w)
	checkpointtest.Must(h.T, err)
	return before
}

// TestEditsDuringRollback edits a file after it was recorded and before it is
// restored: the rollback fails, and what was edited stays.
func TestEditsDuringRollback(t *testing.T) {
	t.Parallel()
	for _, edit := range []struct{ path, text string }{
		{"a", "edited meanwhile"},     // which the target has otherwise
		{"new/e", "edited meanwhile"}, // which the target does not have
		{"link", "made meanwhile"},    // which only the target has
	} {
		t.Run(edit.path, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			h := newHalfway(t, store.NewMemory())
			x, w := h.Lock(), h.openFiles()
			defer func() {
				checkpointtest.Must(t, w.Close())
				checkpointtest.Must(t, x.Close())
			}()
			err := x.WithExclusiveLock(ctx, func() error {
				before := h.begun(x, w)
				checkpointtest.Must(t, os.WriteFile(filepath.Join(h.ws, edit.path), []byte(edit.text), 0o600))
				_, err := carryOut(ctx, x, w, before)
				return err
			})
			var changed *workspace.ChangedError
			var failed *Error
			if !errors.As(err, &changed) || !errors.As(err, &failed) || !failed.Undone || changed.Path != edit.path {
				t.Fatalf("carry out: %v", err)
			}
			got := h.files()
			text, err := os.ReadFile(filepath.Join(h.ws, edit.path))
			checkpointtest.Must(t, err)
			checkpointtest.Same(t, "the edited file", string(text), edit.text)
			want := h.before
			delete(got, edit.path)
			delete(want, edit.path)
			checkpointtest.Same(t, "the other files", got, want)
			if x.State().Rollback != nil || x.State().Steps != h.steps {
				t.Fatalf("step %d, %+v", x.State().Steps, x.State().Rollback)
			}
		})
	}
}
