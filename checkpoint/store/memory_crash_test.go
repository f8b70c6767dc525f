package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/store"
)

// disk is a file system in memory, and what is done to it must succeed.
type disk struct {
	*store.Memory
	t *testing.T
}

func newDisk(t *testing.T) disk { return disk{store.NewMemory(), t} }

func (d disk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// write opens a file with more flags, writes to it at an offset, or at the end
// if that is negative, and syncs it or not.
func (d disk) write(name string, flag int, at int64, data string, sync bool) {
	d.t.Helper()
	if at < 0 {
		flag |= os.O_APPEND
	}
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|flag, store.FilePerm)
	d.must(err)
	if at < 0 {
		_, err = f.Write([]byte(data))
	} else {
		_, err = f.WriteAt([]byte(data), at)
	}
	d.must(err)
	if sync {
		d.must(f.Sync())
	}
	d.must(f.Close())
}

// durable is write, and the name of the file is durable, too.
func (d disk) durable(name, data string) {
	d.t.Helper()
	d.write(name, os.O_TRUNC, -1, data, true)
	d.must(d.SyncDir(filepath.Dir(name)))
}

// could lists what could be there after a power cut now: "name=content, …" for
// each state, sorted, each once.
func (d disk) could(depth int) []string {
	d.t.Helper()
	var all []string
	sums := map[string]string{}
	for m := range d.CrashStates(depth) {
		what := strings.Join(disk{m, d.t}.below("/"), ", ")
		if had, ok := sums[m.Sum()]; ok && had != what {
			d.t.Errorf("one sum for %q and %q", had, what)
		}
		sums[m.Sum()] = what
		all = append(all, what)
	}
	if len(sums) != len(slices.Compact(slices.Sorted(slices.Values(all)))) {
		d.t.Errorf("%d sums for %q", len(sums), all)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (d disk) below(dir string) []string {
	d.t.Helper()
	entries, err := d.ReadDir(dir)
	d.must(err)
	var all []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		name := strings.TrimPrefix(filepath.ToSlash(path), "/")
		switch {
		case e.IsDir():
			all = append(append(all, name+"/"), d.below(path)...)
		case e.Type() == fs.ModeSymlink:
			target, err := d.Readlink(path)
			d.must(err)
			all = append(all, name+"->"+target)
		default:
			data, err := store.ReadFile(d, path)
			d.must(err)
			all = append(all, name+"="+short(data))
		}
	}
	return all
}

// short counts bytes that repeat.
func short(data []byte) string {
	var b strings.Builder
	for len(data) > 0 {
		n := 1
		for n < len(data) && data[n] == data[0] {
			n++
		}
		c := string(data[:1])
		if data[0] == 0 {
			c = "0"
		}
		b.WriteString(c)
		if n > 1 {
			fmt.Fprint(&b, n)
		}
		data = data[n:]
	}
	return b.String()
}

// TestCrashStates: each state that a disk could leave of what was not synced, and
// no other.
func TestCrashStates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(d disk)
		want []string
	}{
		"nothing pending": {func(d disk) { d.durable("/a", "x") }, []string{"a=x"}},
		"a new file, neither synced": {
			func(d disk) { d.write("/a", 0, -1, "xyz", false) },
			[]string{"", "a=", "a=03", "a=x", "a=xy", "a=xyz"},
		},
		"a new file, content synced": {
			func(d disk) { d.write("/a", 0, -1, "xyz", true) },
			[]string{"", "a=xyz"},
		},
		"a new file, name synced": {
			func(d disk) { d.write("/a", 0, -1, "xy", false); d.must(d.SyncDir("/")) },
			[]string{"a=", "a=02", "a=x", "a=xy"},
		},
		"replaced without a sync of the content": {
			func(d disk) {
				d.durable("/a", "old")
				d.write("/b", 0, -1, "n", false)
				d.must(d.Rename("/b", "/a"))
			},
			// Old, new, empty, zeros, and the temporary file in any form.
			[]string{"a=", "a=0", "a=n", "a=old", "a=old, b=", "a=old, b=0", "a=old, b=n"},
		},
		"replaced without a sync of the directory": {
			func(d disk) {
				d.durable("/a", "old")
				d.write("/b", 0, -1, "new", true)
				d.must(d.Rename("/b", "/a"))
			},
			[]string{"a=new", "a=old", "a=old, b=new"},
		},
		"replaced durably": {
			func(d disk) {
				d.durable("/a", "old")
				d.must(store.WriteFile(d, "/a", []byte("new")))
			},
			[]string{"a=new"},
		},
		"appended": {
			func(d disk) { d.durable("/a", "x"); d.write("/a", 0, -1, "yz", false) },
			[]string{"a=x", "a=x02", "a=xy", "a=xyz"},
		},
		"appended over several sectors": {
			func(d disk) {
				d.durable("/a", strings.Repeat("x", 500))
				d.write("/a", 0, -1, strings.Repeat("y", 1000), false)
			},
			[]string{"a=x500", "a=x5000" + "1000", "a=x500012y988", "a=x500y1000", "a=x500y12", "a=x500y500", "a=x500y524", "a=x500y999"},
		},
		"overwritten within a sector": {
			func(d disk) { d.durable("/a", "xxx"); d.write("/a", 0, 1, "y", false) },
			[]string{"a=x3", "a=xyx"},
		},
		"overwritten over two sectors": {
			func(d disk) {
				d.durable("/a", strings.Repeat("x", 600))
				d.write("/a", 0, 500, strings.Repeat("y", 50), false)
			},
			[]string{"a=x500y12x88", "a=x500y50x50", "a=x512y38x50", "a=x600"},
		},
		"truncated": {
			func(d disk) { d.durable("/a", "xx"); d.write("/a", os.O_TRUNC, -1, "yy", false) },
			[]string{"a=", "a=02", "a=x2", "a=y", "a=y2"},
		},
		"truncated, and synced": {
			func(d disk) { d.durable("/a", "xx"); d.durable("/a", "yy") },
			[]string{"a=y2"},
		},
		"a removal": {
			func(d disk) { d.durable("/a", "x"); d.must(d.Remove("/a")) },
			[]string{"", "a=x"},
		},
		"a later change of names without the earlier one": {
			func(d disk) {
				d.durable("/a", "x")
				d.durable("/b", "y")
				d.must(d.Remove("/a"))
				d.must(d.Remove("/b"))
			},
			[]string{"", "a=x", "a=x, b=y", "b=y"},
		},
		"a second name, and the first is another file": {
			func(d disk) {
				d.durable("/a", "x")
				d.must(d.Link("/a", "/kept"))
				d.write("/b", 0, -1, "y", true)
				d.must(d.SyncDir("/"))
				d.must(d.Link("/a", "/kept2"))
				d.must(d.Rename("/b", "/a"))
			},
			[]string{"a=x, b=y, kept=x", "a=x, b=y, kept=x, kept2=x", "a=y, kept=x", "a=y, kept=x, kept2=x"},
		},
		"one name, changed twice": {
			func(d disk) {
				d.durable("/a", "x")
				d.must(d.Rename("/a", "/b"))
				d.must(d.Rename("/b", "/c"))
			},
			[]string{"a=x", "b=x", "c=x"},
		},
		"a rename between directories": {
			func(d disk) {
				d.must(store.MkdirAll(d, "/p"))
				d.must(store.MkdirAll(d, "/q"))
				d.durable("/p/a", "x")
				d.must(d.Rename("/p/a", "/q/a"))
			},
			[]string{"p/, p/a=x, q/", "p/, q/, q/a=x"},
		},
		"a rename between directories, one synced": {
			func(d disk) {
				d.must(store.MkdirAll(d, "/p"))
				d.must(store.MkdirAll(d, "/q"))
				d.durable("/p/a", "x")
				d.must(d.Rename("/p/a", "/q/a"))
				d.must(d.SyncDir("/q"))
			},
			[]string{"p/, q/, q/a=x"},
		},
		"a new file, renamed into a directory that is synced": {
			func(d disk) {
				d.must(store.MkdirAll(d, "/p"))
				d.write("/a", 0, -1, "x", true)
				d.must(d.Rename("/a", "/p/a"))
				d.must(d.SyncDir("/p"))
			},
			[]string{"p/, p/a=x"},
		},
		"a rename into a directory that is new": {
			func(d disk) {
				d.durable("/a", "x")
				d.must(d.Mkdir("/p", store.DirPerm))
				d.must(d.Rename("/a", "/p/a"))
			},
			[]string{"a=x", "a=x, p/", "p/, p/a=x"},
		},
		"a directory that is not synced, and what is in it is": {
			func(d disk) {
				d.must(d.Mkdir("/p", store.DirPerm))
				d.durable("/p/a", "x")
			},
			[]string{"", "p/, p/a=x"},
		},
		"a directory and what is in it": {
			func(d disk) {
				d.must(d.Mkdir("/p", store.DirPerm))
				d.write("/p/a", 0, -1, "x", true)
			},
			[]string{"", "p/", "p/, p/a=x"},
		},
		"moved out of a directory, which is removed": {
			func(d disk) {
				d.must(store.MkdirAll(d, "/p"))
				d.durable("/p/a", "x")
				d.must(d.Rename("/p/a", "/a"))
				d.must(d.Remove("/p"))
			},
			[]string{"a=x", "a=x, p/", "p/, p/a=x"},
		},
		"a directory in the place of another": {
			func(d disk) {
				d.must(store.MkdirAll(d, "/p"))
				d.durable("/p/a", "x")
				d.must(d.Rename("/p", "/q"))
				d.must(d.Mkdir("/p", store.DirPerm))
			},
			[]string{"p/, p/a=x", "p/, q/, q/a=x", "q/, q/a=x"},
		},
		"a link": {
			func(d disk) { d.must(d.Symlink("a", "/l")) },
			[]string{"", "l->a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t)
			test.do(d)
			if got := d.could(3); !slices.Equal(got, test.want) {
				t.Errorf("got\n%q, want\n%q", got, test.want)
			}
		})
	}
}

// TestCrashStatesAreBounded: of many operations those states are tried in which
// few survive or few are lost, and the two ends always are.
func TestCrashStatesAreBounded(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	const files = 20
	for i := range files {
		d.write(fmt.Sprintf("/%c", 'a'+i), 0, -1, "", true)
	}
	got := map[int]int{} // states by how many files they have
	for m := range d.CrashStates(2) {
		got[len(disk{m, t}.below("/"))]++
	}
	want := map[int]int{0: 1, 1: files, 2: files * (files - 1) / 2, files: 1, files - 1: files, files - 2: files * (files - 1) / 2}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("states by number of files: %v, want %v", got, want)
	}

	// What survives alone brings with it what it cannot be without.
	d.must(d.Mkdir("/dir", store.DirPerm))
	d.must(d.Mkdir("/dir/sub", store.DirPerm))
	if got := d.could(1); !slices.Contains(got, "dir/, dir/sub/") {
		t.Errorf("a directory in one that is new is in none of %q", got)
	}
}

// TestCrashStatesAreApart: what is done to a state, or to the file system that it
// was taken from, shows in none of the others.
func TestCrashStatesAreApart(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	d.durable("/a", "synced")
	d.write("/a", 0, -1, " live", false)
	states := slices.Collect(d.CrashStates(3))
	both := func(m *store.Memory) string { return m.Sum() + m.Crash().Sum() }
	was := map[*store.Memory]string{d.Memory: both(d.Memory)}
	for _, m := range states {
		was[m] = both(m)
	}
	for i, m := range append(states, d.Memory) {
		if i%2 == 0 {
			disk{m, t}.write("/a", os.O_TRUNC, -1, "O", true)
		}
		for _, at := range []int64{0, 6, -1} {
			disk{m, t}.write("/a", 0, at, "other", at == 6)
		}
		disk{m, t}.write("/b", 0, -1, "new", false)
		if both(m) == was[m] {
			t.Error("nothing changed")
		}
		delete(was, m)
		for other, sum := range was {
			if both(other) != sum {
				t.Fatal("another one changed")
			}
		}
	}
}

// TestCrashStatesHoldBothPlanes: the first state is that of Crash, what programs
// see is among them, and each is durable itself.
func TestCrashStatesHoldBothPlanes(t *testing.T) {
	t.Parallel()
	for depth, files := range map[int]int{1: 12, 3: 2} {
		d := newDisk(t)
		for i := range files {
			d.write(fmt.Sprintf("/%c", 'a'+i), 0, -1, "x", false)
		}
		states := slices.Collect(d.CrashStates(depth))
		if first := states[0]; first.Sum() != d.Crash().Sum() {
			t.Errorf("depth %d: of %d states, the first has %q", depth, len(states), disk{first, t}.below("/"))
		}
		if !slices.ContainsFunc(states, func(m *store.Memory) bool { return m.Sum() == d.Sum() }) {
			t.Errorf("depth %d: the live plane is not among %d states", depth, len(states))
		}
		for _, m := range states {
			if again := slices.Collect(m.CrashStates(depth)); len(again) != 1 || again[0].Sum() != m.Sum() {
				t.Errorf("depth %d: a state is not what would be there after another cut", depth)
			}
		}
	}
}

// TestSyncedIsInEveryState: whatever is done at random, what was synced is there
// in every state.
func TestSyncedIsInEveryState(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	d.must(store.MkdirAll(d, "/p/q"))
	log := store.OpenLog(d, "/p/log")
	want := ""
	for i := range 20 {
		d.must(store.WriteFile(d, "/p/q/file", fmt.Appendf(nil, "version %d", i)))
		d.must(log.Append(fmt.Appendf(nil, "line %d\n", i)))
		want += fmt.Sprintf("line %d\n", i)
		d.write(fmt.Sprintf("/p/other%d", i), 0, -1, "unsynced", false)
		d.write("/p/q/file2", os.O_TRUNC, -1, "unsynced", false)
		for m := range d.CrashStates(1) {
			data, err := store.ReadFile(m, "/p/q/file")
			lines, failed := store.ReadFile(m, "/p/log")
			if errors.Join(err, failed) != nil || string(data) != fmt.Sprintf("version %d", i) || string(lines) != want {
				t.Fatalf("round %d: %q, %q: %v", i, data, lines, errors.Join(err, failed))
			}
		}
	}
	d.must(log.Close())
}
