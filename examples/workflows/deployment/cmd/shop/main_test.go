package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestShare(t *testing.T) {
	traffic := filepath.Join(t.TempDir(), "traffic.txt")
	if err := os.WriteFile(traffic, []byte("canary 10\nprimary 90\nold 0\nnew many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]int{"canary": 10, "primary": 90, "old": 0, "new": 0, "other": 0} {
		if got, err := share(traffic, server); got != want || (err != nil) != (want == 0) {
			t.Errorf("the share of %s is %d, %v", server, got, err)
		}
	}
}
