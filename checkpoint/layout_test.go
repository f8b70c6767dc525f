package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestLinksInTheStateDirectory replaces each directory of the state directory by a link
// to a directory outside. Every operation must be refused, and the directory outside must
// stay unchanged.
func TestLinksInTheStateDirectory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	shared := []string{"objects", "failed", "trash", "safety"}
	own := []string{
		"PRD-009", "PRD-009/checkpoints", "PRD-009/history", "PRD-009/logs", "PRD-009/run", "PRD-009/inbox",
		"PRD-009.archiving", "PRD-009.deleting", "PRD-009.importing", "PRD-009.importing/checkpoints", "PRD-009.deleting/history",
	}
	operations := map[string]func(s *checkpoint.Store) error{
		"lock": func(s *checkpoint.Store) error {
			x, err := s.Lock(ctx, "PRD-009", checkpointtest.By)
			if err == nil {
				err = x.Close()
			}
			return err
		},
		"set aside": func(s *checkpoint.Store) error { _, err := s.SetAside(ctx, "PRD-009"); return err },
		"delete":    func(s *checkpoint.Store) error { return s.DeleteSession(ctx, "PRD-009", checkpointtest.By) },
	}
	for _, name := range append(shared, own...) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.OnDisk(t)
			checkpointtest.Must(t, f.Run().Close())
			outside := linkAway(f, name)
			for what, do := range operations {
				var refused *disk.DirError
				if err := do(f.Open()); !errors.As(err, &refused) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if left, err := os.ReadDir(outside); err != nil || len(left) != 1 {
				t.Errorf("the directory outside holds %v, %v", left, err)
			}
		})
	}
	for _, name := range shared {
		t.Run("collect "+name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.OnDisk(t)
			checkpointtest.Must(t, f.Run().Close())
			linkAway(f, name)
			var refused *disk.DirError
			if _, err := prune.Collect(ctx, f.Open(), nil); !errors.As(err, &refused) {
				t.Errorf("collect: %v", err)
			}
		})
	}
}

// linkAway replaces a directory of the state directory by a link to a directory outside,
// which has one file. It returns the directory outside.
func linkAway(f *checkpointtest.Fixture, name string) (outside string) {
	f.T.Helper()
	outside = f.T.TempDir()
	checkpointtest.Must(f.T, os.WriteFile(filepath.Join(outside, "package.json"), []byte("{}"), 0o600))
	at := filepath.Join(f.Dir, name)
	checkpointtest.Must(f.T, os.RemoveAll(at))
	checkpointtest.Must(f.T, os.MkdirAll(filepath.Dir(at), 0o700))
	checkpointtest.Must(f.T, os.Symlink(outside, at))
	return outside
}

// TestWorldWritableCheckpoints: the lock must be refused if everybody may write to
// checkpoints/, since another user could put files there.
func TestWorldWritableCheckpoints(t *testing.T) {
	t.Parallel()
	f := checkpointtest.OnDisk(t)
	x := f.Run()
	x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Must(t, x.Close())
	checkpointtest.Must(t, os.Chmod(filepath.Join(f.Dir, "PRD-009", "checkpoints"), 0o777)) //nolint:gosec // Lock must refuse this mode
	var refused *disk.DirError
	if _, err := f.Open().Lock(context.Background(), "PRD-009", checkpointtest.By); !errors.As(err, &refused) {
		t.Errorf("lock: %v", err)
	}
}

// TestStrangersAmongCheckpoints puts files with other names into checkpoints/. The next
// owner must leave them alone, and must remove a file that has the name of a checkpoint
// but belongs to none.
func TestStrangersAmongCheckpoints(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Must(t, x.Close())
	const unkept = "PRD-009/checkpoints/CP-old-20250101T000000Z-aaaa0000.json"
	strangers := []string{"package.json", "CP-notes.json", "notes.json.zst"}
	for _, name := range strangers {
		f.Write("PRD-009/checkpoints/"+name, []byte("mine"))
	}
	f.Write(unkept, []byte("{}"))
	checkpointtest.Must(t, f.Lock().Close())
	for _, name := range strangers {
		if got := string(f.Read("PRD-009/checkpoints/" + name)); got != "mine" {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if there, err := store.Exists(f.Open().Layout().FS, filepath.Join(f.Dir, unkept)); there || err != nil {
		t.Errorf("the file of an unknown checkpoint exists: %v, %v", there, err)
	}
}

// TestLinkedAuditLog replaces the audit log by a link to a file outside. Audit must fail,
// and the file outside must stay unchanged.
func TestLinkedAuditLog(t *testing.T) {
	t.Parallel()
	f := checkpointtest.OnDisk(t)
	checkpointtest.Must(t, f.Run().Close())
	outside := filepath.Join(t.TempDir(), "main.go")
	checkpointtest.Must(t, os.WriteFile(outside, []byte("package main\n"), 0o600))
	checkpointtest.Must(t, os.Symlink(outside, filepath.Join(f.Dir, "audit.log")))
	if err := f.Open().Audit(checkpoint.AuditRecord{What: "build"}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("audit: %v", err)
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "package main\n" {
		t.Errorf("the file outside holds %q, %v", data, err)
	}
}

// TestNamesOfFilesFit: EncodeName must return a valid file name for any name, never the
// same for two names. A short name of plain characters must stay as is.
func TestNamesOfFilesFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 250)
	seen := map[string]string{}
	for _, name := range []string{
		"player", ".player", `service["player"]`, strings.Repeat("x", disk.MaxEncoded), strings.Repeat("x", disk.MaxEncoded+1), strings.Repeat("x", disk.MaxEncoded+2),
		long, long + "a", long + "b", "a" + long,
	} {
		got := disk.EncodeName(name)
		if len(got) > disk.MaxEncoded || strings.Trim(got, disk.PhaseChars) != "" {
			t.Errorf("%q becomes %q", name, got)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q both become %q", name, other, got)
		}
		seen[got] = name
		if len(name) <= disk.MaxEncoded && strings.Trim(name, disk.PhaseChars) == "" && name[0] != '.' && got != name {
			t.Errorf("%q becomes %q", name, got)
		}
	}
}
