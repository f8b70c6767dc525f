// Command lint holds Go files to the rules of this module that go vet does not
// know: they are formatted, every package and exported name is documented, and
// nothing that serves requests panics or prints.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	findings, err := run(os.Args[1:])
	for _, finding := range findings {
		fmt.Println(finding)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
	}
	if err != nil || len(findings) > 0 {
		os.Exit(1)
	}
}

// run lints the Go files below each directory. A finding begins with file,
// line and column, as those of the Go tools do.
func run(dirs []string) ([]string, error) {
	var findings []string
	for _, dir := range dirs {
		documented, count := false, 0
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			count++
			found, hasDoc, err := lintFile(path)
			findings = append(findings, found...)
			documented = documented || hasDoc
			return err
		})
		switch {
		case err != nil:
			return findings, fmt.Errorf("linting %s: %w", dir, err)
		case count == 0:
			return findings, fmt.Errorf("linting %s: no Go files", dir)
		case !documented:
			findings = append(findings, dir+": the package has no comment")
		}
	}
	return findings, nil
}

func lintFile(path string) (findings []string, documented bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, false, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, false, err
	}
	report := func(pos token.Pos, message string) {
		findings = append(findings, fmt.Sprintf("%s: %s", files.Position(pos), message))
	}
	formatted, err := format.Source(text)
	if err != nil {
		return nil, false, err
	}
	if !bytes.Equal(text, formatted) {
		report(file.Package, "not formatted as gofmt does it")
	}
	lintComments(file, report)
	lintCalls(file, report)
	return findings, file.Doc != nil, nil
}

// lintComments wants a comment that names what it is about.
func lintComments(file *ast.File, report func(token.Pos, string)) {
	check := func(name *ast.Ident, doc *ast.CommentGroup) {
		if name.IsExported() && !strings.Contains(doc.Text(), name.Name) {
			report(name.Pos(), "exported "+name.Name+" has no comment that names it")
		}
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			check(d.Name, d.Doc)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if typ, ok := spec.(*ast.TypeSpec); ok && typ.Doc != nil {
					check(typ.Name, typ.Doc)
				} else if ok {
					check(typ.Name, d.Doc)
				}
			}
		}
	}
}

func lintCalls(file *ast.File, report func(token.Pos, string)) {
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch called := call.Fun.(type) {
		case *ast.Ident:
			if called.Name == "panic" {
				report(call.Pos(), "a handler must not panic")
			}
		case *ast.SelectorExpr:
			pkg, ok := called.X.(*ast.Ident)
			if ok && pkg.Name == "fmt" && strings.HasPrefix(called.Sel.Name, "Print") {
				report(call.Pos(), "a handler must not print")
			}
		}
		return true
	})
}
