//go:build linux

package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenDirFlips opens a directory while somebody exchanges it for a link to
// another one, and back, as fast as can be: what is opened is never that one.
func TestOpenDirFlips(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putFile(t, dir, "victim/file", "")
	noErr(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	noErr(t, os.Symlink("victim", filepath.Join(dir, "link")))
	root, err := os.OpenRoot(dir)
	noErr(t, err)
	defer func() { _ = root.Close() }()
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
				err = unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, "d"), unix.AT_FDCWD, filepath.Join(dir, "link"), unix.RENAME_EXCHANGE)
			}
		}
		stopped <- err
	}()
	const tries = 10_000
	for range tries {
		opened, err := openDir(root, "d")
		if err != nil {
			continue
		}
		_, there := opened.Lstat("file")
		noErr(t, opened.Close())
		if there == nil {
			t.Error("the directory that a link names was opened")
			break
		}
	}
	close(stop)
	noErr(t, <-stopped)
}
