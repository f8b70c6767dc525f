package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTextDiff(t *testing.T) {
	t.Parallel()
	file := func(text string) *side { return &side{data: []byte(text)} }
	entry := func(s *side, mode uint32) *Entry {
		if s == nil {
			return nil
		}
		return &Entry{Path: "a.txt", Mode: mode, Size: int64(len(s.data))}
	}
	many := strings.Repeat("line\n", 10)
	tests := []struct {
		name             string
		from, to         *side
		fromMode, toMode uint32
		added, deleted   int
		text, mode, note string
	}{
		{name: "modified", from: file(many + "a\n"), to: file(many + "b\n"), added: 1, deleted: 1,
			text: "--- a/a.txt\n+++ b/a.txt\n@@ -8,4 +8,4 @@\n line\n line\n line\n-a\n+b\n"},
		{name: "added", to: file("1\n2\n"), added: 2, text: "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+1\n+2\n"},
		{name: "deleted, without a newline", from: file("1"), deleted: 1,
			text: "--- a/a.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-1\n\\ No newline at end of file\n"},
		{name: "lines like a head", from: file("-- x\n"), to: file("++ y\n"), added: 1, deleted: 1,
			text: "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n--- x\n+++ y\n"},
		{name: "binary", from: file("a\x00b"), to: file("text\n"), note: "binary: 3 → 5 bytes"},
		{name: "not UTF-8", to: file("\xff\xfe\xfd\xfc"), note: "binary: 4 bytes"},
		{name: "one odd character", to: file("caf\xe9 " + many), added: 10,
			text: "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,10 @@\n+caf\xe9 line\n" + strings.Repeat("+line\n", 9)},
		{name: "mode only", from: file("a\n"), to: file("a\n"), toMode: 0o755, mode: "mode 644 → 755"},
		{name: "link", from: file("there"), fromMode: ModeSymlink, to: file("elsewhere"), toMode: ModeSymlink, added: 1, deleted: 1,
			text: "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-there\n+elsewhere\n"},
		{name: "a file for a link", from: file("there"), fromMode: ModeSymlink, to: file("there\n"), mode: "mode link → 644"},
		{name: "directory", from: file(""), fromMode: ModeDir, to: file(""), mode: "mode directory → 644"},
		{name: "too large", from: file("a\n"), to: file(strings.Repeat("x", maxText+1)),
			note: "too large to compare line by line: 2 → 1048577 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := Change{Path: "a.txt", Kind: Modified, From: entry(tt.from, or644(tt.fromMode)), To: entry(tt.to, or644(tt.toMode))}
			of := func(s *side) Source {
				return func(context.Context, Entry) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(s.data)), nil }
			}
			d, err := DiffText(context.Background(), c, of(tt.from), of(tt.to))
			if err != nil {
				t.Fatal(err)
			}
			if string(d.Text) != tt.text || d.Added != tt.added || d.Deleted != tt.deleted || d.Mode != tt.mode || d.Note != tt.note {
				t.Errorf("got +%d −%d mode %q note %q\n%s\nwant +%d −%d mode %q note %q\n%s",
					d.Added, d.Deleted, d.Mode, d.Note, d.Text, tt.added, tt.deleted, tt.mode, tt.note, tt.text)
			}
		})
	}
}

func or644(mode uint32) uint32 {
	if mode == 0 {
		return 0o644
	}
	return mode
}

// TestTextDiffNow compares a recorded file with the one in the workspace. If the recorded
// bytes are missing, the difference has a note in place of a text.
func TestTextDiffNow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	kept := func(context.Context, Entry) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("old\n")), nil
	}
	e := &Entry{Path: "a.txt", Mode: 0o644, Size: 4}
	d, err := DiffText(context.Background(), Change{Path: "a.txt", Kind: Modified, From: e, To: e}, kept, w.OpenNow)
	if err != nil || !bytes.Contains(d.Text, []byte("-old\n+new\n")) {
		t.Errorf("%s %v", d.Text, err)
	}
	gone := func(context.Context, Entry) (io.ReadCloser, error) { return nil, fs.ErrNotExist }
	d, err = DiffText(context.Background(), Change{Path: "a.txt", Kind: Modified, From: e, To: e}, gone, w.OpenNow)
	if err != nil || d.Note != "its bytes are no longer there" {
		t.Errorf("%q %v", d.Note, err)
	}
	if _, err := w.OpenNow(context.Background(), Entry{Path: "../" + filepath.Base(dir) + "/a.txt"}); err == nil {
		t.Error("a path that leads outside was opened")
	}
	if _, err := w.OpenNow(context.Background(), Entry{Path: "."}); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a directory: %v", err)
	}
}
