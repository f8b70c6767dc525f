package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func asError[E error](err error, target *E) bool { return errors.As(err, target) }

func TestWriteRefusesNames(t *testing.T) {
	t.Parallel()
	for name, detail := range map[string]string{
		"":                        "empty element",
		"/etc/passwd":             "empty element",
		"a//b":                    "empty element",
		"a/":                      "empty element",
		"..":                      "element ..",
		"a/../b":                  "element ..",
		"./a":                     "element .",
		`C:\a`:                    "character",
		`a\b`:                     "character",
		"a:b":                     "character",
		"a b":                     "character",
		"a\x00b":                  "character",
		"ä":                       "character",
		"\xff":                    "character",
		"a\nb":                    "character",
		tableName:                 "table's",
		tableName + "/a":          "lies in another",
		strings.Repeat("a", 256):  "longer than 255",
		strings.Repeat("a/", 520): "longer than 1024",
	} {
		_, err := Write(t.Context(), io.Discard, Tar, json.RawMessage(`{}`), entriesOf(map[string]string{name: ""}))
		var bad *NameError
		if !errors.As(err, &bad) || bad.Name != name || !strings.Contains(bad.Detail, detail) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, names := range [][]string{{"a", "a"}, {"a", "a-b", "a/b"}, {"x/y/a", "x/y/a/b/c", "x/y/a-"}} {
		var entries []Entry
		for _, name := range names {
			entries = append(entries, entriesOf(map[string]string{name: ""})...)
		}
		_, err := Write(t.Context(), io.Discard, Tar, json.RawMessage(`{}`), entries)
		var bad *NameError
		if !errors.As(err, &bad) {
			t.Errorf("%q: %v", names, err)
		}
	}
}

// TestLongestNamesAndHeader: an archive with the longest header, and a name that is as long
// as a name and its elements may be, is written and read.
func TestLongestNamesAndHeader(t *testing.T) {
	t.Parallel()
	element := strings.Repeat("a", maxElement) + "/"
	name := strings.Repeat(element, 3) + strings.Repeat("b", maxElement-1) + "/c"
	if len(name) != maxName {
		t.Fatalf("the name has %d bytes, want %d", len(name), maxName)
	}
	header := `{"a":"` + strings.Repeat("x", maxHeader-len(`{"a":""}`)) + `"}`
	var b bytes.Buffer
	if _, err := Write(t.Context(), &b, Gzip, json.RawMessage(header), entriesOf(map[string]string{name: "x"})); err != nil {
		t.Fatalf("a header of %d bytes and a name of %d bytes were refused: %v", len(header), len(name), err)
	}
	c, err := Verify(t.Context(), &b, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if string(c.Header) != header || len(c.Members) != 1 || c.Members[0].Name != name {
		t.Errorf("read a header of %d bytes and %d members, want %d bytes and 1 member", len(c.Header), len(c.Members), len(header))
	}
}

func TestWriteRefusesHeaders(t *testing.T) {
	t.Parallel()
	for _, header := range []string{``, `null`, `[]`, `1`, `{`, `{}{}`, "{\"a\":\"\xff\"}", `{"a":"` + strings.Repeat("x", maxHeader) + `"}`} {
		if _, err := Write(t.Context(), io.Discard, Tar, json.RawMessage(header), nil); err == nil {
			t.Errorf("wrote the header %.20s", header)
		}
	}
	if _, err := Write(t.Context(), io.Discard, Format(9), json.RawMessage(`{}`), nil); err == nil {
		t.Error("wrote an unknown format")
	}
}

// TestWriteNoticesChanges: a file that is not what was hashed is not exported.
func TestWriteNoticesChanges(t *testing.T) {
	t.Parallel()
	for what, readings := range map[string][2]string{
		"shorter at first": {"hell", "hello"}, "longer at first": {"hello!", "hello"},
		"shorter then": {"hello", "hell"}, "longer then": {"hello", "hello!"}, "other then": {"hello", "jello"},
	} {
		n := 0
		entry := Entry{Name: "a", Size: 5, Open: func() (io.ReadCloser, error) {
			n++
			return io.NopCloser(strings.NewReader(readings[n-1])), nil
		}}
		_, err := Write(t.Context(), io.Discard, Gzip, json.RawMessage(`{}`), []Entry{entry})
		var changed *ChangedError
		if !errors.As(err, &changed) || changed.Name != "a" {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := Write(t.Context(), io.Discard, Tar, json.RawMessage(`{}`), []Entry{{Name: "a", Size: -1}})
	var changed *ChangedError
	if !errors.As(err, &changed) {
		t.Errorf("a negative size: %v", err)
	}
}

type closer struct {
	io.Reader
	err error
}

func (c closer) Close() error { return c.err }

// limited takes so many bytes, and no more.
type limited struct{ left int }

func (l *limited) Write(p []byte) (int, error) {
	n := min(l.left, len(p))
	l.left -= n
	if n < len(p) {
		return n, errBroken
	}
	return n, nil
}

var errBroken = errors.New("broken")

func TestWriteFails(t *testing.T) {
	t.Parallel()
	for what, open := range map[string]func() (io.ReadCloser, error){
		"open":  func() (io.ReadCloser, error) { return nil, errBroken },
		"read":  func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(errBroken)), nil },
		"close": func() (io.ReadCloser, error) { return closer{strings.NewReader("hello"), errBroken}, nil },
		"end": func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("hello"), iotest.ErrReader(errBroken))), nil
		},
	} {
		_, err := Write(t.Context(), io.Discard, Tar, json.RawMessage(`{}`), []Entry{{Name: "a", Size: 5, Open: open}})
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for ext, format := range formats() {
		size := len(written(t, format, samples()))
		for room := 0; room < size; room += 37 {
			_, err := Write(t.Context(), &limited{room}, format, json.RawMessage(sampleHeader), entriesOf(samples()))
			if !errors.Is(err, errBroken) {
				t.Fatalf("%s: room for %d of %d bytes: %v", ext, room, size, err)
			}
		}
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	archive := written(t, Zstd, samples())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ctx, io.Discard, Tar, json.RawMessage(`{}`), entriesOf(samples())); !errors.Is(err, context.Canceled) {
		t.Errorf("written: %v", err)
	}
	for _, archive := range [][]byte{archive, written(t, Tar, nil)} { // with members, and without
		if _, err := Verify(ctx, bytes.NewReader(archive), Limits{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled reader read %d bytes: %v", len(archive), err)
		}
	}
}
