package pipeline

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/pipeline/limits"
)

// expectation matches a diagnostic that a file must give, "# LINE: SUMMARY", or that an
// included file must give, "# PATH LINE: SUMMARY".
var expectation = regexp.MustCompile(`^# ((?:\S+\.hcl )?\d+: .+)$`)

// expectations reads the leading comment of an invalid file.
func expectations(t *testing.T, src []byte) []string {
	t.Helper()
	var want []string
	scanner := bufio.NewScanner(bytes.NewReader(src))
	for scanner.Scan() && strings.HasPrefix(scanner.Text(), "#") {
		if m := expectation.FindStringSubmatch(scanner.Text()); m != nil {
			want = append(want, m[1])
		}
	}
	if len(want) == 0 {
		t.Fatal("the file does not say what it must give")
	}
	slices.Sort(want)
	return want
}

func TestInvalidFiles(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/invalid/*.hcl")
	if err != nil || len(paths) == 0 {
		t.Fatal("no invalid files", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			f, _ := Load(path)
			f = f.Including(Inputs{Workspace: "testdata/workspace"})
			p, diags := f.Pipeline(Inputs{Workspace: "testdata/workspace", Hidden: func(name string) bool { return filepath.Base(name) == ".git" }})
			if diags.HasErrors() != (p == nil) {
				t.Error("the pipeline must be nil if and only if there are errors")
			}
			var got []string
			for _, diag := range diags {
				place := fmt.Sprintf("%d: ", diag.Subject.Start.Line)
				if diag.Subject.Filename != f.Name() {
					place = diag.Subject.Filename + " " + place
				}
				got = append(got, place+diag.Summary)
				if diag.Detail == "" {
					t.Errorf("%s: no detail", diag.Summary)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(expectations(t, f.Source()), got); diff != "" {
				t.Errorf("%s\n%s", diff, render(t, f, diags))
			}
		})
	}
}

// summaries matches the constant summaries in the sources of the language.
var summaries = regexp.MustCompile(`(?:Summary:\s+|errorf\(|report\(|failed\(|fail\()"([A-Z][^"]+)"`)

// TestEverySummaryIsExpected holds that each diagnostic has an invalid file,
// or is known to need another kind of test.
func TestEverySummaryIsExpected(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"Cannot read file":              "TestLoadMissing",
		"File too large":                "TestTooDeep",
		"Nesting too deep":              "TestTooDeep",
		"Value for undeclared variable": "TestInputs",
		"Invalid value":                 "TestSecrecy",
		"Metric not available":          "TestResultDiagnostics",
		"Result not available":          "TestResultDiagnostics",
		"Missing output":                "TestResultDiagnostics",
		"Missing input":                 "TestAnswers",
		"Value not known":               "nothing: it guards against mistakes of this package",
		"Gate without command":          "TestGateInvocationOfOtherKind",
	}
	var expected strings.Builder
	invalid, _ := filepath.Glob("testdata/invalid/*.hcl")
	for _, path := range invalid {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		expected.Write(src)
	}
	sources, _ := filepath.Glob("*.go")
	below, _ := filepath.Glob("*/*.go")
	sources = append(sources, below...)
	found := 0
	for _, path := range sources {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range summaries.FindAllStringSubmatch(string(src), -1) {
			found++
			summary := m[1]
			if strings.HasSuffix(summary, " ") {
				continue // followed by the kind of block
			}
			if elsewhere[summary] == "" && !strings.Contains(expected.String(), ": "+summary+"\n") {
				t.Errorf("%s: no invalid file gives %q", path, summary)
			}
		}
	}
	if found < 40 {
		t.Fatalf("only %d summaries found; has the way they are written changed?", found)
	}
}

func TestLoadMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none.hcl"), dir} {
		f, diags := Load(path)
		if f == nil || len(diags) != 1 || diags[0].Summary != "Cannot read file" {
			t.Errorf("%s: %v", path, diags)
		}
		if p, diags := f.Pipeline(Inputs{}); p != nil || !diags.HasErrors() {
			t.Errorf("%s: a file that could not be read gave a pipeline", path)
		}
	}
}

func TestTooDeep(t *testing.T) {
	t.Parallel()
	for summary, src := range map[string][]byte{
		"Nesting too deep": []byte("x = " + strings.Repeat("[", 100_000)),
		"File too large":   make([]byte, limits.MaxFileSize+1),
	} {
		if f, diags := Parse(src, "deep.hcl"); len(diags) != 1 || diags[0].Summary != summary || !f.unread {
			t.Errorf("%d diagnostics, %v", len(diags), diags[0])
		}
	}
}
