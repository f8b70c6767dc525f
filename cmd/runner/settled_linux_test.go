package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDirectoriesOfArtifactsAreDurableFirst lets the fsync of the directory of an
// artifact, or of its parent, fail, or kills the runner there. A failed fsync must be
// reported and end the build. In both cases the artifact must not be on record, because
// a power cut could still remove its name from the directory.
func TestDirectoriesOfArtifactsAreDurableFirst(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t, "failpoint")
	const source = `
pipeline "PRD-001" {
  phase "one" {
    workstream "makes" {
      artifacts = ["made/below/**"]
      script    = "mkdir -p made/below; echo it > made/below/it"
    }
    workstream "uses" {
      depends_on = [workstream.makes]
      script     = "touch used"
    }
  }
}
`
	for _, dir := range []string{"made", "below"} {
		for _, action := range []string{"EIO", "kill"} {
			t.Run(action+" "+dir, func(t *testing.T) {
				t.Parallel()
				work := t.TempDir()
				if err := os.WriteFile(filepath.Join(work, "PRD-001.hcl"), []byte(source), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(binary, "build", "PRD-001")
				cmd.Dir, cmd.Env = work, append(os.Environ(), "RUNNER_FAILPOINT="+action+"@1:syncdir/"+dir)
				out, err := cmd.CombinedOutput()
				if err == nil {
					t.Errorf("the build succeeded:\n%s", out)
				}
				if told := strings.Contains(string(out), "make files durable"); told != (action == "EIO") {
					t.Errorf("the build reports the failed fsync: %v, want %v\n%s", told, !told, out)
				}
				journal, err := os.ReadFile(filepath.Join(work, ".runner", "PRD-001", "journal.jsonl"))
				if err != nil || strings.Contains(string(journal), "made/below/it") || !strings.Contains(string(journal), `"session.started"`) {
					t.Errorf("the journal names the artifact, or has no session: %v\n%s", err, journal)
				}
				if _, err := os.Stat(filepath.Join(work, "used")); err == nil {
					t.Error("the workstream that depends on the artifact has started")
				}
			})
		}
	}
}
