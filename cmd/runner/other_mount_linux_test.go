package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnotherMount puts the directory for temporary files, the state directory, or both,
// on another file system than the workspace, so that rename(2) between them fails.
// Builds, checkpoints, rollbacks, exports and imports must work and leave no temporary
// files.
func TestAnotherMount(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"temporary files", "state", "both"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ownMounts(t)
			p := newPlace(t)
			other, tmp := mountTmpfs(t, "size=64m"), filepath.Join(p.root, "tmp")
			done(t, os.Mkdir(filepath.Join(other, "tmp"), 0o700))
			if what != "state" {
				tmp = filepath.Join(other, "tmp")
				p.environ = append(p.environ, "TMPDIR="+tmp)
			}
			if what != "temporary files" {
				p.environ = append(p.environ, "PRDRUNNER_CHECKPOINT_STORAGE_LOCATION="+filepath.Join(other, "state"))
			}
			p.write("runner.yaml", "workspace:\n  include: [\"*.txt\"]\n")
			p.write("PRD-001.hcl", `pipeline "PRD-001" {
  phase "one" {
    workstream "A" {
      artifacts = ["gen/*"]
      script    = "mkdir -p gen; seq 20000 > gen/large; echo small > gen/small"
    }
  }
  phase "two" {
    workstream "B" { script = "test -e ok" }
  }
}`)
			p.write("notes.txt", "first")
			empty := func(after string) {
				t.Helper()
				left, err := os.ReadDir(tmp)
				done(t, err)
				if len(left) > 0 {
					t.Errorf("%s left temporary files: %v", after, left)
				}
			}
			runs := func(code int, args ...string) {
				t.Helper()
				if said := p.run(code, args...); strings.Contains(said, "cross-device") {
					t.Errorf("%v reports a rename between file systems:\n%s", args, said)
				}
				empty(strings.Join(args, " "))
			}
			runs(1, "build", "PRD-001")
			large := p.read("gen/large")
			runs(0, "checkpoint", "create", "PRD-001")
			p.write("notes.txt", "second")
			p.write("gen/large", "edited")
			runs(0, "checkpoint", "rollback", "PRD-001", "latest", "--yes")
			if p.read("notes.txt") != "first" || p.read("gen/large") != large {
				t.Error("the rollback did not restore the files")
			}
			p.remove("gen")
			p.write("ok", "")
			runs(0, "build", "PRD-001", "--resume")
			archive := filepath.Join(p.root, "it.tar.gz")
			runs(0, "checkpoint", "export", "PRD-001", "-o", archive)
			runs(0, "checkpoint", "prune", "PRD-001", "--yes")
			runs(0, "checkpoint", "delete", "PRD-001", "--session", "--yes")
			p.remove("gen")
			runs(0, "checkpoint", "import", archive, "--yes")
			runs(0, "checkpoint", "rollback", "PRD-001", "latest", "--yes")
			if p.read("gen/large") != large {
				t.Error("after the import, the rollback did not restore the files")
			}
			runs(0, "checkpoint", "validate", "PRD-001", "--deep")
		})
	}
}
