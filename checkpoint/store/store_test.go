package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/storetest"
)

func places() map[string]func(t *testing.T) storetest.Place {
	return map[string]func(t *testing.T) storetest.Place{
		"os": func(t *testing.T) storetest.Place { return storetest.Place{FS: store.OS(), Dir: t.TempDir()} },
		"memory": func(t *testing.T) storetest.Place {
			m := store.NewMemory()
			if err := m.Mkdir("/dir", store.DirPerm); err != nil {
				t.Fatal(err)
			}
			return storetest.Place{FS: m, Dir: "/dir"}
		},
	}
}

func TestContracts(t *testing.T) {
	t.Parallel()
	for name, fresh := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("fs", func(t *testing.T) { storetest.TestFS(t, fresh) })
			t.Run("log", func(t *testing.T) {
				p := fresh(t)
				storetest.TestLog(t, func(_ *testing.T, name string) store.Log {
					return store.OpenLog(p.FS, filepath.Join(p.Dir, name))
				})
			})
		})
	}
}

// linkless is a file system without hard links.
type linkless struct{ store.FS }

func (linkless) Link(string, string) error { return errors.ErrUnsupported }

func TestNewNameWithoutHardLinks(t *testing.T) {
	t.Parallel()
	fsys := linkless{store.NewMemory()}
	put := func(data string) error {
		return store.Write(fsys, store.Entry{Path: "/a", Data: [][]byte{[]byte(data)}, New: true})
	}
	if err := put("one"); err != nil {
		t.Fatal(err)
	}
	if err := put("two"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("put twice: %v", err)
	}
	if data, err := store.ReadFile(fsys, "/a"); err != nil || string(data) != "one" {
		t.Errorf("read %q, %v", data, err)
	}
}

// TestCrash: only what was synced is there, content and name apart.
func TestCrash(t *testing.T) {
	t.Parallel()
	m := store.NewMemory()
	write := func(name, data string, sync bool) {
		f, err := m.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, store.FilePerm)
		if err == nil {
			_, err = f.Write([]byte(data))
		}
		if err == nil && sync {
			err = f.Sync()
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("/named", "synced", true)
	write("/empty", "never synced", false)
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	write("/named", " and more", false)
	write("/nameless", "synced", true)
	if err := m.Rename("/empty", "/renamed"); err != nil {
		t.Fatal(err)
	}
	c := m.Crash()
	for name, want := range map[string]string{"/named": "synced", "/empty": ""} {
		if data, err := store.ReadFile(c, name); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for _, name := range []string{"/nameless", "/renamed"} {
		if _, err := c.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s survived: %v", name, err)
		}
	}
	if data, err := store.ReadFile(m, "/named"); err != nil || string(data) != "synced and more" {
		t.Errorf("the running one: %q, %v", data, err)
	}
}

// TestLinesGrow reads a file while it is written.
func TestLinesGrow(t *testing.T) {
	t.Parallel()
	m := store.NewMemory()
	w, err := m.OpenFile("/log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, store.FilePerm)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.OpenFile("/log", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := store.NewLines(r)
	for i, step := range []struct {
		write string
		want  []store.Record
	}{
		{"", nil},
		{"on", []store.Record{{Line: 1, Data: []byte("on"), Torn: true}}},
		{"e\ntwo\nth", []store.Record{{Line: 1, Data: []byte("one\n")}, {Line: 2, Offset: 4, Data: []byte("two\n")}, {Line: 3, Offset: 8, Data: []byte("th"), Torn: true}}},
		{"ree\n", []store.Record{{Line: 3, Offset: 8, Data: []byte("three\n")}}},
	} {
		if _, err := w.Write([]byte(step.write)); err != nil {
			t.Fatal(err)
		}
		for _, want := range step.want {
			got, err := lines.Next()
			if err != nil || got.Line != want.Line || got.Offset != want.Offset || string(got.Data) != string(want.Data) || got.Torn != want.Torn {
				t.Errorf("step %d: %+v %q, %v; want %+v %q", i, got, got.Data, err, want, want.Data)
			}
		}
		if got, err := lines.Next(); err == nil {
			t.Errorf("step %d: %q after the end", i, got.Data)
		}
	}
}

// TestHelpersAreDurable: what a helper has returned from is there after a
// power cut.
func TestHelpersAreDurable(t *testing.T) {
	t.Parallel()
	m := store.NewMemory()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(store.MkdirAll(m, "/a/b"))
	do(store.MkdirAll(m, "/a/c"))
	do(store.WriteFile(m, "/a/b/file", []byte("file")))
	do(store.Write(m, store.Entry{Path: "/a/c/link", Target: "file"}))
	do(store.Write(m, store.Entry{Path: "/a/c/new", Data: [][]byte{[]byte("new")}, New: true}))
	log := store.OpenLog(m, "/a/log")
	do(log.Append([]byte("one\n")))
	replaced := store.OpenLog(m, "/a/replaced")
	do(replaced.Replace(log.Records()))
	for name, want := range map[string]string{
		"/a/b/file": "file", "/a/c/new": "new", "/a/log": "one\n", "/a/replaced": "one\n",
	} {
		if data, err := store.ReadFile(m.Crash(), name); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if target, err := m.Crash().Readlink("/a/c/link"); err != nil || target != "file" {
		t.Errorf("link: %q, %v", target, err)
	}
	do(log.Close())
	do(replaced.Close())
}
