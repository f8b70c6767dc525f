//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestKillImport kills imports with SIGKILL at operations spread over a whole import.
// Readers must report that files are missing. The next command that changes the session
// must bring the missing files. If there is no session yet, a second import must do that.
func TestKillImport(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds; left out with -short")
	}
	binary := buildBinary(t, "failpoint")
	from := &rollbackKiller{t: t, binary: binary, dir: t.TempDir()}
	from.write("PRD-001.hcl", rollbackPipeline, 0o644)
	from.write("runner.yaml", "workspace:\n  include: [\"**\"]\n", 0o644)
	from.exits(1, "build", "PRD-001")
	from.fill()
	from.create()
	archive := filepath.Join(t.TempDir(), "it.tar")
	from.exits(0, "checkpoint", "export", "PRD-001", "-o", archive)
	k := &importKiller{archive: archive, want: from.tree()}
	whole := &rollbackKiller{t: t, binary: binary, dir: t.TempDir()}
	ops := k.importUntil(whole, "EIO@1000000000") // an operation that the import never reaches
	changes := slices.DeleteFunc(slices.Clone(ops), func(op string) bool { return !strings.Contains(op, " change ") })
	kills, missing := max(3, *killCount/10), map[int]bool{}
	for i := range kills {
		for kinds, all := range map[string]int{"": len(ops), ":change": len(changes)} { // of all operations, and of changes to the workspace
			if *killCount == 0 && kinds == "" && !inSample(i, 3) {
				continue
			}
			r := &rollbackKiller{t: t, binary: binary, dir: t.TempDir()}
			moment := fmt.Sprintf("kill@%d%s", 1+(2*i+1)*all/(2*kills), kinds)
			k.importUntil(r, moment)
			left := k.recover(r)
			t.Logf("%s of %d: %d files missing", moment, all, left)
			missing[left] = true
		}
	}
	if len(missing) < 3 { // at least: no files, some files, more files
		t.Errorf("the kills left only %d different numbers of missing files: they are not spread over the import", len(missing))
	}
}

// importKiller kills imports of one archive.
type importKiller struct {
	archive string
	want    tree // the workspace that was exported
}

// importUntil imports into a workspace with a failpoint, and returns the operations of
// the import up to the fault.
func (k *importKiller) importUntil(r *rollbackKiller, failpoint string) []string {
	r.t.Helper()
	log := filepath.Join(r.t.TempDir(), "ops")
	cmd := exec.Command(r.binary, "-C", r.dir, "checkpoint", "import", k.archive)
	cmd.Env = append(os.Environ(), "RUNNER_FAILPOINT="+failpoint, "RUNNER_FAILPOINT_LOG="+log)
	out, err := cmd.CombinedOutput()
	if killed := cmd.ProcessState.ExitCode() == -1; killed != strings.HasPrefix(failpoint, "kill") {
		r.t.Fatalf("with %s: %v\n%s", failpoint, err, out)
	}
	ops, err := os.ReadFile(log)
	r.must(err)
	return slices.Collect(strings.Lines(string(ops)))
}

// recover has a killed import finished, and returns how many files were missing before.
func (k *importKiller) recover(r *rollbackKiller) int {
	r.t.Helper()
	missing, found := 0, r.tree()
	for name, content := range k.want {
		if found[name] != content {
			missing++
		}
	}
	switch _, err := os.Lstat(r.path(".runner/PRD-001/journal.jsonl")); {
	case err != nil && missing < len(k.want):
		r.t.Fatalf("there is no session, and %d files are missing, not %d", missing, len(k.want))
	case err != nil:
		r.exits(0, "checkpoint", "import", k.archive)
	case missing > 0:
		if _, told := r.run(0, "checkpoint", "list", "PRD-001"); !strings.Contains(told, "was cut short: files may be missing") {
			r.t.Errorf("files are missing, and the list of checkpoints says only %q", told)
		}
		r.create()
	default:
		r.create()
	}
	if diff := r.tree().diff(k.want); diff != "" {
		r.t.Fatalf("after the next command: %s", diff)
	}
	return missing
}
