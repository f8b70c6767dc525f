package runner

import (
	"strings"
	"testing"
)

// TestShortened: shorten cuts a message to at most maxMessage bytes, and never inside a
// character.
func TestShortened(t *testing.T) {
	t.Parallel()
	fits := strings.Repeat("é", maxMessage/2)
	for in, want := range map[string]string{
		"":                        "",
		fits:                      fits,
		fits + "x":                fits[:maxMessage-4] + "…",
		"x" + fits:                "x" + fits[:maxMessage-4] + "…",
		fits[:1998] + "\xff\xffx": fits[:1996] + "…",
	} {
		if got := shorten(in); got != want || len(got) > maxMessage {
			t.Errorf("%d bytes became %d, ending with %q", len(in), len(got), got[max(0, len(got)-8):])
		}
	}
}
