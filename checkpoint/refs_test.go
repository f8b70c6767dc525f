package checkpoint_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
)

// TestRefsOfTwoStateDirectories: with the same session, imported, they share
// no reference, and neither owns the other's.
func TestRefsOfTwoStateDirectories(t *testing.T) {
	t.Parallel()
	one, two := checkpointtest.InMemory(t).Run(), checkpointtest.InMemory(t).Run()
	defer checkpointtest.Kill(t, one)
	defer checkpointtest.Kill(t, two)
	id, other, again := madeRefsID(t, one), madeRefsID(t, two), madeRefsID(t, one)
	if id != again || id == other {
		t.Fatalf("ids %q, then %q, of another directory %q", id, again, other)
	}
	s := one.State()
	known := map[string]bool{disk.SessionRefs(s): true}
	for ref, want := range map[string]bool{
		disk.CaptureRef(s, id, 3):               true,
		disk.CaptureRef(s, id, 3) + "-2":        true,
		disk.CaptureRef(s, other, 3):            false,
		"refs/runner/PRD-009/S1/3":              false, // of an earlier version: whoever made it
		"refs/runner/PRD-009/S2/3":              false,
		"refs/runner/PRD-009/S2-" + id + "/3":   false,
		"refs/runner/PRD-010/S1-" + id + "/3":   false,
		"refs/runner/x":                         false,
		"refs/runner/PRD-009/S1-" + id + "/a/3": false,
	} {
		if own, err := one.Store().Layout().OwnsRef(known, ref); own != want || err != nil {
			t.Errorf("owns %s: %v, %v", ref, own, err)
		}
	}
	if a, b := disk.RefKey(disk.CaptureRef(s, id, 3)), disk.RefKey(disk.CaptureRef(s, other, 3)); a != b || a != "refs/runner/PRD-009/S1/3" || disk.RefKey(a) != a {
		t.Errorf("keys %s and %s", a, b)
	}
}

func madeRefsID(t *testing.T, x *checkpoint.Session) string {
	t.Helper()
	id, err := x.MakeRefsID(context.Background())
	checkpointtest.Must(t, err)
	return id
}

// TestRefsOfCopiedStateDirectory: a copy has the file with the id, and does not
// go by it; a directory that was moved does.
func TestRefsOfCopiedStateDirectory(t *testing.T) {
	t.Parallel()
	f := checkpointtest.OnDisk(t)
	x := f.Run()
	id := madeRefsID(t, x)
	ref, known := disk.CaptureRef(x.State(), id, 3), map[string]bool{disk.SessionRefs(x.State()): true}
	checkpointtest.Must(t, x.Close())

	moved := filepath.Join(t.TempDir(), "moved")
	checkpointtest.Must(t, os.Rename(f.Dir, moved))
	checkpointtest.Must(t, os.CopyFS(f.Dir, os.DirFS(moved)))
	checkpointtest.Must(t, os.Chmod(f.Dir, 0o700))
	for dir, want := range map[string]bool{moved: true, f.Dir: false} {
		f := checkpointtest.On(t, f.FS, dir)
		if own, err := f.Open().Layout().OwnsRef(known, ref); own != want || err != nil {
			t.Errorf("%s owns %s: %v, %v", dir, ref, own, err)
		}
		x := f.Lock()
		if again := madeRefsID(t, x); (again == id) != want {
			t.Errorf("%s: id %s, where it was %s", dir, again, id)
		}
		checkpointtest.Must(t, x.Close())
	}
}

// TestRefsOfStateDirectoryMountedAnew: its device has another number then. With
// another number of its own too, or another path, it may be a copy.
func TestRefsOfStateDirectoryMountedAnew(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		was  func(o *disk.RefsOwner) // what the directory was when the id was made
		same bool
	}{
		"nothing changed":       {func(*disk.RefsOwner) {}, true},
		"device":                {func(o *disk.RefsOwner) { o.Device++ }, true},
		"path":                  {func(o *disk.RefsOwner) { o.Path += "-before" }, true},
		"device and path":       {func(o *disk.RefsOwner) { o.Device++; o.Path += "-before" }, false},
		"number":                {func(o *disk.RefsOwner) { o.Number++ }, false},
		"device and number":     {func(o *disk.RefsOwner) { o.Device++; o.Number++ }, false},
		"device was not known":  {func(o *disk.RefsOwner) { o.Device = 0 }, true},
		"unknown, and the path": {func(o *disk.RefsOwner) { o.Device = 0; o.Path += "-before" }, false},
	} {
		f := checkpointtest.InMemory(t)
		x := f.Run()
		id := madeRefsID(t, x)
		here, err := f.Open().Layout().OwnerOfRefs(id)
		checkpointtest.Must(t, err)
		was := here
		test.was(&was)
		checkpointtest.Must(t, x.Store().Layout().WriteRefsOwner("PRD-009", was))
		again := madeRefsID(t, x)
		if (again == id) != test.same {
			t.Errorf("%s: id %s, where it was %s", name, again, id)
		}
		var kept disk.RefsOwner
		checkpointtest.Must(t, json.Unmarshal(f.Read("locks/PRD-009.refs"), &kept))
		if here.ID = again; kept != here {
			t.Errorf("%s: kept %+v, want %+v", name, kept, here)
		}
		checkpointtest.Kill(t, x)
	}
}
