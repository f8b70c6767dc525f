package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fanned = `
locals { when = "now" }
pipeline "PRD-001" {
  phase "one" {
    workstream "split" { command = ["split"] }
  }
  phase "pages" {
    workstream "page" {
      for_each     = %s
      max_elements = 3
      command      = ["translate", each.key, jsonencode(each.value), local.when]
      artifacts    = ["out/${each.key}"]
      %s
    }
    workstream "index" {
      depends_on = [workstream.page]
      command    = ["index"]
    }
  }
  phase "last" {
    workstream "check" {
      for_each = %[1]s
      command  = ["check", workstream.page[each.key].outputs.text]
    }
  }
}
`

// names lists the instances of a pipeline.
func names(p *Pipeline) string {
	var all []string
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			all = append(all, ws.Name)
		}
	}
	return strings.Join(all, " ")
}

func splitResults(outputs map[string]string) Results {
	return Results{Workstream: func(name string) (Result, bool) {
		return Result{Status: StatusCompleted, Outputs: outputs}, outputs != nil && name == "split"
	}}
}

func everyPhase(*Phase) bool { return true }

func TestWithElements(t *testing.T) {
	t.Parallel()
	const list = `toset(jsondecode(workstream.split.outputs.names))`
	tests := []struct {
		name, forEach, more string
		outputs             map[string]string
		want                string
		problem             string // what Invocation says of page[…]
	}{
		{name: "no result", forEach: list, want: `split page[…] index check[…]`, problem: "has no result"},
		{name: "texts", forEach: list, outputs: map[string]string{"names": `["b","a"]`}, want: `split page["a"] page["b"] index check["a"] check["b"]`},
		{name: "none", forEach: list, outputs: map[string]string{"names": `[]`}, want: `split index`},
		{name: "a map", forEach: `jsondecode(workstream.split.outputs.names)`, outputs: map[string]string{"names": `{"x":{"deep":1},"y":null}`}, want: `split page["x"] page["y"] index check["x"] check["y"]`},
		{name: "not JSON", forEach: list, outputs: map[string]string{"names": `x`}, want: `split page[…] index check[…]`, problem: "invalid character"},
		{name: "no such output", forEach: list, outputs: map[string]string{"name": `x`}, want: `split page[…] index check[…]`, problem: `Did you mean "name"?`},
		{name: "a list", forEach: `jsondecode(workstream.split.outputs.names)`, outputs: map[string]string{"names": `["a"]`}, want: `split page[…] index check[…]`, problem: "not a list"},
		{name: "an empty key", forEach: list, outputs: map[string]string{"names": `[""]`}, want: `split page[…] index check[…]`, problem: "null or empty"},
		{name: "a null key", forEach: list, outputs: map[string]string{"names": `["a",null]`}, want: `split page[…] index check[…]`, problem: "null or empty"},
		{name: "too many", forEach: list, outputs: map[string]string{"names": `["a","b","c","d"]`}, want: `split page[…] index check["a"] check["b"] check["c"] check["d"]`, problem: "at most 3 are allowed"},
		{
			name: "instances that are a mistake", forEach: list, more: `timeout = each.key`,
			outputs: map[string]string{"names": `["soon"]`}, want: `split page[…] index check["soon"]`, problem: `"soon"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := build(t, fmt.Sprintf(fanned, tt.forEach, tt.more), Inputs{})
			if got, want := names(p), `split page[…] index check[…]`; got != want {
				t.Errorf("without results: %s, want %s", got, want)
			}
			r := splitResults(tt.outputs)
			got := withElements(t, p, r, everyPhase)
			if diff := cmp.Diff(tt.want, names(got)); diff != "" {
				t.Error(diff)
			}
			if again := withElements(t, got, r, everyPhase); again != got && tt.problem == "" {
				t.Error("the same results give another pipeline")
			}
			if page := got.Workstream("page[…]"); page != nil {
				_, diags := page.Invocation(r)
				if !diags.HasErrors() || !strings.Contains(diags.Error(), tt.problem) {
					t.Errorf("page[…] says %v, want %q in it", diags, tt.problem)
				}
			}
		})
	}
}

// TestElementsOfSomePhases keeps the instances of phases that are not asked for, and what the
// pipeline has read from files and variables.
func TestElementsOfSomePhases(t *testing.T) {
	t.Parallel()
	p := build(t, fmt.Sprintf(fanned, `toset(jsondecode(workstream.split.outputs.names))`, ""), Inputs{})
	p = withElements(t, p, splitResults(map[string]string{"names": `["a"]`}), everyPhase)
	p = withElements(t, p, splitResults(map[string]string{"names": `["a","b"]`}), func(phase *Phase) bool { return phase.Name == "pages" })
	if got, want := names(p), `split page["a"] page["b"] index check["a"]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestInstancesDoNotCountTheirSource holds that an instance runs again only if its own element
// changes: what gave the element is not among the results that its digest counts.
func TestInstancesDoNotCountTheirSource(t *testing.T) {
	t.Parallel()
	unexpanded := build(t, fmt.Sprintf(fanned, `toset(jsondecode(workstream.split.outputs.names))`, ""), Inputs{})
	p := withElements(t, unexpanded, splitResults(map[string]string{"names": `["a"]`}), everyPhase)
	page := p.Workstream(`page["a"]`)
	if len(page.Upstream) != 0 || !cmp.Equal(page.ForEachOver(), []string{"split"}) {
		t.Errorf("upstream %q, for_each over %q", page.Upstream, page.ForEachOver())
	}
	if got := unexpanded.Workstream("page[…]").Upstream; !cmp.Equal(got, []string{"split"}) {
		t.Errorf("page[…] depends on %q, want split", got)
	}
	first, diags := page.Invocation(Results{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p = withElements(t, p, splitResults(map[string]string{"names": `["a","b"]`}), everyPhase)
	if again, _ := p.Workstream(`page["a"]`).Invocation(Results{}); again.Definition != first.Definition {
		t.Error("another element changes the definition of an instance")
	}
}

// TestLoopOverUnexpanded: a for expression names instances that are not known yet. Until they
// are, that is no mistake.
func TestLoopOverUnexpanded(t *testing.T) {
	t.Parallel()
	p := build(t, fmt.Sprintf(fanned, `toset(jsondecode(workstream.split.outputs.names))`, `
    }
    workstream "part" {
      depends_on = [for name in ["a", "b"] : workstream.page[name]]
      command    = [for name in ["a", "b"] : workstream.page[name].outputs.text]
    }
    workstream "group" {
      for_each   = { (workstream.split.outputs.names) = ["a"] }
      depends_on = [for name in each.value : workstream.page[name]]
      command    = [for name in each.value : workstream.page[name].outputs.text]
`), Inputs{})
	p = withElements(t, p, splitResults(map[string]string{"names": `["a","b","c"]`}), everyPhase)
	for name, want := range map[string][]string{"part": {`page["a"]`, `page["b"]`}, `group["[\"a\",\"b\",\"c\"]"]`: {`page["a"]`}} {
		if got := p.Workstream(name).Upstream; !cmp.Equal(got, want) {
			t.Errorf("%s depends on %q, want %q", name, got, want)
		}
	}
}

func withElements(t *testing.T, p *Pipeline, r Results, within func(*Phase) bool) *Pipeline {
	t.Helper()
	expanded, err := p.WithElements(r, within)
	if err != nil {
		t.Fatal(err)
	}
	return expanded
}
