//go:build unix

package tree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{
		"a", "r/s/f.go", "r/s/.hidden", "r/x.go", "r/y.md", "new\nline", "-dash", `qu"o'te`, "sp ace/f.go",
		"bad\xff/f\xfe.go", ".git/config", "r/.git/config", "state/object", "states", "[odd]", "r/" + TempPrefix + "1-1", "r/.tmp-out-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		strings.Repeat("d/", 300) + "deep.go",
	} {
		writeFile(t, dir, path, path)
	}
	must(t, os.Symlink("r", filepath.Join(dir, "l")))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "r", "dangling")))
	must(t, os.Symlink("/etc", filepath.Join(dir, "outside")))
	deep := strings.Repeat("d/", 300) + "deep.go"
	w := openTree(t, dir, filepath.Join(dir, "state"), "/elsewhere")
	for _, test := range []struct {
		patterns string
		want     []string
	}{
		{"a", []string{"a"}},
		{"./r/../a", []string{"a"}},
		{"a/**", nil},
		{"r", nil},
		{"r/*.go", []string{"r/x.go"}},
		{"r/** a", []string{"a", "r/dangling", "r/s/.hidden", "r/s/f.go", "r/x.go", "r/y.md"}},
		{"r/**/f.go r/s/*.go", []string{"r/s/f.go"}},
		{"**/x.go", []string{"l", "r/x.go"}}, // l/x.go is r/x.go
		{"{a,r/{s/f.go,y.*}}", []string{"a", "r/s/f.go", "r/y.md"}},
		{"{r,x}/[xz].go", []string{"r/x.go"}},
		{`\[odd\]`, []string{"[odd]"}},
		{"**/*.go", []string{"bad\xff/f\xfe.go", deep, "l", "r/s/f.go", "r/x.go", "sp ace/f.go"}},
		{"*", []string{"-dash", "[odd]", "a", "l", "new\nline", "outside", `qu"o'te`, "states"}},
		{"l/*.go", []string{"l", "r/x.go"}},
		{"[l]/*.go", []string{"l", "r/x.go"}},
		{"outside/passwd", nil},
		{"outside/**", nil},
		{".git/** r/.git/config state/* state/object", nil},
		{"missing/** missing", nil},
		{"r/x.go/**", nil},
		{"r/**\x00r/s/**", []string{"r/dangling", "r/x.go", "r/y.md"}},
		{"r/**\x00**/*.go\x00r/y.md", []string{"r/dangling", "r/s/.hidden"}},
		{"r/**\x00r/s/** r/s/f.go", []string{"r/dangling", "r/s/f.go", "r/x.go", "r/y.md"}},
		{"a\x00a r/x.go\x00a", []string{"r/x.go"}},
		{"r/**\x00**", nil},
	} {
		got, err := w.Glob(t.Context(), strings.Fields(test.patterns))
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, %v; want %q", test.patterns, got, err, test.want)
		}
	}
	for _, bad := range []string{"[", "../x", "/etc/*", "a/../../x", strings.Repeat("{a/b,c}", 11)} {
		if got, err := w.Glob(t.Context(), []string{bad}); err == nil {
			t.Errorf("%s: got %q and no error", bad, got)
		}
	}
	if _, err := w.Glob(t.Context(), []string{"{a"}); !errors.Is(err, doublestar.ErrBadPattern) {
		t.Errorf("a bad pattern: %v", err)
	}
}

// TestWalkReportsEmptyDirectories: of the empty directories a walk reports those in which a
// file would match, but never the workspace itself. Temporary files of Restore do not count.
func TestWalkReportsEmptyDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := openTree(t, dir)
	for patterns, want := range map[string][]string{"**": nil, "a/**": nil} {
		if got, err := w.Walk(t.Context(), []string{patterns}); err != nil || !slices.Equal(got.Empty, want) {
			t.Errorf("an empty workspace, %s: %q, %v", patterns, got.Empty, err)
		}
	}
	for _, path := range []string{"empty", "full", "restored", "go/deep/empty"} {
		must(t, os.MkdirAll(filepath.Join(dir, path), 0o750))
	}
	writeFile(t, dir, "full/file", "x")
	writeFile(t, dir, "restored/"+TempPrefix+"1-1", "x")
	for patterns, want := range map[string][]string{
		"**":         {"empty", "go/deep/empty", "restored"},
		"empty/*":    {"empty"},
		"*/**":       {"empty", "go/deep/empty", "restored"},
		"go/**/*.go": nil, // a file of any name would not match
		"empty/x":    nil,
		"full/**":    nil,
	} {
		got, err := w.Walk(t.Context(), []string{patterns})
		slices.Sort(got.Empty)
		if err != nil || !slices.Equal(got.Empty, want) {
			t.Errorf("%s: %q, %v; want %q", patterns, got.Empty, err, want)
		}
	}
}

// TestPatternsAgree compares the matches of a walk with those of doublestar, which
// defines the meaning of patterns.
func TestPatternsAgree(t *testing.T) {
	t.Parallel()
	paths := []string{"a", "b", "a/b", "a/b/c", "a/c/b", "c/a", "x/a/b/y", "a/b/c/d.go", "d.go", "a/d.go", "ab/cd", "a.b/c"}
	for _, glob := range []string{
		"*", "**", "**/*", "a/**", "**/b", "a/**/b", "a/*/b", "**/a/**", "a/**/**/b", "*/*", "{a,c}/*", "{a/b,c}/*",
		"{a,c/{a,x}}", "**/{b,d.go}", "a*/**/c*", "a**/c", "**b", "?/?", "[a-c]/**/[^c]", "x/**/b/*",
	} {
		parsed, err := parsePatterns([]string{glob})
		must(t, err)
		for _, path := range paths {
			want := doublestar.MatchUnvalidated(glob, path)
			if strings.HasSuffix(glob, "a/**") && (path == "a" || path == "c/a" && glob != "a/**") {
				want = false // here the pattern matches files in the directory a, but not a file named a
			}
			if got := matches(parsed, path); got != want {
				t.Errorf("%s and %s: %v, want %v", glob, path, got, want)
			}
		}
	}
}

// TestExclusionsAgree checks that a walk and Matches, which reads no directory, exclude
// the same files.
func TestExclusionsAgree(t *testing.T) {
	t.Parallel()
	paths := []string{"a", "b", "a/b", "a/b/c", "a/c/b", "c/a", "a/b/c/d.go", "d.go", "a/d.go", "ab/cd", "a/x/y", "x/a", "x"}
	globs := []string{"**", "a/**", "*/b", "**/*.go", "a", "a/b/**", "**/c/**", "{a,c}/*", "a/{b,c}/**", "a/x/**", "**/x/**", "a/?/**"}
	for _, glob := range globs {
		for _, except := range globs {
			pattern := glob + Except + except
			parsed, err := parsePatterns([]string{pattern})
			must(t, err)
			for _, path := range paths {
				if got, want := matches(parsed, path), Matches(pattern, path); got != want {
					t.Errorf("%q and %s: %v, want %v", pattern, path, got, want)
				}
			}
			if text := parsed[0].String(); len(parsed) == 1 && text != pattern && !strings.Contains(except, "{a") && text != "a/{b,c}/**"+Except+except {
				t.Errorf("%q became %q", pattern, text)
			}
		}
	}
}

// matches reports whether Glob would return the path.
func matches(patterns []pattern, path string) bool {
	for _, p := range patterns {
		elements := p.elements
		if p.base != "" {
			elements = append(strings.Split(p.base, "/"), elements...)
		}
		states := closure([]state{{elements, p.except}})
		for i := range len(path) {
			if path[i] == '/' {
				states = advance(states, path[:i])
			}
		}
		if accepts(states, path) {
			return true
		}
	}
	return false
}

// TestPatternsShareExclusions: patterns with the same exclusions share them, and a pattern
// without any has none.
func TestPatternsShareExclusions(t *testing.T) {
	t.Parallel()
	parsed, err := parsePatterns([]string{"a", "b/*\x00b/x", "c/*\x00b/x", "d/*\x00d/x"})
	must(t, err)
	if none, b, c, d := parsed[0].except, parsed[1].except, parsed[2].except, parsed[3].except; none != nil || b == nil || b != c || d == b {
		t.Errorf("the exclusions are %p, %p, %p and %p", none, b, c, d)
	}
}
