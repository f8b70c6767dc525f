package workspace

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// generous and generousDir are ACLs as setfacl writes them. They let a named user write,
// but not the owning group. The mode shows the mask, rw, in place of the group's
// permissions.
var (
	generous = acl([3]uint32{aclOwner, 6, math.MaxUint32}, [3]uint32{2, 6, 12345}, [3]uint32{aclGroup, 4, math.MaxUint32},
		[3]uint32{16, 6, math.MaxUint32}, [3]uint32{aclOther, 4, math.MaxUint32})
	generousDir = acl([3]uint32{aclOwner, 7, math.MaxUint32}, [3]uint32{2, 7, 12345}, [3]uint32{aclGroup, 5, math.MaxUint32},
		[3]uint32{16, 7, math.MaxUint32}, [3]uint32{aclOther, 5, math.MaxUint32})
)

func acl(entries ...[3]uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
		b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
		b = binary.LittleEndian.AppendUint32(b, e[2])
	}
	return b
}

func setACL(t *testing.T, name, attribute string, acl []byte) {
	t.Helper()
	err := unix.Setxattr(name, attribute, acl, 0)
	if errors.Is(err, unix.ENOTSUP) {
		t.Skip("the file system of the temporary directory has no ACLs")
	}
	must(t, err)
}

func hasACL(t *testing.T, name string) bool {
	t.Helper()
	_, err := unix.Getxattr(name, accessACL, nil)
	if err != nil && !errors.Is(err, unix.ENODATA) {
		t.Fatal(err)
	}
	return err == nil
}

// TestACLRecorded: the permissions of an ACL's mask are not recorded as permissions of
// the group, whether the file is read or in the cache.
func TestACLRecorded(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	put(t, dir, "f", "x")
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	setACL(t, filepath.Join(dir, "f"), accessACL, generous)
	setACL(t, filepath.Join(dir, "empty"), accessACL, generousDir)
	if shown := mustStat(t, filepath.Join(dir, "f")).Mode(); shown != 0o664 {
		t.Fatalf("the mode shows %o", shown)
	}
	o := CaptureOptions{Patterns: []string{"**"}}
	captured, err := w.Capture(t.Context(), o)
	must(t, err)
	l, err := w.Load(t.Context(), captured.Listing)
	must(t, err)
	if l.Entries[0].Mode != ModeDir|0o755 || l.Entries[1].Mode != 0o644 {
		t.Errorf("captured as %+v", l.Entries)
	}
	if again, err := w.Capture(t.Context(), CaptureOptions{Patterns: o.Patterns, Last: &captured.Capture}); err != nil || again.Changed {
		t.Errorf("captured again: %+v, %v", again, err)
	}
	must(t, w.SaveCache())
	later := open(t, w.o)
	is, err := later.tree.Place("f").Status()
	must(t, err)
	f, err := later.files.inspectStatus(is, later.tree.Place("f"), "f", later.files.wantsBlob)
	if err != nil || !f.hasDigest() || f.entry.Mode != 0o644 {
		t.Errorf("known as %+v, %v", f, err)
	}
	setACL(t, filepath.Join(dir, "f"), accessACL, plainACL(0o664))
	if e, err := later.Describe(t.Context(), "f"); err != nil || e.Mode != 0o664 {
		t.Errorf("without the ACL: %+v, %v", e, err)
	}
}

// TestACLRestored: a restored file or directory has the recorded mode, and no ACL that
// changes its permissions.
func TestACLRestored(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	for _, path := range []string{"written", "gone", "mode"} {
		put(t, dir, path, "x")
	}
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	before, err := w.Now(t.Context(), []string{"**"})
	must(t, err)
	_, _, err = w.Keep(t.Context(), []string{"written", "gone", "mode"})
	must(t, err)

	setACL(t, dir, "system.posix_acl_default", generousDir)
	put(t, dir, "written", "more")
	setACL(t, filepath.Join(dir, "written"), accessACL, generous)
	setACL(t, filepath.Join(dir, "mode"), accessACL, generous)
	must(t, os.Chmod(filepath.Join(dir, "mode"), 0o600))
	must(t, os.Remove(filepath.Join(dir, "gone")))
	must(t, os.Remove(filepath.Join(dir, "empty")))
	now, err := w.Now(t.Context(), []string{"**"})
	must(t, err)
	changes := Diff(now, before)
	if len(changes) != 4 {
		t.Errorf("the changes are %+v", changes)
	}
	_, err = w.Restore(t.Context(), changes, RestoreOptions{ID: "x"})
	must(t, err)
	for path, want := range map[string]fs.FileMode{"written": 0o644, "gone": 0o644, "mode": 0o644, "empty": fs.ModeDir | 0o755} {
		name := filepath.Join(dir, path)
		if is := mustStat(t, name).Mode(); is != want || hasACL(t, name) {
			t.Errorf("%s has mode %v, and an ACL: %v", path, is, hasACL(t, name))
		}
	}
	if now, err = w.Now(t.Context(), []string{"**"}); err != nil || len(Diff(now, before)) > 0 {
		t.Errorf("still to do: %+v, %v", Diff(now, before), err)
	}
}

// TestGroupOf reads ACLs, including invalid ones.
func TestGroupOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		acl  []byte
		perm uint32
		ok   bool
	}{
		"as setfacl writes it":    {generous, 4, true},
		"as chmod would":          {plainACL(0o751), 5, true},
		"another version":         {append([]byte{3}, generous[1:]...), 0, false},
		"without a group":         {acl([3]uint32{aclOwner, 7, math.MaxUint32}), 0, false},
		"cut":                     {plainACL(0o751)[:aclHead+aclEntry+3], 0, false},
		"empty":                   {nil, 0, false},
		"with unknown bits to it": {acl([3]uint32{aclGroup, 0xfff4, math.MaxUint32}), 4, true},
	} {
		if perm, ok := groupOf(c.acl); perm != c.perm || ok != c.ok {
			t.Errorf("%s: %o, %v", name, perm, ok)
		}
	}
}
