package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestNotes reads the small files of a PRD when they are missing, whole, damaged, of a
// newer version, and of another session.
func TestNotes(t *testing.T) {
	t.Parallel()
	const missing, whole, other, damaged, newer = "missing", "whole", "other", "damaged", "newer"
	version := `{"format_version":"` + state.FormatVersion + `",`
	contents := map[string]string{
		whole: version + `"session":"S1","seq":3,"acts":[],"unread":["x"]}`, other: version + `"session":"S2"}`,
		damaged: version, newer: `{"format_version":"99.0"}`, "without a version": `{"session":"S1"}`, "of wrong types": version + `"session":1,"acts":1}`,
	}
	result := func(found bool, err error) string {
		var broken *state.DamagedError
		var version *state.VersionError
		switch {
		case errors.As(err, &broken):
			return damaged
		case errors.As(err, &version):
			return newer
		case err != nil:
			return err.Error()
		case found:
			return whole
		}
		return missing
	}
	for content, wants := range map[string][4]string{ // acts, origin, pending, of the place of an import
		missing: {missing, missing, missing, missing}, whole: {whole, whole, whole, whole}, other: {missing, missing, whole, whole},
		damaged: {damaged, damaged, damaged, damaged}, newer: {newer, newer, newer, newer},
		"without a version": {damaged, damaged, damaged, damaged}, "of wrong types": {damaged, damaged, damaged, damaged},
	} {
		l, m := layoutIn(t)
		for _, path := range []string{l.ActsPath("PRD-009"), filepath.Join(l.PRDDir("PRD-009"), disk.OriginName), l.PendingPath("PRD-009")} {
			if content != missing {
				checkpointtest.Must(t, store.WriteFile(m, path, []byte(contents[content])))
			}
		}
		acts, err := l.ReadActs("PRD-009")
		gots := [4]string{result(acts != nil && len(acts.Unread) > 0, err)}
		origin, err := l.ReadOrigin(&state.State{PRD: "PRD-009", Session: "S1"})
		gots[1] = result(origin != nil && origin.Session == "S1", err)
		pending := func() string {
			p, err := l.InterruptedImport("PRD-009")
			if p != nil && p.Damage != nil {
				err = p.Damage
			}
			return result(p != nil && p.Session != "", err)
		}
		gots[2] = pending()
		if content != missing {
			checkpointtest.Must(t, store.MkdirAll(m, l.ImportingPath("PRD-009")))
			checkpointtest.Must(t, m.Rename(l.PendingPath("PRD-009"), filepath.Join(l.ImportingPath("PRD-009"), disk.ImportingName)))
		}
		if gots[3] = pending(); gots != wants {
			t.Errorf("%s: %q, want %q", content, gots, wants)
		}
	}
}

// TestPending: a session that is being imported has an import under way even without a
// note, and a note can be removed twice.
func TestPending(t *testing.T) {
	t.Parallel()
	l, m := layoutIn(t)
	for range 2 {
		checkpointtest.Must(t, l.WritePending(l.PRDDir("PRD-009"), nil))
	}
	checkpointtest.Must(t, l.WritePending(l.PRDDir("PRD-009"), &disk.PendingImport{FormatVersion: state.FormatVersion, Session: "S1"}))
	if p, err := l.InterruptedImport("PRD-009"); err != nil || p == nil || p.Session != "S1" {
		t.Errorf("written: %+v, %v", p, err)
	}
	checkpointtest.Must(t, l.WritePending(l.PRDDir("PRD-009"), nil))
	if p, err := l.InterruptedImport("PRD-009"); err != nil || p != nil {
		t.Errorf("removed: %+v, %v", p, err)
	}
	checkpointtest.Must(t, store.MkdirAll(m, l.ImportingPath("PRD-009")))
	checkpointtest.Must(t, store.WriteFile(m, filepath.Join(l.ImportingPath("PRD-009"), disk.JournalName), nil))
	if p, err := l.InterruptedImport("PRD-009"); err != nil || p == nil || p.Session != "" {
		t.Errorf("without a note: %+v, %v", p, err)
	}
}

// TestAddActs adds acts and names once.
func TestAddActs(t *testing.T) {
	t.Parallel()
	l, m := layoutIn(t)
	checkpointtest.Must(t, l.AddActs("PRD-009", nil, nil))
	if there, err := store.Exists(m, l.ActsPath("PRD-009")); err != nil || there {
		t.Errorf("nothing was added, and the file is there: %t, %v", there, err)
	}
	for range 2 {
		checkpointtest.Must(t, l.AddActs("PRD-009", nil, []state.Text{"failed/x"}))
	}
	f, err := l.ReadActs("PRD-009")
	checkpointtest.Must(t, err)
	if got := strings.Join(f.UnreadNames(), "|"); got != "failed/x, since removed" || f.Acts == nil {
		t.Errorf("unread %q, acts %v", got, f.Acts)
	}
}

// TestHolder writes and reads the notes of holders.
func TestHolder(t *testing.T) {
	t.Parallel()
	l, m := layoutIn(t)
	path := l.LockPath("PRD-009")
	if h, err := disk.ReadNote(m, path); h != nil || err != nil {
		t.Errorf("without a file: %+v, %v", h, err)
	}
	checkpointtest.Must(t, store.WriteFile(m, path, nil))
	me := disk.NewHolder(state.Actor{User: "ana"}, time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC))
	for _, h := range []*disk.Holder{nil, &me, &me, nil} {
		checkpointtest.Must(t, disk.WriteNote(m, path, h))
		got, err := disk.ReadNote(m, path)
		checkpointtest.Must(t, err)
		if (got == nil) != (h == nil) || got != nil && *got != me {
			t.Errorf("read %+v, want %+v", got, h)
		}
	}
	long := me
	long.User = strings.Repeat("x", 2000)
	if err := disk.WriteNote(m, path, &long); err == nil {
		t.Error("a note that is too long was written")
	}
	checkpointtest.Must(t, store.WriteFile(m, path, []byte(" no note")))
	if h, err := disk.ReadNote(m, path); err != nil || h == nil || *h != (disk.Holder{}) {
		t.Errorf("not a note: %+v, %v", h, err)
	}
	if me.PID != os.Getpid() || me.Host == "" {
		t.Errorf("this process is %+v", me)
	}
	if named := disk.NewHolder(checkpointtest.By, time.Time{}); named.Actor != checkpointtest.By {
		t.Errorf("the actor became %+v", named.Actor)
	}
}

// TestHolderIsDurable: after a power cut a new lock file still names its holder.
func TestHolderIsDurable(t *testing.T) {
	t.Parallel()
	l, m := layoutIn(t)
	path := l.LockPath("PRD-009")
	f, err := m.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // as locking it does
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, f.Close())
	me := disk.NewHolder(checkpointtest.By, time.Time{})
	checkpointtest.Must(t, disk.WriteNote(m, path, &me))
	if h, err := disk.ReadNote(m.Crash(), path); err != nil || h == nil || *h != me {
		t.Errorf("after the power cut: %+v, %v", h, err)
	}
}

// TestRefsOwner: the id for git references belongs to one directory, also after that was
// moved or its file system was mounted again, and not to a copy.
func TestRefsOwner(t *testing.T) {
	t.Parallel()
	l, m := layoutIn(t)
	here, err := l.OwnerOfRefs("abcdef01")
	checkpointtest.Must(t, err)
	for name, tt := range map[string]struct {
		change func(o *disk.RefsOwner)
		mine   bool
	}{
		"as written":            {func(*disk.RefsOwner) {}, true},
		"moved":                 {func(o *disk.RefsOwner) { o.Path = "/elsewhere" }, here.Device != 0},
		"mounted again":         {func(o *disk.RefsOwner) { o.Device++ }, true},
		"a copy at its path":    {func(o *disk.RefsOwner) { o.Number++ }, false},
		"a copy elsewhere":      {func(o *disk.RefsOwner) { o.Number++; o.Path = "/elsewhere" }, false},
		"on another device":     {func(o *disk.RefsOwner) { o.Device++; o.Path = "/elsewhere" }, false},
		"with an id of no form": {func(o *disk.RefsOwner) { o.ID = "abc" }, false},
	} {
		owner := here
		tt.change(&owner)
		checkpointtest.Must(t, l.WriteRefsOwner("P", owner))
		if mine, id, err := l.MadeRef("refs/runner/P/S-abcdef01/7"); err != nil || mine != tt.mine || id != "abcdef01" {
			t.Errorf("%s: mine %t, of %s, %v", name, mine, id, err)
		}
	}
	checkpointtest.Must(t, l.WriteRefsOwner("P", here))
	sessions := map[string]bool{"refs/runner/P/S/": true}
	for ref, want := range map[string]bool{
		"refs/runner/P/S-abcdef01/7": true, "refs/runner/P/S-abcdef02/7": false, "refs/runner/P/S/7": false, "refs/runner/P/T-abcdef01/7": false,
	} {
		if mine, err := l.OwnsRef(sessions, ref); err != nil || mine != want {
			t.Errorf("%s: owned %t, %v", ref, mine, err)
		}
	}
	if mine, id, err := l.MadeRef("refs/runner/P/S/7"); err != nil || mine || id != "" {
		t.Errorf("without an id: %t %q %v", mine, id, err)
	}
	checkpointtest.Must(t, store.WriteFile(m, l.RefsIDPath("P"), []byte("x")))
	if kept, _, err := l.ReadRefsOwner("P"); err != nil || kept.ID != "" {
		t.Errorf("not JSON: %+v, %v", kept, err)
	}
}
