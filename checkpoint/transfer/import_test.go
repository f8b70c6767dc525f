package transfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
	"prdrunner/checkpoint/transfer"
)

// TestImportCutShort ends an import at each change of the disk, by a fault and by a power
// cut. The session must be the old one or the new one, whole, and importing again must
// complete the import.
func TestImportCutShort(t *testing.T) {
	t.Parallel()
	from := checkpointtest.NewProject(t, store.NewMemory())
	from.Begin("session-1")
	was := from.State()
	older := from.FS.(*store.Memory).Crash()
	from.Continue("more")
	late, is := checkpointtest.Exported(from), from.State()
	foreign := checkpointtest.NewProject(t, store.NewMemory())
	foreign.Begin("session-2")
	for name, test := range map[string]struct {
		disk *store.Memory
		old  *state.State
	}{
		"new":     {store.NewMemory(), nil},
		"forward": {older, was},
		"foreign": {foreign.FS.(*store.Memory), foreign.State()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states := 0
			for n := range faults.Moments() {
				disk := test.disk.Crash()
				d := &faults.Killed{FS: disk, At: n}
				_, err := checkpointtest.TakeIn(checkpointtest.On(t, d, "/ws/.runner").Open(), late, true)
				for i, left := range append(faults.SomeCuts(disk, n), disk) {
					states++
					oldOrNew(t, fmt.Sprintf("%s, state %d at change %d", name, i, n), checkpointtest.On(t, left, "/ws/.runner"), test.old, is)
					if n%4 == 0 || err == nil {
						completes(t, checkpointtest.On(t, left, "/ws/.runner").Open(), is, late)
					}
				}
				if err == nil {
					t.Logf("%d changes, %d states", n-1, states)
					return
				}
			}
		})
	}
}

// oldOrNew fails the test unless the next owner finds the state old or the state is, with
// all its objects and without a part of an unfinished import.
func oldOrNew(t *testing.T, when string, f *checkpointtest.Fixture, old, is *state.State) {
	t.Helper()
	s := f.Open()
	x, err := s.Lock(context.Background(), "PRD-009", checkpointtest.By)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	got := x.State()
	if checkpointtest.SeqOf(got) != checkpointtest.SeqOf(old) && checkpointtest.SeqOf(got) != checkpointtest.SeqOf(is) {
		t.Fatalf("%s: the state is %q", when, checkpointtest.SeqOf(got))
	}
	checkpointtest.Must(t, x.Close())
	if checkpointtest.SeqOf(got) == checkpointtest.SeqOf(is) {
		checkpointtest.Same(t, when, got, is)
	}
	if got != nil {
		checkpointtest.NeedsWhole(t, s, "PRD-009")
	}
	if checkpointtest.IsThere(t, s, s.Layout().ImportingPath("PRD-009")) {
		t.Fatalf("%s: a part of the unfinished import remains", when)
	}
}

// completes collects and imports again, and fails the test unless this leads to the state
// is.
func completes(t *testing.T, s *checkpoint.Store, is *state.State, archive []byte) {
	t.Helper()
	_, err := prune.Collect(context.Background(), s, nil)
	checkpointtest.Must(t, err)
	_, err = checkpointtest.TakeIn(s, archive, true)
	checkpointtest.Must(t, err)
	snap, err := s.Load("PRD-009")
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "again", snap.State, is)
	checkpointtest.NeedsWhole(t, s, "PRD-009")
}

// archived is an unpacked archive, which a test can tamper with.
type archived struct {
	header  transfer.ExportHeader
	members map[string][]byte
}

func unpack(t *testing.T, archive []byte) *archived {
	t.Helper()
	staged, err := bundle.Stage(t.Context(), store.NewMemory(), "/in", bytes.NewReader(archive), bundle.Limits{})
	checkpointtest.Must(t, err)
	a := &archived{members: map[string][]byte{}}
	checkpointtest.Must(t, json.Unmarshal(staged.Header, &a.header))
	for _, m := range staged.Members {
		r, err := staged.Open(m.Name)
		checkpointtest.Must(t, err)
		a.members[m.Name], err = io.ReadAll(r)
		checkpointtest.Must(t, err)
	}
	return a
}

// pack writes the archive with correct checksums, so that only the content of the archive
// can be wrong.
func (a *archived) pack(t *testing.T) []byte {
	t.Helper()
	header, err := state.EncodeJSON(a.header)
	checkpointtest.Must(t, err)
	var entries []bundle.Entry
	for name, data := range a.members {
		entries = append(entries, bundle.Entry{Name: name, Size: int64(len(data)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		}})
	}
	var out bytes.Buffer
	_, err = bundle.Write(t.Context(), &out, bundle.Tar, header, entries)
	checkpointtest.Must(t, err)
	return out.Bytes()
}

// one returns the name of the first member in a directory, in sorted order.
func (a *archived) one(t *testing.T, dir string) string {
	t.Helper()
	first := ""
	for name := range a.members {
		if strings.HasPrefix(name, dir+"/") && (first == "" || name < first) {
			first = name
		}
	}
	if first == "" {
		t.Fatalf("the archive has no member in %s", dir)
	}
	return first
}

// changeCheckpoint changes the first checkpoint, and gives it a correct checksum.
func (a *archived) changeCheckpoint(t *testing.T, change func(f *disk.CheckpointFile)) {
	t.Helper()
	name := a.one(t, disk.CheckpointsDir)
	f, err := disk.DecodeCheckpoint(name, a.members[name])
	checkpointtest.Must(t, err)
	change(f)
	encoded, err := disk.EncodeState(f.State)
	checkpointtest.Must(t, err)
	parts, err := disk.EncodeCheckpoint(*f, encoded)
	checkpointtest.Must(t, err)
	a.members[name] = bytes.Join(parts, nil)
}

// tell replaces the content of the archive by a consistent session with the given events.
func (a *archived) tell(t *testing.T, events ...state.Event) {
	t.Helper()
	var lines []byte
	prev, f := journal.Genesis, journal.NewFold()
	for i, e := range append([]state.Event{checkpointtest.StartedOf("PRD-009", a.header.Session, 1)}, events...) {
		c := state.Commit{Seq: uint64(i + 1), Time: checkpointtest.Clock()(), Events: []state.Event{e}, Prev: prev}
		line, err := journal.NewEncoder().Line(&c)
		checkpointtest.Must(t, err)
		lines, prev = append(lines, line...), c.Sum
		checkpointtest.Must(t, f.Apply(c))
	}
	a.members = map[string][]byte{disk.JournalName: lines}
	a.header.Seq, a.header.Sum = f.State.Seq, prev
	var err error
	a.members["document.json"], err = document.New(f.State).Encode()
	checkpointtest.Must(t, err)
	a.members[disk.ManifestName], err = disk.NewManifest(f.State).Encode()
	checkpointtest.Must(t, err)
	for _, ref := range f.State.Checkpoints {
		a.header.LostFiles = append(a.header.LostFiles, ref.ID)
	}
}

// TestHostileArchives tampers with an archive in one way at a time. The import must be
// refused with the reason, and change nothing.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	good := checkpointtest.Exported(p)
	other := checkpointtest.NewProject(t, store.NewMemory())
	other.Begin("session-2")
	foreign := unpack(t, checkpointtest.Exported(other))
	for name, test := range map[string]struct {
		tamper func(t *testing.T, a *archived)
		reason string
	}{
		"a newer version":       {func(_ *testing.T, a *archived) { a.header.FormatVersion = "9.0" }, "format version 9.0"},
		"no PRD":                {func(_ *testing.T, a *archived) { a.header.PRD = "../PRD-009" }, "is not a PRD id"},
		"another PRD":           {func(_ *testing.T, a *archived) { a.header.PRD = "PRD-010" }, "of another session, or another moment"},
		"another session":       {func(_ *testing.T, a *archived) { a.header.Session = "s" }, "of another session"},
		"a foreign file":        {func(_ *testing.T, a *archived) { a.members["run.sh"] = nil }, "an export has no such file"},
		"a foreign directory":   {func(_ *testing.T, a *archived) { a.members["locks/PRD-009.lock"] = nil }, "an export has no such file"},
		"a file among the logs": {func(_ *testing.T, a *archived) { a.members["logs/.bashrc"] = nil }, "an export has no such file"},
		"no journal":            {func(_ *testing.T, a *archived) { delete(a.members, disk.JournalName) }, "it is missing"},
		"a changed line": {func(_ *testing.T, a *archived) {
			a.members[disk.JournalName] = bytes.Replace(a.members[disk.JournalName], []byte("no"), []byte("on"), 1)
		}, "journal.jsonl"},
		"a cut journal": {func(_ *testing.T, a *archived) {
			a.members[disk.JournalName] = a.members[disk.JournalName][:len(a.members[disk.JournalName])-5]
		}, "its last line is not whole"},
		"a foreign journal": {func(_ *testing.T, a *archived) { a.members[disk.JournalName] = foreign.members[disk.JournalName] }, "of another session"},
		"a foreign segment": {func(_ *testing.T, a *archived) {
			a.members["journal.1-2.jsonl"] = foreign.members[disk.JournalName]
		}, "of another session"},
		"a segment that does not lead to it": {func(_ *testing.T, a *archived) {
			lines := bytes.SplitAfter(a.members[disk.JournalName], []byte("\n"))
			a.members["journal.1-2.jsonl"] = bytes.Join(lines[:2], nil)
		}, "it does not continue journal.1-2.jsonl"},
		"a segment of fewer commits than its name says": {func(_ *testing.T, a *archived) {
			lines := bytes.SplitAfter(a.members[disk.JournalName], []byte("\n"))
			a.members["journal.1-3.jsonl"] = bytes.Join(lines[:2], nil)
		}, "it holds other commits than its name says"},
		"a segment that begins before what its name says": {func(_ *testing.T, a *archived) {
			lines := bytes.SplitAfter(a.members[disk.JournalName], []byte("\n"))
			a.members["journal.2-2.jsonl"] = bytes.Join(lines[:2], nil)
		}, "it holds other commits than its name says"},
		"a segment that ends before it begins": {func(_ *testing.T, a *archived) { a.members["journal.2-1.jsonl"] = nil }, "an export has no such file"},
		"a segment of commit 0":                {func(_ *testing.T, a *archived) { a.members["journal.0-0.jsonl"] = nil }, "an export has no such file"},
		"a foreign document":                   {func(_ *testing.T, a *archived) { a.members["document.json"] = foreign.members["document.json"] }, "not the document of this session"},
		"no index":                             {func(_ *testing.T, a *archived) { delete(a.members, disk.ManifestName) }, "it is missing"},
		"an edited index": {func(_ *testing.T, a *archived) {
			a.members[disk.ManifestName] = bytes.Replace(a.members[disk.ManifestName], []byte("start"), []byte("pause"), 1)
		}, "its checksum is wrong"},
		"a foreign checkpoint": {func(t *testing.T, a *archived) {
			a.members[a.one(t, disk.CheckpointsDir)] = foreign.members[foreign.one(t, disk.CheckpointsDir)]
		}, "another checkpoint than the journal says"},
		"a checkpoint with the state of another commit": {func(t *testing.T, a *archived) {
			a.changeCheckpoint(t, func(f *disk.CheckpointFile) { f.State.Seq++ })
		}, "another checkpoint than the journal says"},
		"a checkpoint with the state of another session": {func(t *testing.T, a *archived) {
			a.changeCheckpoint(t, func(f *disk.CheckpointFile) { f.State.Session = "session-2" })
		}, "another checkpoint than the journal says"},
		"a checkpoint with the state of another PRD": {func(t *testing.T, a *archived) {
			a.changeCheckpoint(t, func(f *disk.CheckpointFile) { f.State.PRD = "PRD-010" })
		}, "another checkpoint than the journal says"},
		"a checkpoint too few": {func(t *testing.T, a *archived) { delete(a.members, a.one(t, disk.CheckpointsDir)) }, "it is missing"},
		"a checkpoint too many": {func(_ *testing.T, a *archived) {
			a.members["checkpoints/CP-x-20250101T000000Z-aaaa0000.json"] = []byte("{}")
		}, "has no such checkpoint"},
		"an object of other bytes": {func(t *testing.T, a *archived) {
			a.members[a.one(t, disk.ObjectsDir)] = []byte("other")
		}, "its bytes are not what its name says"},
		"an object too few": {func(t *testing.T, a *archived) { delete(a.members, a.one(t, disk.ObjectsDir)) }, "it is missing"},
		"an object too many": {func(_ *testing.T, a *archived) {
			a.members["objects/ba/7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"] = []byte("abc")
		}, "nothing needs it"},
		"a path for an id": {func(t *testing.T, a *archived) {
			a.tell(t, state.CheckpointCreated{ID: "../../../evil", Trigger: state.TriggerStart})
		}, "cannot be the id of a checkpoint"},
		"an option for a commit": {func(t *testing.T, a *archived) {
			c := state.WorkspaceCaptured{}
			c.Listing, c.Commit = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "--exec=sh"
			a.tell(t, c)
		}, "cannot be a reference and a commit"},
		"a reference of the user's": {func(t *testing.T, a *archived) {
			c := state.WorkspaceCaptured{}
			c.Listing, c.Ref = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "refs/heads/main"
			a.tell(t, c)
		}, "cannot be a reference and a commit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := unpack(t, good)
			test.tamper(t, a)
			here := checkpointtest.On(t, other.FS.(*store.Memory).Crash(), "/ws/.runner")
			before := checkpointtest.Everything(t, here.FS, here.Dir)
			_, err := checkpointtest.TakeIn(here.Open(), a.pack(t), true)
			var damaged *bundle.DamagedError
			var version *state.VersionError
			if !errors.As(err, &damaged) && !errors.As(err, &version) || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("%v; want %q", err, test.reason)
			}
			checkpointtest.Untouched(t, "the state directory", checkpointtest.Everything(t, here.FS, here.Dir), before)
		})
	}
	// The archive that was not tampered with is accepted.
	_, err := checkpointtest.TakeIn(checkpointtest.On(t, other.FS.(*store.Memory).Crash(), "/ws/.runner").Open(), unpack(t, good).pack(t), true)
	checkpointtest.Must(t, err)
}

// TestImportRefusesWhatIsNotComplete removes one object at a time from an archive,
// listings and files. The import must be refused, and create nothing.
func TestImportRefusesWhatIsNotComplete(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	good := checkpointtest.Exported(p)
	tried := 0
	for name := range unpack(t, good).members {
		if !strings.HasPrefix(name, disk.ObjectsDir+"/") {
			continue
		}
		tried++
		a := unpack(t, good)
		delete(a.members, name)
		here := checkpointtest.InMemory(t)
		_, err := checkpointtest.TakeIn(here.Open(), a.pack(t), true)
		var damaged *bundle.DamagedError
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "missing") {
			t.Errorf("without %s: %v", name, err)
		}
		if checkpointtest.IsThere(t, here.Open(), here.Dir) {
			t.Errorf("without %s: the import created the state directory", name)
		}
	}
	if tried < 2 {
		t.Errorf("only %d objects", tried)
	}
}

// TestImportUnderOthers: an import must be refused, and change nothing, while the session
// is locked, and if the current session is of a newer version.
func TestImportUnderOthers(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	archive := checkpointtest.Exported(p)
	q := checkpointtest.NewProject(t, store.NewMemory())
	q.Begin("session-2")
	x := q.Lock()
	var locked *checkpoint.LockedError
	if _, err := checkpointtest.TakeIn(q.Open(), archive, true); !errors.As(err, &locked) {
		t.Errorf("under an owner: %v", err)
	}
	checkpointtest.Must(t, x.Close())
	journal := q.Read("PRD-009/journal.jsonl")
	q.Write("PRD-009.json", bytes.Replace(q.Read("PRD-009.json"), []byte(state.FormatVersion), []byte("9.0"), 1))
	before := checkpointtest.Everything(t, q.FS, q.Dir)
	var version *state.VersionError
	if _, err := checkpointtest.TakeIn(q.Open(), archive, true); !errors.As(err, &version) {
		t.Errorf("over a newer version: %v", err)
	}
	checkpointtest.Untouched(t, "the state directory", checkpointtest.Everything(t, q.FS, q.Dir), before)
	if !bytes.Equal(journal, q.Read("PRD-009/journal.jsonl")) {
		t.Error("the journal was changed")
	}
}

// TestImportIntoALink: an import must be refused if a directory of the state directory is
// a symbolic link, and must write nothing behind the link.
func TestImportIntoALink(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	archive := checkpointtest.Exported(p)
	for _, link := range []string{"PRD-009", "objects", "trash"} {
		q := checkpointtest.OnDisk(t)
		outside := t.TempDir()
		checkpointtest.Must(t, os.MkdirAll(filepath.Join(q.Dir, "locks"), 0o700))
		linkTo(t, outside, filepath.Join(q.Dir, link))
		var refused *disk.DirError
		if _, err := checkpointtest.TakeIn(q.Open(), archive, true); !errors.As(err, &refused) {
			t.Errorf("%s: %v", link, err)
		}
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Errorf("%s: the directory outside holds %v, %v", link, left, err)
		}
	}
}

// TestImportRestoresFiles: an import must write files that are missing, and leave alone
// files that differ unless it may overwrite. A rollback must restore an overwritten file.
func TestImportRestoresFiles(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	archive := checkpointtest.Exported(p)
	q := checkpointtest.NewProject(t, store.NewMemory())
	q.Save("PRD-009.hcl", "mine")
	for _, overwrite := range []bool{false, true} {
		s := q.Open()
		w := q.Workspace(s)
		i, err := transfer.OpenImport(t.Context(), s, bytes.NewReader(archive), "it.tar", bundle.Limits{})
		checkpointtest.Must(t, err)
		files, err := i.PlanFiles(t.Context(), w)
		checkpointtest.Must(t, err)
		_, err = i.Place(t.Context(), checkpointtest.By, transfer.PlaceOptions{})
		checkpointtest.Must(t, err)
		done, err := transfer.RestoreImported(t.Context(), s, w, "PRD-009", files, checkpointtest.By, overwrite)
		checkpointtest.Must(t, errors.Join(err, i.Close()))
		if overwrite != (done.Safety != "") || overwrite != (len(done.Kept) == 0) {
			t.Errorf("overwrite %v: %+v", overwrite, done)
		}
		want := map[string]string{"PRD-009.hcl": "mine", "gen/a.txt": "a", "sub/notes session-1.txt": "one"}
		if overwrite {
			want["PRD-009.hcl"] = "pipeline"
		}
		for path, content := range want {
			data, err := os.ReadFile(filepath.Join(q.Root, filepath.FromSlash(path)))
			if checkpointtest.Must(t, err); string(data) != content {
				t.Errorf("overwrite %v: %s is %q", overwrite, path, data)
			}
		}
		if !overwrite {
			continue
		}
		x := checkpointtest.LockPRD(t, s, "PRD-009")
		_, err = rollback.Run(t.Context(), x, w, rollback.Options{To: done.Safety, Scope: state.RollbackFiles, By: checkpointtest.By})
		checkpointtest.Must(t, err)
		if data, err := os.ReadFile(filepath.Join(q.Root, "PRD-009.hcl")); err != nil || string(data) != "mine" {
			t.Errorf("after the rollback: %q, %v", data, err)
		}
		checkpointtest.Must(t, x.Close())
	}
}

// TestImportLeavesNoTrace opens archives and closes them without placing them. No file
// may remain, and no new state directory. While open, an archive must be unpacked only
// below the state directory, where there must be room for it anyway.
func TestImportLeavesNoTrace(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	archive := checkpointtest.Exported(p)
	for name, archive := range map[string][]byte{"whole": archive, "cut short": archive[:len(archive)/2], "none": []byte("none")} {
		for _, document := range []bool{false, true} {
			here := checkpointtest.On(t, store.NewMemory(), "/ws/state/.runner")
			if document {
				here.Write("PRD-008.json", []byte("{}"))
			}
			before := checkpointtest.Everything(t, here.FS, "/")
			i, err := transfer.OpenImport(t.Context(), here.Open(), bytes.NewReader(archive), "it.tar", bundle.Limits{})
			if (err == nil) != (name == "whole") {
				t.Fatalf("%s: %v", name, err)
			}
			if i != nil {
				for path := range checkpointtest.Everything(t, here.FS, "/") {
					if !strings.HasPrefix("/ws/state/.runner", filepath.ToSlash(path)) && !strings.HasPrefix(filepath.ToSlash(path), "/ws/state/.runner/") {
						t.Errorf("%s: unpacked to %s", name, path)
					}
				}
				checkpointtest.Must(t, i.Close())
			}
			after := checkpointtest.Everything(t, here.FS, "/")
			for path := range after {
				if _, was := before[path]; !was {
					t.Errorf("%s: %s remains", name, path)
				}
			}
			if len(after) != len(before) {
				t.Errorf("%s: there were %d files and directories, and now %d", name, len(before), len(after))
			}
		}
	}
}

// TestImportLeavesOthersAlone opens an archive, which makes a state directory. Closing
// must not remove that directory if another process uses it by then or has left a file in
// it.
func TestImportLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	archive := checkpointtest.Exported(p)
	for name, use := range map[string]func(f *checkpointtest.Fixture) *checkpoint.Session{
		"working": func(f *checkpointtest.Fixture) *checkpoint.Session {
			return checkpointtest.LockPRD(f.T, f.Open(), "PRD-007")
		},
		"left a log": func(f *checkpointtest.Fixture) *checkpoint.Session { f.Write("audit.log", []byte("{}\n")); return nil },
		"left a lock": func(f *checkpointtest.Fixture) *checkpoint.Session {
			checkpointtest.Must(f.T, checkpointtest.LockPRD(f.T, f.Open(), "PRD-007").Close())
			return nil
		},
	} {
		here := checkpointtest.On(t, store.NewMemory(), "/ws/.runner")
		i, err := transfer.OpenImport(t.Context(), here.Open(), bytes.NewReader(archive), "it.tar", bundle.Limits{})
		checkpointtest.Must(t, err)
		x := use(here)
		checkpointtest.Must(t, i.Close())
		if s := here.Open(); !checkpointtest.IsThere(t, s, filepath.Join(s.Layout().Path, disk.LocksDir)) || !checkpointtest.IsThere(t, s, filepath.Join(s.Layout().Path, disk.IgnoreName)) {
			t.Errorf("%s: a part of the state directory was removed", name)
		}
		if x != nil {
			checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-007", "S7", 2)))
			checkpointtest.Must(t, x.Close())
		}
	}
}

// TestImportKilled: the next collection must remove what a killed import has unpacked.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	here := checkpointtest.On(t, store.NewMemory(), "/ws/.runner")
	i, err := transfer.OpenImport(t.Context(), here.Open(), bytes.NewReader(checkpointtest.Exported(p)), "it.tar", bundle.Limits{})
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, i.Kill()) // releases the lock, as the end of a process does
	s := here.Open()
	if !checkpointtest.IsThere(t, s, s.Layout().TrashPath()) {
		t.Fatal("the archive was not unpacked to trash/")
	}
	_, err = prune.Collect(t.Context(), s, nil)
	checkpointtest.Must(t, err)
	if checkpointtest.IsThere(t, s, s.Layout().TrashPath()) {
		t.Error("the unpacked archive remains after a collection")
	}
}
