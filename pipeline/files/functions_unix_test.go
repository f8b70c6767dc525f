//go:build unix

package files

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNamedPipe holds that a named pipe neither blocks nor is listed.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, expr := range []string{`[file("fifo")]`, `[filesha256("fifo")]`, `[templatefile("fifo", {})]`} {
		if got, diags := textsOf(expr, dir); !diags.HasErrors() {
			t.Error(expr, got)
		}
	}
	got, diags := textsOf(`concat(["x", fileexists("fifo")], tolist(fileset(".", "*")))`, dir)
	if strings.Join(got, " ") != "x false" {
		t.Error(got, diags)
	}
}
