package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStateInAnImageCanBeSetAside has the state directory in the lower layer of an
// overlayfs, as in a container image, where directories can't be renamed. Commands that
// archive, replace or delete the session must work nevertheless, and leave no
// intermediate directories.
func TestStateInAnImageCanBeSetAside(t *testing.T) {
	t.Parallel()
	const source = `pipeline "PRD-001" {
  phase "one" {
    workstream "A" {
      artifacts = ["a.txt"]
      script    = "echo made > a.txt; test ! -f broken"
    }
  }
}
`
	for name, test := range map[string]struct {
		broken bool // the session in the image has failed, else it is complete
		args   []string
		want   string // pattern of the path at which the journal of the image lies afterwards
	}{
		"failed and built afresh":  {true, []string{"build", "PRD-001", "--fresh"}, "failed/PRD-001-*/journal.jsonl"},
		"failed and abandoned":     {true, []string{"abandon", "PRD-001", "--yes"}, "failed/PRD-001-*/journal.jsonl"},
		"complete and built again": {false, []string{"build", "PRD-001"}, "PRD-001/history/*/journal.jsonl"},
		"complete and deleted":     {false, []string{"checkpoint", "delete", "PRD-001", "--session", "--yes"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ownMounts(t)
			base := mountTmpfs(t, "")
			dir := filepath.Join(base, "merged")
			for _, name := range []string{"lower", "upper", "work", "merged"} {
				if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			run := func(in string, want int, args ...string) string {
				t.Helper()
				cmd := exec.Command("runner", args...)
				cmd.Dir = in
				out, _ := cmd.CombinedOutput()
				if code := cmd.ProcessState.ExitCode(); code != want {
					t.Fatalf("runner %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, out)
				}
				return string(out)
			}
			image := filepath.Join(base, "lower")
			if err := os.WriteFile(filepath.Join(image, "PRD-001.hcl"), []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			if test.broken {
				if err := os.WriteFile(filepath.Join(image, "broken"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				run(image, exitFailed, "build", "PRD-001")
			} else {
				run(image, exitComplete, "build", "PRD-001")
			}
			options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work,redirect_dir=off", image, base, base)
			if err := unix.Mount("overlay", dir, "overlay", 0, options); err != nil {
				skipUnlessCI(t, fmt.Sprint("mount an overlay: ", err))
			}
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
			if err := os.Rename(filepath.Join(dir, ".runner", "PRD-001"), filepath.Join(dir, ".runner", "elsewhere")); err == nil {
				t.Fatal("this overlay renames directories: the test proves nothing")
			}
			if test.broken {
				if err := os.Remove(filepath.Join(dir, "broken")); err != nil {
					t.Fatal(err)
				}
			}
			run(dir, exitComplete, test.args...)
			if test.want != "" {
				if found, _ := filepath.Glob(filepath.Join(dir, ".runner", test.want)); len(found) != 1 {
					t.Errorf("%s matches %q, want one journal", test.want, found)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".runner", "*.*ing")); len(left) > 0 {
				t.Errorf("the command left %q", left)
			}
			run(dir, exitComplete, "build", "PRD-001", "--resume=auto")
			run(dir, exitComplete, "checkpoint", "validate", "PRD-001", "--deep")
		})
	}
}
