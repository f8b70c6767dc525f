package show_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"prdrunner/cmd/runner/show"
)

// held is a view that writes down when others hold the screen.
type held struct{ out io.Writer }

func (h held) Hold() (release func()) {
	fmt.Fprint(h.out, "<")
	return func() { fmt.Fprint(h.out, ">") }
}

// TestSharedScreen: a view leaves the screen to what else is written there, until both end to share
// it.
func TestSharedScreen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := show.NewScreen(&out)
	end := s.Share(held{&out})
	fmt.Fprint(s, "a\x1b[2J")
	fmt.Fprint(s.Unchanged(), "b\x1b[m")
	end()
	fmt.Fprint(s, "c")
	fmt.Fprint(s.Unchanged(), "d")
	if got, want := out.String(), "<a\\x1b[2J><b\x1b[m>cd"; got != want {
		t.Errorf("%q was written, want %q", got, want)
	}
}
