//go:build unix

package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// begun brings a rollback to where its files are about to be restored.
func (h *halfway) begun(x *Session, w *workspace.Workspace) *workspace.Listing {
	h.t.Helper()
	ctx := context.Background()
	plan, err := planRollback(ctx, x.store, w, x.State(), RollbackOptions{To: h.first})
	must(h.t, err)
	must(h.t, beginRollback(ctx, x, w, plan, RollbackOptions{}))
	before, err := filesBefore(ctx, x, w)
	must(h.t, err)
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
			x, w := h.lock(), h.openFiles()
			defer func() {
				must(t, w.Close())
				must(t, x.Close())
			}()
			err := x.WithExclusiveLock(ctx, func() error {
				before := h.begun(x, w)
				must(t, os.WriteFile(filepath.Join(h.ws, edit.path), []byte(edit.text), 0o600))
				_, err := carryOutRollback(ctx, x, w, before)
				return err
			})
			var changed *workspace.ChangedError
			var failed *RollbackError
			if !errors.As(err, &changed) || !errors.As(err, &failed) || !failed.Undone || changed.Path != edit.path {
				t.Fatalf("carry out: %v", err)
			}
			got := h.files()
			text, err := os.ReadFile(filepath.Join(h.ws, edit.path))
			must(t, err)
			same(t, "the edited file", string(text), edit.text)
			want := h.before
			delete(got, edit.path)
			delete(want, edit.path)
			same(t, "the other files", got, want)
			if x.State().Rollback != nil || x.State().Steps != h.steps {
				t.Fatalf("step %d, %+v", x.State().Steps, x.State().Rollback)
			}
		})
	}
}
