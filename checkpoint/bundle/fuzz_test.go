package bundle

import (
	"archive/tar"
	"bytes"
	"io"
	"strings"
	"testing"

	"prdrunner/checkpoint/store"
)

// FuzzRead reads any bytes as an archive and, so that more than the sums are
// looked at, as what follows a sound table. What is accepted is written again
// to the very same tar stream, and everything else is refused as damaged.
func FuzzRead(f *testing.F) {
	for _, format := range formats() {
		f.Add(written(f, format, samples()))
		f.Add(written(f, format, nil))
	}
	good := part{tableName, table(line("a", "hello")), nil}
	head := forge(f, good)
	head = head[:len(head)-trailerSize]
	for _, p := range []part{{"a", "hello", nil}, {"a", "", typed(tar.TypeSymlink, "/etc")}, {"a", "hello", records(map[string]string{"VENDOR.x": "y"})}} {
		f.Add(forge(f, good, p)[len(head):])
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		accept(t, archive)
		accept(t, append(head[:len(head):len(head)], archive...))
	})
}

func accept(t *testing.T, archive []byte) {
	t.Helper()
	fsys := store.NewMemory()
	limits := Limits{Members: 100, Total: 1 << 20, Table: 1 << 20}
	s, err := Stage(t.Context(), fsys, "/in", bytes.NewReader(archive), limits)
	if err != nil {
		if left, listed := fsys.ReadDir("/"); listed != nil || len(left) > 0 || !expected(err) {
			t.Fatalf("%v; left behind %v", err, left)
		}
		return
	}
	var again bytes.Buffer
	_, err = Write(t.Context(), &again, Tar, s.Header, reentries(s))
	must(t, err)
	src, err := openSource(t.Context(), bytes.NewReader(archive))
	must(t, err)
	defer src.close()
	plain, err := io.ReadAll(src)
	must(t, err)
	if !bytes.Equal(plain, again.Bytes()) {
		t.Fatalf("read\n%q, written\n%q", plain, again.Bytes())
	}
}

func reentries(s *Staged) []Entry {
	var all []Entry
	for _, m := range s.Members {
		all = append(all, Entry{Name: m.Name, Size: m.Size, Open: func() (io.ReadCloser, error) { return s.Open(m.Name) }})
	}
	return all
}

// FuzzTable reads any bytes as a table, also with the right sum at their end:
// what is accepted is the only way to write what it says.
func FuzzTable(f *testing.F) {
	for _, text := range []string{
		table(line("a", "hello"), line("b/c", "")),
		edited(table(), "{}", `{"prd":"PRD-009","list":[1,null,"ü"]}`),
	} {
		begin, _, _ := strings.Cut(text, `,"sum":`)
		f.Add(text)
		f.Add(begin)
	}
	f.Fuzz(func(t *testing.T, text string) {
		acceptTable(t, text)
		acceptTable(t, summed(text))
	})
}

func acceptTable(t *testing.T, text string) {
	t.Helper()
	src, err := openSource(t.Context(), bytes.NewReader(forge(t, part{tableName, text, nil})))
	must(t, err)
	c, err := readTable(src, Limits{}.orDefaults())
	if err != nil {
		if !expected(err) {
			t.Fatal(err)
		}
		return
	}
	var again bytes.Buffer
	must(t, writeTable(&again, c))
	if again.String() != text {
		t.Fatalf("read %q, written %q", text, again.String())
	}
}
