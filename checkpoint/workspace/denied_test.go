//go:build unix

package workspace

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestDenied captures, as a user without privileges, a workspace in which a
// file and a directory may not be read: the rest is captured, these are named.
func TestDenied(t *testing.T) {
	const inChild = "WORKSPACE_TEST_DENIED"
	if dir := os.Getenv(inChild); dir != "" {
		captureDenied(t, dir)
		return
	}
	dir, err := os.MkdirTemp("", "denied")
	must(t, err)
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(dir, "closed"), 0o700)
		must(t, os.RemoveAll(dir))
	})
	for _, d := range []string{"closed", ".state"} {
		must(t, os.Mkdir(filepath.Join(dir, d), 0o700))
	}
	must(t, os.WriteFile(filepath.Join(dir, "open"), []byte("open"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "closed", "file"), nil, 0o644))
	program := filepath.Join(dir, ".state", "test")
	copyProgram(t, program)
	cmd := exec.Command(program, "-test.run=^TestDenied$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), inChild+"="+dir)
	if os.Geteuid() == 0 {
		const nobody = 65534
		must(t, os.Chmod(dir, 0o755))
		must(t, os.Chown(filepath.Join(dir, ".state"), nobody, nobody))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	} else {
		must(t, os.Chmod(filepath.Join(dir, "secret"), 0))
		must(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func captureDenied(t *testing.T, dir string) {
	w := open(t, keeperOptions(dir))
	c, err := w.Capture(t.Context(), CaptureOptions{Patterns: []string{"**"}})
	must(t, err)
	if want := []string{"closed", "secret"}; c.Files != 1 || !slices.Equal(c.Special, want) {
		t.Errorf("%d files captured, %q named, want one and %q", c.Files, c.Special, want)
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Executable()
	must(t, err)
	in, err := os.Open(from)
	must(t, err)
	defer func() { must(t, in.Close()) }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
}
