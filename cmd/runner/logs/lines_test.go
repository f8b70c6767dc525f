package logs

import (
	"bytes"
	"testing"
)

// TestLinePrefix: the prefix of a line is that of the moment when the line began.
func TestLinePrefix(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := "1 "
	l := &lines{out: &out, prefix: func() string { return now }}
	for _, part := range []string{"one\nbeg", "un\n\ntw", "o", "\nlast"} {
		if _, err := l.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		now = string(now[0]+1) + " "
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "1 one\n1 begun\n2 \n2 two\n4 last\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
