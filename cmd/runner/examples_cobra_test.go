package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFailureStopsNoOtherCheck lets a check of examples/workflows/cobra fail. All others
// must run all the same, and not again after the failure is mended.
func TestAFailureStopsNoOtherCheck(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), copyExample(t, "workflows/cobra")
	path := filepath.Join(dir, "header.txt")
	header, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("// Written by others.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := runExample(t, binary, dir, 1, "build PRD-101")
	expect(t, out, "license failed", "command.go:1: the first line is not that of header.txt", `✓ unix["darwin-1.21"]`, `✓ unix["linux-1.26"]`, "✓ windows", "✓ lint")

	if err := os.WriteFile(path, header, 0o644); err != nil {
		t.Fatal(err)
	}
	out = runExample(t, binary, dir, 0, "build PRD-101 --resume")
	expect(t, out, "✓ license", "PRD-101 complete")
	for _, done := range []string{"✓ lint", "✓ unix", "✓ windows"} {
		if strings.Contains(out, done) {
			t.Errorf("what was done ran again:\n%s", out)
		}
	}
}

// runExample runs a command line of Runner in a copy of an example, and returns its output.
func runExample(t *testing.T, binary, dir string, exit int, line string) string {
	t.Helper()
	cmd := exec.Command(binary, strings.Fields(line)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != exit {
		t.Fatalf("runner %s: exit code %d, want %d\n%s", line, got, exit, out)
	}
	return string(out)
}
