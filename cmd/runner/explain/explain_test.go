package explain_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/cmd/runner/explain"
	"prdrunner/pipeline"
	"prdrunner/pipeline/diagnostics"
	"prdrunner/pipeline/pipelinetest"
)

func sections(t *testing.T) []explain.Section {
	t.Helper()
	all, err := explain.Sections()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// names returns the names of all topics of one kind, sorted.
func names(t *testing.T, kind explain.Kind) []string {
	t.Helper()
	var all []string
	for _, s := range sections(t) {
		if s.Kind == kind {
			for _, topic := range s.Topics {
				all = append(all, topic.Names...)
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestEveryDiagnostic compares the names of the texts with the codes that the sources can
// give, of Runner and of the library that parses pipelines. Neither may have one more.
func TestEveryDiagnostic(t *testing.T) {
	t.Parallel()
	own, library := ownCodes(t), libraryCodes(t)
	if len(own) < 150 || len(library) < 80 {
		t.Fatalf("only %d and %d codes found; has the way changed in which diagnostics are made?", len(own), len(library))
	}
	maps.Copy(own, library)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(own)), names(t, explain.Diagnostic)); diff != "" {
		t.Errorf("the diagnostics and the texts differ (-diagnostics +texts):\n%s", diff)
	}
}

// TestEveryExpectedSummary looks up the summaries that the invalid pipelines of package
// pipeline must give. It finds ways of making a diagnostic that the scan of the sources does
// not know.
func TestEveryExpectedSummary(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(root, "pipeline", "testdata", "invalid", "*.hcl"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no invalid pipelines", err)
	}
	expected := regexp.MustCompile(`(?m)^# (?:\S+\.hcl )?\d+: (.+)$`)
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range expected.FindAllSubmatch(src, -1) {
			if code := diagnostics.Code(string(m[1])); len(explain.Find(sections(t), code)) != 1 {
				t.Errorf("%s: %d texts about %s", path, len(explain.Find(sections(t), code)), code)
			}
		}
	}
}

// TestEveryWord looks up the constants of the types whose values Runner prints.
func TestEveryWord(t *testing.T) {
	t.Parallel()
	texts := sections(t)
	explained := map[string]bool{}
	for _, test := range []struct {
		dir, typ string
		kinds    []explain.Kind // one of these must have it
	}{
		{"runner/plan", "Decision", []explain.Kind{explain.Decision}},
		{"checkpoint/state", "Status", []explain.Kind{explain.Status}},
		{"checkpoint/state", "StepStatus", []explain.Kind{explain.Status, explain.Decision}},
		{"checkpoint/state", "MemberStatus", []explain.Kind{explain.Status}},
		{"runner/view", "Word", []explain.Kind{explain.Status}},
		{"runner", "Outcome", []explain.Kind{explain.Outcome}},
		{"checkpoint/state", "Trigger", []explain.Kind{explain.Trigger, explain.Status}},
	} {
		values := constants(t, filepath.Join(root, test.dir), test.typ)
		if len(values) < 3 {
			t.Errorf("only %d constants of the type %s found", len(values), test.typ)
		}
		for _, value := range values {
			value = strings.ReplaceAll(value, " ", "_") // as the command looks them up
			explained[value] = true
			if !slices.ContainsFunc(explain.Find(texts, value), func(topic explain.Topic) bool { return slices.Contains(test.kinds, topic.Kind) }) {
				t.Errorf("no text explains %q, a %s", value, test.typ)
			}
		}
	}
	for _, kind := range []explain.Kind{explain.Decision, explain.Status, explain.Trigger} {
		for _, name := range names(t, kind) {
			if !explained[name] {
				t.Errorf("there is no %s %q", kind, name)
			}
		}
	}
}

// TestEveryColumn looks up the names of columns and facts that commands show, and the words that the
// help uses for what the names stand for.
func TestEveryColumn(t *testing.T) {
	t.Parallel()
	texts := sections(t)
	shown := columns(t)
	if len(shown) < 50 {
		t.Fatalf("only %d columns and facts found; has the way changed in which tables are made?", len(shown))
	}
	shown = append(shown, "boundary", "attempt", "gate", "checkpoint")
	for _, name := range shown {
		for _, word := range strings.Split(name, ", ") {
			word = strings.ReplaceAll(strings.ToLower(strings.TrimSuffix(word, " in ")), " ", "_")
			if !slices.ContainsFunc(explain.Find(texts, word), func(topic explain.Topic) bool {
				return slices.Contains([]explain.Kind{explain.Word, explain.Status, explain.Trigger}, topic.Kind)
			}) {
				t.Errorf("no text explains the column or fact %q: %q", name, word)
			}
		}
	}
}

// columns returns the names that package show writes above columns, in capitals, and before facts of
// `runner status` and of what a person judges.
func columns(t *testing.T) (names []string) {
	t.Helper()
	var paths []string
	for _, dir := range []string{"show", "info"} {
		in, err := filepath.Glob(filepath.Join(root, "cmd/runner", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, in...)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(src)
		for _, pattern := range []string{`cells\(("[A-Z ]{2,}"(?:, "[A-Z ]{2,}")*)\)`, `\{(Text: "[A-Z ]{2,}")\}`, `\.add(?:In\(.*?, |\()("[A-Z][^"]*")`, `Fact\{((?:\{|fact\(|factIn\([^"]*)"[A-Z].*)\}`} {
			for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
				for _, name := range regexp.MustCompile(`"([A-Z][^"]+)"`).FindAllStringSubmatch(found[1], -1) {
					names = append(names, name[1])
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestEveryOutcome compares the names of the texts with the outcomes that the sources give to failures.
func TestEveryOutcome(t *testing.T) {
	t.Parallel()
	found := constants(t, filepath.Join(root, "runner"), "Outcome")
	for _, dir := range []string{"runner", "runner/feedback", "runner/notice", "runner/trace", "checkpoint/state", "checkpoint/repair"} {
		paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)Outcome: +"([a-z_]+)"|^const Outcome[A-Za-z]+ = "([a-z_]+)"`).FindAllSubmatch(src, -1) {
				found = append(found, string(m[1])+string(m[2]))
			}
		}
	}
	slices.Sort(found)
	if diff := cmp.Diff(slices.Compact(found), names(t, explain.Outcome)); diff != "" {
		t.Errorf("the outcomes and the texts differ (-outcomes +texts):\n%s", diff)
	}
}

// constants returns the texts of the constants of a type.
func constants(t *testing.T, dir, typ string) []string {
	t.Helper()
	var values []string
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			id, ok := spec.Type.(*ast.Ident)
			lit, isText := spec.Values[0].(*ast.BasicLit)
			if ok && isText && id.Name == typ {
				value, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, value)
			}
			return true
		})
	}
	return values
}

// TestForm checks what the functions that print the texts rely on, and what a reader of the
// list needs: a short headline that is a sentence.
func TestForm(t *testing.T) {
	t.Parallel()
	for _, s := range sections(t) {
		if s.Heading == "" || len(s.Topics) == 0 {
			t.Errorf("an empty section %q", s.Heading)
		}
		for _, topic := range s.Topics {
			name := strings.Join(topic.Names, ", ")
			switch {
			case !strings.HasSuffix(topic.Headline, ".") || len(topic.Headline) > 130:
				t.Errorf("%s: the headline is no short sentence: %q", name, topic.Headline)
			case strings.Count(topic.Body, "```")%2 != 0 || strings.Contains(topic.Body, "\t"):
				t.Errorf("%s: a block is not closed, or has a tab", name)
			}
		}
	}
	for _, kind := range []explain.Kind{explain.ExitCode, explain.Decision, explain.Status, explain.Word, explain.Outcome, explain.Trigger, explain.Diagnostic} {
		all := names(t, kind)
		if len(slices.Compact(slices.Clone(all))) != len(all) {
			t.Errorf("a %s has two texts", kind)
		}
	}
}

// TestExamples loads each example. One with the word mistake must give diagnostics that its
// text is about, and no others. All others must give none.
func TestExamples(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	const called = "variable \"table\" { type = string }\nvariable \"days\" { type = number }\n" +
		"pipeline \"PRD-002\" {\n  phase \"p\" {\n    workstream \"w\" { command = [\"load\", var.table, var.days] }\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(workspace, "etl-job.hcl"), []byte(called), 0o600); err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, s := range sections(t) {
		for _, topic := range s.Topics {
			for _, e := range pipelinetest.Examples(topic.Body) {
				examples++
				checkExample(t, workspace, topic, e)
			}
		}
	}
	if examples < 30 {
		t.Errorf("only %d examples found", examples)
	}
}

func checkExample(t *testing.T, workspace string, topic explain.Topic, e pipelinetest.Example) {
	t.Helper()
	source, known := e.Source()
	if !known {
		t.Errorf("%s: unknown words after hcl: %q", topic.Names[0], e.Info)
		return
	}
	in := pipeline.Inputs{Workspace: workspace, Open: true}
	parsed, _ := pipeline.Parse([]byte(source), "PRD-001.hcl")
	_, diags := parsed.Including(in).Pipeline(in)
	if e.Mistake() != (len(diags) > 0) {
		t.Errorf("%s: an example gives %d diagnostics: %v", topic.Names[0], len(diags), diags)
	}
	for _, diag := range diags {
		found := explain.Find([]explain.Section{{Topics: []explain.Topic{topic}}}, diagnostics.Code(diag.Summary))
		if len(found) == 0 {
			t.Errorf("%s: its example gives another diagnostic: %v", topic.Names[0], diag)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	texts := sections(t)
	for name, want := range map[string][]string{
		"duplicate-agent-name":  {"Two blocks have the same name, so a reference could mean either."},
		"duplicate-variable":    {"Two blocks have the same name, so a reference could mean either."},
		"duplicate-retry-block": {"The block may stand only once here."},
		"failed":                {"Session: a workstream or gate failed, and the build exited with 1. Workstream or gate: its last attempt did not succeed."},
		"7":                     nil,
		"*":                     nil,
		"":                      nil,
	} {
		var got []string
		for _, topic := range explain.Find(texts, name) {
			got = append(got, topic.Headline)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}
