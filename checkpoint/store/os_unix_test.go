//go:build unix

package store

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestLockOfAPipe: a pipe in the place of a lock file is refused, not waited for.
func TestLockOfAPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "PRD-009.lock")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, shared := range []bool{false, true} {
		if _, err := OS().TryLock(path, shared); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("shared %v: %v", shared, err)
		}
	}
}
