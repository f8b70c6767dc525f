package braces

import (
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		glob          string
		want, slashes []string // slashes: nil if ExpandSlashes returns only the glob
	}{
		{"src/*.go", []string{"src/*.go"}, nil},
		{"{a,b}", []string{"a", "b"}, nil},
		{"x{a,b/c}y", []string{"xay", "xb/cy"}, []string{"xay", "xb/cy"}},
		{"{a,{b,c}d}", []string{"a", "bd", "cd"}, nil},
		{"{a,b}/{c,d/e}", []string{"a/c", "a/d/e", "b/c", "b/d/e"}, []string{"{a,b}/c", "{a,b}/d/e"}},
		{"{a,{b,c/d}}", []string{"a", "b", "c/d"}, []string{"a", "b", "c/d"}},
		{"{a,}", []string{"a", ""}, nil},
		{"{}", []string{""}, nil},
		{`\{a,b}`, []string{`\{a,b}`}, nil},
		{`{a\,b,c}`, []string{`a\,b`, "c"}, nil},
		{"[{,}]{a,b}", []string{"[{,}]a", "[{,}]b"}, nil},
		{`{[\],],b}`, []string{`[\],]`, "b"}, nil},
		{"a,b", []string{"a,b"}, nil},
		{"a}{b,c}", []string{"a}b", "a}c"}, nil},
		{"{a,b", []string{"{a,b"}, nil},
		{"[{a,b}", []string{"[a", "[b"}, nil},
	}
	for _, tt := range tests {
		if tt.slashes == nil {
			tt.slashes = []string{tt.glob}
		}
		if got, ok := Expand(tt.glob, 4); !ok || !slices.Equal(got, tt.want) {
			t.Errorf("Expand(%q) = %q, %v, want %q", tt.glob, got, ok, tt.want)
		}
		if got, ok := ExpandSlashes(tt.glob, 4); !ok || !slices.Equal(got, tt.slashes) {
			t.Errorf("ExpandSlashes(%q) = %q, %v, want %q", tt.glob, got, ok, tt.slashes)
		}
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	const glob = "{a,b}{c,d}{e,f/g}" // 8 globs; 2 if only braces with a slash are expanded
	if all, ok := Expand(glob, 8); !ok || len(all) != 8 {
		t.Errorf("%d globs, %v", len(all), ok)
	}
	if all, ok := Expand(glob, 7); ok || all != nil {
		t.Errorf("%q in spite of the limit", all)
	}
	if all, ok := ExpandSlashes(glob, 2); !ok || len(all) != 2 {
		t.Errorf("%q, %v", all, ok)
	}
	if _, ok := ExpandSlashes(glob, 1); ok {
		t.Error("two globs in spite of the limit")
	}
}

// FuzzExpand compares with doublestar: a path matches a glob if it matches one of
// the globs that it stands for.
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"{a,b}/*", "[{,}]{a,b/c}", `{a\,b,c}`, "{a,{b,c/d}}"} {
		f.Add(seed, "a/b")
		f.Add(seed, "b/c")
	}
	f.Fuzz(func(t *testing.T, glob, path string) {
		if !doublestar.ValidatePattern(glob) || strings.Count(glob, "{") > 6 || len(glob) > 60 {
			t.Skip()
		}
		for _, expand := range []func(string, int) ([]string, bool){Expand, ExpandSlashes} {
			all, ok := expand(glob, 1000)
			if !ok {
				t.Skip()
			}
			matches := func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, path) }
			if got := slices.ContainsFunc(all, matches); got != matches(glob) {
				t.Errorf("%q stands for %q; %q matches: %v, want %v", glob, all, path, got, !got)
			}
		}
	})
}
