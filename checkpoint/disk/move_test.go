package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// lowerLayer refuses to rename what is not a copy, as overlayfs does with directories of a
// lower layer.
type lowerLayer struct {
	store.FS
	broken bool // the rename of the copy fails, too
}

func (f *lowerLayer) Rename(from, to string) error {
	switch {
	case strings.Contains(filepath.Base(from), "tmp") || !strings.Contains(from, disk.MovingExt) && !isDir(f.FS, from):
	case !strings.Contains(from, disk.MovingExt):
		return &fs.PathError{Op: "rename", Path: from, Err: syscall.EXDEV}
	case f.broken && isDir(f.FS, from):
		return errors.New("the power is cut")
	}
	return f.FS.Rename(from, to)
}

func isDir(fsys store.FS, path string) bool {
	info, err := fsys.Lstat(path)
	return err == nil && info.IsDir()
}

// TestMoveByCopy moves the directory of a PRD where directories cannot be renamed, also if
// that is interrupted once the copy is complete.
func TestMoveByCopy(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{false, true} {
		l, m := layoutIn(t)
		l.FS = &lowerLayer{m, interrupted}
		from := l.PRDDir("PRD-009")
		to := filepath.Join(l.Path, disk.FailedDir, "PRD-009-20251211T100000Z")
		checkpointtest.Must(t, store.WriteFile(m, filepath.Join(from, disk.JournalName), []byte("it")))
		checkpointtest.Must(t, store.MkdirAll(m, filepath.Dir(to)))
		err := l.Move("PRD-009", from, to)
		if (err != nil) != interrupted {
			t.Errorf("interrupted %t: %v", interrupted, err)
		}
		if away, err := l.MovedAway("PRD-009"); err != nil || away != interrupted {
			t.Errorf("interrupted %t: moved away %t, %v", interrupted, away, err)
		}
		if away, err := l.MovedAway("PRD-010"); err != nil || away {
			t.Errorf("another PRD: moved away %t, %v", away, err)
		}
		l.FS = m
		checkpointtest.Must(t, l.FinishMove("PRD-009"))
		data, err := store.ReadFile(m, filepath.Join(to, disk.JournalName))
		if err != nil || string(data) != "it" {
			t.Errorf("interrupted %t: it holds %q, %v", interrupted, data, err)
		}
		for _, path := range []string{from, l.MovingPath("PRD-009")} {
			if there, err := store.Exists(m, path); err != nil || there {
				t.Errorf("interrupted %t: %s is still there, %v", interrupted, path, err)
			}
		}
	}
}

// TestMoveNotes: a note of a move is only followed between directories of its PRD, since
// what it names is removed.
func TestMoveNotes(t *testing.T) {
	t.Parallel()
	damaged := func(err error) bool { return errors.As(err, new(*state.DamagedError)) }
	newer := func(err error) bool { return errors.As(err, new(*state.VersionError)) }
	fine := func(err error) bool { return err == nil }
	note := func(from, to string) string {
		return fmt.Sprintf(`{"format_version":%q,"from":%q,"to":%q}`, state.FormatVersion, from, to)
	}
	for name, tt := range map[string]struct {
		note string
		is   func(error) bool
	}{
		"none":                {"", fine},
		"into the archive":    {note("PRD-009", "failed/PRD-009-20251211T100000Z"), fine},
		"into the trash":      {note("PRD-009.deleting", "trash/x"), fine},
		"away from the rest":  {note("PRD-009", "untrusted/PRD-009"), fine},
		"from elsewhere":      {note("../x", "trash/x"), damaged},
		"to elsewhere":        {note("PRD-009", "../x"), damaged},
		"not clean":           {note("PRD-009/../PRD-010", "trash/x"), damaged},
		"to a path not clean": {note("PRD-009", "trash/../x"), damaged},
		"from another PRD":    {note("PRD-010", "trash/x"), damaged},
		"to another PRD":      {note("PRD-009", "PRD-010"), damaged},
		"of objects":          {note("objects", "trash/x"), damaged},
		"no note":             {"x", damaged},
		"of a newer version":  {`{"format_version":"99.0"}`, newer},
	} {
		l, m := layoutIn(t)
		scratch := l.MovingPath("PRD-009")
		checkpointtest.Must(t, store.MkdirAll(m, scratch))
		if tt.note != "" {
			checkpointtest.Must(t, store.WriteFile(m, filepath.Join(scratch, "move.json"), []byte(tt.note)))
		}
		err := l.FinishMove("PRD-009")
		if !tt.is(err) {
			t.Errorf("%s: %v", name, err)
		}
		if there, _ := store.Exists(m, scratch); there != (err != nil) {
			t.Errorf("%s: the directory of the move is there: %t", name, there)
		}
	}
}

// TestSessionDirs lists the sessions of all PRDs and of one, with what a crash leaves.
func TestSessionDirs(t *testing.T) {
	t.Parallel()
	l, m := layoutIn(t)
	for _, dir := range []string{
		"PRD-009/history/S1", "PRD-010", "PRD-010.archiving", "PRD-010.importing", "PRD-010.deleting/history/S2", "PRD-010.moving", "a%20b",
		"failed/PRD-009-20251211T100000Z", "failed/PRD-009-20251211T100000Z-1", "failed/other", "objects/ab", "trash/x", "safety/x", "untrusted/x",
	} {
		checkpointtest.Must(t, store.MkdirAll(m, filepath.Join(l.Path, dir)))
	}
	checkpointtest.Must(t, store.WriteFile(m, filepath.Join(l.Path, "PRD-009.json"), []byte("{}")))
	for prd, want := range map[string]string{
		"": "PRD-009=PRD-009 current\nPRD-009/history/S1=PRD-009 history\nPRD-010=PRD-010 current\nPRD-010.archiving=PRD-010 \n" +
			"PRD-010.deleting/history/S2=PRD-010 history\nPRD-010.importing=PRD-010 \na%20b=a b current\n" +
			"failed/PRD-009-20251211T100000Z=PRD-009 failed at 10\nfailed/PRD-009-20251211T100000Z-1=PRD-009 failed at 10\nfailed/other= failed\n",
		"PRD-009": "PRD-009=PRD-009 current\nPRD-009/history/S1=PRD-009 history\n" +
			"failed/PRD-009-20251211T100000Z=PRD-009 failed at 10\nfailed/PRD-009-20251211T100000Z-1=PRD-009 failed at 10\n",
		"PRD-011": "",
	} {
		dirs, err := l.SessionDirs(prd)
		checkpointtest.Must(t, err)
		got := ""
		for _, d := range dirs {
			got += fmt.Sprintf("%s=%s %s", d.ID, d.PRD, d.Place)
			if !d.ArchivedAt.IsZero() {
				got += fmt.Sprintf(" at %d", d.ArchivedAt.Hour())
			}
			got += "\n"
		}
		if got != want {
			t.Errorf("of %q:\n%s\nwant\n%s", prd, got, want)
		}
	}
	to, err := l.MoveUntrusted("PRD-009", time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC))
	checkpointtest.Must(t, err)
	for path, there := range map[string]bool{
		"PRD-009": true, "PRD-009.json": true, "failed/PRD-009-20251211T100000Z": true, "failed/PRD-009-20251211T100000Z-1": true, "PRD-010": false, "failed/other": false,
	} {
		if moved, err := store.Exists(m, filepath.Join(to, path)); err != nil || moved != there {
			t.Errorf("%s is moved: %t, %v", path, moved, err)
		}
		if stays, err := store.Exists(m, filepath.Join(l.Path, path)); err != nil || stays == there {
			t.Errorf("%s stays: %t, %v", path, stays, err)
		}
	}
	checkpointtest.Must(t, l.EmptyTrash())
	checkpointtest.Must(t, l.EmptyTrash())
	if there, err := store.Exists(m, l.TrashPath()); err != nil || there {
		t.Errorf("the trash is there: %t, %v", there, err)
	}
}

// TestIsOfSession: a PRD's document and the files of its directory are of its session,
// those of earlier sessions are not.
func TestIsOfSession(t *testing.T) {
	t.Parallel()
	l, _ := layoutIn(t)
	for path, want := range map[string]bool{
		"PRD-009.json": true, "PRD-009/journal.jsonl": true, "PRD-009/history": true, "PRD-009/history/S1": false, "PRD-009": false, "PRD-010/x": false,
	} {
		if got := l.IsOfSession("PRD-009", filepath.Join(l.Path, path)); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
