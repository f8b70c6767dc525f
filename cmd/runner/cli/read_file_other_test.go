//go:build !windows

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadFile: it reads files, and pipes that the shell opened, and waits for nothing.
func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("large"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(at("large"), maxInput+1); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := w.WriteString("piped"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	opened := fmt.Sprintf("/dev/fd/%d", r.Fd())
	for path, want := range map[string]string{ // what it says, or else the error
		at("file"): "text", opened: "piped",
		at("pipe"): at("pipe") + " is not a regular file", dir: dir + " is not a regular file", os.DevNull: "/dev/null is not a regular file",
		at("large"): at("large") + " is larger than 64 MiB",
		at("none"):  "open " + at("none") + ": no such file or directory",
	} {
		got, err := ReadFile(path)
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestTrustedAbove: a directory to which anyone can write marks no workspace.
func TestTrustedAbove(t *testing.T) {
	t.Parallel()
	root := tree(t, "ws/runner.toml", "ws/a/")
	for mode, want := range map[os.FileMode]string{0o700: "ws", 0o775: "ws", 0o777: "ws/a"} {
		if err := os.Chmod(filepath.Join(root, "ws"), mode); err != nil {
			t.Fatal(err)
		}
		if got := (&Environment{}).workspaceAbove(filepath.Join(root, "ws/a")); got != filepath.Join(root, want) {
			t.Errorf("%o: %s, want %s", mode, got, want)
		}
	}
}
