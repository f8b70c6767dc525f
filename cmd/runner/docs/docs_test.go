package docs_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/cmd/runner/docs"
	"prdrunner/pipeline"
	"prdrunner/pipeline/pipelinetest"
)

// names returns the names of all pages.
func names() []string {
	var all []string
	for _, g := range docs.Groups() {
		for _, p := range g.Pages {
			all = append(all, p.Name)
		}
	}
	return all
}

// TestEveryPageIsListed compares the files with the list.
func TestEveryPageIsListed(t *testing.T) {
	t.Parallel()
	there := []string{"format", "language"} // of other packages
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".md"); ok {
			there = append(there, name)
		}
	}
	slices.Sort(there)
	listed := names()
	slices.Sort(listed)
	if diff := cmp.Diff(there, listed); diff != "" {
		t.Errorf("the pages and the list differ (-pages +list):\n%s", diff)
	}
	for _, name := range listed {
		if text, ok := docs.Find(name); !ok || !strings.HasPrefix(text, "# ") {
			t.Errorf("%s has no title", name)
		}
	}
	for _, name := range []string{"", "topics", "docs.go", "../explain/explain"} {
		if _, ok := docs.Find(name); ok {
			t.Errorf("%q is a page", name)
		}
	}
}

// TestExamples loads each pipeline of the pages, and each part of one. One with the word mistake must give diagnostics, all
// others none.
func TestExamples(t *testing.T) {
	t.Parallel()
	examples := 0
	for _, name := range names() {
		if name == "language" || name == "format" {
			continue // package pipeline tests its manual
		}
		text, _ := docs.Find(name)
		for _, e := range pipelinetest.Examples(text) {
			examples++
			source, known := e.Source()
			if !known {
				t.Errorf("%s.md:%d: unknown words after hcl: %q", name, e.Line, e.Info)
				continue
			}
			f, _ := pipeline.Parse([]byte(source), "PRD-001.hcl")
			_, diags := f.Pipeline(pipeline.Inputs{Workspace: t.TempDir(), Open: true})
			if e.Mistake() != (len(diags) > 0) {
				t.Errorf("%s.md:%d gives %d diagnostics: %v", name, e.Line, len(diags), diags)
			}
		}
	}
	if examples < 20 {
		t.Errorf("only %d examples found", examples)
	}
}
