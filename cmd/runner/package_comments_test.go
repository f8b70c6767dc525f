package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// properNouns holds capitalised words of package comments that are not identifiers.
var properNouns = map[string]bool{
	"Runner": true, "Linux": true, "Unix": true, "Unixes": true, "Windows": true, "Go": true, "Python": true, "Jest": true,
	"Node": true, "Java": true, "Base64": true, "Nth": true, "KiB": true, "Ctrl": true, "Break": true, "macOS": true,
	"OpenTelemetry": true, "Markdown": true, "PostgreSQL": true, "MySQL": true, "MariaDB": true, "InnoDB": true, "SQLite": true,
}

// sourcePackage is a package of this module as its source files declare it.
type sourcePackage struct {
	dir      string
	command  bool // whether it is package main
	comment  string
	exported map[string]bool // top-level names
	declared map[string]bool // all names, including unexported names, methods and fields
}

// TestPackageComments checks that every package comment names something that the package
// exports, and that the names and files which it mentions exist.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	packages := sourcePackages(t, filepath.Join("..", ".."))
	byName := map[string]*sourcePackage{}
	for _, p := range packages {
		byName[filepath.Base(p.dir)] = p
	}
	for _, p := range packages {
		if p.command { // package main exports nothing that its comment could name
			continue
		}
		if p.comment == "" {
			t.Errorf("%s has no package comment", p.dir)
			continue
		}
		named := false
		for _, word := range codeWords(p.comment) {
			file := strings.HasSuffix(word, ".go")
			switch before, name, qualified := strings.Cut(word, "."); {
			case file:
				if found, err := filepath.Glob(filepath.Join(p.dir, word)); err != nil || len(found) == 0 {
					t.Errorf("%s: its comment mentions the file %s, which does not exist", p.dir, word)
				}
			case qualified && byName[before] != nil:
				if !byName[before].exported[name] {
					t.Errorf("%s: its comment mentions %s, which does not exist", p.dir, word)
				}
			case qualified && before == strings.ToLower(before): // a package of another module
			case qualified:
				if !p.declared[before] || !p.declared[name] {
					t.Errorf("%s: its comment mentions %s, which does not exist", p.dir, word)
				}
			case !p.declared[word]:
				t.Errorf("%s: its comment mentions %s, which the package does not declare", p.dir, word)
			}
		}
		for _, word := range codeWord.FindAllString(p.comment, -1) {
			before, _, _ := strings.Cut(word, ".")
			named = named || p.exported[before]
		}
		if !named && len(p.exported) > 0 {
			t.Errorf("%s: its comment names nothing that the package exports", p.dir)
		}
	}
}

// TestContributingListsPackages checks that CONTRIBUTING's table has a line for each
// package, except those that only tests import.
func TestContributingListsPackages(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text := read(t, filepath.Join(root, ".github", "CONTRIBUTING.md"))
	for _, p := range sourcePackages(t, root) {
		dir, err := filepath.Rel(root, p.dir)
		if err != nil {
			t.Fatal(err)
		}
		if dir = filepath.ToSlash(dir); strings.HasSuffix(dir, "test") || strings.Contains(dir, "/faults") {
			continue
		}
		if !strings.Contains(string(text), "| ["+dir+"](../"+dir+") |") {
			t.Errorf("CONTRIBUTING.md has no line for package %s", dir)
		}
	}
}

var (
	sentenceStart = regexp.MustCompile(`(?:^|[.:;!?]["\)]?\s+|\n\s*(?:- )?|\n\n\s*|→ |[("])$`)
	codeWord      = regexp.MustCompile(`[A-Za-z_*][A-Za-z0-9_*]*(?:\.[A-Za-z][A-Za-z0-9]*)?`)
	camelCase     = regexp.MustCompile(`^[A-Za-z]*[a-z0-9][A-Z][A-Za-z0-9]*$`)
)

// codeWords returns the words of a comment that name code: names of files, qualified
// names, words with a capital inside, and capitalised words within a sentence.
func codeWords(comment string) []string {
	var words []string
	for _, at := range codeWord.FindAllStringIndex(comment, -1) {
		word, before := comment[at[0]:at[1]], comment[:at[0]]
		_, name, qualified := strings.Cut(word, ".")
		capital := word[0] >= 'A' && word[0] <= 'Z' && strings.ToUpper(word) != word
		switch {
		case strings.HasSuffix(word, ".go"):
		case qualified && name[0] >= 'A' && name[0] <= 'Z':
		case qualified:
			continue
		case camelCase.MatchString(word) && !properNouns[word]:
		case capital && !properNouns[word] && !sentenceStart.MatchString(before):
		default:
			continue
		}
		words = append(words, word)
	}
	return words
}

// sourcePackages reads the packages of the module, except for examples and test data.
func sourcePackages(t *testing.T, root string) []*sourcePackage {
	t.Helper()
	byDir := map[string]*sourcePackage{}
	var packages []*sourcePackage
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "examples") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		dir := filepath.Dir(path)
		if byDir[dir] == nil {
			byDir[dir] = &sourcePackage{dir: dir, exported: map[string]bool{}, declared: map[string]bool{}}
			packages = append(packages, byDir[dir])
		}
		return byDir[dir].add(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// add adds the comment and the names of a file.
func (p *sourcePackage) add(path string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if file.Doc != nil && strings.HasPrefix(file.Doc.Text(), "Package ") || file.Name.Name == "main" && file.Doc != nil {
		p.comment, p.command = file.Doc.Text(), file.Name.Name == "main"
	}
	test := strings.HasSuffix(path, "_test.go")
	top := func(id *ast.Ident) {
		p.declared[id.Name] = true
		if id.IsExported() && !test {
			p.exported[id.Name] = true
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				p.declared[d.Name.Name] = true
				continue
			}
			top(d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					top(s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						top(id)
					}
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok {
			for _, id := range f.Names {
				p.declared[id.Name] = true
			}
		}
		return true
	})
	return nil
}
