package suggest

import (
	"slices"
	"testing"
)

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		given      string
		candidates []string
		want       string
	}{
		{"timeuot", []string{"retry", "timeout"}, ` Did you mean "timeout"?`},
		{"aab", []string{"aac", "aaa"}, ` Did you mean "aaa"?`}, // the first by the alphabet
		{"abc", []string{"ayz"}, ""},                            // two of three letters
		{"abcd", []string{"abyz"}, ` Did you mean "abyz"?`},
		{"abcd", []string{"axyz"}, ""},
		{"abcdefghi", []string{"xyzdefghi"}, ` Did you mean "xyzdefghi"?`},
		{"", []string{"a"}, ""},
		{"a", nil, ""},
	} {
		if got := DidYouMean(test.given, slices.Values(test.candidates)); got != test.want {
			t.Errorf("%q of %q: %q, want %q", test.given, test.candidates, got, test.want)
		}
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	eight := []string{"h", "g", "f", "e", "d", "c", "b", "a"}
	for want, names := range map[string][]string{
		"none":                              nil,
		"a, b, c, d, e, f, g, h":            eight,
		"a, b, c, d, e, f, g, h and 2 more": append([]string{"x", "y"}, eight...),
	} {
		if got := Listing(slices.Values(names)); got != want {
			t.Errorf("%q: %q, want %q", names, got, want)
		}
	}
}
