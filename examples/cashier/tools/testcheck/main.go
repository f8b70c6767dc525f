// Command testcheck judges the report of a test run against the source: every
// test that is written must have run and passed. A test that was skipped,
// filtered out or never built is not a passed one.
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"cashier/tools/internal/report"
)

func main() {
	tests := flag.String("tests", "tests", "`directory` of the package of tests")
	path := flag.String("report", "build/tests.json", "`file` of the report")
	flag.Parse()
	if err := run(*tests, *path); err != nil {
		fmt.Fprintln(os.Stderr, "testcheck:", err)
		os.Exit(1)
	}
}

func run(dir, path string) error {
	result, err := report.Read(path)
	if err != nil {
		return err
	}
	outcomes := make(map[string]string, len(result.Tests))
	var problems []error
	for _, test := range result.Tests {
		outcomes[test.Name] = test.Outcome
		if test.Outcome != report.Pass {
			problems = append(problems, fmt.Errorf("%s: %s", test.Name, test.Outcome))
		}
	}
	written, err := writtenTests(dir)
	if err != nil {
		return err
	}
	for _, test := range written {
		if _, ran := outcomes[test.name]; !ran {
			problems = append(problems, fmt.Errorf("%s: %s did not run", test.position, test.name))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	fmt.Printf("all %d tests ran and passed, %d with their subtests\n", len(written), len(outcomes))
	return nil
}

// writtenTest is a test function in the source.
type writtenTest struct {
	name     string
	position token.Position
}

func writtenTests(dir string) ([]writtenTest, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, fmt.Errorf("looking for tests: %w", err)
	}
	var written []writtenTest
	files := token.NewFileSet()
	for _, path := range paths {
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("looking for tests: %w", err)
		}
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if ok && function.Recv == nil && strings.HasPrefix(function.Name.Name, "Test") && function.Name.Name != "TestMain" {
				written = append(written, writtenTest{function.Name.Name, files.Position(function.Pos())})
			}
		}
	}
	if len(written) == 0 {
		return nil, fmt.Errorf("looking for tests: none in %s", dir)
	}
	return written, nil
}
