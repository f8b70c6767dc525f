package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/pipeline/diagnostics"
)

// inWorkstream returns a pipeline whose only workstream holds the given lines, the first
// of them in line 4.
func inWorkstream(lines string) string {
	return "pipeline \"PRD-001\" {\n  phase \"a\" {\n    workstream \"w\" {\n" + lines + "\n    }\n  }\n}\n"
}

// TestFirstMistakes writes what authors know from other tools. Each diagnostic has the
// line of the mistake and says what to write, and there are no others.
func TestFirstMistakes(t *testing.T) {
	t.Parallel()
	hidden := func(path string) bool { return path == ".runner" || strings.HasPrefix(path, ".runner/") }
	tests := []struct {
		name, source string
		want         []string // "line: summary: a part of the detail"
	}{
		{"shell variable", inWorkstream(`script = "echo ${HOME}"`), []string{"4: Unknown reference: write $HOME or $${HOME}"}},
		{"a root alone", inWorkstream(`script = "echo ${var}"`), []string{`4: Invalid reference: "var" alone is not a value; write var.NAME.`}},
		{"an element of a list", inWorkstream("script = \"true\"\ndepends_on = [[\"a\"][0 + 0]]"), []string{`5: Invalid dependency: Each element of "depends_on" must be a reference`}},
		{"shell variable in a heredoc", inWorkstream("script = <<-EOT\n  for i in 1 2; do\n    echo ${i}\n  done\nEOT"), []string{"6: Unknown reference: write $i or $${i}"}},
		{"shell variable in a command", inWorkstream(`command = ["echo", "${HOME}"]`), []string{`4: Unknown reference: use script = "…" with $HOME or $${HOME} in it`}},
		{"shell variable elsewhere", inWorkstream("script = \"true\"\ntitle = \"of ${USER}\""), []string{`5: Unknown reference: declare variable "USER" {}, refer to var.USER, and set PRDRUNNER_VAR_USER`}},
		{"command as a text", inWorkstream(`command = "make test"`), []string{`4: Incorrect value type: Write script = "make test" for a shell, or without one command = ["make", "test"].`}},
		{"command for a shell", inWorkstream(`command = "make | tee log"`), []string{`4: Incorrect value type: Write script = "make | tee log" for a shell, or without one command = ["PROGRAM", "ARGUMENT"].`}},
		{"verify as a text", inWorkstream("command = [\"true\"]\nverify = \"test -f x\""), []string{`5: Incorrect value type: Write verify = ["test", "-f", "x"].`}},
		{"inputs as a text", inWorkstream("command = [\"true\"]\ninputs = \"src/**\""), []string{`5: Incorrect value type: Write inputs = ["src/**"].`}},
		{"needs", inWorkstream("script = \"true\"\nneeds = [\"x\"]"), []string{"5: Unsupported argument: depends_on = [workstream.NAME]"}},
		{"outputs", inWorkstream("script = \"true\"\noutputs = [\"x\"]"), []string{`5: Unsupported argument: artifacts = ["PATH"]`}},
		{"count", inWorkstream("script = \"true\"\ncount = 3"), []string{"5: Unsupported argument: for_each = toset("}},
		{"environment", inWorkstream("script = \"true\"\nenvironment = {}"), []string{"5: Unsupported argument: env = { NAME = "}},
		{"run", inWorkstream(`run = "make"`), []string{`4: Unsupported argument: script = "TEXT"`}},
		{"our own name in the wrong place", inWorkstream("script = \"true\"\nmax_parallel = 2"), []string{"5: Unsupported argument: an argument of a phase"}},
		{"retry as a number", inWorkstream("script = \"true\"\nretry = 3"), []string{"5: Unsupported argument: a block, retry { attempts = 3 }"}},
		{"script as a list", inWorkstream(`script = ["a", "b"]`), []string{`4: Incorrect value type: Write the lines into one text, script = <<-EOT`}},
		{"an artifact in the state", inWorkstream("script = \"true\"\nartifacts = [\"out\", \".runner/x\"]"), []string{`5: Path that no glob sees: ".runner/x" in "artifacts"`}},
		{"artifacts in the state", inWorkstream("script = \"true\"\nartifacts = [\".runner/**\", \".run*\"]"), []string{`5: Path that no glob sees: ".runner/**" in "artifacts"`}},
		{"all excluded", inWorkstream("script = \"true\"\ninputs = [\"src\", \"!src\"]"), []string{`5: Exclusion of everything: "!src" takes all out again that "src" in "inputs" brings in, and nothing is left. Exclude less, such as "!src/PART"`}},
		{"not all excluded", inWorkstream("script = \"true\"\ninputs = [\"lib\", \"src\", \"!src\"]"), nil},
		{"a backup", inWorkstream("script = \"true\"\nbackup {\n scope = []\n}"), []string{
			`5: Unsupported block type: "backup" is not expected here: what a workstream changes, and must be taken back if it fails, is named by a block protect`,
			"5: Empty protection: at least one of",
		}},
		{"no expiry", inWorkstream("script = \"true\"\nprotect {\n scope = [\"db\"]\n expiry = \"\"\n}"), []string{`7: Invalid duration: "expiry" cannot be ""; write a positive duration with its unit, such as "30m" or "24h", or "never".`}},
		{"a scope in the state", inWorkstream("script = \"true\"\nprotect {\n scope = [\".runner/**\"]\n}"), []string{`6: Path that no glob sees: ".runner/**" in "scope"`}},
		{"a scope without protect", inWorkstream("script = \"true\"\nscope = [\"db\"]"), []string{"5: Unsupported argument: an argument of the protect block of a workstream"}},
		{"a hook with a label", "pipeline \"PRD-001\" {\n  hook \"failed\" { script = \"true\" }\n" + strings.TrimPrefix(inWorkstream(`script = "true"`), "pipeline \"PRD-001\" {\n"), []string{
			`2: Hook with a label: Instead of the label, write: hook { on = ["failed"] }.`,
		}},
		{"events in a workstream", inWorkstream("script = \"true\"\non = [\"failed\"]"), []string{"5: Unsupported argument: an argument of a hook"}},
		{"an import", "import \"common\" {}\n" + inWorkstream(`script = "true"`), []string{`1: Unsupported block type: include = ["common/*.hcl"], at the top of the file`}},
		{"a block include", "include {}\n" + inWorkstream(`script = "true"`), []string{`1: Unsupported block type: include = ["common/*.hcl"], at the top of the file`}},
		{"include in the pipeline", strings.Replace(inWorkstream(`script = "true"`), "\n", "\n  include = [\"x.hcl\"]\n", 1), []string{`2: Unsupported argument: include = ["common/*.hcl"], at the top of the file`}},
		{"a name of nowhere", inWorkstream("script = \"true\"\nretry {\n  backoff = \"1s\"\n}"), []string{`6: Unsupported argument: The arguments here are: attempts, initial_interval, `}},
		{"a block of nowhere", inWorkstream("script = \"true\"\nbackoff {}"), []string{`5: Unsupported block type: The blocks here are: call, gate, isolate, protect, retry`}},
		{"a slip", inWorkstream("script = \"true\"\ninput = []"), []string{`5: Unsupported argument: Did you mean "inputs"?`}},
		{
			"stage, job and run", "pipeline \"PRD-001\" {\n  stage \"a\" {\n    job \"w\" {\n      run = \"make\"\n      needs = []\n    }\n  }\n}\n",
			[]string{`2: Unsupported block type: phase "NAME" {}`, `3: Unsupported block type: workstream "NAME" {}`, `4: Unsupported argument: script = "TEXT"`, "5: Unsupported argument: depends_on"},
		},
		{"steps", "pipeline \"PRD-001\" {\n  phase \"a\" {\n    steps {}\n  }\n}\n", []string{`3: Unsupported block type: workstream "NAME" {}`}},
		{"a gate with run", inWorkstream("script = \"true\"\ngate \"g\" {\n run = \"true\"\n}"), []string{`6: Unsupported argument: script = "TEXT"`}},
		{"a workstream at file level", "workstream \"w\" {}\n" + inWorkstream(`script = "true"`), []string{"1: Unsupported block type: a workstream stands in a phase"}},
		{
			"two bad globs of three", inWorkstream("script = \"true\"\ninputs = [\n  \"a/*\",\n  \"b[\",\n  \"c/../../d\",\n]"),
			[]string{`7: Invalid glob: "b[" in "inputs"`, `8: Path outside the workspace: "c/../../d" in "inputs"`},
		},
		{"all instances of the own block", inWorkstream("for_each = { x = [\"y\"], y = [] }\ndepends_on = [for k in each.value : workstream.w[k]]\nscript = \"echo ${join(\",\", [for k, w in workstream.w : w.status])}\""), []string{
			`6: Result of a workstream that does not run earlier: workstream.w stands for all instances of the block here, and the workstream w["x"] belongs to one of them. It can use the results of instances on which that one depends`,
		}},
		{"an instance of the own block that is not chosen", inWorkstream("for_each = { x = [\"y\"], y = [], z = [] }\ndepends_on = [for k in each.value : workstream.w[k]]\nscript = \"echo ${join(\",\", [for k in [\"y\", \"z\"] : workstream.w[k].status if each.key == \"x\"])}\""), []string{
			`6: Result of a workstream that does not run earlier: It is not certain that workstream.w["z"] has completed before the workstream w["x"] starts. Add workstream.w["z"] to depends_on of w.`,
		}},
		{"another instance of the own block", inWorkstream("for_each = toset([\"x\", \"y\"])\nscript = each.key == \"x\" ? \"true\" : workstream.w[\"x\"].status"), []string{
			`5: Result of a workstream that does not run earlier: The workstream w["x"] cannot use its own result. Its own gates can.`,
		}},
		{"an id of another form", strings.Replace(inWorkstream(`script = "true"`), "PRD-001", "release", 1), []string{`1: Invalid PRD id: set id_pattern in runner.yaml: id_pattern: "[a-z][a-z0-9-]*"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, _ := Parse([]byte(tt.source), "PRD-001.hcl")
			_, diags := f.Pipeline(Inputs{Hidden: hidden})
			report := diagnostics.NewReport(f.Sources(), diags)
			if len(report.Diagnostics) != len(tt.want) {
				t.Fatal(render(t, f, diags))
			}
			for i, diag := range report.Diagnostics {
				prefix := fmt.Sprintf("%d: %s: ", diag.Range.Start.Line, diag.Summary)
				if part, ok := strings.CutPrefix(tt.want[i], prefix); !ok || !strings.Contains(diag.Detail, part) {
					t.Errorf("want %s\ngot  %s%s", tt.want[i], prefix, diag.Detail)
				}
			}
		})
	}
}

// TestSensitiveListAdvice holds that advice shows the text of the file, not a value.
func TestSensitiveListAdvice(t *testing.T) {
	t.Parallel()
	f, _ := Parse([]byte("variable \"token\" {\n  sensitive = true\n}\n"+inWorkstream(`command = "login ${var.token}"`)), "PRD-001.hcl")
	_, diags := f.Pipeline(Inputs{Variables: map[string]Input{"token": {Text: "hunter22"}}})
	text := render(t, f, diags)
	if strings.Contains(text, "hunter22") || !strings.Contains(text, `script = "login ${var.token}"`) {
		t.Error(text)
	}
}

// TestDiagnosticsInOrder: diagnostics without a place come first, then those of each file
// in the order of their lines.
func TestDiagnosticsInOrder(t *testing.T) {
	t.Parallel()
	at := func(name string, offset int) *hcl.Range {
		return &hcl.Range{Filename: name, Start: hcl.Pos{Line: 1, Column: 1, Byte: offset}}
	}
	diags := hcl.Diagnostics{
		{Summary: "E", Subject: at("b", 7)}, {Summary: "F", Subject: at("a", 3)}, {Summary: "C", Subject: at("b", 2)},
		{Summary: "A"}, {Summary: "G", Subject: at("a", 9)}, {Summary: "D", Subject: at("b", 2)}, {Summary: "B"},
	}
	got := ""
	for _, diag := range diagnostics.NewReport(nil, diags).Diagnostics {
		got += diag.Summary
	}
	if got != "ABCDEFG" {
		t.Error(got)
	}
}
