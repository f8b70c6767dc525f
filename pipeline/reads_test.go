package pipeline

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const withReads = `
pipeline "PRD-001" {
  phase "one" {
    workstream "make" {
      command   = ["make"]
      artifacts = ["out/**"]
      gate "enough" {
        condition     = tonumber(file("out/coverage.txt")) > 80 && file("floor.txt") != ""
        error_message = "it is ${file("out/coverage.txt")}"
      }
    }
  }
  phase "two" {
    workstream "known" { command = concat(["ship"], sort(fileset("out", "*.txt")), [file("out/coverage.txt")]) }
    workstream "named" {
      depends_on = [workstream.make]
      command    = ["ship", file(workstream.make.outputs.report)]
    }
    workstream "unnamed" { command = ["ship", try(file("out/${run.attempt}.txt"), "")] }
  }
}`

// TestReadsOfArtifacts holds that a function that reads an artifact is evaluated after
// the workstream that makes the artifact, again at each use, and that the value is part
// of the definition.
func TestReadsOfArtifacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("floor.txt", "80")
	f, _ := Parse([]byte(withReads), "PRD-001.hcl")
	p, diags := f.Pipeline(Inputs{Workspace: dir, Matches: func([]string) bool { return true }}) // no artifact exists yet
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	known := p.Workstream("known")
	if !slices.Equal(known.Upstream, []string{"make"}) || !known.NeedsResults() {
		t.Errorf("known does not depend on make, whose artifact it reads: %v", known.Upstream)
	}
	if _, diags := known.Invocation(Results{Workstream: func(string) (Result, bool) { return Result{}, false }}); !strings.Contains(diags.Error(), "Result not available") {
		t.Errorf("known was evaluated before make has completed: %v", diags)
	}

	r := Results{Workstream: func(string) (Result, bool) {
		return Result{Outputs: map[string]string{"report": "out/coverage.txt"}}, true
	}}
	gate := p.Workstream("make").Gates[0]
	var definitions []string
	for i, coverage := range []string{"90", "50"} {
		write("out/coverage.txt", coverage)
		if ok, _, diags := gate.Condition(r); ok != (i == 0) || diags.HasErrors() {
			t.Errorf("with a coverage of %s the condition is %v %v", coverage, ok, diags)
		}
		for _, name := range []string{"known", "named"} {
			if inv, diags := p.Workstream(name).Invocation(r); diags.HasErrors() || inv.Command[len(inv.Command)-1] != coverage {
				t.Errorf("%s runs %v %v", name, inv.Command, diags)
			}
		}
		definition, diags := gate.Definition(r)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		definitions = append(definitions, definition)
	}
	if definitions[0] == definitions[1] {
		t.Error("the definition of a condition does not cover the file that it reads")
	}
	if _, diags := p.Workstream("unnamed").Invocation(r); !strings.Contains(diags.Error(), "add workstream.make to depends_on of unnamed") {
		t.Errorf("a path that is known only when it runs is read without a dependency: %v", diags)
	}
}

// TestConditionReadsCount holds that an edit of any file that a condition reads changes
// its definition, even if no workstream makes the file.
func TestConditionReadsCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const src = `
pipeline "PRD-001" {
  phase "one" {
    workstream "a" {
      command = ["true"]
      gate "g" {
        condition     = file("floor.txt") != ""
        error_message = "no floor"
      }
    }
  }
}`
	definition := func(text string) string {
		if err := os.WriteFile(filepath.Join(dir, "floor.txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, _ := Parse([]byte(src), "PRD-001.hcl")
		p, diags := f.Pipeline(Inputs{Workspace: dir})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		sum, _ := p.Workstream("a").Gates[0].Definition(Results{})
		return sum
	}
	if definition("80") == definition("90") {
		t.Error("an edit of the file does not change the definition")
	}
}
