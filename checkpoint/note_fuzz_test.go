package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// FuzzManifest reads any bytes as a manifest, and as the content of a manifest with a
// correct checksum, so that the fuzzer gets past the checksum. The file must stay
// unchanged, and a manifest must be the same after it is written and read again.
func FuzzManifest(f *testing.F) {
	fix := checkpointtest.InMemory(f)
	x := fix.Run()
	x.Checkpoint(state.TriggerManual, "seed", nil)
	checkpointtest.Must(f, x.Close())
	f.Add(fix.Read("PRD-009/manifest.json"))
	f.Add([]byte(`{"format_version":"1.0","checkpoints":[null],"rollback_history":[{}]}`))
	f.Add([]byte(`{"checkpoints":[{"id":"CP-a","phase":{"base64":"/w=="},"reason":{"base64":"gA=="}}],"total":-1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range [][]byte{data, state.Seal(data)} {
			l, path := noted(t, disk.ManifestName, file)
			m, err := l.ReadManifest("/state")
			intact(t, l, path, file)
			if err != nil {
				continue
			}
			again, err := m.Encode()
			checkpointtest.Must(t, err)
			l, _ = noted(t, disk.ManifestName, again)
			read, err := l.ReadManifest("/state")
			checkpointtest.Must(t, err)
			if diff := cmp.Diff(m, read); diff != "" {
				t.Fatalf("(-read +written and read):\n%s", diff)
			}
		}
	})
}

// noted returns a layout whose file system has one file, and the path of the file.
func noted(t *testing.T, name string, data []byte) (l *disk.Layout, path string) {
	t.Helper()
	fsys := store.NewMemory()
	path = filepath.Join("/state", name)
	checkpointtest.Must(t, store.MkdirAll(fsys, filepath.Dir(path)))
	checkpointtest.Must(t, store.WriteFile(fsys, path, data))
	return &disk.Layout{Path: "/state", FS: fsys}, path
}

// intact fails the test unless a file has the content want.
func intact(t *testing.T, l *disk.Layout, path string, want []byte) {
	t.Helper()
	if now, err := store.ReadFile(l.FS, path); err != nil || !bytes.Equal(now, want) {
		t.Fatalf("%s was changed: %v", path, err)
	}
}

// FuzzNotes reads any bytes as each of the small files beside a journal: a lock note, a
// request, an origin, a pending import, and the owner of git references. No file may
// change. An error must name the file, and a value must be the same after it is written
// and read again.
func FuzzNotes(f *testing.F) {
	for _, note := range []any{
		disk.Holder{Actor: state.Actor{User: "a", Host: "b", PID: 3}, Since: checkpointtest.Clock()(), BootID: "x", StartTime: "7"},
		checkpoint.Mail{FormatVersion: state.FormatVersion, Request: checkpoint.Request{ID: "r", PRD: "PRD-009", Verb: checkpoint.VerbApprove, Gate: "g", Comment: "\xff"}},
		disk.Origin{FormatVersion: state.FormatVersion, Session: "S1", OwnFiles: disk.OwnFiles{Looked: true, Own: []state.Text{"a\xff"}}},
		disk.PendingImport{FormatVersion: state.FormatVersion, Session: "S1", Seq: 3, Archive: "a\xff"},
		disk.RefsOwner{ID: "0123456789abcdef"},
	} {
		data, err := json.Marshal(note)
		checkpointtest.Must(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"format_version":"99.0","session":"S1"}`))
	f.Add([]byte("null"))
	f.Add([]byte(`{"format_version":`))
	f.Fuzz(func(t *testing.T, data []byte) {
		readNoteOf(t, data)
		readMailOf(t, data)
		readOriginOf(t, data)
		readPendingOf(t, data)
		l, _ := noted(t, "unused", nil)
		path := l.RefsIDPath("PRD-009")
		checkpointtest.Must(t, store.MkdirAll(l.FS, filepath.Dir(path)))
		checkpointtest.Must(t, store.WriteFile(l.FS, path, data))
		if kept, _, err := l.ReadRefsOwner("PRD-009"); err != nil || kept.ID != "" && len(kept.ID) != disk.RefsIDSize {
			t.Fatalf("references id %q, %v", kept.ID, err)
		}
		intact(t, l, path, data)
	})
}

func readNoteOf(t *testing.T, data []byte) {
	t.Helper()
	record := append([]byte{' '}, data...)
	l, path := noted(t, "a.lock", record)
	h, err := disk.ReadNote(l.FS, path)
	if err != nil {
		t.Fatalf("an unreadable lock note must not be an error: %v", err)
	}
	intact(t, l, path, record)
	if h == nil {
		return
	}
	if err := disk.WriteNote(l.FS, path, h); err != nil {
		return // too long once JSON has escaped it
	}
	again, err := disk.ReadNote(l.FS, path)
	if diff := cmp.Diff(h, again); err != nil || diff != "" {
		t.Fatalf("%v, (-read +written and read):\n%s", err, diff)
	}
}

func readMailOf(t *testing.T, data []byte) {
	t.Helper()
	l, path := noted(t, "a.request", data)
	m, err := checkpoint.ReadMail(l.FS, path)
	intact(t, l, path, data)
	if err != nil {
		namesFile(t, err, path)
		return
	}
	written, err := state.EncodeJSON(m)
	checkpointtest.Must(t, err)
	l, path = noted(t, "a.request", written)
	again, err := checkpoint.ReadMail(l.FS, path)
	if diff := cmp.Diff(m, again); err != nil || diff != "" {
		t.Fatalf("%v, (-read +written and read):\n%s", err, diff)
	}
}

func readOriginOf(t *testing.T, data []byte) {
	t.Helper()
	l, path := noted(t, filepath.Join("PRD-009", disk.OriginName), data)
	o, err := l.ReadOrigin(&state.State{PRD: "PRD-009", Session: "S1"})
	intact(t, l, path, data)
	if err != nil {
		refused(t, err, path)
	} else if o != nil && o.Session != "S1" {
		t.Fatalf("the origin is of session %q", o.Session)
	}
}

func readPendingOf(t *testing.T, data []byte) {
	t.Helper()
	l, path := noted(t, filepath.Join("PRD-009", disk.ImportingName), data)
	p, err := l.ReadPending("PRD-009", path)
	intact(t, l, path, data)
	switch {
	case err != nil:
		refused(t, err, path)
	case p.Damage != nil:
		refused(t, p.Damage, path)
	}
}

// refused fails the test unless err says that the file is damaged or of a newer version,
// and names the file.
func refused(t *testing.T, err error, path string) {
	t.Helper()
	var damaged *state.DamagedError
	var version *state.VersionError
	if !errors.As(err, &damaged) && !errors.As(err, &version) {
		t.Fatalf("neither damaged nor newer: %v", err)
	}
	namesFile(t, err, path)
}

func namesFile(t *testing.T, err error, path string) {
	t.Helper()
	if !strings.Contains(err.Error(), path) {
		t.Fatalf("the error does not name %s: %v", path, err)
	}
}
