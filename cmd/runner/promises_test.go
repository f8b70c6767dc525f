package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesNameTheirTests checks that every test which the last chapter of FORMAT.md
// names exists.
func TestPromisesNameTheirTests(t *testing.T) {
	t.Parallel()
	format, err := os.ReadFile("../../checkpoint/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, found := strings.Cut(string(format), "\n## What Runner promises, and how it is tested\n")
	if !found {
		t.Fatal("FORMAT.md has no chapter of promises")
	}
	there := testNames(t)
	names := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllStringSubmatch(chapter, -1)
	for _, name := range names {
		if !there[name[1]] {
			t.Errorf("FORMAT.md names %s, which is not a test of this module", name[1])
		}
	}
	if len(names) < 50 {
		t.Errorf("FORMAT.md names only %d tests", len(names))
	}
}

// testNames returns the names of the tests and fuzz targets of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
	names := map[string]bool{}
	for _, root := range []string{"../../checkpoint", "../../cmd", "../../pipeline", "../../runner"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, name := range function.FindAllSubmatch(source, -1) {
				names[string(name[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}
