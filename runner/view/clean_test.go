package view_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"prdrunner/runner/view"
)

func TestMain(m *testing.M) {
	// What is random is the same in every run, unless a flag says otherwise.
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	m.Run()
}

func TestClean(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain", "plain é ✓ 🙂\n\tx", "plain é ✓ 🙂\n\tx"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"title", "a\x1b]0;title\x07b", "ab"},
		{"title ended by ST", "a\x1b]8;;http://x\x1b\\b", "ab"},
		{"charset", "a\x1b(Bb", "ab"},
		{"charset, after a space", "a\x1b Fb\x1b/Ac", "abc"},
		{"device control", "a\x1bPq#0\x1b\\b", "ab"},
		{"open sequence ends with the line", "a\x1b]52;c;xx\nb", "a\nb"},
		{"escape at the end", "a\x1b", "a"},
		{"nul", "a\x00b", `a\x00b`},
		{"delete", "a\x7fb", `a\x7fb`},
		{"c1", "a\u009b31mb", `a\u009b31mb`},
		{"direction", "a\u202eb", `a\u202eb`},
		{"not text", "a\xff\xc3", `a\xff\xc3`},
		{"not text before text", "\xc3(", `\xc3(`},
		{"windows line", "a\r\nb", "a\nb"},
		{"overwritten line", "10%\r20%", "10%\n20%"},
	}
	for _, tt := range tests {
		if got := view.Clean(tt.in); got != tt.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// TestLines holds that each line of a text is clean, and that a place for one line says if there are more.
func TestLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct {
		lines []string
		first string
	}{
		"":                                {nil, ""},
		"\n\r\n":                          {nil, ""},
		"Ship it?":                        {[]string{"Ship it?"}, "Ship it?"},
		"\nShip it?\r\n":                  {[]string{"Ship it?"}, "Ship it?"},
		"Ship it? \n\n  To\x1b[31m all\n": {[]string{"Ship it? ", "", "  To all"}, "Ship it? …"},
		"a\x1b]0;open\nb\x00\tc":          {[]string{"a", "b\\x00\tc"}, "a …"},
		"a\tb":                            {[]string{"a\tb"}, "a b"},
	} {
		if got := view.Lines(in); !slices.Equal(got, want.lines) {
			t.Errorf("lines of %q: %q", in, got)
		}
		if got := view.FirstLine(in); got != want.first {
			t.Errorf("first line of %q: %q", in, got)
		}
	}
}

// TestRevealer: nothing of a message is lost, and nothing of it steers.
func TestRevealer(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain é ✓ 🙂\n\tx":          "plain é ✓ 🙂\n\tx",
		"\x1b[31mred\x1b]0;t: no\n": `\x1b[31mred\x1b]0;t: no` + "\n",
		"a\x00b\x7fc\u009bd\u202ee": `a\x00b\x7fc\u009bd\u202ee`,
		"a\xffb":                    `a\xffb`,
		"windows\r\nover\rwritten":  "windows\nover" + `\x0dwritten`,
	} {
		var out bytes.Buffer
		c := view.NewRevealer(&out)
		if _, err := c.Write([]byte(in)); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%q is shown as %q, want %q", in, out.String(), want)
		}
	}
}

// TestCleanJSON: what JSON says stays, and nothing of it steers.
func TestCleanJSON(t *testing.T) {
	t.Parallel()
	const in = "plain é ✓ 👩\u200d🚀 <&> \x1b[31m\x7f\u009b\u202e\u2028\U000e0001\n"
	encoded, err := json.MarshalIndent(map[string]string{in: in}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	cleaned := view.CleanJSON(encoded)
	var back map[string]string
	if err := json.Unmarshal(cleaned, &back); err != nil || back[in] != in {
		t.Errorf("%s says %q: %v", cleaned, back, err)
	}
	for _, steers := range []string{"\x1b", "\x7f", "\u009b", "\u202e", "\u2028", "\U000e0001"} {
		if bytes.Contains(cleaned, []byte(steers)) {
			t.Errorf("%q is still in %q", steers, cleaned)
		}
	}
	if !bytes.Contains(cleaned, []byte("é ✓ 👩\u200d🚀")) {
		t.Errorf("more than needed is escaped: %s", cleaned)
	}
}

// TestCleanerSplitAnywhere says that where the stream is cut makes no
// difference, and that what comes out is harmless.
func TestCleanerSplitAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.SampledFrom([]byte("ab\n\r\t\x00\x07\x1b[]\\;0mP(\x7f\x80\x9b\xc2\xe2\x80\xae\xff"))).Draw(t, "in")
		var out bytes.Buffer
		c := view.NewCleaner(&out)
		for rest := in; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if _, err := c.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if want := view.Clean(string(in)); out.String() != want {
			t.Fatalf("cut: %q, whole: %q", out.String(), want)
		}
		if i := strings.IndexFunc(out.String(), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xfffd }); i >= 0 {
			t.Fatalf("control character in %q", out.String())
		}
	})
}
