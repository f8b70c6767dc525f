package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// maxText is the size up to which a file is compared line by line.
const maxText = 1 << 20

// Source returns the bytes of an entry, or the target of a link. Open reads those that a
// capture kept, OpenNow those in the workspace.
type Source func(ctx context.Context, e Entry) (io.ReadCloser, error)

// TextDiff is the difference between the two sides of a change, for people to read.
type TextDiff struct {
	Path    string
	Kind    ChangeKind
	Added   int    // lines; 0 if there is no Text
	Deleted int    // lines; 0 if there is no Text
	Text    []byte // unified, with the --- and +++ lines; empty if Note says why
	Mode    string // "mode 644 → 755"; "" if it is the same, or if one side is absent
	Note    string // why there is no Text: binary, too large, or missing
}

// DiffText compares the two sides of a change line by line. Sides that can't be compared
// line by line are no error: Note says why.
func DiffText(ctx context.Context, c Change, from, to Source) (TextDiff, error) {
	d := TextDiff{Path: c.Path, Kind: c.Kind, Mode: modeChange(c.From, c.To)}
	a, err := readSide(ctx, c.From, from)
	if err != nil {
		return d, fmt.Errorf("compare %s: %w", c.Path, err)
	}
	b, err := readSide(ctx, c.To, to)
	if err != nil {
		return d, fmt.Errorf("compare %s: %w", c.Path, err)
	}
	for _, side := range []side{a, b} {
		if side.note != "" {
			d.Note = side.note
		}
	}
	switch {
	case d.Note != "":
	case a.large || b.large:
		d.Note = "too large to compare line by line: " + describeSizes(c)
	case isBinary(a.data) || isBinary(b.data):
		d.Note = "binary: " + describeSizes(c)
	default:
		d.Text = unified(c, a.data, b.data)
		d.Added, d.Deleted = countLines(d.Text)
	}
	return d, nil
}

// side is one side of a change, read up to maxText.
type side struct {
	data  []byte
	large bool
	note  string
}

func readSide(ctx context.Context, e *Entry, open Source) (side, error) {
	switch {
	case e == nil || isDirMode(e.Mode):
		return side{}, nil
	case e.Size > maxText:
		return side{large: true}, nil
	}
	if err := ctx.Err(); err != nil {
		return side{}, err
	}
	r, err := open(ctx, *e)
	if err != nil {
		return unreadable(ctx, err)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if closed := r.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return unreadable(ctx, err)
	}
	s := side{data: data, large: len(data) > maxText}
	if e.Mode == ModeSymlink {
		s.data = append(data, '\n') // a target has no line end of its own
	}
	return s, nil
}

// unreadable returns a side whose note says why it can't be read: the rest of the
// comparison is useful without it. It returns an error only if the context has ended.
func unreadable(ctx context.Context, err error) (side, error) {
	switch {
	case ctx.Err() != nil:
		return side{}, ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		return side{note: "its bytes are no longer there"}, nil
	}
	return side{note: "its bytes cannot be read: " + err.Error()}, nil
}

func isDirMode(mode uint32) bool { return mode&ModeDir != 0 }

// isBinary reports whether data is not text. Near its beginning, it has a NUL, which is
// git's rule, or more than a tenth is not UTF-8.
func isBinary(data []byte) bool {
	const near = 8 << 10
	head := data[:min(len(data), near)]
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	if len(head) < len(data) { // the cut may go through a character
		for len(head) > 0 && len(data)-len(head) < utf8.UTFMax && !utf8.RuneStart(data[len(head)]) {
			head = head[:len(head)-1]
		}
	}
	bad := 0
	for i := 0; i < len(head); {
		r, size := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && size == 1 {
			bad++
		}
		i += size
	}
	return bad*10 > len(head)
}

// unified returns the unified difference of two texts. The names in its head are those of
// git: a/PATH and b/PATH, or /dev/null for an absent side.
func unified(c Change, a, b []byte) []byte {
	from, to := "a/"+oneLinePath(c.Path), "b/"+oneLinePath(c.Path)
	if c.From == nil {
		from = "/dev/null"
	}
	if c.To == nil {
		to = "/dev/null"
	}
	text := diff.Diff(from, a, to, b)
	// The first line repeats the names.
	_, text, _ = bytes.Cut(text, []byte("\n"))
	return text
}

// oneLinePath quotes a path that would not fit on one line, as git does.
func oneLinePath(path string) string {
	if strings.ContainsAny(path, "\n\r\t\"\\") {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// countLines counts the added and deleted lines of a unified difference.
func countLines(text []byte) (added, deleted int) {
	head := true
	for line := range bytes.Lines(text) {
		switch {
		case bytes.HasPrefix(line, []byte("@@ ")):
			head = false
		case head:
		case line[0] == '+':
			added++
		case line[0] == '-':
			deleted++
		}
	}
	return added, deleted
}

// modeChange describes the change of kind or permissions; "": no change.
func modeChange(from, to *Entry) string {
	if from == nil || to == nil || from.Mode == to.Mode {
		return ""
	}
	return fmt.Sprintf("mode %s → %s", modeName(from.Mode), modeName(to.Mode))
}

func modeName(mode uint32) string {
	switch {
	case mode&ModeSymlink == ModeSymlink:
		return "link"
	case isDirMode(mode):
		return "directory"
	}
	return fmt.Sprintf("%03o", mode&0o777)
}

func describeSizes(c Change) string {
	switch {
	case c.From == nil:
		return fmt.Sprintf("%d bytes", c.To.Size)
	case c.To == nil:
		return fmt.Sprintf("%d bytes", c.From.Size)
	}
	return fmt.Sprintf("%d → %d bytes", c.From.Size, c.To.Size)
}
