package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// layoutIn returns a layout in memory, with the directories of PRD-009.
func layoutIn(t *testing.T) (*disk.Layout, *store.Memory) {
	t.Helper()
	m := store.NewMemory()
	l := disk.NewLayout("/ws/.runner", m, false)
	checkpointtest.Must(t, l.MakeRoot())
	checkpointtest.Must(t, l.MakeSessionDirs("PRD-009", true))
	return &l, m
}

func newID(n int) string {
	return disk.NewCheckpointID("phase", time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC), fmt.Sprint(n))
}

func sealed(content string) []byte {
	return state.Seal([]byte(`{"format_version":"` + state.FormatVersion + `",` + content + `}`))
}

// TestTwoFiles: where a checkpoint has two files, the valid one counts.
func TestTwoFiles(t *testing.T) {
	t.Parallel()
	valid, bad := sealed(`"id":"it"`), []byte(`{"id":"damaged"}`)
	for name, tt := range map[string]struct {
		plain, packed []byte
		read          string // the extension of the file that is read; "": there is none
		valid         bool
	}{
		"none":                  {},
		"plain":                 {valid, nil, disk.JSONExt, true},
		"packed":                {nil, valid, disk.ZstExt, true},
		"both":                  {valid, valid, disk.JSONExt, true},
		"the plain one bad":     {bad, valid, disk.ZstExt, true},
		"the packed one bad":    {valid, bad, disk.JSONExt, true},
		"both bad":              {bad, bad, disk.JSONExt, false},
		"only a bad packed one": {nil, bad, disk.ZstExt, false},
	} {
		l, m := layoutIn(t)
		d := l.CheckpointsIn(l.PRDDir("PRD-009"))
		id := newID(1)
		names := disk.FileNames(id)
		var want int
		if tt.plain != nil {
			want++
			checkpointtest.Must(t, store.WriteFile(m, filepath.Join(d.Path, names[0]), tt.plain))
		}
		if tt.packed != nil {
			want++
			packed, err := d.Zstd.Pack(tt.packed)
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, store.WriteFile(m, filepath.Join(d.Path, names[1]), packed))
		}
		paths, err := d.Paths(id)
		checkpointtest.Must(t, err)
		if len(paths) != want || want > 0 && d.FilePath(id) != paths[0] || want == 0 && d.FilePath(id) != filepath.Join(d.Path, names[0]) {
			t.Errorf("%s: files %q, and %q first", name, paths, d.FilePath(id))
		}
		c, err := d.Read(id)
		if tt.read == "" {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		checkpointtest.Must(t, err)
		if _, unsealed := state.Unseal(c.JSON); filepath.Ext(c.Path) != tt.read || (unsealed == nil) != tt.valid {
			t.Errorf("%s: read %s, %v", name, c.Path, unsealed)
		}
	}
}

// TestRemoveDuplicates: of two files the valid one stays; both stay if neither can be
// used.
func TestRemoveDuplicates(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	f.Compress(false)
	ids := checkpointtest.Stopped(f)
	d := f.Checkpoints()
	write := func(name string, data []byte) {
		checkpointtest.Must(t, store.WriteFile(f.FS, filepath.Join(d.Path, name), data))
	}
	pack := func(data []byte) []byte {
		packed, err := d.Zstd.Pack(data)
		checkpointtest.Must(t, err)
		return packed
	}
	for i, tt := range []struct{ plain, packed bool }{{true, true}, {false, true}, {false, false}} {
		names := disk.FileNames(ids[i])
		whole := f.Read(f.CheckpointFile(ids[i]))
		if !tt.plain {
			write(names[0], []byte("{}"))
		}
		if tt.packed {
			write(names[1], pack(whole))
		} else {
			write(names[1], []byte("{}"))
		}
	}
	checkpointtest.Must(t, d.RemoveDuplicates())
	for i, want := range []string{".json", ".zst", ".json.zst"} {
		paths, err := d.Paths(ids[i])
		checkpointtest.Must(t, err)
		got := ""
		for _, path := range paths {
			got += filepath.Ext(path)
		}
		if got != want {
			t.Errorf("checkpoint %d has %q, want %q", i, got, want)
		}
	}
}

// TestCheckpointFiles: files are written once, in the form that is set, and removed in
// whichever form they are.
func TestCheckpointFiles(t *testing.T) {
	t.Parallel()
	for _, many := range []int{disk.RemoveMany - 1, disk.RemoveMany} {
		l, m := layoutIn(t)
		d := l.CheckpointsIn(l.PRDDir("PRD-009"))
		first, second := disk.EncodedCheckpoint{ID: newID(1), JSON: [][]byte{[]byte(`{"a":`), []byte(`1}`)}}, disk.EncodedCheckpoint{ID: newID(2), JSON: [][]byte{[]byte(`{}`)}}
		checkpointtest.Must(t, d.Put(first))
		d.Compress = true
		checkpointtest.Must(t, d.Put(disk.EncodedCheckpoint{ID: first.ID, JSON: [][]byte{[]byte(`{"a":2}`)}}, second))
		checkpointtest.Must(t, store.WriteFile(m, filepath.Join(d.Path, "other.json"), []byte("{}")))
		checkpointtest.Must(t, store.MkdirAll(m, filepath.Join(d.Path, "directory.json")))
		names, err := d.List()
		checkpointtest.Must(t, err)
		want := []string{disk.FileNames(first.ID)[0], disk.FileNames(second.ID)[1], "other.json"}
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("files %q, want %q", names, want)
		}
		ids, err := d.IDs()
		checkpointtest.Must(t, err)
		if !slices.Equal(ids, slices.Sorted(slices.Values([]string{first.ID, second.ID}))) {
			t.Errorf("ids %q", ids)
		}
		for id, content := range map[string]string{first.ID: `{"a":1}`, second.ID: "{}"} {
			c, err := d.Read(id)
			checkpointtest.Must(t, err)
			if string(c.JSON) != content {
				t.Errorf("%s holds %s", id, c.JSON)
			}
			checkpointtest.Must(t, d.Replace(c, []byte(`{"b":1}`)))
			if c, err := d.Read(id); err != nil || string(c.JSON) != `{"b":1}` {
				t.Errorf("%s, replaced, holds %s: %v", id, c.JSON, err)
			}
		}
		remove, err := d.Remover(many)
		checkpointtest.Must(t, err)
		for _, id := range []string{first.ID, second.ID, newID(3)} {
			checkpointtest.Must(t, remove(id))
		}
		if names, err := d.List(); err != nil || !slices.Equal(names, []string{"other.json"}) {
			t.Errorf("removed with %d: %q stay, %v", many, names, err)
		}
	}
	l, _ := layoutIn(t)
	for _, id := range []string{"../../x", ".x", `a\b`, "a\x00"} {
		if err := l.CheckpointsIn(l.PRDDir("PRD-009")).Remove(id); err == nil {
			t.Errorf("%q was removed", id)
		}
	}
	if names, err := l.CheckpointsIn("/nowhere").List(); err != nil || names != nil {
		t.Errorf("a missing directory: %q, %v", names, err)
	}
}

// TestRefuseNewer: a checkpoint file of a newer version is found among others, in either
// form; a damaged one is not taken for one.
func TestRefuseNewer(t *testing.T) {
	t.Parallel()
	newer := state.Seal([]byte(`{"format_version":"99.0","id":"x"}`))
	known := sealed(`"id":"x"`)
	for name, tt := range map[string]struct {
		file   []byte
		packed bool
		as     string // another file: its path in the directory of the PRD
		newer  bool
	}{
		"none":                 {},
		"known":                {file: known},
		"newer":                {file: newer, newer: true},
		"newer, packed":        {file: newer, packed: true, newer: true},
		"known, packed":        {file: known, packed: true},
		"newer, damaged":       {file: []byte(`{"format_version":"99.0","checksum":"sha256:00"}`)},
		"newer, another file":  {file: newer, as: "checkpoints/notes.json"},
		"newer, where from":    {file: newer, as: disk.OriginName, newer: true},
		"not JSON, where from": {file: []byte("x"), as: disk.OriginName},
		"not JSON":             {file: []byte("not JSON, and long enough to be read")},
	} {
		l, m := layoutIn(t)
		d := l.CheckpointsIn(l.PRDDir("PRD-009"))
		for i := range 3 {
			checkpointtest.Must(t, d.Put(disk.EncodedCheckpoint{ID: newID(i), JSON: [][]byte{known}}))
		}
		if tt.file != nil {
			path, data := filepath.Join(d.Path, disk.FileNames(newID(9))[0]), tt.file
			if tt.packed {
				var err error
				path += disk.ZstExt
				data, err = d.Zstd.Pack(data)
				checkpointtest.Must(t, err)
			}
			if tt.as != "" {
				path = filepath.Join(l.PRDDir("PRD-009"), tt.as)
			}
			checkpointtest.Must(t, store.WriteFile(m, path, data))
		}
		err := l.RefuseNewer("PRD-009")
		if found := errors.As(err, new(*state.VersionError)); found != tt.newer || err != nil && !found {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// unopenable is a file system that opens files for writing only.
type unopenable struct{ store.FS }

func (u unopenable) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return u.FS.OpenFile(name, flag, perm)
}

// TestRefuseNewerSkipsUnreadable: checkpoint files that cannot be read are no newer ones.
func TestRefuseNewerSkipsUnreadable(t *testing.T) {
	t.Parallel()
	l, m := layoutIn(t)
	checkpointtest.Must(t, l.CheckpointsIn(l.PRDDir("PRD-009")).Put(disk.EncodedCheckpoint{ID: newID(1), JSON: [][]byte{sealed(`"id":"x"`)}}))
	l.FS = unopenable{m}
	if err := l.RefuseNewer("PRD-009"); err != nil {
		t.Errorf("a file that cannot be read was refused: %v", err)
	}
}

// TestPutMakesExistingFilesDurable: a checkpoint file that is there already survives a
// power cut after Put, even if the process that wrote it was killed before it synced the
// directory. Put does not write the file again.
func TestPutMakesExistingFilesDurable(t *testing.T) {
	t.Parallel()
	l, m := layoutIn(t)
	d := l.CheckpointsIn(l.PRDDir("PRD-009"))
	path := filepath.Join(d.Path, disk.FileNames(newID(1))[0])
	f, err := m.OpenFile(path, os.O_WRONLY|os.O_CREATE, store.FilePerm)
	checkpointtest.Must(t, err)
	_, err = f.Write([]byte(`{"a":1}`))
	checkpointtest.Must(t, errors.Join(err, f.Sync(), f.Close()))
	checkpointtest.Must(t, d.Put(disk.EncodedCheckpoint{ID: newID(1), JSON: [][]byte{[]byte(`{"a":2}`)}}))
	if data, err := store.ReadFile(m.Crash(), path); err != nil || string(data) != `{"a":1}` {
		t.Errorf("after a power cut the file holds %q, %v", data, err)
	}
}
