package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"prdrunner/checkpoint/workspace/tree"
)

// open opens a workspace whose clock is ahead, so that files that were just written are
// old enough for the cache.
func open(t testing.TB, o Options) *Workspace {
	t.Helper()
	w, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	w.cache.Now = func() time.Time { return time.Now().Add(time.Minute) }
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// put writes a file, and the directories above it.
func put(t testing.TB, dir, path, data string) {
	t.Helper()
	name := filepath.Join(dir, tree.Native(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func shaOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// counting is a context that ends when its Err is called for the nth time.
type counting struct {
	context.Context
	mu   sync.Mutex
	left int
}

func (c *counting) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return c.Context.Err()
}

func describe(t *testing.T, w *Workspace, path string) Entry {
	t.Helper()
	e, err := w.Describe(t.Context(), path)
	must(t, err)
	return e
}
