package limits

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"brackets":    "x = " + strings.Repeat("[", 100_000),
		"unary":       "x = " + strings.Repeat("!", 100_000) + "true",
		"conditional": "x = " + strings.Repeat("a ? ", 100_000),
		"blocks":      strings.Repeat("a {\n", 100_000),
		"templates":   "x = " + strings.Repeat(`"${`, 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diag := Check([]byte(src), "deep.hcl"); diag == nil || diag.Summary != "Nesting too deep" {
				t.Error(diag)
			}
		})
	}
	if diag := Check(make([]byte, MaxFileSize+1), "large.hcl"); diag == nil || diag.Summary != "File too large" {
		t.Error(diag)
	}
	// Brackets in comments do not count as nesting.
	if diag := Check([]byte("# "+strings.Repeat("(", 1000)+"\n# "+strings.Repeat("-", 1000)+"\n"), "c.hcl"); diag != nil {
		t.Error(diag)
	}
}
