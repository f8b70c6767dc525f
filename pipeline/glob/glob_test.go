package glob

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	// Random values are the same in every run, unless a flag says otherwise.
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	m.Run()
}

func sharePath(a, b string) bool {
	for _, x := range Compile(a) {
		for _, y := range Compile(b) {
			if x.sharesPath(y) {
				return true
			}
		}
	}
	return false
}

func TestGlobsOverlap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"./a//b", "a/b", true},
		{"bin/player", "bin/visit", false},
		{"bin/player", "bin/player-old", false},
		{"bin/*", "bin/player", true},
		{"bin/*", "bin/sub/player", false},
		{"bin/**", "bin/sub/player", true},
		{"bin/**", "bin", false},
		{"player/**", "visit/**", false},
		{"**/*.go", "**/*.sql", false},
		{"**/*.go", "gen/**", true},
		{"gen/**/*.go", "gen/**/*_test.go", true},
		{"gen/*-a.go", "gen/*-b.go", false},
		{"gen/a-*.go", "gen/b-*.go", false},
		{"gen/a*", "gen/*b", true},
		{"gen/?", "gen/ab", false},
		{"gen/??", "gen/ab", true},
		{"gen/[ab]", "gen/b", true},
		{"gen/[ab]", "gen/c", false},
		{"gen/[^a]", "gen/b", true},
		{"gen/{a,b}.go", "gen/{b,c}.go", true},
		{"gen/{a,b}.go", "gen/{c,d}.go", false},
		{"gen/{a,{b,c}}", "gen/c", true},
		{`gen/\*`, "gen/a", false},
		{`gen/\*`, "gen/*", true},
		{"a/**/b/**/c", "a/x/b/y/z/c", true},
		{"a/**/b", "a/b", true},
		{"é*", "éa", true},
	} {
		if got := sharePath(test.a, test.b); got != test.want {
			t.Errorf("%q and %q: %v", test.a, test.b, got)
		}
		if got := sharePath(test.b, test.a); got != test.want {
			t.Errorf("%q and %q: %v", test.b, test.a, got)
		}
	}
}

// TestOverlapAgreesWithMatch holds that a glob and a path overlap exactly if
// the glob matches the path.
func TestOverlapAgreesWithMatch(t *testing.T) {
	t.Parallel()
	segment := rapid.StringMatching(`[ab*?]{1,3}|\*\*|\[ab\]|\{a,b\}`)
	name := rapid.StringMatching(`[ab]{1,3}`)
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "pattern"), "/")
		path := strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "path"), "/")
		want, err := doublestar.Match(pattern, path)
		if err != nil {
			t.Skip(err)
		}
		if dir, ok := strings.CutSuffix(pattern, "/**"); ok {
			// The matcher may also match the directory itself.
			if same, _ := doublestar.Match(dir, path); same {
				t.Skip("a directory and what is under it")
			}
		}
		if got := sharePath(pattern, path); got != want {
			t.Fatalf("%q and %q: %v, but it matches: %v", pattern, path, got, want)
		}
	})
}

// TestOverlapIsNotQuadratic: 4,000 globs whose beginnings or ends tell them apart are
// compared at most once each on average, not each with every other.
func TestOverlapIsNotQuadratic(t *testing.T) {
	t.Parallel()
	const count = 4000
	for name, pattern := range map[string]string{
		"distinct directories": "gen/NAME/**/*.go",
		"distinct beginnings":  "gen/NAME-*.go",
		"distinct ends":        "gen/*-NAME.go",
		"everywhere":           "**/NAME/out.txt",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var globs []*Glob
			for i := range count {
				globs = append(globs, Compile(strings.ReplaceAll(pattern, "NAME", fmt.Sprintf("s%d", i)))...)
			}
			slices.SortFunc(globs, func(a, b *Glob) int { return strings.Compare(a.Prefix(), b.Prefix()) })
			s := &search{globs: globs, limit: count * count, found: func(i, j int) bool {
				t.Errorf("%d and %d overlap", i, j)
				return true
			}}
			s.run()
			if s.comparisons > count {
				t.Errorf("%d comparisons of %d globs", s.comparisons, count)
			}
		})
	}
}

func TestPatternsOfBraces(t *testing.T) {
	t.Parallel()
	want := []string{"{src,*.go}", "src/**"}
	if got := Patterns([]string{"{src,*.go}"}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q: *.go names no directory", got, want)
	}
}

func TestAlternativesLimit(t *testing.T) {
	t.Parallel()
	const sixteen = "{0,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f}"
	if got := alternatives(sixteen + "{a,b,c,d}"); len(got) != maxAlternatives {
		t.Errorf("%d alternatives, want %d", len(got), maxAlternatives)
	}
	if got := alternatives(sixteen + "{a,b,c,d,e}"); got != nil {
		t.Errorf("%d alternatives, want none", len(got))
	}
}

// TestBracesInClass holds that a brace in a character class begins no alternatives.
func TestBracesInClass(t *testing.T) {
	t.Parallel()
	if got := Compile("[{,}].go"); len(got) != 1 || got[0].parsed.suffix != ".go" {
		t.Errorf("%+v", got)
	}
}
