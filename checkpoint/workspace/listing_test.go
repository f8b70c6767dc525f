package workspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/text"
)

// listings generates listings in which no file is above another.
func listings() *rapid.Generator[*Listing] {
	names := rapid.SampledFrom([]string{"a", "b", "a-b", "é", "\xff", "new\nline", "-x", `"`})
	return rapid.Custom(func(t *rapid.T) *Listing {
		l := &Listing{Patterns: []string{"**"}, LeftOut: []string{".env"}, Entries: []Entry{}}
		for range rapid.IntRange(0, 12).Draw(t, "files") {
			path := strings.Join(rapid.SliceOfN(names, 1, 4).Draw(t, "path"), "/")
			e := Entry{Path: path, Mode: rapid.SampledFrom([]uint32{0o644, 0o755, 0, 0o400, ModeSymlink, ModeDir | 0o755}).Draw(t, "mode")}
			if !e.IsDir() {
				data := rapid.SampledFrom([]string{"x", "yy", "zz"}).Draw(t, "data")
				e.Size, e.Digest = int64(len(data)), shaOf(data)
			}
			l = l.With([]Entry{e})
		}
		return l
	})
}

func TestDiff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := listings().Draw(t, "a"), listings().Draw(t, "b")
		got := map[string]Entry{}
		for _, e := range a.Entries {
			got[e.Path] = e
		}
		changes := Diff(a, b)
		for i, c := range changes {
			if i > 0 && c.Path <= changes[i-1].Path {
				t.Fatalf("out of order: %q", c.Path)
			}
			if from, ok := got[c.Path]; ok != (c.From != nil) || ok && from != *c.From {
				t.Fatalf("%q: From is not the earlier entry", c.Path)
			}
			if delete(got, c.Path); c.To != nil {
				got[c.Path] = *c.To
			}
			if want := (map[bool]ChangeKind{c.From == nil: Added, c.To == nil: Deleted})[true]; want != "" && c.Kind != want {
				t.Fatalf("%q is %s", c.Path, c.Kind)
			}
		}
		if len(got) != len(b.Entries) {
			t.Fatalf("%d entries, want %d", len(got), len(b.Entries))
		}
		for _, e := range b.Entries {
			if got[e.Path] != e {
				t.Fatalf("%q: %v, want %v", e.Path, got[e.Path], e)
			}
		}
		if len(Diff(b, b)) > 0 {
			t.Fatal("a listing differs from itself")
		}
	})
}

func TestWith(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, more := listings().Draw(t, "l"), listings().Draw(t, "more")
		got := l.With(more.Entries)
		if err := checkTree(got.Entries); err != nil || !slices.IsSortedFunc(got.Entries, byPath) {
			t.Fatalf("not a tree: %v", err)
		}
		for _, e := range more.Entries {
			if !slices.Contains(got.Entries, e) {
				t.Fatalf("%q was not added", e.Path)
			}
		}
		if len(got.Entries) > len(l.Entries)+len(more.Entries) {
			t.Fatal("the result has more entries than both sources")
		}
	})
}

// lister returns a workspace that has only objects.
func lister(t testing.TB) *Workspace {
	t.Helper()
	return open(t, Options{Dir: t.TempDir(), Objects: objects.New(store.NewMemory(), "/objects", objects.Options{})})
}

func putAll(t testing.TB, w *Workspace, l *Listing) string {
	t.Helper()
	batch := w.o.Objects.Begin()
	digest, err := putListing(t.Context(), batch, l)
	must(t, err)
	must(t, batch.Commit(t.Context()))
	return digest
}

func TestListingRoundTrip(t *testing.T) {
	t.Parallel()
	w := lister(t)
	rapid.Check(t, func(r *rapid.T) {
		l := listings().Draw(r, "l")
		digest := putAll(t, w, l)
		got, err := w.Load(t.Context(), digest)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(l.Entries, got.Entries, cmp.Transformer("empty", func(l []Entry) []Entry { return append([]Entry{}, l...) })); diff != "" {
			r.Fatal(diff)
		}
		if again := putAll(t, w, got); again != digest {
			r.Fatal("the same listing has another digest")
		}
	})
}

// TestListingSharesDirectories: a listing in which one file changed needs two new
// objects.
func TestListingSharesDirectories(t *testing.T) {
	t.Parallel()
	w := lister(t)
	l := &Listing{}
	for i := range 100 {
		l.Entries = append(l.Entries, Entry{Path: fmt.Sprintf("d%02d/f", i), Mode: 0o644, Digest: shaOf("")})
	}
	count := func() (n int) {
		for _, err := range w.o.Objects.All(t.Context()) {
			must(t, err)
			n++
		}
		return n
	}
	putAll(t, w, l)
	before := count()
	putAll(t, w, l.With([]Entry{{Path: "d50/f", Mode: 0o644, Size: 1, Digest: shaOf("x")}}))
	if got := count() - before; got != 2 {
		t.Errorf("%d new objects", got)
	}
}

func TestListingRefuses(t *testing.T) {
	t.Parallel()
	w := lister(t)
	good := Entry{Path: "a", Mode: 0o644, Digest: shaOf("")}
	if err := good.validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Entry){
		"escapes": func(e *Entry) { e.Path = "../a" }, "absolute": func(e *Entry) { e.Path = "/a" },
		"dots within": func(e *Entry) { e.Path = "a/../b" }, "empty element": func(e *Entry) { e.Path = "a//b" },
		"NUL": func(e *Entry) { e.Path = "a\x00" }, "no path": func(e *Entry) { e.Path = "" },
		"setuid": func(e *Entry) { e.Mode = 0o4755 }, "device": func(e *Entry) { e.Mode = 0o60644 },
		"negative size": func(e *Entry) { e.Size = -1 }, "no digest": func(e *Entry) { e.Digest = "" },
		"upper case": func(e *Entry) { e.Digest = "sha256:" + strings.ToUpper(e.Digest[7:]) },
		"blob":       func(e *Entry) { e.Blob = "HEAD" }, "directory with bytes": func(e *Entry) { e.Mode = ModeDir | 0o755 },
		"link with permissions": func(e *Entry) { e.Mode = ModeSymlink | 0o755 },
	} {
		e := good
		change(&e)
		if e.validate() == nil {
			t.Errorf("%s: %+v was accepted", name, e)
		}
	}
	file := func(path string) Entry { return Entry{Path: path, Mode: 0o644, Digest: shaOf("")} }
	for _, paths := range [][]string{{"a", "a/b"}, {"a", "a-b", "a/b/c"}, {"x/y", "x/y/z"}} {
		var entries []Entry
		for _, p := range paths {
			entries = append(entries, file(p))
		}
		if err := checkTree(entries); err == nil {
			t.Errorf("%q were accepted", paths)
		}
	}
	batch := w.o.Objects.Begin()
	for name, data := range map[string]string{
		"future":        `{"format_version":"2.0","dirs":[]}`,
		"unknown field": `{"format_version":"1.0","dirs":[],"x":1}`,
		"trailing":      `{"format_version":"1.0","dirs":[]} {}`,
		"unsorted":      `{"format_version":"1.0","dirs":[{"path":"b","object":"x","files":1},{"path":"a","object":"x","files":1}]}`,
		"twice":         `{"format_version":"1.0","dirs":[{"path":"a","object":"x","files":1},{"path":"a","object":"x","files":1}]}`,
		"outside":       `{"format_version":"1.0","dirs":[{"path":"..","object":"x","files":1}]}`,
		"too many":      `{"format_version":"1.0","dirs":[{"path":"a","object":"x","files":99999999999}]}`,
	} {
		ref, err := batch.Put(t.Context(), []byte(data))
		must(t, err)
		if _, err := decodeListing("", []byte(data)); err == nil {
			t.Errorf("%s (%s) was accepted", name, ref.Digest)
		}
	}
	must(t, batch.Abandon())
}

func FuzzListing(f *testing.F) {
	f.Add([]byte(`{"format_version":"1.0","patterns":[],"left_out":[],"dirs":[{"path":"a","object":"sha256:00","files":1,"bytes":0}]}`),
		[]byte(`{"files":[{"name":"x","mode":"644","size":0,"digest":"`+shaOf("")+`"}]}`))
	f.Add([]byte(`{"format_version":"1.0","dirs":[{"path":{"base64":"/w=="},"object":"","files":2}]}`), []byte(`{"files":[{"name":"..","mode":"40755"}]}`))
	f.Fuzz(func(t *testing.T, root, dir []byte) {
		wire, err := decodeListing("", root)
		if err != nil {
			return
		}
		for _, d := range wire.Dirs {
			entries, err := d.decode(dir, nil)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if err := e.validate(); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.IsSortedFunc(entries, byPath) {
				t.Fatal("out of order")
			}
		}
	})
}

// scanned returns the files that scanFiles reads.
func scanned(data []byte) (files []wireFile, ok bool) {
	files = []wireFile{}
	ok, _ = scanFiles(string(data), func(f wireFile) error {
		files = append(files, f)
		return nil
	})
	return files, ok
}

// FuzzScanFiles: scanFiles and the JSON decoder read the same.
func FuzzScanFiles(f *testing.F) {
	for _, files := range [][]Entry{
		{},
		{{Path: "a/x", Mode: 0o644, Size: 5, Digest: shaOf("x"), Blob: "abc"}, {Path: "a/ü\u2028", Mode: ModeSymlink, Digest: shaOf("")}},
		{{Path: "a/\"<\n\xff", Mode: ModeDir | 0o755}, {Path: "a/\x7f", Size: 1 << 62}},
	} {
		data, err := (&directory{path: "a", files: files}).encode()
		must(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"files":[{"name":"x","mode":"644","size":-1,"digest":""},{"name":"","mode":"","size":01}]}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fast, ok := scanned(data)
		if !ok {
			return
		}
		var wire wireFiles
		if err := decodeObject(data, &wire); err != nil {
			t.Fatalf("%v: %q", err, data)
		}
		if diff := cmp.Diff(wire.Files, fast); diff != "" {
			t.Errorf("(-thorough +fast):\n%s", diff)
		}
	})
}

// TestScanFiles: scanFiles reads the output of encode, except for names that JSON
// escapes.
func TestScanFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"x": true, "ü \x7f": true, "\u2028": false, "<": false, "a\\b": false, "\n": false, "\xff": false} {
		data, err := (&directory{files: []Entry{{Path: name, Mode: 0o644, Digest: shaOf("")}, {Path: "zz", Mode: ModeDir | 0o700}}}).encode()
		must(t, err)
		if _, ok := scanned(data); ok != want {
			t.Errorf("%q: %v", name, ok)
		}
	}
}

// TestScanFilesRefuses: scanFiles refuses any form other than that of encode.
func TestScanFilesRefuses(t *testing.T) {
	t.Parallel()
	for size, want := range map[string]bool{
		"0": true, "10": true, "9223372036854775807": true,
		"01": false, "00": false, "-1": false, "+1": false, "": false, "1.0": false, "9223372036854775808": false,
	} {
		data := `{"files":[{"name":"x","mode":"644","size":` + size + `,"digest":"d"}]}` + "\n"
		if _, ok := scanned([]byte(data)); ok != want {
			t.Errorf("size %q: %v", size, ok)
		}
	}
}

// TestScanFilesRefusesWhatIsCut: scanFiles refuses an object that ends early, wherever.
func TestScanFilesRefusesWhatIsCut(t *testing.T) {
	t.Parallel()
	whole := `{"files":[{"name":"x","mode":"644","size":10,"digest":"d","blob":"b"},{"name":"y","mode":"40755","size":0}]}` + "\n"
	if _, ok := scanned([]byte(whole)); !ok {
		t.Fatal("the whole object is refused")
	}
	for end := range len(whole) {
		if _, ok := scanned([]byte(whole[:end])); ok {
			t.Errorf("%q is accepted", whole[:end])
		}
	}
}

// TestLoadRefusesSparse: a listing with a file that is both an entry and sparse is
// refused.
func TestLoadRefusesSparse(t *testing.T) {
	t.Parallel()
	w := lister(t)
	there := Entry{Path: "d/a", Mode: 0o644, Digest: shaOf("")}
	for path, want := range map[string]bool{"d/b": true, "d/a": false} {
		sparse := Entry{Path: path, Mode: 0o100644, Blob: strings.Repeat("a", 40)}
		digest := putAll(t, w, &Listing{Entries: []Entry{there}, Sparse: []Entry{sparse}})
		if _, err := w.Load(t.Context(), digest); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestLoadRefusesConflicts: a listing in which a path is both a file and a directory is
// refused, although each of its objects is valid.
func TestLoadRefusesConflicts(t *testing.T) {
	t.Parallel()
	w := lister(t)
	batch := w.o.Objects.Begin()
	var dirs []wireDir
	for _, d := range []directory{
		{path: "", files: []Entry{{Path: "a", Mode: 0o644, Digest: shaOf("")}}},
		{path: "a", files: []Entry{{Path: "a/b", Mode: 0o644, Digest: shaOf("")}}},
	} {
		data, err := d.encode()
		must(t, err)
		ref, err := batch.Put(t.Context(), data)
		must(t, err)
		dirs = append(dirs, wireDir{Path: text.Text(d.path), Object: ref.Digest, Files: 1})
	}
	must(t, batch.Commit(t.Context()))
	for n, want := range map[int]bool{1: true, 2: false} {
		data, err := encodeObject(wireListing{FormatVersion: listingVersion, Dirs: dirs[:n]})
		must(t, err)
		b := w.o.Objects.Begin()
		ref, err := b.Put(t.Context(), data)
		must(t, err)
		must(t, b.Commit(t.Context()))
		if _, err := w.Load(t.Context(), ref.Digest); (err == nil) != want {
			t.Errorf("%d directories: %v", n, err)
		}
	}
}
