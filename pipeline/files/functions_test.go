package files

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"prdrunner/pipeline/functions"
)

// textsOf evaluates a list of texts in a workspace.
func textsOf(expr, dir string) ([]string, hcl.Diagnostics) {
	return evaluate(&Workspace{Dir: dir}, expr, nil)
}

func evaluate(w *Workspace, text string, variables map[string]cty.Value) ([]string, hcl.Diagnostics) {
	expr, diags := hclsyntax.ParseExpression([]byte(text), "f.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	all := functions.Standard()
	maps.Copy(all, w.Functions(functions.Standard(), nil))
	value, diags := expr.Value(&hcl.EvalContext{Variables: variables, Functions: all})
	if diags.HasErrors() {
		return nil, diags
	}
	var texts []string
	for _, element := range value.AsValueSlice() {
		element, err := convert.Convert(element, cty.String)
		switch {
		case err != nil:
			return nil, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Not a text", Detail: err.Error()}}
		case !element.IsKnown():
			texts = append(texts, "(unknown)")
		default:
			texts = append(texts, element.AsString())
		}
	}
	return texts, nil
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
		got, diags := textsOf(expr, "../testdata/workspace")
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
			if got, diags := textsOf("["+function+"("+args+")]", dir); !diags.HasErrors() {
				t.Errorf("%s(%q) = %q", function, path, got)
			} else if strings.Contains(diags.Error(), dir) {
				t.Errorf("%s(%q) tells where the workspace is: %s", function, path, diags)
			}
		}
	}
	for path, want := range map[string]string{"binary": "file", "large": "file"} {
		if _, diags := textsOf("["+want+"(\""+path+"\")]", dir); !diags.HasErrors() {
			t.Error(path)
		}
	}
	if got, diags := textsOf(`[file("inner-link/a.txt"), filesha256("large")]`, dir); len(got) != 2 || got[0] != "inside" {
		t.Error(got, diags)
	}
	if got, diags := textsOf(`concat(["x"], tolist(fileset(".", "**/*")))`, dir); strings.Contains(strings.Join(got, " "), "secret") || len(got) < 3 {
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
		if got, diags := textsOf("[join(\" \", sort("+expr+"))]", dir); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q %v", expr, got, want, diags)
		}
	}
	for _, expr := range []string{`fileset("..", "*")`, `fileset("dir-link", "*")`, `fileset(".", "../*")`, `fileset(".", "[")`} {
		if got, diags := textsOf("concat([\"x\"], tolist("+expr+"))", dir); !diags.HasErrors() && len(got) > 1 {
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
	w := &Workspace{Dir: dir}
	for range 2 {
		if got, diags := evaluate(w, `[file("f.txt")]`, nil); len(got) != 1 || got[0] != "one" {
			t.Error(got, diags)
		}
		if err := os.WriteFile(path, []byte("two"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`[templatefile("greeting.tmpl", {})]`:            "not among the variables given",
		`[templatefile("greeting.tmpl", "x")]`:           "a map of variables",
		`[templatefile("greeting.tmpl", { name = [] })]`: "greeting.tmpl",
	} {
		if _, diags := textsOf(expr, "../testdata/workspace"); !strings.Contains(diags.Error(), want) {
			t.Error(expr, diags)
		}
	}
}

// TestTemplateOfUnknown holds that a template with a value that is not known yet is not
// taken for an empty text, which tonumber would refuse.
func TestTemplateOfUnknown(t *testing.T) {
	t.Parallel()
	w := &Workspace{Dir: "../testdata/workspace"}
	got, diags := evaluate(w, `[templatefile("greeting.tmpl", { name = later })]`, map[string]cty.Value{"later": cty.UnknownVal(cty.String)})
	if len(got) != 1 || got[0] != "(unknown)" {
		t.Error(got, diags)
	}
}
