package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// mapped maps a file into memory, to write to it.
func mapped(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	info, err := f.Stat()
	must(t, err)
	data, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	t.Cleanup(func() { must(t, unix.Munmap(data)) })
	return data
}

// digestNow is what a workspace says that a file is.
func digestNow(t *testing.T, w *workspace.Workspace, path string) string {
	t.Helper()
	l, err := w.Now(context.Background(), []string{path})
	must(t, err)
	if len(l.Entries) != 1 {
		t.Fatalf("%s is not there", path)
	}
	return l.Entries[0].Digest
}

// TestRollbackReadsWhatItOverwrites: what was written to a file through a memory map
// does not show in its times, and is in the checkpoint that undoes a rollback.
func TestRollbackReadsWhatItOverwrites(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newProject(t, store.NewMemory())
	s := p.open()
	w, x := p.workspace(s), lockPRD(t, s, "PRD-009")
	must(t, x.Start(startedOf("PRD-009", "session-1", 1)))
	p.save("data", "first")
	target := p.capture(x, w, TriggerStart)
	p.save("data", "0....")

	// Until it has been at rest for long enough, it is read each time.
	data := mapped(t, filepath.Join(p.dir, "data"))
	for kept := ""; ; data[0] ^= 1 {
		p.capture(x, w, TriggerManual)
		now := digestNow(t, w, "data")
		if now == kept {
			break
		}
		kept = now
	}
	written := string(data)
	done, err := x.Rollback(ctx, w, RollbackOptions{To: target, By: by})
	must(t, err)
	if got := readText(t, filepath.Join(p.dir, "data")); got != "first" {
		t.Fatalf("rolled back to %q", got)
	}
	_, err = x.Rollback(ctx, w, RollbackOptions{To: done.Safety, By: by})
	must(t, err)
	if got := readText(t, filepath.Join(p.dir, "data")); got != written {
		t.Errorf("undone to %q, want %q", got, written)
	}
	must(t, x.Close())
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}
