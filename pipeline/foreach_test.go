package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const setSource = `
variable "secret" {
  type      = string
  sensitive = true
  default   = "s"
}
locals { names = ["y", "x"] }
pipeline "PRD-001" {
  phase "a" {
    workstream "s" {
      for_each = SET
      command  = ["echo", each.key, each.value]
    }
  }
}`

// instancesOf returns the command of each instance, and the diagnostics.
func instancesOf(set string) (commands [][]string, wrong []string) {
	f, _ := Parse([]byte(strings.Replace(setSource, "SET", set, 1)), "test.hcl")
	p, diags := f.Pipeline(Inputs{})
	for _, diag := range diags {
		wrong = append(wrong, diag.Summary+": "+diag.Detail)
	}
	if p == nil {
		return nil, wrong
	}
	for _, ws := range p.Phases[0].Workstreams {
		inv, _ := ws.Invocation(Results{})
		commands = append(commands, append([]string{ws.Name}, inv.Command...))
	}
	return commands, wrong
}

// TestForEachOfTexts: for_each = toset(…) gives the same instances and diagnostics as the
// same call in parentheses, which is evaluated like any other expression.
func TestForEachOfTexts(t *testing.T) {
	t.Parallel()
	for _, list := range []string{
		`["b", "a", "c", "a"]`, `[]`, `["a", 1, true]`, `tolist(["b", "a"])`, `[for i in range(12) : tostring(i)]`,
		"[\"e\u0301\", \"\u00e9\"]", `toset(["b", "a"])`, `local.names`, `local.names...`, `["a", null]`, `["a", ""]`, `[1]`, `null`, `"a"`,
		`["a", var.secret]`, `[var.secret]`, `[undefined]`, `[each.key]`, `{ a = "b" }`, `["a"], ["b"]`, ``,
	} {
		set := "toset(" + list + ")"
		got, wrong := instancesOf(set)
		want, wrongThen := instancesOf("(" + set + ")")
		if diff := cmp.Diff(want, got) + cmp.Diff(wrongThen, wrong); diff != "" {
			t.Errorf("%s: %s", set, diff)
		}
		if len(got) == 0 && len(wrong) == 0 && list != "[]" {
			t.Errorf("%s: neither instances nor diagnostics", set)
		}
	}
}
