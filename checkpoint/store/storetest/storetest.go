// Package storetest tests the contract of the interfaces of package store. Every
// implementation must pass it: TestFS tests a file system, and TestLog a log.
package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"prdrunner/checkpoint/store"
)

// Place is a file system and an existing, empty directory in it.
type Place struct {
	FS  store.FS
	Dir string
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// TestFS tests a file system. Each call of fresh must return an independent place.
func TestFS(t *testing.T, fresh func(t *testing.T) Place) {
	t.Run("files", func(t *testing.T) { testFiles(t, fresh(t)) })
	t.Run("names", func(t *testing.T) { testNames(t, fresh(t)) })
	t.Run("links", func(t *testing.T) { testLinks(t, fresh(t)) })
	t.Run("locks", func(t *testing.T) { testLocks(t, fresh(t)) })
	t.Run("dir", func(t *testing.T) { testDir(t, fresh(t)) })
	t.Run("helpers", func(t *testing.T) { testHelpers(t, fresh(t)) })
	t.Run("replace", func(t *testing.T) { testReplace(t, fresh(t)) })
	t.Run("temps", func(t *testing.T) { testTemps(t, fresh(t)) })
	t.Run("closed", func(t *testing.T) { testClosed(t, fresh(t)) })
	t.Run("new", func(t *testing.T) { testNew(t, fresh(t)) })
}

func testFiles(t *testing.T, p Place) {
	path := filepath.Join(p.Dir, "a")
	_, err := p.FS.OpenFile(path, os.O_RDONLY, 0)
	expect(t, "open what is missing", err, fs.ErrNotExist)
	f, err := p.FS.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, store.FilePerm)
	must(t, err)
	_, err = f.Write([]byte("one"))
	must(t, err)
	must(t, f.Sync())
	must(t, f.Close())
	if f.Close() == nil {
		t.Error("closed twice")
	}
	_, err = p.FS.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, store.FilePerm)
	expect(t, "create what is there", err, fs.ErrExist)

	f, err = p.FS.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, store.FilePerm)
	must(t, err)
	_, err = f.Write([]byte(" two"))
	must(t, err)
	must(t, f.Close())
	f, err = p.FS.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("O"), 0)
	must(t, err)
	part := make([]byte, 3)
	if n, err := f.ReadAt(part, 4); err != nil || string(part[:n]) != "two" {
		t.Errorf("read at 4: %q, %v", part[:n], err)
	}
	if n, err := f.ReadAt(part, 6); !errors.Is(err, io.EOF) || n != 1 {
		t.Errorf("read at 6: %d, %v", n, err)
	}
	if all, err := io.ReadAll(f); err != nil || string(all) != "One two" {
		t.Errorf("read %q, %v", all, err)
	}
	info, err := f.Stat()
	must(t, err)
	named, err := p.FS.Lstat(path)
	must(t, err)
	if !store.Same(info, named) || named.Size() != 7 || named.Mode() != store.FilePerm {
		t.Errorf("described as %s, %d bytes", named.Mode(), named.Size())
	}
	must(t, f.Close())
}

func testNames(t *testing.T, p Place) {
	a, b, sub := filepath.Join(p.Dir, "a"), filepath.Join(p.Dir, "b"), filepath.Join(p.Dir, "sub")
	must(t, store.WriteFile(p.FS, a, []byte("a")))
	must(t, store.WriteFile(p.FS, b, []byte("b")))
	must(t, p.FS.Mkdir(sub, store.DirPerm))
	expect(t, "mkdir twice", p.FS.Mkdir(sub, store.DirPerm), fs.ErrExist)
	expect(t, "rename what is missing", p.FS.Rename(filepath.Join(p.Dir, "c"), a), fs.ErrNotExist)
	must(t, p.FS.Rename(a, b))
	if data, err := store.ReadFile(p.FS, b); err != nil || string(data) != "a" {
		t.Errorf("after the rename: %q, %v", data, err)
	}
	must(t, p.FS.Rename(b, filepath.Join(sub, "b")))
	if p.FS.Remove(sub) == nil {
		t.Error("removed a directory that is not empty")
	}
	if p.FS.Rename(sub, filepath.Join(sub, "inside")) == nil {
		t.Error("moved a directory into itself")
	}
	testIdentity(t, p, sub)
	must(t, p.FS.Rename(sub, filepath.Join(p.Dir, "moved")))
	must(t, p.FS.SyncDir(p.Dir))
	entries, err := p.FS.ReadDir(p.Dir)
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != "moved" || !entries[0].IsDir() {
		t.Errorf("listed %v", entries)
	}
	must(t, p.FS.Remove(filepath.Join(p.Dir, "moved", "b")))
	must(t, p.FS.Remove(filepath.Join(p.Dir, "moved")))
	expect(t, "remove what is missing", p.FS.Remove(b), fs.ErrNotExist)
	_, err = p.FS.ReadDir(filepath.Join(p.Dir, "moved"))
	expect(t, "list what is missing", err, fs.ErrNotExist)
	_, err = p.FS.Lstat(b)
	expect(t, "describe what is missing", err, fs.ErrNotExist)
}

// testIdentity renames a directory and renames it back. Its identity stays the same, and a
// directory that has its name in between has another one.
func testIdentity(t *testing.T, p Place, dir string) {
	identity := func(name string) store.Identity {
		info, err := p.FS.Lstat(name)
		must(t, err)
		return store.IdentityOf(info)
	}
	was, away := identity(dir), dir+"-away"
	must(t, p.FS.Rename(dir, away))
	must(t, p.FS.Mkdir(dir, store.DirPerm))
	if now := identity(away); now != was {
		t.Errorf("moved, %+v became %+v", was, now)
	}
	if other := identity(dir); other == was && other.Device != 0 {
		t.Errorf("two directories are %+v", was)
	}
	must(t, p.FS.Remove(dir))
	must(t, p.FS.Rename(away, dir))
}

func testLinks(t *testing.T, p Place) {
	a, b, l := filepath.Join(p.Dir, "a"), filepath.Join(p.Dir, "b"), filepath.Join(p.Dir, "l")
	must(t, store.WriteFile(p.FS, a, []byte("a")))
	must(t, p.FS.Link(a, b))
	expect(t, "link to a name that is taken", p.FS.Link(a, b), fs.ErrExist)
	must(t, p.FS.Remove(a))
	if data, err := store.ReadFile(p.FS, b); err != nil || string(data) != "a" {
		t.Errorf("the second name: %q, %v", data, err)
	}
	must(t, store.Write(p.FS, store.Entry{Path: l, Target: "a"}))
	must(t, store.Write(p.FS, store.Entry{Path: l, Target: "b"}))
	if target, err := p.FS.Readlink(l); err != nil || target != "b" {
		t.Errorf("link to %q, %v", target, err)
	}
	info, err := p.FS.Lstat(l)
	must(t, err)
	if info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is %s", info.Mode())
	}
	f, err := p.FS.OpenFile(l, os.O_RDONLY, 0)
	must(t, err)
	if data, err := io.ReadAll(f); err != nil || string(data) != "a" {
		t.Errorf("through the link: %q, %v", data, err)
	}
	must(t, f.Close())
	if _, err := store.ReadFile(p.FS, l); err == nil {
		t.Error("ReadFile went through a link")
	}
}

func testLocks(t *testing.T, p Place) {
	path := filepath.Join(p.Dir, "lock")
	first, err := p.FS.TryLock(path, true)
	must(t, err)
	second, err := p.FS.TryLock(path, true)
	must(t, err)
	_, err = p.FS.TryLock(path, false)
	expect(t, "exclusive beside shared", err, store.ErrLocked)
	must(t, first.Unlock())
	must(t, second.Unlock())
	alone, err := p.FS.TryLock(path, false)
	must(t, err)
	for _, shared := range []bool{true, false} {
		_, err = p.FS.TryLock(path, shared)
		expect(t, "beside exclusive", err, store.ErrLocked)
	}
	// A lock on a file that lost its name does not exclude a lock on the new file. Its
	// holder can detect that.
	must(t, alone.Check())
	must(t, p.FS.Remove(path))
	expect(t, "check of a lock whose file was deleted", alone.Check(), store.ErrLockLost)
	other, err := p.FS.TryLock(path, false)
	must(t, err)
	expect(t, "check of a lock whose file was made anew", alone.Check(), store.ErrLockLost)
	must(t, other.Check())
	must(t, alone.Unlock())
	_, err = p.FS.TryLock(path, false)
	expect(t, "beside the new file's lock", err, store.ErrLocked)
	must(t, other.Unlock())
}

func testDir(t *testing.T, p Place) {
	must(t, store.MkdirAll(p.FS, filepath.Join(p.Dir, "below")))
	must(t, store.Write(p.FS,
		store.Entry{Path: filepath.Join(p.Dir, "file"), Data: [][]byte{[]byte("four")}},
		store.Entry{Path: filepath.Join(p.Dir, "link"), Target: "file"}))
	d, err := store.OpenDir(p.FS, p.Dir)
	must(t, err)
	for name, want := range map[string]fs.FileMode{"below": fs.ModeDir, "file": 0, "link": fs.ModeSymlink} {
		mode, size, err := d.Lstat(name)
		if err != nil || mode.Type() != want || name == "file" && size != 4 {
			t.Errorf("%s is %v of %d bytes, %v", name, mode, size, err)
		}
	}
	_, _, err = d.Lstat("gone")
	expect(t, "look at what is missing", err, fs.ErrNotExist)
	for name, want := range map[string]error{"file": nil, "gone": fs.ErrNotExist} {
		begin := make([]byte, 3)
		expect(t, "begin "+name, d.Begin(name, begin), want)
		if want == nil && string(begin) != "fou" {
			t.Errorf("%s begins with %q", name, begin)
		}
	}
	expect(t, "begin what is short", d.Begin("file", make([]byte, 5)), io.ErrUnexpectedEOF)
	for _, name := range []string{"below", "link"} {
		if d.Begin(name, make([]byte, 1)) == nil {
			t.Errorf("%s is read", name)
		}
	}
	must(t, d.Close())
}

func testHelpers(t *testing.T, p Place) {
	dir := filepath.Join(p.Dir, "x", "y")
	must(t, store.MkdirAll(p.FS, dir))
	must(t, store.MkdirAll(p.FS, dir))
	path := filepath.Join(dir, "f")
	for _, data := range []string{"one", "", "three"} {
		must(t, store.WriteFile(p.FS, path, []byte(data)))
		if got, err := store.ReadFile(p.FS, path); err != nil || string(got) != data {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if store.MkdirAll(p.FS, filepath.Join(path, "z")) == nil {
		t.Error("made a directory in a file")
	}
	if entries, err := p.FS.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := store.ReadFile(p.FS, dir); err == nil {
		t.Error("read a directory")
	}
}

// TestLog tests a log. Called again with a name, open returns a log with the records that
// were appended before.
func TestLog(t *testing.T, open func(t *testing.T, name string) store.Log) {
	t.Run("append", func(t *testing.T) {
		for n := range 3 {
			l := open(t, "append")
			want := []string{"one\n", "two\n", "\n"}[:n]
			if got := records(t, l); !slices.Equal(got, want) {
				t.Errorf("records %q, want %q", got, want)
			}
			must(t, l.Append([]byte([]string{"one\n", "two\n", "\n"}[n])))
			if got := records(t, l); len(got) != n+1 {
				t.Errorf("records %q", got)
			}
			must(t, l.Close())
			expect(t, "append after close", l.Append([]byte("x\n")), store.ErrClosed)
		}
	})
	t.Run("replace", func(t *testing.T) {
		l := open(t, "replace")
		must(t, l.Append([]byte("old\n")))
		must(t, l.Append(bytes.Repeat([]byte("x"), 1<<20)))
		must(t, l.Replace(func(yield func(store.Record, error) bool) {
			for r, err := range l.Records() {
				if !r.Torn && !yield(r, err) {
					return
				}
			}
			yield(store.Record{Data: []byte("new\n")}, nil)
		}))
		must(t, l.Append([]byte("newer\n")))
		if got := records(t, l); !slices.Equal(got, []string{"old\n", "new\n", "newer\n"}) {
			t.Errorf("records %q", got)
		}
		broken := errors.New("broken")
		expect(t, "replace by what cannot be read", l.Replace(func(yield func(store.Record, error) bool) {
			yield(store.Record{}, broken)
		}), broken)
		if got := records(t, l); len(got) != 3 {
			t.Errorf("after a failed replacement: %q", got)
		}
		expect(t, "append after a failed replacement", l.Append([]byte("x\n")), store.ErrClosed)
		must(t, l.Close())
	})
	t.Run("changed", func(t *testing.T) {
		one := func(yield func(store.Record, error) bool) { yield(store.Record{Data: []byte("one\n")}, nil) }
		begin := map[string]func(l store.Log) error{
			"appended to": func(l store.Log) error { return l.Append([]byte("one\n")) },
			"replaced":    func(l store.Log) error { return l.Replace(one) },
		}
		for was, begin := range begin {
			for how, change := range map[string]func(l store.Log) error{
				"appended to": func(l store.Log) error { return l.Append([]byte("two\n")) },
				"replaced":    func(l store.Log) error { return l.Replace(one) },
			} {
				name := "changed " + was + how
				l, other := open(t, name), open(t, name)
				must(t, begin(l))
				must(t, change(other))
				before := records(t, other)
				expect(t, "append to a log that somebody "+how+" after it was "+was, l.Append([]byte("three\n")), store.ErrLogChanged)
				if got := records(t, other); !slices.Equal(got, before) {
					t.Errorf("records %q, want %q", got, before)
				}
				expect(t, "append once more", l.Append([]byte("three\n")), store.ErrClosed)
				must(t, l.Close())
				must(t, other.Close())
			}
		}
	})
	t.Run("torn", func(t *testing.T) {
		l := open(t, "torn")
		must(t, l.Append([]byte("whole\n")))
		must(t, l.Append([]byte("to")))
		var got []store.Record
		for r, err := range l.Records() {
			must(t, err)
			got = append(got, store.Record{Line: r.Line, Offset: r.Offset, Torn: r.Torn})
		}
		if want := []store.Record{{Line: 1}, {Line: 2, Offset: 6, Torn: true}}; len(got) != 2 || got[0].Torn || !got[1].Torn || got[1].Offset != want[1].Offset || got[1].Line != 2 {
			t.Errorf("records %+v", got)
		}
		must(t, l.Close())
	})
}

func records(t *testing.T, l store.Log) []string {
	t.Helper()
	var all []string
	for r, err := range l.Records() {
		must(t, err)
		all = append(all, string(r.Data))
	}
	return all
}

// testReplace renames over existing names: a file replaces a file, and nothing replaces a
// directory.
func testReplace(t *testing.T, p Place) {
	at := func(name string) string { return filepath.Join(p.Dir, name) }
	must(t, store.MkdirAll(p.FS, at("empty"), at("full"), at("dir")))
	must(t, store.WriteFile(p.FS, at("full/x"), []byte("x")))
	must(t, store.WriteFile(p.FS, at("file"), []byte("file")))
	must(t, store.WriteFile(p.FS, at("other"), []byte("other")))
	for _, names := range [][2]string{{"dir", "empty"}, {"dir", "full"}, {"file", "empty"}, {"dir", "file"}} {
		if p.FS.Rename(at(names[0]), at(names[1])) == nil {
			t.Errorf("renamed %s over %s", names[0], names[1])
		}
	}
	must(t, p.FS.Rename(at("other"), at("file")))
	if data, err := store.ReadFile(p.FS, at("file")); err != nil || string(data) != "other" {
		t.Errorf("after replacing a file: %q, %v", data, err)
	}
}

// testTemps removes the temporary files of one path, and nothing else.
func testTemps(t *testing.T, p Place) {
	path := filepath.Join(p.Dir, "state")
	must(t, store.WriteFile(p.FS, path, []byte("state")))
	var names []string
	for _, of := range []string{path, path, path + "-2"} {
		f, name, err := store.CreateTemp(p.FS, of)
		must(t, err)
		must(t, f.Close())
		if !store.IsTemp(name) || !store.IsLeftover(name) || !store.IsTempOf(name, "state") {
			t.Errorf("%s is not recognized as temporary", name)
		}
		names = append(names, name)
	}
	dirName := store.TempName(path)
	must(t, p.FS.Mkdir(dirName, store.DirPerm))
	must(t, store.WriteFile(p.FS, filepath.Join(dirName, "file"), nil))
	names = append([]string{dirName}, names...)
	others := []string{path}
	// Names of the user: one as long as a random suffix, one shorter and one with a dash in it.
	for _, name := range []string{"abcdefghijklmnopqrstuvwxyz", ".tmp-state-notes", ".tmp-state-abcdefghijklm-opqrstuvwxyz"} {
		others = append(others, filepath.Join(p.Dir, name))
		must(t, store.WriteFile(p.FS, filepath.Join(p.Dir, name), nil))
	}
	must(t, store.RemoveTempsOf(p.FS, path, time.Time{}))
	for _, name := range names {
		_, err := p.FS.Lstat(name)
		expect(t, "a temporary file that is newer than the moment", err, nil)
	}
	must(t, store.RemoveTempsOf(p.FS, path, time.Now().Add(time.Hour)))
	for i, name := range names {
		_, err := p.FS.Lstat(name)
		if gone := errors.Is(err, fs.ErrNotExist); gone != (i < 3) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range others {
		if _, err := p.FS.Lstat(name); err != nil {
			t.Errorf("a name that is no temporary file of the path was removed: %v", err)
		}
	}
	for name, want := range map[string]bool{"state": false, ".tmp-notes": false, ".tmp-": false, ".tmp--x": false, ".tmp-a-aaaaaaaaaaaaaaaaaaaaaaaaaa": false} {
		if store.IsLeftover(name) != want {
			t.Errorf("%s is a leftover: %v", name, !want)
		}
	}
}

// testClosed uses files that are closed, or open for the other direction only.
func testClosed(t *testing.T, p Place) {
	path := filepath.Join(p.Dir, "f")
	must(t, store.WriteFile(p.FS, path, []byte("data")))
	r, err := p.FS.OpenFile(path, os.O_RDONLY, 0)
	must(t, err)
	w, err := p.FS.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	try := func(when string, file store.File, reads, writes bool) {
		t.Helper()
		if _, err := file.ReadAt(make([]byte, 1), 0); (err == nil) != reads {
			t.Errorf("read %s: %v", when, err)
		}
		if _, err := file.WriteAt([]byte("d"), 0); (err == nil) != writes {
			t.Errorf("write %s: %v", when, err)
		}
	}
	try("a file open for reading", r, true, false)
	try("a file open for writing", w, false, true)
	must(t, r.Close())
	must(t, w.Close())
	try("a closed file", r, false, false)
	try("a closed file", w, false, false)
}

// testNew puts files at names that must be new, one and several at once.
func testNew(t *testing.T, p Place) {
	put := func(files ...store.Entry) error { return store.Write(p.FS, files...) }
	file := func(name, data string) store.Entry {
		return store.Entry{Path: filepath.Join(p.Dir, name), Data: [][]byte{[]byte(data)}, New: true}
	}
	read := func(name, want string) {
		t.Helper()
		if data, err := store.ReadFile(p.FS, filepath.Join(p.Dir, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v, want %q", name, data, err, want)
		}
	}
	entries := func() int {
		t.Helper()
		entries, err := p.FS.ReadDir(p.Dir)
		must(t, err)
		return len(entries)
	}
	must(t, put())
	must(t, put(file("a", "a")))
	expect(t, "put a name that is taken", put(file("a", "x")), fs.ErrExist)
	read("a", "a")

	// The files after the taken name are not written, and nothing is left behind.
	taken := put(file("b", "b"), file("a", "changed"), file("c", "c"))
	expect(t, "put names of which one is taken", taken, fs.ErrExist)
	var failed *store.WriteError
	if !errors.As(taken, &failed) || filepath.Base(failed.Path) != "a" {
		t.Errorf("the error does not name the taken path: %v", taken)
	}
	read("a", "a")
	read("b", "b")
	if n := entries(); n != 2 {
		t.Errorf("%d files, want a and b", n)
	}

	var many []store.Entry // more than are written at once
	for i := range 100 {
		f := file(fmt.Sprintf("many-%02d", i), "number ")
		f.Data = append(f.Data, []byte(strconv.Itoa(i)))
		many = append(many, f)
	}
	must(t, put(many...))
	if n := entries(); n != 2+len(many) {
		t.Errorf("%d files, want %d", n, 2+len(many))
	}
	read("many-42", "number 42")
	testNewRace(t, put, file)
}

// testNewRace puts one name from several goroutines. Exactly one put must succeed.
func testNewRace(t *testing.T, put func(...store.Entry) error, file func(name, data string) store.Entry) {
	done := make(chan error)
	for i := range 8 {
		go func() { done <- put(file("race", strconv.Itoa(i))) }()
	}
	won := 0
	for range 8 {
		if err := <-done; err == nil {
			won++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Errorf("put at once: %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d of 8 put the same name", won)
	}
}
