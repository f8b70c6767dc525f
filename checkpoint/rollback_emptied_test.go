//go:build unix

package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/store"
)

// TestFinishedRollbackRemovesWhatItEmptied cuts rollbacks short after they have
// emptied directories: these go when it is finished, whether or not a capture
// would see them, and make no checkpoint of edits. Those stay that the target
// has, that somebody made since, and that were empty before and in no capture.
func TestFinishedRollbackRemovesWhatItEmptied(t *testing.T) {
	t.Parallel()
	for name, later := range map[string][]string{
		"a capture sees directories": {"src/**", "gen/**"},
		"it sees files only":         {"src/**", "gen/deep/made"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			h := &halfway{fixture: on(t, store.NewMemory(), "/state/.runner"), ws: t.TempDir()}
			x, w := h.run(), h.openFiles()
			defer func() {
				must(t, w.Close())
				must(t, x.Close())
			}()
			h.mkdir("src/recorded")
			h.mkdir("before")
			h.file("src/file")
			_, err := x.Capture(ctx, w, later)
			must(t, err)
			ref, err := x.Create(ctx, w, "")
			must(t, err)
			h.first = ref.ID
			commit(t, x, work("WS2", "type-check")...)
			for _, name := range []string{"gen/deep/made", "src/new/sub/made", "src/new/made", "src/recorded/made"} {
				h.file(name)
			}
			must(t, x.WithExclusiveLock(ctx, func() error {
				h.begun(x, w)
				return nil
			}))
			for _, name := range []string{"gen/deep/made", "src/new/sub/made", "src/new/made", "src/recorded/made"} {
				must(t, os.Remove(filepath.Join(h.ws, name)))
			}
			h.mkdir("since/then")
			intent := *x.State().Rollback
			_, err = FinishRollback(ctx, x, w)
			must(t, err)
			if kept := x.State().KeptEdits(intent); len(kept) > 0 {
				t.Errorf("a checkpoint was made of edits: %+v", kept[0])
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
	h.t.Helper()
	must(h.t, os.MkdirAll(filepath.Join(h.ws, name), 0o755))
}

func (h *halfway) file(name string) {
	h.t.Helper()
	h.mkdir(filepath.Dir(name))
	must(h.t, os.WriteFile(filepath.Join(h.ws, name), []byte(name), 0o600))
}
