package main

import (
	"bytes"
	"os"
	"testing"
)

// TestReleaseHasNoFailpoints looks into the binary that users get: nothing in
// it could be told to kill it or to fail.
func TestReleaseHasNoFailpoints(t *testing.T) {
	t.Parallel()
	name := []byte("RUNNER_" + "FAILPOINT")
	for binary, want := range map[string]bool{buildBinary(t, "failpoint"): true, buildBinary(t): false} {
		data, err := os.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(data, name); got != want {
			t.Errorf("it contains failpoints: %v, want %v", got, want)
		}
	}
}
