package checkpoint_test

import (
	"os"
	"slices"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// dirSyncs records which directories are synced.
type dirSyncs struct {
	store.FS
	synced []string
}

func (d *dirSyncs) SyncDir(name string) error {
	d.synced = append(d.synced, name)
	return d.FS.SyncDir(name)
}

// TestNameOfLockIsDurable: the lock file must survive a power cut. WriteNote must sync
// the directory, unless the previous owner released the lock and so must have synced it.
func TestNameOfLockIsDurable(t *testing.T) {
	t.Parallel()
	fsys := &dirSyncs{FS: store.NewMemory()}
	checkpointtest.Must(t, store.MkdirAll(fsys, "/locks"))
	f, err := fsys.OpenFile("/locks/a.lock", os.O_WRONLY|os.O_CREATE, store.FilePerm)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, f.Close())
	owner := disk.NewHolder(state.Actor{}, checkpointtest.Clock()())
	for _, step := range []struct {
		what string
		note *disk.Holder
		want []string
	}{
		{"the first owner", &owner, []string{"/locks"}},
		{"releasing the lock", nil, nil},
		{"the next owner", &owner, nil},
		{"the owner after a killed one", &owner, []string{"/locks"}},
	} {
		fsys.synced = nil
		checkpointtest.Must(t, disk.WriteNote(fsys, "/locks/a.lock", step.note))
		if !slices.Equal(fsys.synced, step.want) {
			t.Errorf("%s synced %q, want %q", step.what, fsys.synced, step.want)
		}
	}
}
