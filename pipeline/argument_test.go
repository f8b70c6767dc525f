package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// whatIsRead builds workstreams with list as their command, inputs and shell. It returns
// what the workstreams run and read, and the diagnostics.
func whatIsRead(list string) (read, wrong []string) {
	src := strings.ReplaceAll(`pipeline "PRD-001" {
  phase "a" {
    workstream "s" {
      command = LIST
      inputs  = LIST
    }
    workstream "t" {
      script = "true"
      shell  = LIST
    }
  }
}`, "LIST", list)
	f, _ := Parse([]byte(src), "test.hcl")
	p, diags := f.Pipeline(Inputs{})
	for _, diag := range diags {
		wrong = append(wrong, diag.Summary+": "+diag.Detail)
	}
	if p == nil {
		return nil, wrong
	}
	for _, ws := range p.Phases[0].Workstreams {
		inv, _ := ws.Invocation(Results{})
		read = append(append(append(read, inv.Definition), ws.Inputs...), inv.Command...)
	}
	return read, wrong
}

// TestLiteralTexts: Runner reads a list of literal texts without evaluating it. The list
// gives the same values and diagnostics as in parentheses, where it is evaluated.
func TestLiteralTexts(t *testing.T) {
	t.Parallel()
	for _, list := range []string{
		`["true"]`, `["a", "b c"]`, `[]`, `[""]`, `["a", ""]`, `["a", "\u0000"]`, "[\"e\u0301\"]", `["$${x}"]`, `["a\nb"]`,
		`["../x"]`, `["[x"]`, `["a", 1]`, `["a", "${1}"]`, `["a${1}"]`, `["a", null]`, `"a"`, `["a", ["b"]]`,
	} {
		got, wrong := whatIsRead(list)
		want, wrongThen := whatIsRead("(" + list + ")")
		if diff := cmp.Diff(want, got) + cmp.Diff(wrongThen, wrong); diff != "" {
			t.Errorf("%s: %s", list, diff)
		}
		if len(got)+len(wrong) == 0 {
			t.Errorf("%s: neither values nor diagnostics", list)
		}
	}
}
