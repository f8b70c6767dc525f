package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestWrittenForms compares what a run writes for programs with the schemas: events, the document, checkpoints, a plan, and what
// hooks and repeated work are told.
func TestWrittenForms(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, `
variable "word" { default = "x" }
pipeline "PRD-001" {
  title = "Forms"
  agent "writer" { command = ["cat"] }
  hook {
    on     = ["failed", "paused", "complete"]
    script = "cp \"$RUNNER_EVENT\" event-$RUNNER_STATUS.json"
  }
  phase "one" {
    workstream "flaky" {
      script = <<-EOT
        runner report note --kind cleanup --change "tidied up"
        if [ -f "$RUNNER_FEEDBACK" ]; then cp "$RUNNER_FEEDBACK" feedback.json; else echo 'main.go:3:1: undefined: x'; exit 1; fi
        echo "metric.score=1.5" >> "$RUNNER_OUTPUT"
        echo "out=${var.word}" >> "$RUNNER_OUTPUT"
        echo made > made.txt
      EOT
      artifacts = ["made.txt"]
      retry {
        attempts         = 2
        initial_interval = "1ms"
      }
      gate "scored" {
        metric = "score"
        min    = 1
      }
    }
    workstream "text" {
      agent      = agent.writer
      task       = "Say ${workstream.flaky.outputs.out}."
      depends_on = [workstream.flaky]
    }
    gate "sign-off" {
      approval {
        message = "Good?"
        input "why" {}
      }
    }
  }
  phase "two" {
    workstream "last" {
      for_each = toset(["a", "b"])
      when     = metric.score > 1
      command  = ["echo", each.key, gate.sign-off.inputs.why]
    }
  }
}
`)
	launch(t, dir, "plan", "PRD-001", "-o", "plan.json").exits(0)
	launch(t, dir, "build", "PRD-001", "--output", "plain", "--stream", "--events", "events-1.jsonl").exits(3)
	launch(t, dir, "approve", "PRD-001", "--input", "why=because").exits(0)
	launch(t, dir, "build", "PRD-001", "--resume", "--output", "plain", "--events", "events-2.jsonl").exits(0)
	lines := string(read(t, dir+"/events-1.jsonl")) + string(read(t, dir+"/events-2.jsonl"))
	n := 0
	for line := range strings.Lines(lines) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		n++
		if err := checkForm("events", []byte(line)); err != nil {
			t.Errorf("%s%v", line, err)
		}
	}
	if n < 40 {
		t.Errorf("there are only %d lines:\n%s", n, lines)
	}
	forms := map[string]string{
		"plan.json": "plan-file", ".runner/PRD-001.json": "prd-document", "feedback.json": "feedback", "event-paused.json": "hook-event", "event-complete.json": "hook-event",
	}
	checkpoints, err := filepath.Glob(dir + "/.runner/PRD-001/checkpoints/*.json")
	if err != nil || len(checkpoints) < 4 {
		t.Fatalf("there are %d checkpoints, %v", len(checkpoints), err)
	}
	for _, path := range checkpoints {
		rel, _ := filepath.Rel(dir, path)
		forms[rel] = "checkpoint-file"
	}
	for name, form := range forms {
		if err := checkForm(form, read(t, filepath.Join(dir, name))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, args := range [][]string{{"status", "PRD-001", "--json"}, {"graph", "PRD-001", "--format", "json"}} {
		cmd := launch(t, dir, args...)
		cmd.exits(0)
		printed := cmd.stdout.String()
		if err := checkForm(args[0], []byte(printed)); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		if err := checkForm(args[0], []byte(strings.Replace(printed, "{", `{"nonsense": true,`, 1))); err == nil {
			t.Errorf("%q may have any fields", args)
		}
	}
}
