package main

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "put the table of the last run into CONTRIBUTING")

// TestTable holds the table in CONTRIBUTING to the figures of a run that lie beside it,
// which must be one at full size, of a commit.
func TestTable(t *testing.T) {
	t.Parallel()
	const manual, figures = "../../.github/CONTRIBUTING.md", "../../.github/benchmarks.json"
	const begin, end = "<!-- benchmarks: checked by a test -->\n", "<!-- end of benchmarks -->\n"
	r, err := readReport(figures)
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Machine; r.Small || m.Commit == "" || strings.HasSuffix(m.Commit, "-dirty") || len(r.Targets) == 0 {
		t.Errorf("%s is of a small run, or of no commit (%q), or has no targets", figures, m.Commit)
	}
	if want := r.measure(targets(full())); !slices.Equal(r.Targets, want) {
		t.Errorf("%s has targets that are not those of its samples:\n%v\nwant\n%v", figures, r.Targets, want)
	}
	data, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), begin)
	got, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has no %s or no %s", manual, begin, end)
	}
	want := "\n" + r.table() + "\n"
	switch {
	case got == want:
	case *update:
		if err := os.WriteFile(manual, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table in %s is not that of %s: run `go test ./examples/bench -update`", manual, figures)
	}
}
