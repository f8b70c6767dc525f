package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/cmd/runner/manual"
)

// TestManualPages: each command has a page, which is the same each time.
func TestManualPages(t *testing.T) {
	t.Parallel()
	pages := manual.Pages(commandLine(t), "1.2.3")
	names := make(map[string]bool)
	for i, again := range manual.Pages(commandLine(t), "1.2.3") {
		names[again.Name] = true
		if diff := cmp.Diff(string(pages[i].Text), string(again.Text)); diff != "" {
			t.Errorf("the page of %s differs from time to time:\n%s", again.Name, diff)
		}
	}
	for path := range leaves(commandLine(t)) {
		if name := strings.ReplaceAll(path, " ", "-"); !names[name] {
			t.Errorf("there is no page %s", name)
		}
	}
	build := pages[slices.IndexFunc(pages, func(p manual.Page) bool { return p.Name == "runner-build" })]
	for _, want := range []string{"\n.TH \"RUNNER\\-BUILD\" 1 \"\" \"runner 1.2.3\"", "\n\\fB\\-\\-fresh\\fP\n", "\n.SH \"SEE ALSO\"\nrunner(1)\n"} {
		if !strings.Contains("\n"+string(build.Text), want) {
			t.Errorf("no %q in\n%s", want, build.Text)
		}
	}
}

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
				if os.Getenv("CI") != "" {
					t.Fatal(err)
				}
				t.Skip("needs", program)
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
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("needs mandoc")
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
