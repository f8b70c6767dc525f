package explain_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"prdrunner/pipeline/diagnostics"
)

// root is the directory of the module.
const root = "../../.."

// ownCodes returns the codes of all diagnostics that the packages of this module make, with
// the place of one that has the code. A part of a code that is not constant is a *.
func ownCodes(t *testing.T) map[string]string {
	t.Helper()
	var dirs []string
	for _, top := range []string{"pipeline", "runner", "checkpoint", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() != "testdata" {
				dirs = append(dirs, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return codesIn(t, dirs)
}

// libraryCodes returns the codes of the diagnostics of package hcl and of its native syntax
// and type expressions, which are those that can be about a pipeline.
func libraryCodes(t *testing.T) map[string]string {
	t.Helper()
	hcl, err := build.Import("github.com/hashicorp/hcl/v2", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	return codesIn(t, []string{hcl.Dir, filepath.Join(hcl.Dir, "hclsyntax"), filepath.Join(hcl.Dir, "ext", "typeexpr")})
}

// codesIn returns the codes of the diagnostics that the packages in some directories make.
func codesIn(t *testing.T, dirs []string) map[string]string {
	t.Helper()
	codes := map[string]string{}
	for _, dir := range dirs {
		s := &summaryScanner{t: t, files: token.NewFileSet(), takers: map[string]int{}, codes: codes}
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(s.files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			s.parsed = append(s.parsed, file)
		}
		s.scan()
	}
	return codes
}

// summaryScanner finds the summaries of diagnostics in one package. It takes three things
// for a summary: the field Summary of a composite literal, the argument at the place of a
// parameter that is called summary, and a text that is assigned to a variable or constant
// which is used as one of these.
type summaryScanner struct {
	t      *testing.T
	files  *token.FileSet
	parsed []*ast.File
	takers map[string]int // functions with a parameter summary, and its place among their parameters
	codes  map[string]string
}

func (s *summaryScanner) scan() {
	for _, file := range s.parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok {
				s.addTaker(f.Name.Name, f.Type)
			}
			return true
		})
	}
	for _, file := range s.parsed {
		// A function value belongs to its file. Its definition comes before its calls.
		local := map[string]int{}
		define := func(name string, typ *ast.FuncType) { local[name] = placeOfSummary(typ) }
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, value := range n.Rhs {
					if f, ok := value.(*ast.FuncLit); ok && i < len(n.Lhs) {
						if name, ok := n.Lhs[i].(*ast.Ident); ok {
							define(name.Name, f.Type)
						}
					}
				}
			case *ast.Field:
				if typ, ok := n.Type.(*ast.FuncType); ok && len(n.Names) == 1 {
					define(n.Names[0].Name, typ)
				}
			case *ast.CallExpr:
				s.call(file, n, local)
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Summary" {
					s.summary(file, n.Value)
				}
			}
			return true
		})
	}
}

func (s *summaryScanner) addTaker(name string, typ *ast.FuncType) {
	if at := placeOfSummary(typ); at >= 0 {
		s.takers[name] = at
	}
}

// placeOfSummary returns the place of the parameter summary, or -1.
func placeOfSummary(typ *ast.FuncType) int {
	at := 0
	for _, field := range typ.Params.List {
		for _, name := range field.Names {
			if name.Name == "summary" {
				return at
			}
			at++
		}
	}
	return -1
}

func (s *summaryScanner) call(file *ast.File, call *ast.CallExpr, local map[string]int) {
	var at int
	var known bool
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		if at, known = local[fun.Name]; !known {
			at, known = s.takers[fun.Name]
		}
	case *ast.SelectorExpr:
		at, known = s.takers[fun.Sel.Name]
		if x, ok := fun.X.(*ast.Ident); ok && (x.Name == "fmt" || x.Name == "t") {
			known = false
		}
	}
	if known && at >= 0 && at < len(call.Args) {
		s.summary(file, call.Args[at])
	}
}

// summary records the code of a summary.
func (s *summaryScanner) summary(file *ast.File, value ast.Expr) {
	switch value := value.(type) {
	case *ast.Ident:
		if value.Name == "summary" || value.Name == "nil" {
			s.assigned(file, value.Name)
			return
		}
		if !s.assigned(file, value.Name) {
			s.t.Errorf("%s: where is %s assigned?", s.files.Position(value.Pos()), value.Name)
		}
	case *ast.SelectorExpr: // the summary of another diagnostic, which is found where it is made
	default:
		if text, ok := textOf(value); ok && looksLikeSummary(text) {
			s.codes[codeOf(text)] = s.files.Position(value.Pos()).String()
		}
	}
}

// assigned records the texts that are assigned to a name, and reports whether there are any.
func (s *summaryScanner) assigned(file *ast.File, name string) bool {
	found := false
	record := func(value ast.Expr) {
		if text, ok := textOf(value); ok && looksLikeSummary(text) {
			found = true
			s.codes[codeOf(text)] = s.files.Position(value.Pos()).String()
		}
	}
	inspect := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if id, ok := left.(*ast.Ident); ok && id.Name == name && i < len(n.Rhs) {
					record(n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if id.Name == name && i < len(n.Values) {
					record(n.Values[i])
				}
			}
		}
		return true
	}
	ast.Inspect(file, inspect)
	for _, other := range s.parsed {
		if !found && other != file {
			ast.Inspect(other, inspect)
		}
	}
	return found
}

// verb matches a verb of package fmt.
var verb = regexp.MustCompile(`%[a-z]`)

// textOf returns the text of an expression, with a * for each part that is not constant.
func textOf(value ast.Expr) (string, bool) {
	switch value := value.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(value.Value)
		return text, err == nil && value.Kind == token.STRING
	case *ast.BinaryExpr:
		left, _ := textOf(value.X)
		right, _ := textOf(value.Y)
		return orStar(left) + orStar(right), true
	case *ast.CallExpr:
		if fun, ok := value.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == "Sprintf" {
			text, ok := textOf(value.Args[0])
			return verb.ReplaceAllString(text, "*"), ok
		}
	}
	return "", false
}

func orStar(text string) string {
	if text == "" {
		return "*"
	}
	return text
}

// looksLikeSummary reports whether a text begins as summaries do.
func looksLikeSummary(text string) bool {
	return text != "" && text[0] >= 'A' && text[0] <= 'Z'
}

// codeOf returns the code of a summary, with its stars.
func codeOf(summary string) string {
	const star = "0star0"
	return strings.ReplaceAll(diagnostics.Code(strings.ReplaceAll(summary, "*", star)), star, "*")
}
