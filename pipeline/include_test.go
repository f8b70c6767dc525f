package pipeline

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/pipeline/diagnostics"
	"prdrunner/pipeline/files"
)

// workspaceOf writes files to a directory and returns it.
func workspaceOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const including = `include = ["common/*.hcl"]
pipeline "PRD-001" {
  phase "a" {
    workstream "w" {
      command = ["make"]
      gates   = [gate.lint]
    }
  }
}
`

// TestIncluded: an included file counts like a part of the file, also where sensitive
// variables and agents are concerned.
func TestIncluded(t *testing.T) {
	t.Parallel()
	dir := workspaceOf(t, map[string]string{
		"common/a.hcl": `variable "token" {
  sensitive = true
  default   = "hush-hush"
}
agent "idle" { command = ["true"] }
gate "unused" { command = ["true"] }
`,
		"common/b.hcl": `gate "lint" {
  command = ["lint"]
  env     = { TOKEN = var.token }
}
`,
	})
	parsed, _ := Parse([]byte(including), "PRD-001.hcl")
	if diff := cmp.Diff([]string(nil), parsed.Sensitive()); diff != "" {
		t.Error(diff)
	}
	f := parsed.Including(Inputs{Workspace: dir})
	if diff := cmp.Diff([]string{"token"}, f.Sensitive()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"PRD-001.hcl", "common/a.hcl", "common/b.hcl"}, slices.Sorted(maps.Keys(f.Sources()))); diff != "" {
		t.Error(diff)
	}
	if symbols := f.Symbols(); len(symbols) != 3 {
		t.Errorf("symbols of included files: %v", symbols)
	}
	p, diags := f.Pipeline(Inputs{Workspace: dir})
	if len(diags) > 0 {
		t.Fatal(render(t, f, diags))
	}
	if diff := cmp.Diff([]Secret{{"token", "hush-hush"}}, p.Secrets); diff != "" {
		t.Error(diff)
	}
	if len(p.Agents) != 0 {
		t.Errorf("an unused agent of an included file belongs to the team: %v", p.Agents)
	}
	if diff := cmp.Diff([]string{"common/a.hcl", "common/b.hcl"}, p.Sources); diff != "" {
		t.Error(diff)
	}
	gate := p.Workstream("w").Gates[0]
	if inv, diags := gate.Invocation(Results{}); diags.HasErrors() || inv.Range.Filename != "common/b.hcl" || gate.Range.Filename != "common/b.hcl" {
		t.Errorf("the gate is at %v, its command at %v; %v", gate.Range, inv.Range, diags)
	}
}

// TestIncludedDiagnostics: a diagnostic shows the lines of the included file, and names
// the file of another place.
func TestIncludedDiagnostics(t *testing.T) {
	t.Parallel()
	dir := workspaceOf(t, map[string]string{
		"common/a.hcl": "gate \"lint\" { command = [\"lint\", var.non] }\n",
		"common/b.hcl": "gate \"lint\" { command = [\"true\"] }\n",
	})
	parsed, _ := Parse([]byte(including), "PRD-001.hcl")
	f := parsed.Including(Inputs{Workspace: dir})
	_, diags := f.Pipeline(Inputs{Workspace: dir})
	want := `Error: Duplicate gate [duplicate-gate]

  on common/b.hcl line 1, in gate "lint":
   1: gate "lint" { command = ["true"] }
      ^^^^^^^^^^^

gate.lint is already declared at common/a.hcl line 1. Rename one of them.

Error: Unknown variable [unknown-variable]

  on common/a.hcl line 1, in gate "lint":
   1: gate "lint" { command = ["lint", var.non] }
                                       ^^^^^^^

The file declares no variable "non".
`
	if diff := cmp.Diff(want, render(t, f, diags)); diff != "" {
		t.Error(diff)
	}
	if r := diagnostics.NewReport(f.Sources(), diags).Diagnostics; len(r) != 2 || r[0].Range.Filename != "common/b.hcl" || r[0].Snippet == nil {
		t.Errorf("%+v", r)
	}
}

// TestIncludedLinks: a link inside the workspace is followed, and one that leads out or to
// nothing is an error.
func TestIncludedLinks(t *testing.T) {
	t.Parallel()
	outside := workspaceOf(t, map[string]string{"x.hcl": "gate \"lint\" { command = [\"true\"] }\n"})
	for name, test := range map[string]struct{ target, want string }{
		"inside":     {"../lib/x.hcl", ""},
		"outside":    {filepath.Join(outside, "x.hcl"), "Cannot read included file"},
		"to nothing": {"../lib/none.hcl", "Cannot read included file"},
	} {
		for _, glob := range []string{"common/*.hcl", "common/x.hcl"} {
			t.Run(name+" "+glob, func(t *testing.T) {
				t.Parallel()
				dir := workspaceOf(t, map[string]string{"lib/x.hcl": "gate \"lint\" { command = [\"true\"] }\n", "common/README": ""})
				if err := os.Symlink(test.target, filepath.Join(dir, "common", "x.hcl")); err != nil {
					t.Fatal(err)
				}
				f, _ := Parse([]byte(strings.Replace(including, "common/*.hcl", glob, 1)), "PRD-001.hcl")
				_, diags := f.Pipeline(Inputs{Workspace: dir})
				switch {
				case test.want == "" && len(diags) > 0, test.want != "" && (len(diags) != 1 || diags[0].Summary != test.want || diags[0].Subject.Start.Line != 1):
					t.Error(render(t, f, diags))
				}
			})
		}
	}
}

// TestIncludedHidden: a file of git or of Runner's state is not included.
func TestIncludedHidden(t *testing.T) {
	t.Parallel()
	dir := workspaceOf(t, map[string]string{"state/x.hcl": "gate \"lint\" { command = [\"true\"] }\n"})
	for _, glob := range []string{"state/x.hcl", "state/*.hcl"} {
		f, _ := Parse([]byte(strings.Replace(including, "common/*.hcl", glob, 1)), "PRD-001.hcl")
		_, diags := f.Pipeline(Inputs{Workspace: dir, Hidden: func(name string) bool { return strings.HasPrefix(name, "state") }})
		if len(diags) != 1 || diags[0].Summary != "Include that matches nothing" {
			t.Error(glob, render(t, f, diags))
		}
	}
}

// TestIncludedDigest: the digest of a pipeline covers the paths and bytes of included
// files. Without any, it is that of the bytes of the file. What a gate is does not depend
// on its file.
func TestIncludedDigest(t *testing.T) {
	t.Parallel()
	lint := "gate \"lint\" { command = [\"lint\"] }\n"
	evaluated := func(source string, files map[string]string) *Pipeline {
		return build(t, source, Inputs{Workspace: workspaceOf(t, files)})
	}
	definitionOf := func(p *Pipeline) string {
		sum, diags := p.Gate("lint (w)").Definition(Results{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return sum
	}
	p := evaluated(including, map[string]string{"common/a.hcl": lint})
	for name, files := range map[string]map[string]string{
		"another path":  {"common/b.hcl": lint},
		"other bytes":   {"common/a.hcl": lint + "# edited\n"},
		"one file more": {"common/a.hcl": lint, "common/b.hcl": ""},
	} {
		other := evaluated(including, files)
		if other.Digest == p.Digest {
			t.Errorf("%s gives the same digest", name)
		}
		if definitionOf(other) != definitionOf(p) {
			t.Errorf("%s changes the definition of the gate", name)
		}
	}
	if same := evaluated(including, map[string]string{"common/a.hcl": lint}); same.Digest != p.Digest {
		t.Error("the same files in another directory give another digest")
	}
	alone := evaluated(strings.Replace(including, "include = [\"common/*.hcl\"]\n", lint, 1), nil)
	if alone.Digest != fmt.Sprintf("sha256:%x", sha256.Sum256(alone.source)) || definitionOf(alone) != definitionOf(p) {
		t.Error("a file without include has another digest than its bytes, or its gate another definition")
	}
}

// TestEarlierIncluded: an earlier version of a pipeline includes files as they were: a
// changed one, one that is gone, and none that is new.
func TestEarlierIncluded(t *testing.T) {
	t.Parallel()
	lint := func(level string) string { return "gate \"lint\" { command = [\"lint\", \"" + level + "\"] }\n" }
	was := build(t, including, Inputs{Workspace: workspaceOf(t, map[string]string{"common/a.hcl": "locals { gone = 1 }\n", "common/b.hcl": lint("low")})})
	now := build(t, including, Inputs{Workspace: workspaceOf(t, map[string]string{"common/b.hcl": "# moved\n", "common/c.hcl": lint("high")})})
	text := func(s string) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }
	}
	before := files.Contents{"common/a.hcl": text("locals { gone = 1 }\n"), "common/b.hcl": text(lint("low")), "common/c.hcl": nil}
	earlier := now.Earlier(nil, nil, before)
	if earlier == nil || earlier.Digest != was.Digest || now.EarlierDigest([]byte(including), before) != was.Digest {
		t.Fatalf("the earlier version was not found: %v", earlier)
	}
	got := now.Gate("lint (w)").DifferencesFrom(earlier.Gate("lint (w)"), Results{}, Results{})
	if diff := cmp.Diff([]Difference{{Name: "command[1]", Old: `"low"`, New: `"high"`}}, got); diff != "" {
		t.Error(diff)
	}
}
