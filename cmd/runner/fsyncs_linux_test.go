package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFsyncsOfAChain counts the fsyncs of a chain of workstreams with strace. The journal
// may take one per boundary, two for each workstream. All other files may take only those
// of the start and the end of a run, without the PRD document, which is written at
// varying times. runner.TestCostOfABoundary counts fsyncs inside of the process.
func TestFsyncsOfAChain(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	const workstreams = 80
	journal, others := 0, 0
	for _, file := range fsyncsOf(t, workstreams) {
		switch {
		case strings.HasSuffix(file, "/journal.jsonl"):
			journal++
		case strings.Contains(file, "/.tmp-PRD-001.json-"):
			others-- // offsets the fsync of the directory, which comes next
		default:
			others++
		}
	}
	if most := 2*workstreams + 10; journal < workstreams || journal > most {
		t.Errorf("the journal took %d fsyncs, want at least %d and at most %d", journal, workstreams, most)
	}
	if most := workstreams - 20; others > most {
		t.Errorf("all other files took %d fsyncs, want at most %d", others, most)
	}
}

// fsyncsOf runs a chain of so many workstreams, each of which depends on the one before,
// and returns the paths of the files that are synced, in order.
func fsyncsOf(t *testing.T, workstreams int) (files []string) {
	t.Helper()
	dir := t.TempDir()
	var src strings.Builder
	for i := range workstreams {
		fmt.Fprintf(&src, "workstream \"s%d\" {\n command = [\"true\"]\n", i)
		if i > 0 {
			fmt.Fprintf(&src, " depends_on = [workstream.s%d]\n", i-1)
		}
		src.WriteString("}\n")
	}
	pipeline := fmt.Sprintf("pipeline \"PRD-001\" {\nphase \"all\" {\n%s}\n}\n", src.String())
	if err := os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte(pipeline), 0o600); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-y", "-e", "trace=fsync,fdatasync", "-o", trace,
		"runner", "build", "PRD-001", "--output", "quiet")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "PRDRUNNER_CHECKPOINT_CAPTURE=phase") // by default the number of captures depends on the time
	if shown, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, shown)
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range regexp.MustCompile(`(?:fsync|fdatasync)\(\d+<([^>]*)>`).FindAllSubmatch(data, -1) {
		files = append(files, string(call[1]))
	}
	return files
}
