package logs

import (
	"bytes"
	"strings"
	"testing"
)

func TestTailStart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", tailBlock)
	for _, tt := range []struct {
		name, log string
		n         int
		match     string // a text in the lines that match; "": every line
		want      string // the log from there
	}{
		{"empty", "", 3, "", ""},
		{"none", "a\nb\n", 0, "", ""},
		{"last", "a\nb\n", 1, "", "b\n"},
		{"last without an end", "a\nb", 1, "", "b"},
		{"all", "a\nb\n", 2, "", "a\nb\n"},
		{"more than there are", "a\nb\n", 9, "", "a\nb\n"},
		{"empty lines", "a\n\n\n", 2, "", "\n\n"},
		{"one empty line", "\n", 1, "", "\n"},
		{"first line empty", "\na", 2, "", "\na"},
		{"across blocks", "a\n" + long + "\nb\n", 2, "", long + "\nb\n"},
		{"newline at the end of a block", "a\nb\n" + long[:tailBlock-1] + "\n", 2, "", "b\n" + long[:tailBlock-1] + "\n"},
		{"matching", "hit 1\nmiss\nhit 2\nmiss\nhit 3\nmiss\n", 2, "hit", "hit 2\nmiss\nhit 3\nmiss\n"},
		{"matching in the first line", "hit\nmiss\n", 5, "hit", "hit\nmiss\n"},
		{"fewer matches", "miss\nhit\nmiss\n", 5, "hit", "hit\nmiss\n"},
		{"no match", "a\nb\n", 5, "hit", ""},
		{"match across blocks", "a\nhit" + long + "\nb\n", 1, "hitx", "hit" + long + "\nb\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var match func([]byte) bool
			if tt.match != "" {
				match = func(line []byte) bool { return bytes.Contains(line, []byte(tt.match)) }
			}
			at, err := tailStart(strings.NewReader(tt.log), int64(len(tt.log)), tt.n, match)
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.log[at:]; got != tt.want {
				t.Errorf("from %d: %.40q, want %.40q", at, got, tt.want)
			}
		})
	}
}

// TestTailReadsOnlyTheEnd takes the end of a log of 1 GiB.
func TestTailReadsOnlyTheEnd(t *testing.T) {
	t.Parallel()
	const size = 1 << 30
	log := &countingReader{}
	at, err := tailStart(log, size, 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(size - 100*len(countedLine)); at != want {
		t.Errorf("starts at %d, want %d", at, want)
	}
	if log.read > tailBlock {
		t.Errorf("read %d bytes, want at most %d", log.read, tailBlock)
	}
}

const countedLine = "fifteen bytes..\n" // 16 bytes, so that every block begins with a line

// countingReader is a log that repeats countedLine, and counts what is read.
type countingReader struct{ read int }

func (r *countingReader) ReadAt(b []byte, off int64) (int, error) {
	for i := range b {
		b[i] = countedLine[(off+int64(i))%int64(len(countedLine))]
	}
	r.read += len(b)
	return len(b), nil
}
