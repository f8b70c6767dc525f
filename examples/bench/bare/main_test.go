package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImports holds the list of libraries to that of runner; golang.org/x/sys,
// which has other packages for each system, starts nothing.
func TestImports(t *testing.T) {
	t.Parallel()
	ours := libraries(t, "prdrunner/examples/bench/bare")
	for _, library := range libraries(t, "prdrunner/cmd/runner") {
		if !slices.Contains(ours, library) && !strings.HasPrefix(library, "golang.org/x/sys/") {
			t.Errorf("runner imports %s, too", library)
		}
	}
}

// libraries are what a program's own packages import of other modules, and what
// that imports.
func libraries(t *testing.T, program string) []string {
	t.Helper()
	const format = `{{with .Module}}{{if not .Main}}{{$.ImportPath}}{{end}}{{end}}`
	shown, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, program).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(shown))
}
