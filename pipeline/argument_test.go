package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// whatIsRead is what a workstream runs and takes in where its lists are given as
// an expression, and what is wrong.
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

// TestLiteralTexts: a list of literal texts means the same, and is refused for the
// same mistakes, as where it is evaluated, as in parentheses.
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
			t.Errorf("%s: nothing at all", list)
		}
	}
}
