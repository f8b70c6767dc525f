package workspace

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prdrunner/checkpoint/objects"
)

// TestClones: if the file system can share blocks, a large file is captured and restored
// without copying it. A file whose object is damaged is not restored.
func TestClones(t *testing.T) {
	dir := mountBtrfs(t)
	w := open(t, keeperOptions(dir))
	large := strings.Repeat("all of it is the same, and long\n", 1<<20)
	put(t, dir, "large", large)
	before := spaceUsed(t, dir)
	captured, err := w.Capture(t.Context(), CaptureOptions{Patterns: []string{"**"}})
	must(t, err)
	l, err := w.Load(t.Context(), captured.Listing)
	must(t, err)
	if l.Entries[0].Digest != shaOf(large) {
		t.Errorf("the file was captured as %+v", l.Entries[0])
	}
	if more := spaceUsed(t, dir) - before; more > int64(len(large))/2 {
		t.Errorf("the file was copied into an object: %d bytes more are used", more)
	}
	gone := []Change{{Path: "large", To: &l.Entries[0]}}

	must(t, os.Remove(filepath.Join(dir, "large")))
	before = spaceUsed(t, dir)
	_, err = w.Restore(t.Context(), gone, RestoreOptions{ID: "one"})
	must(t, err)
	if more := spaceUsed(t, dir) - before; more > int64(len(large))/2 {
		t.Errorf("the file was copied when it was restored: %d bytes more are used", more)
	}
	got, err := os.ReadFile(filepath.Join(dir, "large"))
	must(t, err)
	if string(got) != large {
		t.Error("the restored file has another content")
	}

	object, _, err := w.o.Objects.Path(l.Entries[0].Digest)
	must(t, err)
	must(t, os.WriteFile(object, bytes.Replace(got, []byte("same"), []byte("sane"), 1), 0o600))
	must(t, os.Remove(filepath.Join(dir, "large")))
	_, err = w.Restore(t.Context(), gone, RestoreOptions{ID: "two"})
	var missing *MissingError
	var damaged *objects.DamagedError
	if !errors.As(err, &missing) && !errors.As(err, &damaged) {
		t.Errorf("restoring a damaged object: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "large")); err == nil {
		t.Error("a damaged object was restored")
	}
}

// spaceUsed returns how many bytes of the disk are in use.
func spaceUsed(t *testing.T, dir string) int64 {
	t.Helper()
	f, err := os.Open(dir)
	must(t, err)
	must(t, errors.Join(unix.Syncfs(int(f.Fd())), f.Close()))
	var stat unix.Statfs_t
	must(t, unix.Statfs(dir, &stat))
	return int64(stat.Blocks-stat.Bfree) * int64(stat.Bsize)
}

// mountBtrfs mounts an empty file system that can share blocks.
func mountBtrfs(t *testing.T) (dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		skipUnlessCI(t, "mounting file systems needs root")
	}
	dir, image := t.TempDir(), filepath.Join(t.TempDir(), "image")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 512<<20))
	for _, argv := range [][]string{{"mkfs.btrfs", "-q", image}, {"mount", "-t", "btrfs", "-o", "loop", image, dir}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			skipUnlessCI(t, strings.Join(argv, " ")+": "+err.Error()+"\n"+string(out))
		}
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// skipUnlessCI skips a test that can't be run here. In CI a skipped test would
// prove nothing.
func skipUnlessCI(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
