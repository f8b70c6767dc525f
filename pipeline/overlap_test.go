package pipeline

import (
	"flag"
	"fmt"
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

func globsOverlap(a, b string) bool {
	for _, x := range compileGlob(a) {
		for _, y := range compileGlob(b) {
			if x.overlaps(y) {
				return true
			}
		}
	}
	return false
}

func contains(dir, below string) bool {
	return newArtifactGlob(dir, newGlob(dir), nil).contains(newArtifactGlob(below, newGlob(below), nil))
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
		if got := globsOverlap(test.a, test.b); got != test.want {
			t.Errorf("%q and %q: %v", test.a, test.b, got)
		}
		if got := globsOverlap(test.b, test.a); got != test.want {
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
		if got := globsOverlap(pattern, path); got != want {
			t.Fatalf("%q and %q: %v, but it matches: %v", pattern, path, got, want)
		}
	})
}

// TestOverlapSearchFindsAll holds that the search by beginnings and ends finds
// an overlap exactly if comparing every glob with every other does.
func TestOverlapSearchFindsAll(t *testing.T) {
	t.Parallel()
	pattern := rapid.StringMatching(`[ab]{0,2}[ab*?/]{0,3}[ab]{1,2}`)
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.SliceOfNDistinct(pattern, 2, 6, rapid.ID[string]).Draw(t, "patterns")
		var src strings.Builder
		src.WriteString("pipeline \"PRD-001\" {\n  phase \"p\" {\n")
		want := false
		for i, pattern := range patterns {
			pattern = strings.TrimLeft(pattern, "/")
			patterns[i] = pattern
			if GlobProblem(pattern) != "" {
				t.Skip("not a glob")
			}
			fmt.Fprintf(&src, "    workstream \"w%d\" {\n      command   = [\"x\"]\n      artifacts = [%q]\n    }\n", i, pattern)
			for _, other := range patterns[:i] {
				want = want || globsOverlap(pattern, other) || contains(pattern, other) || contains(other, pattern)
			}
		}
		src.WriteString("  }\n}\n")
		f, _ := Parse([]byte(src.String()), "test.hcl")
		_, diags := f.Pipeline(Inputs{})
		if got := diags.HasErrors(); got != want {
			t.Fatalf("%q: found %v, want %v: %v", patterns, got, want, diags)
		}
	})
}

func TestOverlapOfOrderedWorkstreams(t *testing.T) {
	t.Parallel()
	build(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "a" {
      command   = ["x"]
      artifacts = ["app.db"]
    }
    workstream "b" {
      depends_on = [workstream.a]
      command    = ["x"]
      artifacts  = ["app.db", "*.db"]
    }
    workstream "between" {
      depends_on = [workstream.b]
      command    = ["x"]
    }
    workstream "c" {
      depends_on = [workstream.between]
      command    = ["x"]
      artifacts  = ["app.*"]
    }
  }
  phase "two" {
    workstream "d" {
      command   = ["x"]
      artifacts = ["app.db"]
    }
  }
}`, Inputs{})
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
			var workstreams []*Workstream
			for i := range count {
				workstreams = append(workstreams, &Workstream{Artifacts: []string{strings.ReplaceAll(pattern, "NAME", fmt.Sprintf("s%d", i))}})
			}
			o := &overlapSearch{}
			o.search(collectArtifacts(workstreams))
			if o.comparisons > count || o.found > 0 {
				t.Errorf("%d comparisons of %d globs; %d overlaps", o.comparisons, count, o.found)
			}
		})
	}
}

// TestOverlapLimits: a phase with many overlaps names the first of them only.
func TestOverlapLimits(t *testing.T) {
	t.Parallel()
	artifacts := func(n int) string {
		var globs []string
		for i := range n {
			globs = append(globs, fmt.Sprintf("%q", fmt.Sprintf("out/%d", i)))
		}
		return "command = [\"x\"]\nartifacts = [" + strings.Join(globs, ", ") + "]\n"
	}
	for n, want := range map[int]int{1: 1, maxOverlaps: maxOverlaps, maxOverlaps + 5: maxOverlaps} {
		source := inPhase("workstream \"a\" {\n" + artifacts(n) + "}\nworkstream \"b\" {\n" + artifacts(n) + "}\n")
		if got := summariesOf(source, Inputs{}); len(got) != want {
			t.Errorf("of %d overlaps %d are named, want %d", n, len(got), want)
		}
	}
}
