package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestReleaseHasNoFailpoints looks into the binary that users get: nothing in
// it could be told to kill it or to fail.
func TestReleaseHasNoFailpoints(t *testing.T) {
	t.Parallel()
	name := []byte("RUNNER_" + "FAILPOINT")
	with, without := filepath.Join(t.TempDir(), "with"), buildBinary(t)
	if out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", with, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the command with failpoints: %v\n%s", err, out)
	}
	for binary, want := range map[string]bool{with: true, without: false} {
		data, err := os.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(data, name); got != want {
			t.Errorf("%s contains failpoints: %v, want %v", filepath.Base(binary), got, want)
		}
	}
}
