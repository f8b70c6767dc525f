package pipeline

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"prdrunner/pipeline/glob"
)

func TestMain(m *testing.M) {
	// Random values are the same in every run, unless a flag says otherwise.
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	m.Run()
}

func globsOverlap(a, b string) bool {
	for _, x := range glob.Compile(a) {
		if slices.ContainsFunc(glob.Compile(b), x.Overlaps) {
			return true
		}
	}
	return false
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
			if glob.Problem(pattern) != "" {
				t.Skip("not a glob")
			}
			fmt.Fprintf(&src, "    workstream \"w%d\" {\n      command   = [\"x\"]\n      artifacts = [%q]\n    }\n", i, pattern)
			for _, other := range patterns[:i] {
				want = want || globsOverlap(pattern, other)
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
