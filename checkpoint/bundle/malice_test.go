package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"prdrunner/checkpoint/store"
)

func sumOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

func line(name, data string) string {
	return fmt.Sprintf(`{"name":%q,"size":%d,"sha256":"%s"}`, name, len(data), sumOf(data))
}

// table makes a table of any lines, with the right sum.
func table(lines ...string) string {
	text := headerKey + "{}" + membersKey
	if len(lines) > 0 {
		text += "\n" + strings.Join(lines, ",\n")
	}
	return summed(text + "\n]")
}

// summed puts the sum at the end of a table.
func summed(text string) string {
	return text + `,"sum":"` + sumOf(text) + `"}` + "\n"
}

// edited replaces something in a table, and makes the sum right again.
func edited(table, from, to string) string {
	text, _, _ := strings.Cut(table, `,"sum":`)
	return summed(strings.Replace(text, from, to, 1))
}

// part is a member as an attacker would write it: edit changes the header that
// Write would give it.
type part struct {
	name, data string
	edit       func(h *tar.Header)
}

// forge makes a tar stream of any table and parts.
func forge(t testing.TB, parts ...part) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, p := range parts {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: p.name, Size: int64(len(p.data)), Mode: 0o600, ModTime: time.Unix(0, 0)}
		if p.edit != nil {
			p.edit(h)
		}
		must(t, w.WriteHeader(h))
		if _, err := w.Write([]byte(p.data)); err != nil && h.Typeflag == tar.TypeReg {
			t.Fatal(err)
		}
	}
	must(t, w.Close())
	return b.Bytes()
}

func typed(flag byte, link string) func(*tar.Header) {
	return func(h *tar.Header) { h.Typeflag, h.Linkname, h.Size = flag, link, 0 }
}

func records(r map[string]string) func(*tar.Header) {
	return func(h *tar.Header) { h.PAXRecords, h.Format = r, tar.FormatPAX }
}

// refused makes sure that an archive is refused for the reason given, and that
// nothing of it is left, whatever it is compressed with.
func refused(t *testing.T, plain []byte, limits Limits, reason string) {
	t.Helper()
	for ext, format := range formats() {
		fsys := store.NewMemory()
		_, err := Stage(t.Context(), fsys, "/in", bytes.NewReader(compressed(t, plain, format)), limits)
		if err == nil || !strings.Contains(err.Error(), reason) || !expected(err) {
			t.Errorf("%s: %v; want %q", ext, err, reason)
		}
		if left, err := fsys.ReadDir("/"); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", ext, left, err)
		}
	}
}

// expected reports whether an error says that the archive is at fault.
func expected(err error) bool {
	var damaged *DamagedError
	var version *VersionError
	var limit *LimitError
	return errors.As(err, &damaged) || errors.As(err, &version) || errors.As(err, &limit)
}

func compressed(t testing.TB, plain []byte, format Format) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := compress(&b, format)
	must(t, err)
	_, err = w.Write(plain)
	must(t, err)
	must(t, w.Close())
	return b.Bytes()
}

// TestForgeIsFair: without an edit, forge makes what Write makes, so that what
// the other tests see refused is refused for what they edit.
func TestForgeIsFair(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a": "hello", "b/c": ""}
	var want bytes.Buffer
	_, err := Write(t.Context(), &want, Tar, []byte("{}"), entriesOf(files))
	must(t, err)
	got := forge(t, part{tableName, table(line("a", "hello"), line("b/c", "")), nil}, part{"a", "hello", nil}, part{"b/c", "", nil})
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("forged\n%q, written\n%q", got, want.Bytes())
	}
	_, err = Verify(t.Context(), bytes.NewReader(forge(t, part{tableName, table(), nil})), Limits{})
	must(t, err)
}

// TestHostileMembers: the table names the file a, "hello", and then something
// else is in the archive.
func TestHostileMembers(t *testing.T) {
	t.Parallel()
	good := part{tableName, table(line("a", "hello")), nil}
	a := part{"a", "hello", nil}
	for what, c := range map[string]struct {
		parts  []part
		reason string
	}{
		"missing":           {nil, "ends before it"},
		"another name":      {[]part{{"b", "hello", nil}}, `in its place stands "b"`},
		"one more":          {[]part{a, {"b", "", nil}}, `in its place stands "b"`},
		"twice":             {[]part{a, a}, `in its place stands "a"`},
		"before the others": {[]part{{"0", "", nil}, a}, `in its place stands "0"`},
		"the table twice":   {[]part{good, a}, `in its place stands "bundle.json"`},
		"up":                {[]part{{"../a", "hello", nil}}, `in its place stands "../a"`},
		"absolute":          {[]part{{"/etc/passwd", "hello", nil}}, `in its place stands "/etc/passwd"`},
		"drive":             {[]part{{`C:\a`, "hello", nil}}, `in its place stands "C:\\a"`},
		"terminal codes":    {[]part{{"a\x1b[2J", "hello", nil}}, `"a\x1b[2J"`},
		"symbolic link":     {[]part{{"a", "", typed(tar.TypeSymlink, "/etc")}}, "a symbolic link"},
		"hard link":         {[]part{{"a", "", typed(tar.TypeLink, "bundle.json")}}, "a hard link"},
		"device":            {[]part{{"a", "", typed(tar.TypeChar, "")}}, "a device"},
		"block device":      {[]part{{"a", "", typed(tar.TypeBlock, "")}}, "a device"},
		"pipe":              {[]part{{"a", "", typed(tar.TypeFifo, "")}}, "a named pipe"},
		"directory":         {[]part{{"a/", "", typed(tar.TypeDir, "")}}, "a directory"},
		"unknown type":      {[]part{{"a", "", typed('Z', "")}}, "of the type 'Z'"},
		"setuid":            {[]part{{"a", "hello", func(h *tar.Header) { h.Mode = 0o4755 }}}, "a mode"},
		"owner":             {[]part{{"a", "hello", func(h *tar.Header) { h.Uid, h.Uname = 1000, "me" }}}, "an owner"},
		"time":              {[]part{{"a", "hello", func(h *tar.Header) { h.ModTime = time.Unix(1e9, 0) }}}, "a time"},
		"GNU header":        {[]part{{"a", "hello", func(h *tar.Header) { h.Format = tar.FormatGNU }}}, "do not belong"},
		"GNU long name":     {[]part{{strings.Repeat("a", 300), "", func(h *tar.Header) { h.Format = tar.FormatGNU }}}, "in its place stands"},
		"longer":            {[]part{{"a", "hello!", nil}}, "6 bytes long, not 5"},
		"shorter":           {[]part{{"a", "hell", nil}}, "4 bytes long, not 5"},
		"other bytes":       {[]part{{"a", "jello", nil}}, "SHA-256"},
		"own record":        {[]part{{"a", "hello", records(map[string]string{"VENDOR.size": "1"})}}, "do not belong"},
		"attributes":        {[]part{{"a", "hello", records(map[string]string{"SCHILY.xattr.user.x": "y"})}}, "do not belong"},
		"global header": {[]part{{"pax", "", func(h *tar.Header) {
			*h = tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": "x"}}
		}}, a}, "of the type 'g'"},
		"long name in a record": {[]part{{strings.Repeat("x", 300), "hello", nil}}, "in its place stands"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			refused(t, forge(t, append([]part{good}, c.parts...)...), Limits{}, c.reason)
		})
	}
}

// TestHostileRecords: PAX records that package tar does not write.
func TestHostileRecords(t *testing.T) {
	t.Parallel()
	for what, body := range map[string]string{
		"path with NUL":   record("path", "a\x00/../b"),
		"other size":      record("size", "1099511627776"),
		"negative size":   record("size", "-1"),
		"sparse 0.1":      record("GNU.sparse.major", "0") + record("GNU.sparse.minor", "1") + record("GNU.sparse.map", "0,5") + record("GNU.sparse.size", "1099511627776"),
		"sparse 1.0":      record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0") + record("GNU.sparse.realsize", "1099511627776"),
		"sparse name":     record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0") + record("GNU.sparse.name", "../b"),
		"lying length":    "999999 path=x\n",
		"no record":       "hello",
		"harmless mtime":  record("mtime", "1.5"),
		"the same path":   record("path", "a"),
		"comment":         record("comment", strings.Repeat("x", 2000)),
		"too many to see": strings.Repeat(record("comment", strings.Repeat("x", 80)), 20_000),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			// The records stand in a member that is then made one of type x.
			plain := forge(t, part{tableName, table(line("a", "hello")), nil}, part{"records", body, nil}, part{"a", "hello", nil})
			at := bytes.Index(plain, []byte("records\x00"))
			header := plain[at : at+blockSize]
			header[156] = tar.TypeXHeader
			copy(header[148:156], "        ")
			sum := 0
			for _, c := range header {
				sum += int(c)
			}
			copy(header[148:156], fmt.Sprintf("%06o\x00 ", sum))
			refused(t, plain, Limits{}, `"a": `)
		})
	}
}

func record(key, value string) string {
	rest := len(" =\n") + len(key) + len(value)
	n := rest + len(fmt.Sprint(rest))
	if len(fmt.Sprint(n)) > len(fmt.Sprint(rest)) {
		n++
	}
	return fmt.Sprintf("%d %s=%s\n", n, key, value)
}

func TestHostileTables(t *testing.T) {
	t.Parallel()
	a := line("a", "hello")
	for what, c := range map[string]struct{ table, reason string }{
		"up":                 {table(line("../a", "hello")), "element .."},
		"absolute":           {table(line("/a", "hello")), "empty element"},
		"drive":              {table(`{"name":"C:\\a","size":5,"sha256":"` + sumOf("hello") + `"}`), "character"},
		"backslash":          {table(`{"name":"a\\b","size":5,"sha256":"` + sumOf("hello") + `"}`), "character"},
		"NUL":                {table(`{"name":"a\u0000","size":5,"sha256":"` + sumOf("hello") + `"}`), "character"},
		"no name":            {table(line("", "hello")), "empty element"},
		"dot":                {table(line("./a", "hello")), "element ."},
		"the table itself":   {table(line(tableName, "hello")), "table's"},
		"twice":              {table(a, a), "twice"},
		"not sorted":         {table(line("b", ""), a), "stands behind"},
		"inside":             {table(a, line("a-b", ""), line("a/b", "")), "lies in another"},
		"negative":           {table(strings.Replace(a, `:5,`, `:-5,`, 1)), "negative"},
		"huge":               {table(strings.Replace(a, `:5,`, `:9223372036854775808,`, 1)), "not JSON"},
		"as a float":         {table(strings.Replace(a, `:5,`, `:5e0,`, 1)), "not JSON"},
		"spaces":             {table(" " + a), "as it should be"},
		"another order":      {table(`{"size":5,"name":"a","sha256":"` + sumOf("hello") + `"}`), "as it should be"},
		"another field":      {table(strings.Replace(a, `{`, `{"mode":511,`, 1)), "as it should be"},
		"a field twice":      {table(strings.Replace(a, `{`, `{"name":"../b",`, 1)), "as it should be"},
		"capitals":           {table(strings.Replace(a, `"name"`, `"Name"`, 1)), "as it should be"},
		"no sum":             {table(`{"name":"a","size":5}`), "as it should be"},
		"another sum":        {table(strings.Replace(a, sumOf("hello"), sumOf("jello"), 1)), "SHA-256"},
		"sum in capitals":    {table(strings.Replace(a, sumOf("hello"), strings.ToUpper(sumOf("hello")), 1)), "SHA-256"},
		"no comma":           {edited(table(a, line("b", "")), ",\n{", "\n{"), "comma"},
		"a comma too many":   {edited(table(a), "\n]", ",\n]"), "not JSON"},
		"no end":             {strings.TrimSuffix(table(a), table(a)[strings.Index(table(a), "\n]")+1:]), "middle of a line"},
		"no last line feed":  {strings.TrimSuffix(table(a), "\n"), "middle of a line"},
		"something behind":   {table(a) + "{}\n", "something follows the table"},
		"nothing":            {"", "format version"},
		"another JSON":       {"{}\n", "format version"},
		"no version":         {edited(table(a), `"1.0"`, `""`), "format version"},
		"newer":              {edited(table(a), `"1.0"`, `"1.1"`), "version 1.1"},
		"much newer":         {`{"format_version":"27.3","what":"ever"}`, "version 27.3"},
		"header no object":   {edited(table(a), `:{}`, `:[]`), "first line"},
		"header not compact": {edited(table(a), `:{}`, `:{ }`), "first line"},
		"header not UTF-8":   {edited(table(a), `:{}`, ":{\"a\":\"\xff\"}"), "first line"},
		"header changed":     {strings.Replace(table(a), `:{}`, `:{"a":1}`, 1), "its sum"},
		"no sum at all":      {headerKey + "{}" + membersKey + "\n" + a + "\n]}\n", "comma"},
		"no header":          {summed(versionKey + FormatVersion + `"}` + membersKey + "\n" + a + "\n]"), "first line"},
		"no members":         {summed(headerKey + "{}\n" + a + "\n]"), "first line"},
		"two headers":        {edited(table(a), `:{}`, `:{},"header":{}`), "first line"},
		"long line":          {table(line(strings.Repeat("a", 3000), "")), "too long a line"},
		"long first line":    {headerKey + `{"a":"` + strings.Repeat("x", maxHeader) + `"}` + membersKey + "\n]", "too long a line"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			refused(t, forge(t, part{tableName, c.table, nil}, part{"a", "hello", nil}), Limits{}, c.reason)
		})
	}
	t.Run("not first", func(t *testing.T) {
		t.Parallel()
		refused(t, forge(t, part{"a", "hello", nil}, part{tableName, table(a), nil}), Limits{}, "does not begin with bundle.json")
		refused(t, forge(t, part{tableName, table(a), func(h *tar.Header) { h.Mode = 0o4777 }}, part{"a", "hello", nil}), Limits{}, "a mode")
		refused(t, forge(t, part{tableName, "", typed(tar.TypeSymlink, "x")}, part{"a", "hello", nil}), Limits{}, "does not begin with bundle.json")
	})
}

// TestNewerVersion: of an archive of another version only the version is read,
// whatever follows it, even if that could not be read.
func TestNewerVersion(t *testing.T) {
	t.Parallel()
	plain := forge(t, part{tableName, `{"format_version":"2.0"` + strings.Repeat(" ", 200_000), func(h *tar.Header) { h.Mode = 0o644 }})
	_, err := Verify(t.Context(), io.MultiReader(bytes.NewReader(plain[:100_000]), unreadable{t}), Limits{Table: 1})
	var version *VersionError
	if !errors.As(err, &version) || version.Version != "2.0" {
		t.Error(err)
	}
}

type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("read on")
	return 0, errBroken
}

func TestLimits(t *testing.T) {
	t.Parallel()
	lines := []string{line("a", "hello"), line("b", "hello"), line("c", "")}
	parts := []part{{tableName, table(lines...), nil}, {"a", "hello", nil}, {"b", "hello", nil}, {"c", "", nil}}
	plain := forge(t, parts...)
	fits := Limits{Members: 3, Member: 5, Total: 10, Table: int64(len(table(lines...)))}
	if _, err := Verify(t.Context(), bytes.NewReader(plain), fits); err != nil {
		t.Errorf("what just fits: %v", err)
	}
	refused(t, plain, Limits{Members: 2}, "too many members: the limit is 2")
	refused(t, plain, Limits{Member: 4}, "too long a member: the limit is 4")
	refused(t, plain, Limits{Total: 9}, "too many bytes: the limit is 9")
	refused(t, plain, Limits{Table: fits.Table - 1}, "too long a table")
	for _, size := range []string{"1099511627776", "9223372036854775807"} {
		lie := table(strings.Replace(lines[0], ":5,", ":"+size+",", 1), lines[1])
		refused(t, forge(t, part{tableName, lie, nil}), Limits{}, "too long a member")
		refused(t, forge(t, part{tableName, lie, nil}), Limits{Member: 1<<63 - 1}, "too many bytes")
		later := table(lines[0], strings.Replace(lines[1], ":5,", ":"+size+",", 1)) // the sum of both must not overflow
		refused(t, forge(t, part{tableName, later, nil}), Limits{Member: 1<<63 - 1}, "too many bytes")
	}
}

// TestMillionMembers: what is empty counts too.
func TestMillionMembers(t *testing.T) {
	t.Parallel()
	const limit = 20_000
	var lines []string
	for i := range limit + 1 {
		lines = append(lines, line(fmt.Sprintf("%08d", i), ""))
	}
	_, err := Verify(t.Context(), bytes.NewReader(forge(t, part{tableName, table(lines...), nil})), Limits{Members: limit})
	var over *LimitError
	if !errors.As(err, &over) {
		t.Error(err)
	}
}

// TestBombs: what is far longer than the table says is noticed at its first
// bytes.
func TestBombs(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 32<<20)
	good := part{tableName, table(line("a", "hello")), nil}
	refused(t, forge(t, good, part{"a", zeros, nil}), Limits{}, "bytes long, not 5")
	refused(t, append(forge(t, good, part{"a", "hello", nil}), zeros...), Limits{}, "something follows its end")
	refused(t, forge(t, part{tableName, zeros, nil}), Limits{}, "format version")
	refused(t, forge(t, part{tableName, headerKey + zeros, nil}), Limits{}, "too long a line")
}

// TestWhatFollows: an archive ends where its tar stream does, however the rest
// is put behind it.
func TestWhatFollows(t *testing.T) {
	t.Parallel()
	plain := written(t, Tar, samples())
	var skipped bytes.Buffer
	skipped.Write([]byte{0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 'e', 'v', 'i', 'l'})
	tails := map[string][]byte{"zero": {0}, "text": []byte("evil"), "zstd frame to skip": skipped.Bytes()}
	for ext, format := range formats() {
		tails["empty "+ext] = compressed(t, nil, format)
		tails["archive as "+ext] = compressed(t, plain, format)
	}
	delete(tails, "empty tar")
	for ext, format := range formats() {
		archive := compressed(t, plain, format)
		for what, tail := range tails {
			_, err := Verify(t.Context(), bytes.NewReader(append(archive[:len(archive):len(archive)], tail...)), Limits{})
			if err == nil || !strings.Contains(err.Error(), "something follows its end") {
				t.Errorf("%s with %s behind it: %v", ext, what, err)
			}
		}
		// The tar stream in two pieces, each compressed by itself.
		split := append(compressed(t, plain[:1024], format), compressed(t, plain[1024:], format)...)
		if _, err := Verify(t.Context(), bytes.NewReader(split), Limits{}); (err == nil) != (format == Tar) {
			t.Errorf("%s in two pieces: %v", ext, err)
		}
	}
	first := append(skipped.Bytes(), compressed(t, plain, Zstd)...)
	if _, err := Verify(t.Context(), bytes.NewReader(first), Limits{}); !expected(err) {
		t.Errorf("a frame to be skipped first: %v", err)
	}
}

// TestWideWindow: the window of a zstd frame is memory that a reader must have.
func TestWideWindow(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithWindowSize(128<<20), zstd.WithEncoderConcurrency(1))
	must(t, err)
	plain := forge(t, part{tableName, table(line("a", "hello")), nil}, part{"a", "hello", nil})
	for _, p := range [][]byte{plain[:512], plain[512:]} {
		_, err = z.Write(p)
		must(t, err)
		must(t, z.Flush())
	}
	must(t, z.Close())
	if _, err := Verify(t.Context(), &b, Limits{}); !expected(err) {
		t.Error(err)
	}
}

// TestTruncated cuts an archive at every byte.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for ext, format := range formats() {
		archive := written(t, format, small())
		for n := range archive {
			fsys := store.NewMemory()
			_, err := Stage(t.Context(), fsys, "/in", bytes.NewReader(archive[:n]), Limits{})
			var damaged *DamagedError
			if !errors.As(err, &damaged) {
				t.Fatalf("%s cut at %d of %d bytes: %v", ext, n, len(archive), err)
			}
			if left, err := fsys.ReadDir("/"); err != nil || len(left) > 0 {
				t.Fatalf("%s cut at %d: left behind %v, %v", ext, n, left, err)
			}
		}
	}
}

// TestFlipped changes every byte of an archive. A compressed one has bits
// without a meaning; where these are changed the content must be the same.
func TestFlipped(t *testing.T) {
	t.Parallel()
	const want = `{"prd":"PRD-009","note":"<ä> & b"}`
	for ext, format := range formats() {
		archive := written(t, format, small())
		for n := range archive {
			for _, flip := range []byte{0xff, 1 << (n % 8)} {
				archive[n] ^= flip
				s, err := Stage(t.Context(), store.NewMemory(), "/in", bytes.NewReader(archive), Limits{})
				archive[n] ^= flip
				if err != nil && !expected(err) {
					t.Fatalf("%s, byte %d changed by %#x: %v", ext, n, flip, err)
				}
				if err == nil && (format == Tar || string(s.Header) != want || !maps.Equal(contentOf(t, s), small())) {
					t.Fatalf("%s, byte %d changed by %#x: taken for sound", ext, n, flip)
				}
			}
		}
	}
}

// TestMemory: neither long members nor bombs need memory.
func TestMemory(t *testing.T) {
	zeros := strings.Repeat("\x00", 128<<20)
	for ext, format := range formats() {
		path := t.TempDir() + "/archive." + ext
		f, err := os.Create(path)
		must(t, err)
		used := allocated(func() {
			_, err = Write(t.Context(), f, format, []byte("{}"), entriesOf(map[string]string{"a": zeros}))
			must(t, err)
		})
		_, err = f.Seek(0, io.SeekStart)
		must(t, err)
		read := allocated(func() {
			_, err = Stage(t.Context(), store.OS(), t.TempDir()+"/in", f, Limits{})
			must(t, err)
		})
		must(t, f.Close())
		t.Logf("%s: %d KiB to write, %d KiB to read", ext, used>>10, read>>10)
		if used > 64<<20 || read > 64<<20 {
			t.Errorf("%s: %d bytes to write, %d to read", ext, used, read)
		}
	}
}

// TestGzipHeader: a gzip header without a time, a name or a system's number.
func TestGzipHeader(t *testing.T) {
	t.Parallel()
	want := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
	if got := written(t, Gzip, nil); !bytes.Equal(got[:len(want)], want) {
		t.Errorf("header % x", got[:len(want)])
	}
}
