package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/pipeline/suggest"
)

// blocksOfLanguage returns the types of all blocks that may stand in a file, at any depth.
func blocksOfLanguage(t *testing.T) []string {
	t.Helper()
	all := []string{""}
	for i := 0; i < len(all); i++ {
		body, ok := BodyOf(all[i])
		if !ok {
			t.Fatalf("nothing is known of the block %q", all[i])
		}
		for _, nested := range body.Blocks {
			if nested.Type != "locals" && !slices.Contains(all, nested.Type) {
				all = append(all, nested.Type)
			}
		}
	}
	return all
}

// TestBodyOf: each block has what its schema names, and no block is forgotten.
func TestBodyOf(t *testing.T) {
	t.Parallel()
	if got := len(blocksOfLanguage(t)); got < 25 {
		t.Errorf("there are only %d blocks", got)
	}
	body, _ := BodyOf("savepoint")
	want := Body{Arguments: []string{"driver", "method", "url"}, Required: []string{"driver", "url"}}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	if body, _ := BodyOf(""); !slices.ContainsFunc(body.Blocks, func(n Nested) bool { return n.Type == "pipeline" && slices.Equal(n.Labels, []string{"id"}) }) {
		t.Errorf("a file has no pipeline: %v", body.Blocks)
	}
	for _, unknown := range []string{"locals", "nonsense"} {
		if _, ok := BodyOf(unknown); ok {
			t.Errorf("%s has a body", unknown)
		}
	}
}

// TestWords: a word that is none of those that an argument takes is a mistake, whose message lists the same words.
func TestWords(t *testing.T) {
	t.Parallel()
	file := func(block, line string) string {
		const phase = "phase \"p\" {\n workstream \"w\" { command = [\"true\"] }\n}\n"
		in := func(body string) string { return "pipeline \"PRD-001\" {\n" + body + "}\n" }
		switch block {
		case "workstream":
			return in("phase \"p\" {\n workstream \"v\" { command = [\"true\"] }\n workstream \"w\" {\n command = [\"true\"]\n depends_on = [workstream.v]\n" + line + "}\n}\n")
		case "isolate":
			return in("phase \"p\" {\n workstream \"w\" {\n command = [\"true\"]\n isolate {\n" + line + "}\n}\n}\n")
		case "protect":
			return in("phase \"p\" {\n workstream \"w\" {\n command = [\"true\"]\n protect {\n scope = [\"x\"]\n" + line + "}\n}\n}\n")
		case "defaults":
			return in("defaults {\n" + line + "}\n" + phase)
		case "phase":
			return in(phase + "phase \"q\" {\n" + line + " workstream \"x\" { command = [\"true\"] }\n}\n")
		case "savepoint":
			if !strings.HasPrefix(line, "driver") {
				line += "driver = \"sqlite\"\n"
			}
			return in("savepoint \"s\" {\n url = \"x\"\n" + line + "}\n" + phase)
		default:
			label := ""
			if block == "agent" || block == "service" {
				label = ` "x"`
			}
			return in(block + label + " {\n command = [\"true\"]\n" + line + "}\n" + phase)
		}
	}
	found := 0
	for _, block := range blocksOfLanguage(t) {
		body, _ := BodyOf(block)
		for _, argument := range body.Arguments {
			words, ok := Words(block, argument)
			if !ok {
				continue
			}
			found++
			value := `"nonsense"`
			if argument == "on" || block == "review" {
				value = `["nonsense"]`
			}
			f, _ := Parse([]byte(file(block, fmt.Sprintf("%s = %s\n", argument, value))), "PRD-001.hcl")
			_, diags := f.Pipeline(Inputs{Open: true})
			if listing := suggest.Listing(slices.Values(words)); !strings.Contains(diags.Error(), listing) && !strings.Contains(fmt.Sprint(diags), listing) {
				t.Errorf("%s.%s: the mistakes do not name %s: %v", block, argument, listing, diags)
			}
		}
	}
	if found < 12 {
		t.Errorf("only %d arguments take words", found)
	}
}

// TestFollowing: something can follow each root of a reference, and the message about what can't follow it names what can.
func TestFollowing(t *testing.T) {
	t.Parallel()
	for root := range rootKinds {
		if root != "metric" && Declares(root) == "" && len(Following(root, false)) == 0 {
			t.Errorf("nothing can follow %s", root)
		}
	}
	for reference, want := range map[string][]string{
		"each.nonsense": Following("each", false), "pipeline.nonsense": Following("pipeline", false), "run.nonsense": Following("run", false), "iteration.nonsense": Following("iteration", false), "issue.nonsense": Following("issue", false),
		"workstream.first.nonsense": {"outputs", "artifacts", "status"}, "service.db.nonsense": Following("service", true), "gate.asked.nonsense": Following("gate", true),
	} {
		f, _ := Parse([]byte(`
pipeline "PRD-001" {
  issue { command = ["true"] }
  service "db" { command = ["true"] }
  phase "p" {
    repeat { max = 2 }
    workstream "first" {
      command = ["true"]
      gate "asked" {
        approval {
          message = "?"
          input "x" {}
        }
      }
    }
    workstream "w" {
      for_each   = toset(["k"])
      depends_on = [workstream.first]
      services   = [service.db]
      command    = ["echo", `+reference+`]
    }
  }
}
`), "PRD-001.hcl")
		_, diags := f.Pipeline(Inputs{Open: true})
		said := false
		for _, diag := range diags {
			about := diag.Subject != nil && strings.Contains(string(diag.Subject.SliceBytes(f.Source())), "nonsense")
			said = said || about && !slices.ContainsFunc(want, func(name string) bool { return !strings.Contains(diag.Detail, name) })
		}
		if len(want) == 0 || !said {
			t.Errorf("%s: the mistakes do not name %v: %v", reference, want, diags)
		}
	}
}

// TestRoots: agents and savepoints are named where they are chosen, and nowhere else.
func TestRoots(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]string{"agent": "agent", "savepoints": "savepoint", "command": ""} {
		got := Roots(argument)
		for _, root := range []string{"agent", "savepoint"} {
			if slices.Contains(got, root) != (root == want) {
				t.Errorf("in %s, a reference can begin with %q", argument, got)
			}
		}
		if !slices.Contains(got, "var") || !slices.IsSorted(got) {
			t.Errorf("in %s, a reference can begin with %q", argument, got)
		}
	}
}

// TestReferencesOfFile: each reference to a declaration is found, at the place of its name.
func TestReferencesOfFile(t *testing.T) {
	t.Parallel()
	f, _ := Parse([]byte(`
variable "v" {}
locals { l = "${var.v}!" }
gate "g" { command = ["true", local.l] }
pipeline "PRD-001" {
  phase "p" {
    workstream "a" {
      for_each = toset(["k"])
      command  = ["x", each.key, pipeline.id]
      gates    = [gate.g]
      gate "own" {
        approval {
          message = "?"
          input "i" {}
        }
      }
    }
    workstream "b" {
      depends_on = [for a in ["k"] : workstream.a[a]]
      command    = ["x", workstream.a["k"].outputs.o, gate.own.inputs.i]
    }
  }
}
`), "PRD-001.hcl")
	var got []string
	for _, r := range f.References() {
		if text := string(r.NameRange.SliceBytes(f.Source())); text != r.Name {
			t.Errorf("%s %s is at %q", r.Kind, r.Name, text)
		}
		got = append(got, fmt.Sprintf("%s %s %v", r.Kind, r.Name, r.Answer))
	}
	want := []string{"variable v false", "local l false", "gate g false", "workstream a false", "workstream a false", "gate own true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
