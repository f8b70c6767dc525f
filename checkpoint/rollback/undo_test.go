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

// begun begins a rollback up to the moment before files are restored, and returns the
// listing of the current files.
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

// TestEditsDuringRollback edits a file after a rollback has recorded it and before the
// rollback restores it. The rollback must fail and be undone, and the edit must stay.
func TestEditsDuringRollback(t *testing.T) {
	t.Parallel()
	for _, edit := range []struct {
		path, text string
		mode       os.FileMode
	}{
		{"a", "edited meanwhile", 0o644},     // the target has another content
		{"a", "first a", 0o755},              // the target has another mode
		{"new/e", "edited meanwhile", 0o644}, // the target does not have the file
		{"link", "made meanwhile", 0o600},    // only the target has the file
	} {
		t.Run(edit.path+" "+edit.text, func(t *testing.T) {
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
				checkpointtest.Must(t, os.Chmod(filepath.Join(h.ws, edit.path), edit.mode))
				_, err := carryOut(ctx, x, w, before)
				return err
			})
			var changed *workspace.ChangedError
			var failed *Error
			if !errors.As(err, &changed) || !errors.As(err, &failed) || !failed.Undone || changed.Path != edit.path {
				t.Fatalf("carry out: %v", err)
			}
			got := h.files()
			checkpointtest.Same(t, "the edited file", got[edit.path], edit.mode.String()+" "+edit.text)
			want := h.before
			delete(got, edit.path)
			delete(want, edit.path)
			checkpointtest.Same(t, "the other files", got, want)
			if x.State().Rollback != nil || x.State().Steps != h.steps {
				t.Fatalf("step %d, %+v", x.State().Steps, x.State().Rollback)
			}
			plan, err := planTo(ctx, x.Store(), w, x.State(), Options{To: failed.Safety})
			checkpointtest.Must(t, err)
			if plan.Undoes != "" {
				t.Errorf("the plan undoes %s, which failed", plan.Undoes)
			}
		})
	}
}

// TestPlanDuringARollback: while an owner carries out a rollback, another process must
// not be able to plan one.
func TestPlanDuringARollback(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := newHalfway(t, store.NewMemory())
	x, w := h.Lock(), h.openFiles()
	defer func() {
		checkpointtest.Must(t, w.Close())
		checkpointtest.Must(t, x.Close())
	}()
	checkpointtest.Must(t, x.WithExclusiveLock(ctx, func() error {
		h.begun(x, w)
		return nil
	}))
	_, err := PlanTo(ctx, h.Open(), w, "PRD-009", Options{To: h.first})
	var locked *checkpoint.LockedError
	if !errors.As(err, &locked) || locked.PRD != "PRD-009" {
		t.Errorf("got %v", err)
	}
}
