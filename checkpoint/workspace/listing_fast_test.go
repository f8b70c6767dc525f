package workspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestBeside: directories that are taken from another listing equal the decoded ones.
func TestBeside(t *testing.T) {
	t.Parallel()
	w := lister(t)
	rapid.Check(t, func(r *rapid.T) {
		l, other := listings().Draw(r, "l"), listings().Draw(r, "other")
		if rapid.Bool().Draw(r, "alike") {
			some := rapid.IntRange(0, len(other.Entries)).Draw(r, "some")
			other = l.With(other.Entries[:some])
		}
		kept := *l
		kept.Entries = append([]Entry{}, l.Entries...)
		for i := range kept.Entries {
			if e := &kept.Entries[i]; !e.IsDir() && rapid.Bool().Draw(r, "blob") {
				e.Blob = strings.Repeat("b", 40)
			}
		}
		o, err := w.Outline(t.Context(), putAll(t, w, &kept))
		must(t, err)
		got, err := o.Rest(t.Context(), other)
		must(t, err)
		if diff := cmp.Diff(&kept, got, cmpopts.IgnoreFields(Entry{}, "Blob"), cmpopts.EquateEmpty()); diff != "" {
			r.Fatal(diff)
		}
	})
}

// TestBesideShares: unchanged directories are neither decoded nor copied.
func TestBesideShares(t *testing.T) {
	t.Parallel()
	w := lister(t)
	now := &Listing{}
	for _, path := range []string{"a/b.c", "a/b/c", "a/b/d/e", "a/d", "z"} {
		now.Entries = append(now.Entries, Entry{Path: path, Mode: 0o644, Size: 1, Digest: shaOf(path)})
	}
	o, err := w.Outline(t.Context(), putAll(t, w, now))
	must(t, err)
	got, err := o.Rest(t.Context(), now)
	must(t, err)
	if len(got.Entries) != len(now.Entries) || &got.Entries[0] != &now.Entries[0] {
		t.Errorf("the entries were decoded or copied: %v", got.Entries)
	}
}

// TestIsAsRefuses: an object that decode would refuse or read differently never counts as
// equal.
func TestIsAsRefuses(t *testing.T) {
	t.Parallel()
	digest, blob := shaOf("x"), strings.Repeat("a", 40)
	file := func(name, more string) string {
		return fmt.Sprintf(`{"name":"%s","mode":"644","size":1,"digest":"%s"%s}`, name, digest, more)
	}
	object := func(files ...string) string { return `{"files":[` + strings.Join(files, ",") + "]}\n" }
	entry := func(name string) Entry { return Entry{Path: "d/" + name, Mode: 0o644, Size: 1, Digest: digest} }
	withBlob := func(name string) string { return file("a", `,"blob":"`+name+`"`) }
	empty := Entry{Path: "d/a", Mode: ModeDir | 0o755}
	for name, c := range map[string]struct {
		data    string
		entries []Entry
		dir     wireDir
		want    bool
	}{
		"the same":              {object(file("a", "")), []Entry{entry("a")}, wireDir{Files: 1, Bytes: 1}, true},
		"with a blob":           {object(withBlob(blob)), []Entry{entry("a")}, wireDir{Files: 1, Bytes: 1}, true},
		"no name of a blob":     {object(withBlob("x")), []Entry{entry("a")}, wireDir{Files: 1, Bytes: 1}, false},
		"a blob without an end": {object(file("a", `,"blob":"`+blob)), []Entry{entry("a")}, wireDir{Files: 1, Bytes: 1}, false},
		"other files":           {object(file("a", "")), []Entry{entry("a")}, wireDir{Files: 2, Bytes: 1}, false},
		"other bytes":           {object(file("a", "")), []Entry{entry("a")}, wireDir{Files: 1, Bytes: 2}, false},
		"one more":              {object(file("a", ""), file("b", "")), []Entry{entry("a")}, wireDir{Files: 1, Bytes: 1}, false},
		"one less":              {object(file("a", "")), []Entry{entry("a"), entry("b")}, wireDir{Files: 1, Bytes: 1}, false},
		"something after it":    {object(file("a", "")) + " ", []Entry{entry("a")}, wireDir{Files: 1, Bytes: 1}, false},
		"an empty directory":    {object(`{"name":"a","mode":"40755","size":0}`), []Entry{empty}, wireDir{Files: 1}, true},
		"a directory's blob":    {object(`{"name":"a","mode":"40755","size":0,"blob":"` + blob + `"}`), []Entry{empty}, wireDir{Files: 1}, false},
		"not checked out":       {object(file("a", "")), []Entry{entry("a")}, wireDir{Files: 1, Bytes: 1, sparse: true}, false},
		"a name that looks like two files": {
			object(file("a", ""), file("b", "")), []Entry{entry(strings.TrimPrefix(file("a", "")+`,{"name":"b`, `{"name":"`))},
			wireDir{Files: 1, Bytes: 1}, false,
		},
	} {
		c.dir.Path = "d"
		if got := c.dir.equalsDir([]byte(c.data), &Listing{Entries: c.entries}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (&wireDir{Path: "d"}).equalsDir([]byte(object()), nil) {
		t.Error("an object counts as equal to no listing")
	}
}
