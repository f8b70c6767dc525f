package disk_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestRoot makes a state directory and takes it back, unless another process uses it or
// has put something there.
func TestRoot(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		meet func(t *testing.T, l *disk.Layout) // what another process does meanwhile
		left bool
	}{
		"alone":                 {nil, false},
		"with a file in it":     {func(t *testing.T, l *disk.Layout) { put(t, l, "PRD-010.json") }, true},
		"with a file beside it": {func(t *testing.T, l *disk.Layout) { put(t, l, "../other") }, false},
		"locked": {func(t *testing.T, l *disk.Layout) {
			lock, err := l.FS.TryLock(l.StoreLockPath(), true)
			checkpointtest.Must(t, err)
			t.Cleanup(func() { checkpointtest.Must(t, lock.Unlock()) })
		}, true},
	} {
		m := store.NewMemory()
		l := disk.NewLayout("/ws/.runner", m, false)
		made, err := l.MissingRoot()
		checkpointtest.Must(t, err)
		if got := strings.Join(made, " "); !strings.HasSuffix(got, "/ws /ws/.runner /ws/.runner/locks /ws/.runner/.gitignore "+l.StoreLockPath()) {
			t.Errorf("%s: missing %s", name, got)
		}
		for range 2 {
			checkpointtest.Must(t, l.MakeRoot())
		}
		put(t, &l, l.Below(l.StoreLockPath()))
		if again, err := l.MissingRoot(); err != nil || len(again) > 0 {
			t.Errorf("%s: missing %q afterwards, %v", name, again, err)
		}
		if tt.meet != nil {
			tt.meet(t, &l)
		}
		checkpointtest.Must(t, l.UnmakeRoot(made))
		for _, path := range []string{l.Path, filepath.Join(l.Path, disk.LocksDir), filepath.Join(l.Path, disk.IgnoreName)} {
			if there, err := store.Exists(m, path); err != nil || there != tt.left {
				t.Errorf("%s: %s is there: %t, %v", name, path, there, err)
			}
		}
		checkpointtest.Must(t, l.UnmakeRoot(nil))
	}
}

func put(t *testing.T, l *disk.Layout, path string) {
	t.Helper()
	checkpointtest.Must(t, store.WriteFile(l.FS, filepath.Join(l.Path, path), nil))
}

// TestCheckLayout refuses a link or a file in the place of a directory that Runner works
// in, and says what to do.
func TestCheckLayout(t *testing.T) {
	t.Parallel()
	for path, own := range map[string]bool{
		"objects": true, "failed": true, "trash": true, "PRD-009": false, "PRD-009.importing": false, "PRD-009/history": false, "other": false,
	} {
		for _, link := range []bool{false, true} {
			m := store.NewMemory()
			l := disk.NewLayout("/ws/.runner", m, false)
			checkpointtest.Must(t, l.MakeRoot())
			at := filepath.Join(l.Path, path)
			checkpointtest.Must(t, store.MkdirAll(m, filepath.Dir(at)))
			if link {
				checkpointtest.Must(t, m.Symlink("/elsewhere", at))
			} else {
				checkpointtest.Must(t, store.WriteFile(m, at, nil))
			}
			for prd, want := range map[string]bool{"": own, "PRD-009": path != "other"} {
				err := l.CheckLayout(prd)
				var refused *disk.DirError
				if errors.As(err, &refused) != want || want && (refused.Path != at || strings.Contains(refused.Detail, "symbolic link") != link) {
					t.Errorf("%s, link %t, for %q: %v", path, link, prd, err)
				}
			}
		}
	}
	m := store.NewMemory()
	l := disk.NewLayout("/ws/.runner", m, false)
	checkpointtest.Must(t, store.MkdirAll(m, "/ws"))
	checkpointtest.Must(t, m.Symlink("/elsewhere", l.Path))
	if err := l.CheckDir(l.Path); err == nil || !strings.Contains(err.Error(), "checkpoint.storage.location") {
		t.Errorf("a link to the state directory: %v", err)
	}
}

// TestClaims reads which commits the derived files of a session name. Damaged ones name
// none, and those of a newer version are refused.
func TestClaims(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	ids := checkpointtest.Stopped(f)
	l := f.Open().Layout()
	dir := l.PRDDir("PRD-009")
	snap, err := f.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	claims := func() string {
		d, err := l.ReadDocument("PRD-009")
		checkpointtest.Must(t, err)
		found, err := l.ReadClaims("PRD-009", dir, d)
		if errors.As(err, new(*state.VersionError)) {
			return "newer"
		}
		checkpointtest.Must(t, err)
		got := ""
		for _, c := range found {
			if c.Session != "S1" || c.Seq == 0 {
				t.Errorf("claim %+v", c)
			}
			got += filepath.Base(c.Path) + " "
		}
		return got
	}
	document, manifest := f.Read("PRD-009.json"), f.Read("PRD-009/manifest.json")
	for _, tt := range []struct {
		name           string
		document, list []byte
		want           string
	}{
		{"whole", document, manifest, "PRD-009.json manifest.json "},
		{"the document changed", []byte(strings.Replace(string(document), "Cashier", "Other", 1)), manifest, "manifest.json "},
		{"by hand", []byte(`{"prd":"PRD-009"}`), manifest, "manifest.json "},
		{"the manifest damaged", document, []byte("{}"), "PRD-009.json "},
		{"the manifest is of other types", document, sealed(`"session":1`), "PRD-009.json "},
		{"the manifest is newer", document, state.Seal([]byte(`{"format_version":"99.0","x":1}`)), "newer"},
		{"the manifest is newer, and damaged", document, []byte(`{"format_version":"99.0","x":1,"checksum":"sha256:00"}`), "PRD-009.json "},
		{"the manifest is newer, and has no checksum", document, []byte(`{"format_version":"99.0","x":1}`), "newer"},
	} {
		f.Write("PRD-009.json", tt.document)
		f.Write("PRD-009/manifest.json", tt.list)
		if got := claims(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	checkpointtest.Must(t, f.FS.Remove(l.ManifestPath("PRD-009")))
	checkpointtest.Must(t, f.FS.Remove(l.DocumentPath("PRD-009")))
	if got := claims(); got != "" {
		t.Errorf("without files: %q", got)
	}
	checkpointtest.FlipByte(f, f.CheckpointFile(ids[1]), 50)
	for what, tt := range map[string]struct {
		known *state.State
		want  int
	}{"the state knows them": {snap.State, 0}, "no state": {nil, 2}, "an empty state": {&state.State{}, 2}} {
		found, err := l.CheckpointClaims(dir, append([]string{newID(1)}, ids...), tt.known)
		checkpointtest.Must(t, err)
		if len(found) != tt.want {
			t.Errorf("%s: %+v", what, found)
		}
	}
}

// TestReadFields reads fields up to the last one that is asked for.
func TestReadFields(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]string{
		`{"a":"x","b":2}`:            "x 2 false",
		`{"c":[{}],"b":2,"a":"x",!!`: "x 2 false",
		`{"a":"x"}`:                  "x 0 false",
		`{"a":1}`:                    " 0 true",
		`{"a":"x",`:                  "x 0 true",
		`["a"]`:                      " 0 true",
		``:                           " 0 true",
	} {
		var a string
		var b int
		err := disk.ReadFields([]byte(object), map[string]any{"a": &a, "b": &b})
		if got := fmt.Sprintf("%s %d %t", a, b, err != nil); got != want {
			t.Errorf("%s: %s (%v), want %s", object, got, err, want)
		}
	}
}

// TestDecodeCheckpoint: a checkpoint must be whole, and hold a state that can be used.
func TestDecodeCheckpoint(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	f.Compress(false)
	ids := checkpointtest.Stopped(f)
	snap, err := f.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	ref := snap.State.Checkpoint(ids[1])
	whole := f.Read(f.CheckpointFile(ids[1]))
	verified := func(data []byte, session string, ref *state.CheckpointRef) string {
		_, err := (&disk.StoredCheckpoint{JSON: data}).Verify("PRD-009", session, ref)
		switch {
		case errors.As(err, new(*state.VersionError)):
			return "newer"
		case errors.As(err, new(*state.DamagedError)):
			return "damaged"
		}
		checkpointtest.Must(t, err)
		return "whole"
	}
	for what, got := range map[string][2]string{
		"it":                    {verified(whole, "S1", ref), "whole"},
		"of another session":    {verified(whole, "S2", ref), "damaged"},
		"another one":           {verified(f.Read(f.CheckpointFile(ids[0])), "S1", ref), "damaged"},
		"of another commit":     {verified(whole, "S1", &state.CheckpointRef{ID: ref.ID, Seq: ref.Seq + 1}), "damaged"},
		"with another id":       {verified(whole, "S1", &state.CheckpointRef{ID: ids[0], Seq: ref.Seq}), "damaged"},
		"without a state":       {verified(sealed(`"id":"x"`), "S1", ref), "damaged"},
		"with a state of holes": {verified(sealed(`"id":"x","state":{"phases":[null]}`), "S1", ref), "damaged"},
		"of a newer version":    {verified(state.Seal([]byte(`{"format_version":"99.0","x":1}`)), "S1", ref), "newer"},
		"without a version":     {verified(state.Seal([]byte(`{"x":1}`)), "S1", ref), "damaged"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %s", what, got[0])
		}
	}
}
