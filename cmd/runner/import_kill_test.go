//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKillImport kills imports with SIGKILL while their files are restored.
// Readers tell of it, and the next command that changes the session brings the
// rest.
func TestKillImport(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds; left out with -short")
	}
	binary := buildBinary(t)
	from := &rollbackKiller{t: t, binary: binary, dir: t.TempDir()}
	from.write("PRD-001.hcl", rollbackPipeline, 0o644)
	from.write("runner.yaml", "workspace:\n  include: [\"**\"]\n", 0o644)
	from.exits(1, "build", "PRD-001")
	from.fill()
	from.create()
	archive := filepath.Join(t.TempDir(), "it.tar")
	from.exits(0, "checkpoint", "export", "PRD-001", "-o", archive)
	want := from.tree()
	partly := 0
	for range 5 {
		r := &rollbackKiller{t: t, binary: binary, dir: t.TempDir()}
		r.killImport(archive)
		if missing := len(want) - len(r.tree()); missing > 0 {
			partly++
			t.Logf("killed with %d files missing", missing)
			if _, told := r.run(0, "checkpoint", "list", "PRD-001"); !strings.Contains(told, "was cut short: files may be missing") {
				t.Errorf("files are missing, and a reader is told only %q", told)
			}
		}
		r.create()
		if diff := r.tree().diff(want); diff != "" {
			t.Fatalf("after the next command: %s", diff)
		}
	}
	if partly == 0 {
		t.Error("no import was killed in its middle: nothing was proved")
	}
}

// killImport kills an import when its session is in place.
func (r *rollbackKiller) killImport(archive string) {
	r.t.Helper()
	cmd := exec.Command(r.binary, "-C", r.dir, "checkpoint", "import", archive)
	r.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if _, err := os.Lstat(r.path(".runner/PRD-001/journal.jsonl")); err == nil {
			_ = cmd.Process.Kill() // it may have ended
			<-ended
			return
		}
		select {
		case err := <-ended:
			r.must(err)
			return
		default:
		}
	}
}
