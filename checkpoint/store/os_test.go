package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

// TestLockOfAReplacedFile: whoever locks a file that lost its name meanwhile
// must notice.
func TestLockOfAReplacedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "PRD-009.lock")
	lock := flock.New(path)
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if !isCurrent(lock, path) {
		t.Error("the file is not recognised")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if isCurrent(lock, path) {
		t.Error("a deleted file counts as current")
	}
	if err := os.WriteFile(path, nil, FilePerm); err != nil {
		t.Fatal(err)
	}
	if isCurrent(lock, path) {
		t.Error("a file made anew counts as the old one")
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
}
