package inventory_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/inventory"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// objectLooks counts how often the size of an object is looked up.
type objectLooks struct {
	store.FS
	n atomic.Int64
}

func (l *objectLooks) Lstat(name string) (fs.FileInfo, error) {
	if strings.Contains(filepath.ToSlash(name), "/"+disk.ObjectsDir+"/") {
		l.n.Add(1)
	}
	return l.FS.Lstat(name)
}

// TestMeasureObjects: of compressed objects the size on disk counts; of plain ones the
// recorded size, for which Measure looks at no object.
func TestMeasureObjects(t *testing.T) {
	t.Parallel()
	for name, compress := range map[string]bool{"plain": false, "compressed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			looks := &objectLooks{FS: store.NewMemory()}
			f := checkpointtest.On(t, looks, "/ws/.runner")
			f.Compress(compress)
			s := f.Open()
			x := f.Lock()
			checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 1)))
			large := strings.Repeat("large ", 1000)
			for _, content := range []string{"of the checkpoint: " + large, "of the state: " + large} {
				checkpointtest.Produce(t, x, "w0", checkpointtest.Put(t, s, "out", content))
				if strings.HasPrefix(content, "of the checkpoint") {
					checkpointtest.Mark(t, x, state.TriggerManual) // captures no files
				}
			}
			records, err := inventory.ReadSessions(s, "PRD-009", x.State())
			checkpointtest.Must(t, err)
			looks.n.Store(0)
			held, err := inventory.Measure(ctx, s, "PRD-009", records)
			checkpointtest.Must(t, err)
			looked := looks.n.Load()
			onDisk, err := store.TreeSize(f.FS, filepath.Join(f.Dir, disk.ObjectsDir))
			checkpointtest.Must(t, err)
			if held.Objects != onDisk || len(held.Blobs) != 1 || (onDisk < int64(len(large))) != compress {
				t.Errorf("%d bytes of objects, %d on disk; the checkpoint holds %v", held.Objects, onDisk, held.Blobs)
			}
			if (looked > 0) != compress {
				t.Errorf("%d looks at objects", looked)
			}
			checkpointtest.Must(t, x.Close())
		})
	}
}
