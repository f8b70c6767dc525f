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

// TestRefsOfTwoStateDirectories gives two state directories the same session, as an
// import does. Their git references must have different ids, and each directory must own
// only its own references.
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
		"refs/runner/PRD-009/S1/3":              false, // of an earlier version, which did not record the owner
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

// madeRefsID returns the id of the session's git references, which it makes if there is
// none.
func madeRefsID(t *testing.T, x *checkpoint.Session) string {
	t.Helper()
	id, err := x.MakeRefsID(context.Background())
	checkpointtest.Must(t, err)
	return id
}

// TestRefsOfCopiedStateDirectory moves a state directory and puts a copy into the old
// place. The moved directory must keep its id and own its references. The copy, which has
// the file with the same id, must get a new id.
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
			t.Errorf("%s: id %s, and the original id is %s", dir, again, id)
		}
		checkpointtest.Must(t, x.Close())
	}
}

// TestRefsOfStateDirectoryMountedAnew changes what was recorded of a state directory when
// its id was made. A new device number alone, as after a mount, or a new path alone must
// keep the id. If both differ, or the inode number, the directory may be a copy, and must
// get a new id.
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
			t.Errorf("%s: id %s, and the previous id is %s", name, again, id)
		}
		var kept disk.RefsOwner
		checkpointtest.Must(t, json.Unmarshal(f.Read("locks/PRD-009.refs"), &kept))
		if here.ID = again; kept != here {
			t.Errorf("%s: kept %+v, want %+v", name, kept, here)
		}
		checkpointtest.Kill(t, x)
	}
}
