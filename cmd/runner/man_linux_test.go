package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestManualIsRoff has the programs that show manual pages check those that `runner man`
// writes.
func TestManualIsRoff(t *testing.T) {
	t.Parallel()
	checks := map[string][]string{"mandoc": {"-T", "lint", "-W", "warning"}, "groff": {"-ww", "-man", "-Tutf8", "-z"}}
	dir := filepath.Join(t.TempDir(), "new", "man1")
	run(t, t.TempDir(), 0, "man", dir)
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	noDate := regexp.MustCompile(`(?m)^mandoc: .*: WARNING: missing date, using "": TH\n`) // on purpose
	for program, args := range checks {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				skipUnlessCI(t, "needs "+program)
			}
			out, _ := exec.CommandContext(t.Context(), program, append(args, pages...)...).CombinedOutput() // it prints what is wrong
			if out = noDate.ReplaceAll(out, nil); len(bytes.TrimSpace(out)) > 0 {
				t.Errorf("%s", out)
			}
		})
	}
}

// TestManualText shows a page as a reader sees it.
func TestManualText(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("mandoc"); err != nil {
		skipUnlessCI(t, "needs mandoc")
	}
	dir := t.TempDir()
	run(t, dir, 0, "man", ".")
	out, err := exec.CommandContext(t.Context(), "mandoc", "-T", "ascii", filepath.Join(dir, "runner.1")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := regexp.MustCompile(`.\x08`).ReplaceAllString(string(out), "") // bold
	for _, want := range []string{"runner - run a pipeline and record every step durably", "  runner build PRD-001 --resume   resume it", "131  stopped at once (Ctrl+\\)", "runner-build(1)", "a .runner, a\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
