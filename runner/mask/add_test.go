package mask

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

// TestAddWhileWriting adds a value at every moment of a stream: values that the masker had
// are masked whenever that is, and the new one if it begins later.
func TestAddWhileWriting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ had, added, in, want string }{
		"apart":           {"secret", "password", "a secret b password c secret", "a *** b *** c ***"},
		"one after other": {"secret", "password", "secretpasswordsecret", "*********"},
		"overlapping":     {"abcdef", "efghij", "xabcdefghijy", "x***y"},
		"with itself":     {"aaaa", "aaab", "xaaaaaaby", "x***y"},
		"one in another":  {"cdef", "abcdefgh", "abcdefgh abcdef", "*** ab***"},
		"a prefix":        {"abcdefgh", "abcd", "abcdX abcdefgh abcd", "***X *** ***"},
	} {
		for cut := range len(test.in) + 1 {
			m := masker(t, test.had)
			var out bytes.Buffer
			w := m.Writer(&out)
			before, after := test.in[:cut], test.in[cut:]
			if _, err := io.WriteString(w, before); err != nil {
				t.Fatal(err)
			}
			if added, err := m.Add([]Secret{{"var.new", test.added}}); err != nil || !added {
				t.Fatal(added, err)
			}
			if _, err := io.WriteString(w, after); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			later := strings.Index(test.in, test.added) >= cut
			if cut == 0 && got != test.want || strings.Contains(got, test.had) || later && strings.Contains(got, test.added) {
				t.Errorf("%s, added after %q: %q", name, before, got)
			}
		}
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	m := masker(t)
	if m.Any() || m.String("a secret") != "a secret" {
		t.Error("it hides something")
	}
	if added, err := m.Add([]Secret{{"a", "secret"}, {"b", "key"}}); added || !errors.Is(err, ErrTooShort) || strings.Contains(err.Error(), "key") || m.Any() {
		t.Errorf("a value that is too short: added %v, %v", added, err)
	}
	for n, want := range []bool{true, false} {
		if added, err := m.Add([]Secret{{"a", "secret"}}); added != want || err != nil {
			t.Errorf("call %d: added %v, %v", n, added, err)
		}
	}
	if !m.Any() || m.String("a secret") != "a ***" || m.Detector().Found() {
		t.Error("the value is not masked")
	}
}

// TestAddConcurrently is for the race detector.
func TestAddConcurrently(t *testing.T) {
	t.Parallel()
	m := masker(t, "secret")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := m.Add([]Secret{{"new", strings.Repeat(string(rune('a'+i)), 9)}}); err != nil {
				t.Error(err)
			}
			if got := m.String("a secret"); got != "a ***" {
				t.Error(got)
			}
		})
	}
	all.Wait()
	if got := m.String("aaaaaaaaa hhhhhhhhh"); got != "*** ***" {
		t.Error(got)
	}
}
