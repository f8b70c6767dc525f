package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// pipelineForCI has texts that CI systems take for commands wherever a workstream can leave one.
const pipelineForCI = `
pipeline "PRD-001" {
  phase "one" {
    workstream "make" {
      script = <<-EOT
        printf '::error::x\n##[error]x\n--- x\n+++ x\n~~~ x\n^^^ +++\n' | tee 'made.txt'
        printf 'text<<E\n::error::x\n##[error]x\n--- x\nE\nsummary=::error::x ##[error]x\nmetric.m=--- x\n' >> $RUNNER_OUTPUT
        runner report state k '::error::x ##[error]x'
        runner report note --kind key_fix --change '--- x ##[error]x'
      EOT
      artifacts = ["made.txt"]
    }
    workstream "bad" {
      depends_on = [workstream.make]
      script     = "printf '::error::x\n##[error]x\n--- x\n'; echo 'main.go:3: ::error::x ##[error]x'; exit 1"
    }
  }
}
`

// TestNothingThatIsPrintedSteersACISystem runs every command that only reads in the job of a CI
// system, over a session whose texts are commands of it. None of what is printed may be one.
func TestNothingThatIsPrintedSteersACISystem(t *testing.T) {
	t.Parallel()
	for variable, isCommand := range map[string]func(line string) bool{
		"GITHUB_ACTIONS": func(line string) bool {
			return strings.Contains(line, "##[") || strings.HasPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::")
		},
		"GITLAB_CI": func(line string) bool { return strings.ContainsAny(line, "\x1b\r") },
		"BUILDKITE": func(line string) bool {
			return slices.ContainsFunc([]string{"---", "+++", "~~~", "^^^"}, func(mark string) bool { return strings.HasPrefix(line, mark) })
		},
	} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("PRD-001.hcl", pipelineForCI)
			p.run(1, "build", "PRD-001")
			p.write("made.txt", "::error::x\n##[error]y\n--- x\n")
			p.environ = append(p.environ, variable+"=true")
			printed := map[string]bool{}
			for command, invocations := range readingCommands() {
				for _, line := range invocations {
					args := strings.Fields(strings.NewReplacer("OUT", filepath.Join(p.root, "out"), "ARCHIVE", "none").Replace(line))
					if asTheyAre(args) && args[0] != "logs" || slices.Contains(args, "--raw") || args[0] == "report" { // a report is a command for Runner
						continue
					}
					out, _ := inProcess(t.Context(), p.command("runner", args...))
					for text := range strings.Lines(out) {
						if isCommand(strings.TrimSuffix(text, "\n")) {
							t.Errorf("runner %s prints %q", line, text)
						}
						if strings.Contains(text, "error") && strings.Contains(text, "x") {
							printed[command] = true
						}
					}
				}
			}
			for _, command := range []string{"runner logs", "runner status", "runner watch", "runner outputs", "runner checkpoint diff", "runner state list"} {
				if !printed[command] {
					t.Errorf("%s did not print the texts", command)
				}
			}
		})
	}
}
