package main

import (
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
