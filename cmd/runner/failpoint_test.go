package main

import (
	"bytes"
	"os"
	"testing"
)

// TestReleaseHasNoFailpoints checks that the binary that users get has no failpoints, so
// that no environment variable can make it kill itself or fail.
func TestReleaseHasNoFailpoints(t *testing.T) {
	t.Parallel()
	name := []byte("RUNNER_" + "FAILPOINT")
	for binary, want := range map[string]bool{buildBinary(t, "failpoint"): true, buildBinary(t): false} {
		data, err := os.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(data, name); got != want {
			t.Errorf("the binary contains failpoints: %v, want %v", got, want)
		}
	}
}
