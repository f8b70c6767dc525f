package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLockOfAReplacedFile: whoever holds a lock on a file that lost its name
// meanwhile, or whose directory did, can tell.
func TestLockOfAReplacedFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "locks")
	path := filepath.Join(dir, "PRD-009.lock")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(dir, DirPerm))
	lock, err := OS().TryLock(path, false)
	must(err)
	must(lock.Check())
	for _, step := range []struct {
		name   string
		change func() error
	}{
		{"moved away", func() error { return os.Rename(dir, dir+"-old") }},
		{"made anew", func() error { return errors.Join(os.Mkdir(dir, DirPerm), os.WriteFile(path, nil, FilePerm)) }},
		{"deleted", func() error { return os.RemoveAll(dir) }},
		{"behind a file", func() error { return os.WriteFile(dir, nil, FilePerm) }},
	} {
		must(step.change())
		if err := lock.Check(); err == nil || step.name != "behind a file" && !errors.Is(err, ErrLockLost) {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	must(lock.Unlock())
}

// TestReadFileOfAHole: a file of 1 TiB is refused before its bytes are read.
func TestReadFileOfAHole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hole")
	if err := errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Truncate(path, 1<<40)); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(OS(), path); !errors.Is(err, ErrTooLong) {
		t.Errorf("read %d bytes: %v", len(data), err)
	}
}
