//go:build unix

package rollback

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/store"
)

// TestFinishedRollbackRemovesWhatItEmptied interrupts a rollback after it has emptied
// directories. Finish must remove these directories and not count them as edits. It must
// keep directories of the target, those made since, and those that were empty before and
// in no capture.
func TestFinishedRollbackRemovesWhatItEmptied(t *testing.T) {
	t.Parallel()
	for name, later := range map[string][]string{
		"a capture sees directories": {"src/**", "gen/**"},
		"it sees files only":         {"src/**", "gen/deep/made"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			h := &halfway{Fixture: checkpointtest.On(t, store.NewMemory(), "/state/.runner"), ws: t.TempDir()}
			x, w := h.Run(), h.openFiles()
			defer func() {
				checkpointtest.Must(t, w.Close())
				checkpointtest.Must(t, x.Close())
			}()
			h.mkdir("src/recorded")
			h.mkdir("before")
			h.file("src/file")
			_, err := x.Capture(ctx, w, later)
			checkpointtest.Must(t, err)
			ref, err := x.Create(ctx, w, "")
			checkpointtest.Must(t, err)
			h.first = ref.ID
			checkpointtest.Commit(t, x, checkpointtest.Work("WS2", "type-check")...)
			for _, name := range []string{"gen/deep/made", "src/new/sub/made", "src/new/made", "src/recorded/made"} {
				h.file(name)
			}
			checkpointtest.Must(t, x.WithExclusiveLock(ctx, func() error {
				h.begun(x, w)
				return nil
			}))
			for _, name := range []string{"gen/deep/made", "src/new/sub/made", "src/new/made", "src/recorded/made"} {
				checkpointtest.Must(t, os.Remove(filepath.Join(h.ws, name)))
			}
			h.mkdir("since/then")
			intent := *x.State().Rollback
			_, err = Finish(ctx, x, w)
			checkpointtest.Must(t, err)
			if kept := x.State().KeptEdits(intent); len(kept) > 0 {
				t.Errorf("Finish made a checkpoint of edits: %+v", kept[0])
			}
			for name, there := range map[string]bool{
				"gen": false, "src/new": false, "src/file": true, "src/recorded": true, "before": true, "since/then": true,
			} {
				if _, err := os.Lstat(filepath.Join(h.ws, name)); there != (err == nil) || !there && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func (h *halfway) mkdir(name string) {
	h.T.Helper()
	checkpointtest.Must(h.T, os.MkdirAll(filepath.Join(h.ws, name), 0o755))
}

func (h *halfway) file(name string) {
	h.T.Helper()
	h.mkdir(filepath.Dir(name))
	checkpointtest.Must(h.T, os.WriteFile(filepath.Join(h.ws, name), []byte(name), 0o600))
}
