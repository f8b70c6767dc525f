package show

import (
	"bytes"
	"fmt"
	"testing"
)

// TestCutRows: what does not fit is counted, and the command that shows all is named.
func TestCutRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rows int
		want string
	}{{0, "1\n2\n3\n4\n"}, {4, "1\n2\n3\n4\n"}, {3, "1\n2\n… and 2 lines more: `runner x`\n"}, {1, "1\n… and 3 lines more: `runner x`\n"}} {
		p := newPage(&bytes.Buffer{})
		for i := range 4 {
			fmt.Fprintln(p, i+1)
		}
		cutRows(p, tt.rows, "runner x")
		if got := p.String(); got != tt.want {
			t.Errorf("%d rows: %q, want %q", tt.rows, got, tt.want)
		}
	}
}
