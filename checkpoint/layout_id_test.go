package checkpoint_test

import (
	"errors"
	"regexp"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
)

// TestIDs: an id must be refused if it collides with one of Runner's own names or can't
// be part of a git reference, whatever the configured pattern.
func TestIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"PRD-009": true, "cashier": true, "v1.2": true, "a.b": true, "1": true, "history": true, "caf\u00e9": true,
		"": false, ".": false, "..": false, "a/b": false, `a\b`: false,
		"objects": false, "Objects": false, "locks": false, "failed": false, "trash": false, "safety": false, "store": false,
		"audit.log": false, "workspace.cache": false, "x.json": false, "x.archiving": false, "x.importing": false, "x.deleting": false,
		"a..b": false, "x.lock": false, "x.": false,
	} {
		if err := disk.CheckID(id); (err == nil) != want {
			t.Errorf("%q: %v", id, err)
		}
	}
	f := checkpointtest.InMemory(t)
	f.Options.IDPattern = regexp.MustCompile(".*")
	var refused *disk.IDError
	if _, err := f.Open().Lock(t.Context(), "locks", checkpointtest.By); !errors.As(err, &refused) {
		t.Errorf("lock: %v", err)
	}
}
