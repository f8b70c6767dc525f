package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSafetyOnAFullDisk fills the disk before a safety checkpoint is made, and before one
// is restored, up to all but some pages. The command must either do everything, or fail,
// say so, and leave every file as it was or as the checkpoint has it, never in between.
// With room again, a repeated command must do everything.
func TestSafetyOnAFullDisk(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	ownMounts(t)
	failed := map[string]int{}
	levels := someBelow(160, 0, 1, 2, 4, 8, 16, 24, 32, 40, 50, 60, 80, 100, 120, 140)
	for _, pages := range levels {
		for _, what := range []string{"create", "restore"} {
			f := &fullDisk{rollbackKiller: rollbackKiller{t: t, binary: binary}, what: fmt.Sprintf("%s with room for %d pages", what, pages)}
			f.place()
			if what == "create" {
				failed[what] += f.create(pages)
			} else {
				failed[what] += f.restore(pages)
			}
		}
	}
	t.Logf("found no room: %s", inOrder(failed))
	for _, what := range []string{"create", "restore"} {
		if n := failed[what]; n == 0 || n == len(levels) {
			t.Errorf("%s found no room %d times, of %d", what, n, len(levels))
		}
	}
}

// fullDisk is a workspace on a small disk.
type fullDisk struct {
	rollbackKiller
	what string
}

// place makes a workspace with files of some pages each.
func (f *fullDisk) place() {
	f.t.Helper()
	f.dir = mountTmpfs(f.t, "size=4m")
	for i := range 10 {
		f.write(fmt.Sprintf("data/%d", i), strings.Repeat(fmt.Sprintf("as it was %d\n", i), 800), 0o644)
	}
}

func (f *fullDisk) run(args ...string) (out string, code int) {
	f.t.Helper()
	cmd := exec.Command(f.binary, args...)
	cmd.Dir = f.dir
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		f.t.Fatal(err)
	}
	if strings.Contains(string(said), "goroutine ") {
		f.t.Fatalf("%s: %v\n%s", f.what, args, said)
	}
	return string(said), cmd.ProcessState.ExitCode()
}

// works runs a command that must succeed.
func (f *fullDisk) works(args ...string) string {
	f.t.Helper()
	out, code := f.run(args...)
	if code != 0 {
		f.t.Fatalf("%s: %v exits %d: %s", f.what, args, code, out)
	}
	return out
}

// fill fills the disk up to some pages. It returns a function that makes room again.
func (f *fullDisk) fill(pages int) (room func()) {
	f.t.Helper()
	var stat unix.Statfs_t
	f.must(unix.Statfs(f.dir, &stat))
	ballast := filepath.Join(f.dir, "ballast")
	f.must(os.WriteFile(ballast, make([]byte, max(0, int64(stat.Bavail)-int64(pages))*stat.Bsize), 0o600))
	return func() { f.must(os.Remove(ballast)) }
}

// data returns the files of the workspace that the checkpoints are about.
func (f *fullDisk) data() map[string]string {
	f.t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(f.path("data/*"))
	f.must(err)
	for _, path := range paths {
		all[filepath.Base(path)] = string(read(f.t, path))
	}
	return all
}

// create makes a checkpoint on the full disk. It returns 1 if that failed.
func (f *fullDisk) create(pages int) (failed int) {
	f.t.Helper()
	was := f.data()
	room := f.fill(pages)
	out, code := f.run("safety", "create", "data/**")
	room()
	if code != 0 {
		failed = 1
		if !strings.Contains(out, "no space left on device") {
			f.t.Errorf("%s exits %d: %s", f.what, code, out)
		}
	}
	if !maps.Equal(was, f.data()) {
		f.t.Errorf("%s changed files", f.what)
	}
	f.works("safety", "prune", "--yes")
	if made := strings.Count(f.works("safety", "list"), "file_backup"); made != 1-failed {
		f.t.Errorf("%s: %d checkpoints are listed; it exits %d: %s", f.what, made, code, out)
	}
	if failed == 1 {
		f.works("safety", "create", "data/**")
	}
	f.works("safety", "verify", "latest")
	return failed
}

// restore restores a checkpoint on the full disk. It returns 1 if that failed.
func (f *fullDisk) restore(pages int) (failed int) {
	f.t.Helper()
	as := f.data()
	f.works("safety", "create", "data/**")
	for i := range 10 {
		f.write(fmt.Sprintf("data/%d", i), strings.Repeat(fmt.Sprintf("mutated %d\n", i), 900), 0o644)
	}
	f.write("data/new", "made by the mutation\n", 0o644)
	mutated := f.data()
	room := f.fill(pages)
	out, code := f.run("safety", "restore", "latest", "--yes")
	now := f.data()
	room()
	if code == 0 {
		if !maps.Equal(now, as) {
			f.t.Errorf("%s exits 0, and the files are not restored", f.what)
		}
		return 0
	}
	if !strings.Contains(out, "no space left on device") {
		f.t.Errorf("%s exits %d: %s", f.what, code, out)
	}
	if !maps.Equal(now, mutated) && !maps.Equal(now, as) {
		f.t.Errorf("%s: the files are neither all as they were nor all restored: %s", f.what, out)
	}
	f.works("safety", "restore", "latest", "--yes")
	if !maps.Equal(f.data(), as) {
		f.t.Errorf("%s: the repeated restore did not restore the files", f.what)
	}
	return 1
}
