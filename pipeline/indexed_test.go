package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// inUse returns a pipeline with a block "part" of the instances a, b and c in one phase, and in
// the next one a workstream for each of some groups of them, with an environment variable X.
func inUse(expr string) string {
	return fmt.Sprintf(`
locals { groups = { one = ["a"], two = ["a", "b"], none = [] } }
pipeline "PRD-001" {
  phase "first" {
    workstream "part" {
      for_each          = toset(["a", "b", "c"])
      sensitive_outputs = ["token"]
      command           = ["true"]
    }
    workstream "names" { command = ["true"] }
  }
  phase "second" {
    workstream "use" {
      for_each = local.groups
      command  = ["true"]
      env      = { X = %s }
    }
  }
}
`, expr)
}

// TestInstancesInLoops: a reference names the instances whose keys a for expression over
// constants gives. Its value is what it is when it names the whole block.
func TestInstancesInLoops(t *testing.T) {
	t.Parallel()
	r := Results{Workstream: func(name string) (Result, bool) {
		key := strings.Trim(strings.TrimPrefix(name, "part"), `[]"`)
		return Result{Status: StatusCompleted, Outputs: map[string]string{"o": "of " + key, "token": "***"}, Artifacts: []string{key + ".1", key + ".2"}}, true
	}}
	const all, named = `part["a"],part["b"],part["c"]`, `part["a"],part["b"]`
	tests := []struct{ name, expr, upstream, value string }{
		{"a value", `join(",", [for s in each.value : workstream.part[s].outputs.o])`, named, "of a,of b"},
		{"a key that is made", `join(",", [for i, s in each.value : workstream.part[lower(upper(s))].status])`, named, "completed,completed"},
		{"an object", `join(",", keys({ for s in each.value : workstream.part[s].outputs.o => s }))`, named, "of a,of b"},
		{"a template", `"%{ for s in each.value }${workstream.part[s].outputs.o} %{ endfor }"`, named, "of a of b "},
		{"an inner collection", `join(",", flatten([for s in each.value : [for f in workstream.part[s].artifacts : upper(f)]]))`, named, "A.1,A.2,B.1,B.2"},
		{"an inner loop", `join(",", flatten([for g in [each.value, []] : [for s in g : workstream.part[s].outputs.o]]))`, named, "of a,of b"},
		{"an outer loop over results", `join(",", flatten([for f in workstream.names.artifacts : [for s in each.value : workstream.part[s].status]]))`, "names," + named, "completed,completed,completed,completed"},
		{"a condition", `join(",", [for s in ["a", "b", "c"] : workstream.part[s].outputs.o if contains(each.value, s)])`, named, "of a,of b"},
		{"a condition over results", `join(",", [for s in each.value : s if workstream.part[s].outputs.o == "of a"])`, named, "a"},
		{"no instances", `join(",", [for s in local.groups.none : workstream.part[s].outputs.o])`, "", ""},
		{"an instance besides", `join(",", concat([workstream.part["c"].status], [for s in each.value : workstream.part[s].status]))`, `part["c"],` + named, "completed,completed,completed"},
		{"keys over results", `join(",", [for s in split(" ", "a b ${workstream.names.outputs.o}") : workstream.part[substr(s, 0, 1)].status if length(s) == 1])`, "names," + all, "completed,completed"},
		{"keys that fail where nothing is evaluated", `try(join(",", [for s in each.value.x : workstream.part[s].status]), "else")`, all, "else"},
		{"all elements", `join(",", [for s, part in workstream.part : part.status])`, all, "completed,completed,completed"},
		{"a key that is not there, in try", `join(",", [for s in ["a", "d"] : try(workstream.part[s].status, "no ${s}")])`, `part["a"]`, "completed,no d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			use := build(t, inUse(tt.expr), Inputs{}).Workstream(`use["two"]`)
			inv, diags := use.Invocation(r)
			if diags.HasErrors() || inv.Env["X"] != tt.value {
				t.Errorf("the value is %q, want %q: %v", inv.Env["X"], tt.value, diags)
			}
			want := strings.FieldsFunc(tt.upstream, func(r rune) bool { return r == ',' })
			got := slices.Sorted(slices.Values(use.Upstream))
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("it uses %q, want %q", got, want)
			}
			if needs := use.SensitiveNeeds(); tt.name == "a value" && len(needs) > 0 {
				t.Errorf("it needs %v, and uses only another output", needs)
			}
		})
	}
}

// TestKeyOfNoInstance: a key that a block does not have is an error with a place.
func TestKeyOfNoInstance(t *testing.T) {
	t.Parallel()
	use := build(t, inUse(`join(",", [for s in ["a", "d"] : workstream.part[s].status])`), Inputs{}).Workstream(`use["one"]`)
	_, diags := use.Invocation(Results{Workstream: func(string) (Result, bool) { return Result{Status: StatusCompleted}, true }})
	if !diags.HasErrors() || diags[0].Summary != "Invalid index" || diags[0].Subject.Start.Line != 16 {
		t.Errorf("the diagnostics are %v", diags)
	}
}

// TestMissingOutputInLoop: the diagnostic names the instance that lacks the output.
func TestMissingOutputInLoop(t *testing.T) {
	t.Parallel()
	use := build(t, inUse(`join(",", [for s in each.value : workstream.part[s].outputs.o])`), Inputs{}).Workstream(`use["two"]`)
	_, diags := use.Invocation(Results{Workstream: func(name string) (Result, bool) {
		r := Result{Status: StatusCompleted, Outputs: map[string]string{"o": "x"}}
		if name == `part["b"]` {
			r.Outputs = nil
		}
		return r, true
	}})
	want := MissingOutput{`part["b"]`, "o"}
	if len(diags) != 1 || diags[0].Extra != want {
		t.Errorf("the diagnostics are %v", diags)
	}
}
