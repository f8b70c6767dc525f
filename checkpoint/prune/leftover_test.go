package prune_test

import (
	"context"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/store"
)

// TestLeftoversGo creates temporary files of interrupted writes. The next lock of a PRD
// must remove those of the PRD, and the next collection those that PRDs share. Planning a
// collection must count them and remove nothing.
func TestLeftoversGo(t *testing.T) {
	t.Parallel()
	f := checkpointtest.On(t, store.NewMemory(), "/ws/.runner")
	checkpointtest.Must(t, f.Run().Close())
	own := []string{"PRD-009/.tmp-manifest.json-X"}
	shared := []string{
		".tmp-workspace.cache-X", ".tmp-.gitignore-X", ".tmp-PRD-010.json-X", "locks/.tmp-PRD-010.refs-X", "trash/X/.tmp-importing.json-X", "objects/.tmp-object-X",
	}
	for _, name := range append(own, shared...) {
		f.Write(name, []byte("half"))
	}
	there := func(name string) bool {
		is, err := store.Exists(f.Open().Layout().FS, filepath.Join(f.Dir, name))
		checkpointtest.Must(t, err)
		return is
	}
	checkpointtest.Must(t, f.Lock().Close())
	for _, name := range own {
		if there(name) {
			t.Errorf("%s still exists after a lock", name)
		}
	}
	for _, name := range shared {
		if !there(name) {
			t.Errorf("the lock of one PRD removed %s, which another PRD may be writing", name)
		}
	}
	planned, err := prune.PlanCollect(context.Background(), f.Open(), nil)
	checkpointtest.Must(t, err)
	if planned.Leftovers != 5 || planned.Discarded != 1 || planned.Bytes < 6*4 || !there(shared[0]) {
		t.Errorf("planned: %+v, want 5 leftovers and 1 directory, and none removed", planned)
	}
	done, err := prune.Collect(context.Background(), f.Open(), nil)
	checkpointtest.Must(t, err)
	if done.Leftovers != planned.Leftovers || done.Discarded != planned.Discarded {
		t.Errorf("collected %+v, planned %+v", done, planned)
	}
	for _, name := range shared {
		if there(name) {
			t.Errorf("%s still exists after a collection", name)
		}
	}
}
