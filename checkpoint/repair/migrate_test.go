package repair_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
)

// TestMigrateCheckpoints: Migrate must convert the checkpoint files of an older version
// and keep the old files. It must leave alone damaged, missing and current ones.
func TestMigrateCheckpoints(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := checkpointtest.InMemory(t)
	f.Compress(false)
	ids := checkpointtest.Stopped(f)
	files := map[string][]byte{}
	older := func(id string) {
		text, _, _ := strings.Cut(string(f.Read(f.CheckpointFile(id))), `,"checksum"`)
		text = strings.ReplaceAll(text, `"format_version":"`+state.FormatVersion+`"`, `"format_version":"1.1"`)
		files[id] = state.Seal([]byte(text + "}"))
		f.Write(f.CheckpointFile(id), files[id])
	}
	for _, tt := range []struct {
		what   string
		change func()
	}{
		{"all are current", func() {}},
		{"one is missing", func() { checkpointtest.Must(t, f.FS.Remove(f.Dir+"/"+f.CheckpointFile(ids[0]))) }},
		{"one is damaged, too", func() { checkpointtest.FlipByte(f, f.CheckpointFile(ids[1]), 100) }},
	} {
		tt.change()
		m, err := repair.PlanMigrate(ctx, f.Open(), "PRD-009")
		checkpointtest.Must(t, err)
		if m.Needed() || m.From != state.FormatVersion {
			t.Errorf("%s: %+v", tt.what, m)
		}
	}
	before := checkpointtest.Everything(t, f.FS, f.Dir)
	if m, err := repair.Migrate(ctx, f.Open(), "PRD-009", checkpointtest.By); err != nil || m.Needed() {
		t.Errorf("migrated what is current: %+v, %v", m, err)
	}
	checkpointtest.Untouched(t, "a migration of what is current", checkpointtest.Everything(t, f.FS, f.Dir), before)
	if m, err := repair.Migrate(ctx, f.Open(), "PRD-404", checkpointtest.By); !errors.Is(err, checkpoint.ErrNoSession) {
		t.Errorf("migrated a PRD without a session: %+v, %v", m, err)
	}
	older(ids[2])
	// Files that are made again from the journal need not be there.
	checkpointtest.Must(t, f.FS.Remove(f.Open().Layout().DocumentPath("PRD-009")))
	checkpointtest.Must(t, f.FS.Remove(f.Open().Layout().ManifestPath("PRD-009")))
	m, err := repair.Migrate(ctx, f.Open(), "PRD-009", checkpointtest.By)
	checkpointtest.Must(t, err)
	if !m.Needed() || m.Journal || m.From != "1.1" || !slices.Equal(m.Checkpoints, ids[2:]) || len(m.Kept) != 1 {
		t.Fatalf("migrated %+v", m)
	}
	kept := f.Read("PRD-009/" + string(m.Kept[0]) + "/checkpoints/" + filepath.Base(f.CheckpointFile(ids[2])))
	if !bytes.Equal(kept, files[ids[2]]) {
		t.Error("the older file was not kept")
	}
	stored, err := f.Checkpoints().Read(ids[2])
	checkpointtest.Must(t, err)
	if c, err := stored.Decode(); err != nil || c.FormatVersion != state.FormatVersion || c.State.FormatVersion != state.FormatVersion {
		t.Errorf("converted: %+v, %v", c, err)
	}
	if m, err := repair.Migrate(ctx, f.Open(), "PRD-009", checkpointtest.By); err != nil || m.Needed() {
		t.Errorf("again: %+v, %v", m, err)
	}
}
