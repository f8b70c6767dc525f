//go:build linux

package tree

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenDirFlips opens a directory while another goroutine keeps exchanging it with a
// link to a second directory. The second directory is never opened.
func TestOpenDirFlips(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "victim/file", "")
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	must(t, os.Symlink("victim", filepath.Join(dir, "link")))
	root, err := os.OpenRoot(dir)
	must(t, err)
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
		must(t, opened.Close())
		if there == nil {
			t.Error("the directory that a link names was opened")
			break
		}
	}
	close(stop)
	must(t, <-stopped)
}
