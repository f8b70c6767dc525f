//go:build unix

package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var rollbackFiles = flag.Int("rollback.files", 5_000, "how many files TestRollbackManyFiles captures")

// newKept returns a rollbackKiller whose workspace has a failed session. All files of the
// workspace are captured.
func newKept(t *testing.T, binary string, inGit bool) *rollbackKiller {
	t.Helper()
	r := &rollbackKiller{t: t, binary: binary, dir: t.TempDir(), random: rand.New(rand.NewPCG(1, 1))} //nolint:gosec // it is not used
	r.write("PRD-001.hcl", rollbackPipeline, 0o644)
	r.write("runner.yaml", "workspace:\n  include: [\"**\"]\n", 0o644)
	if inGit {
		r.git("init", "-q")
	}
	r.exits(1, "build", "PRD-001")
	return r
}

// TestRollbackFiles changes files of every kind after a checkpoint: names of any bytes,
// links, modes, empty directories, files that become directories, names that differ only
// by case. A rollback must restore all of them exactly, and so must the undo of the
// rollback, in git and outside.
func TestRollbackFiles(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for _, inGit := range []bool{false, true} {
		t.Run(fmt.Sprintf("git %t", inGit), func(t *testing.T) {
			t.Parallel()
			r := newKept(t, binary, inGit)
			odd := []string{"new\nline", "bad\xff\xfe", "\x01\x1b[31m", " space ", "-rf", "*?[x]{y}", "\\back\\", "ünïcödé", ".hidden", "#c", `"q"`, strings.Repeat("long", 60)}
			for i, name := range odd {
				r.write("odd/"+name, fmt.Sprint("first ", i), 0o640)
				r.write("below/"+name+"/in/"+name, fmt.Sprint("below ", i), 0o644)
			}
			r.write("Case", "upper", 0o644)
			r.write("cased/x", "lower", 0o644)
			r.write("becomes-dir", "a file", 0o755)
			r.write("becomes-file/a/b", "in a directory", 0o600)
			r.write("becomes-link", "a file", 0o644)
			r.write("gone", "", 0o644)
			r.write("read-only/x", "locked away", 0o444)
			r.must(os.Chmod(r.path("read-only"), 0o555))
			t.Cleanup(func() { _ = os.Chmod(r.path("read-only"), 0o755) })
			r.must(os.Mkdir(r.path("empty"), 0o711))
			for name, target := range map[string]string{"link": "gone", "dangling": "no/such", "outward": "/etc/hostname", "loop": "loop", "odd-link": "bad\xff\n"} {
				r.must(os.Symlink(target, r.path(name)))
			}
			first := r.tree()
			id := r.create()

			for i, name := range odd {
				if i%2 == 0 {
					r.must(os.Remove(r.path("odd/" + name)))
					r.must(os.RemoveAll(r.path("below/" + name)))
					r.write("below/"+name, "a file now", 0o600)
				} else {
					r.write("odd/"+name, "second, and of another length", 0o700)
					r.must(os.Remove(r.path("below/" + name + "/in/" + name)))
				}
				r.write("odd/added-"+name[:min(len(name), 200)], "added", 0o644)
			}
			r.must(os.Rename(r.path("Case"), r.path("case")))
			r.must(os.Rename(r.path("cased"), r.path("Cased")))
			r.must(os.Remove(r.path("becomes-dir")))
			r.write("becomes-dir/with/files", "x", 0o644)
			r.must(os.RemoveAll(r.path("becomes-file")))
			r.write("becomes-file", "a file now", 0o644)
			r.must(os.Remove(r.path("becomes-link")))
			r.must(os.Symlink("becomes-dir", r.path("becomes-link")))
			r.must(os.Remove(r.path("gone")))
			r.must(os.Chmod(r.path("read-only"), 0o755))
			r.must(os.Chmod(r.path("read-only/x"), 0o400))
			r.must(os.Chmod(r.path("read-only"), 0o555))
			r.must(os.Remove(r.path("empty")))
			r.must(os.Symlink(".", r.path("empty")))
			r.must(os.Remove(r.path("link")))
			r.must(os.Mkdir(r.path("link"), 0o755))
			r.must(os.Remove(r.path("dangling")))
			r.must(os.Symlink("no/such/either", r.path("dangling")))
			second := r.tree()

			for range 2 {
				undo := r.rollback(id)
				if diff := r.tree().diff(first); diff != "" {
					t.Fatalf("after the rollback: %s", diff)
				}
				r.rollback(undo)
				if diff := r.tree().diff(second); diff != "" {
					t.Fatalf("after the rollback was undone: %s", diff)
				}
			}
			r.exits(0, "checkpoint", "validate", "PRD-001", "--deep")
		})
	}
}

// TestRollbackManyFiles captures many files, edits or removes 100 of them, and rolls
// back. All files must be as before. The test logs how long the capture and the rollback
// take.
func TestRollbackManyFiles(t *testing.T) {
	t.Parallel()
	count := *rollbackFiles
	r := newKept(t, buildBinary(t), false)
	for i := range count {
		name := r.path(fmt.Sprintf("many/%d/%d/f%d", i%50, i%500, i))
		if i < 500 {
			r.must(os.MkdirAll(filepath.Dir(name), 0o755))
		}
		r.must(os.WriteFile(name, fmt.Append(nil, i), 0o644))
	}
	began := time.Now()
	id := r.create()
	whole := time.Since(began)
	first := r.tree()
	for i := range 100 {
		name := fmt.Sprintf("many/%d/%d/f%d", i*7%50, i*7%500, i*7)
		if i%2 == 0 {
			r.must(os.Remove(r.path(name)))
		} else {
			r.write(name, "edited", 0)
		}
	}
	began = time.Now()
	undo := r.rollback(id)
	span := time.Since(began)
	if diff := r.tree().diff(first); diff != "" {
		t.Fatal(diff)
	}
	r.rollback(undo)
	t.Logf("the first capture took %s, a rollback of 100 files %s", whole, span)
}

// TestRollbackThroughFlippedDirectories replaces a directory with a link to a directory
// outside of the workspace, and back, while rollbacks run. The rollbacks may fail, but
// nothing outside of the workspace may change.
func TestRollbackThroughFlippedDirectories(t *testing.T) {
	t.Parallel()
	r := newKept(t, buildBinary(t), false)
	outside := t.TempDir()
	for i := range 60 {
		r.write(fmt.Sprintf("flip/%d", i), "first", 0o644)
		r.must(os.WriteFile(filepath.Join(outside, fmt.Sprint(i)), []byte("outside"), 0o600))
	}
	want := readTree(t, outside)
	id := r.create()
	stop, ended := make(chan struct{}), make(chan int)
	go func() {
		flips := 0
		pace := time.NewTicker(200 * time.Microsecond)
		defer pace.Stop()
		for tick := 0; ; tick++ {
			select {
			case <-stop:
				ended <- flips
				return
			case <-pace.C:
			}
			switch tick % 5 { // flip is a directory most of the time, so that rollbacks get far
			case 0:
				_ = errors.Join(os.Rename(r.path("flip"), r.path("aside")), os.Symlink(outside, r.path("flip")))
			case 1:
				_ = errors.Join(os.Remove(r.path("flip")), os.Rename(r.path("aside"), r.path("flip")))
				flips++
			}
		}
	}()
	work, err := os.OpenRoot(r.dir)
	r.must(err)
	defer func() { r.must(work.Close()) }()
	done := 0
	for i := range 24 {
		for n := range 60 { // the directory has one of the two names; work does not follow the link
			for _, name := range []string{"flip", "aside"} {
				_ = work.WriteFile(fmt.Sprintf("%s/%d", name, n), fmt.Append(nil, "second ", i), 0o644)
			}
		}
		cmd := exec.Command(r.binary, "checkpoint", "rollback", "PRD-001", id, "--yes", "--force")
		cmd.Dir = r.dir
		if out, err := cmd.CombinedOutput(); err == nil {
			done++
		} else if cmd.ProcessState.ExitCode() < 0 || strings.Contains(string(out), "panic") {
			t.Errorf("the rollback was killed or panicked: %v\n%s", err, out)
		}
		if diff := readTree(t, outside).diff(want); diff != "" {
			t.Errorf("outside: %s", diff)
			break
		}
	}
	close(stop)
	flips := <-ended
	t.Logf("%d flips, %d of 24 rollbacks succeeded", flips, done)
	if flips == 0 {
		t.Error("the directory was never replaced: the test proves nothing")
	}
	for _, name := range []string{"flip", "aside"} {
		if info, err := os.Lstat(r.path(name)); err == nil && info.Mode()&os.ModeSymlink != 0 {
			r.must(os.Remove(r.path(name)))
		}
	}
	r.exits(0, "checkpoint", "rollback", "PRD-001", id, "--yes")
	if shown := r.exits(0, "status", "PRD-001"); strings.Contains(shown, "was cut short") {
		t.Errorf("a rollback is not finished:\n%s", shown)
	}
	if diff := readTree(t, outside).diff(want); diff != "" {
		t.Errorf("outside: %s", diff)
	}
}
