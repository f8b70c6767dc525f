package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
)

// commandOfExpr evaluates an expression as the command of a workstream.
func commandOfExpr(expr, workspace string) ([]string, hcl.Diagnostics) {
	f, _ := Parse([]byte("pipeline \"PRD-001\" {\n  phase \"a\" {\n    workstream \"x\" {\n      command = "+expr+"\n    }\n  }\n}\n"), "f.hcl")
	p, diags := f.Pipeline(Inputs{Workspace: workspace})
	if p == nil {
		return nil, diags
	}
	inv, diags := p.Workstream("x").Invocation(Results{})
	return inv.Command, diags
}

func TestFileFunctions(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string][]string{
		`[file("hello.txt")]`:       {"hello\n"},
		`[filebase64("hello.txt")]`: {"aGVsbG8K"},
		`[filesha256("hello.txt")]`: {"5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"},
		`[fileexists("hello.txt"), fileexists("no"), fileexists("sub")]`: {"true", "false", "false"},
		`fileset("sub", "*.sql")`:                                {"a.sql", "b.sql"},
		`fileset(".", "**/*.sql")`:                               {"sub/a.sql", "sub/b.sql"},
		`[templatefile("greeting.tmpl", { name = upper("x") })]`: {"Hello X!\n"},
		`[trimspace(file("./sub/../hello.txt"))]`:                nil,
	} {
		got, diags := commandOfExpr(expr, "testdata/workspace")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(expr, diff, diags)
		}
	}
}

func TestFunctionsStayInside(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	dir := filepath.Join(t.TempDir(), "workspace")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, at string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, at)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	write(filepath.Join(outside, "secret.txt"), "outside")
	write(filepath.Join(dir, "in", "a.txt"), "inside")
	write(filepath.Join(dir, "binary"), "\xff\xfe")
	write(filepath.Join(dir, "large"), strings.Repeat("x", maxContent+1))
	link(filepath.Join(outside, "secret.txt"), "file-link")
	link(outside, "dir-link")
	link("in", "inner-link")
	for _, path := range []string{"file-link", "dir-link/secret.txt", "../workspace/in/a.txt", "/etc/hostname", filepath.Join(outside, "secret.txt"), "in", "none", "", "in/../../x"} {
		for _, function := range []string{"file", "filebase64", "filesha256", "templatefile"} {
			args := `"` + path + `"`
			if function == "templatefile" {
				args += ", {}"
			}
			if got, diags := commandOfExpr("["+function+"("+args+")]", dir); !diags.HasErrors() {
				t.Errorf("%s(%q) = %q", function, path, got)
			} else if strings.Contains(diags.Error(), dir) {
				t.Errorf("%s(%q) tells where the workspace is: %s", function, path, diags)
			}
		}
	}
	for path, want := range map[string]string{"binary": "file", "large": "file"} {
		if _, diags := commandOfExpr("["+want+"(\""+path+"\")]", dir); !diags.HasErrors() {
			t.Error(path)
		}
	}
	if got, diags := commandOfExpr(`[file("inner-link/a.txt"), filesha256("large")]`, dir); len(got) != 2 || got[0] != "inside" {
		t.Error(got, diags)
	}
	if got, diags := commandOfExpr(`concat(["x"], tolist(fileset(".", "**/*")))`, dir); strings.Contains(strings.Join(got, " "), "secret") || len(got) < 3 {
		t.Error(got, diags)
	}
	// A link to a directory counts as that directory, once. Links in a circle are not
	// followed without end.
	link("..", filepath.Join("in", "up"))
	link(".", filepath.Join("in", "me"))
	for expr, want := range map[string]string{
		`fileset("inner-link", "*.txt")`: "a.txt",
		`fileset(".", "*/*.txt")`:        "in/a.txt inner-link/a.txt",
		`fileset(".", "**/*.txt")`:       "in/a.txt inner-link/a.txt",
		`fileset("in", "**")`:            "a.txt",
	} {
		if got, diags := commandOfExpr("[join(\" \", sort("+expr+"))]", dir); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q %v", expr, got, want, diags)
		}
	}
	for _, expr := range []string{`fileset("..", "*")`, `fileset("dir-link", "*")`, `fileset(".", "../*")`, `fileset(".", "[")`} {
		if got, diags := commandOfExpr("concat([\"x\"], tolist("+expr+"))", dir); !diags.HasErrors() && len(got) > 1 {
			t.Error(expr, got)
		}
	}
}

func TestFilesAreReadOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f.txt")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := build(t, "pipeline \"PRD-001\" {\n  phase \"a\" {\n    workstream \"x\" { command = [file(\"f.txt\")] }\n  }\n}\n", Inputs{Workspace: dir})
	if err := os.WriteFile(path, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if inv, diags := p.Workstream("x").Invocation(Results{}); inv.Command[0] != "one" {
		t.Error(inv, diags)
	}
}

func TestTemplateErrors(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`[templatefile("greeting.tmpl", {})]`:            "not among the variables given",
		`[templatefile("greeting.tmpl", "x")]`:           "a map of variables",
		`[templatefile("greeting.tmpl", { name = [] })]`: "greeting.tmpl",
	} {
		if _, diags := commandOfExpr(expr, "testdata/workspace"); !strings.Contains(diags.Error(), want) {
			t.Error(expr, diags)
		}
	}
}

// TestTemplateOfUnknown holds that a template with a value that is not known yet is not
// taken for an empty text, which tonumber would refuse.
func TestTemplateOfUnknown(t *testing.T) {
	t.Parallel()
	build(t, inPhase(`
workstream "a" { command = ["x"] }
workstream "b" {
  depends_on = [workstream.a]
  command    = ["x", tonumber(templatefile("greeting.tmpl", { name = workstream.a.outputs.n })) + 1]
}`), Inputs{Workspace: "testdata/workspace"})
}
