package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const lentOutputs = `
pipeline "PRD-001" {
  phase "one" {
    workstream "login" {
      for_each          = toset(["a", "b"])
      sensitive_outputs = ["token", "key"]
      command           = ["login", each.key]
    }
    workstream "deploy" {
      depends_on = [workstream.login]
      command    = ["deploy", workstream.login["a"].outputs.user]
      env        = { TOKEN = "t ${workstream.login["a"].outputs.token}", ALL = join(",", [for k, r in workstream.login : lookup(r.outputs, "user", "")]) }

      gate "g" {
        env     = { KEY = jsondecode(workstream.login["b"].outputs.key).k }
        command = ["check"]
      }
    }
    workstream "plain" {
      depends_on = [workstream.login]
      command    = ["plain", workstream.login["a"].outputs.user, workstream.login["b"].artifacts[0]]
    }
  }
}`

// lending returns results in which the instances of login have sensitive outputs, with
// these values if they are known.
func lending(known map[string]string) Results {
	return Results{Workstream: func(name string) (Result, bool) {
		recorded := map[string]string{"token": "***", "key": "***", "user": "a person"}
		return Result{Outputs: recorded, Sensitive: known, Artifacts: []string{"file"}}, strings.HasPrefix(name, "login")
	}}
}

// TestSensitiveOutputs: what uses a sensitive output counts it by its name, and knows its
// value only if the results have it.
func TestSensitiveOutputs(t *testing.T) {
	t.Parallel()
	p := build(t, lentOutputs, Inputs{})
	if diff := cmp.Diff([]string{"token", "key"}, p.Workstream(`login["a"]`).SensitiveOutputs); diff != "" || !p.HasSecrets() || !p.LearnsSecrets() {
		t.Error(diff)
	}
	deploy := p.Workstream("deploy")
	var definitions []string
	for _, known := range []map[string]string{nil, {"token": "first-token", "key": `{"k": "first-key"}`}, {"token": "second-token", "key": `{"k": "second-key"}`}} {
		inv, diags := deploy.Invocation(lending(known))
		gate, more := deploy.Gates[0].Invocation(lending(known))
		if diags.HasErrors() || more.HasErrors() {
			t.Fatal(diags, more)
		}
		definitions = append(definitions, inv.Definition+gate.Definition)
		if known == nil {
			for want, got := range map[string][]string{"workstream.login.outputs.token": inv.Unresolved, "workstream.login.outputs.key": gate.Unresolved} {
				if len(got) == 0 || !strings.Contains(strings.Join(got, " "), want) {
					t.Errorf("unresolved %v, want %s", got, want)
				}
			}
			continue
		}
		if inv.Env["TOKEN"] != "t "+known["token"] || inv.Env["ALL"] != "a person,a person" || len(inv.Unresolved)+len(gate.Unresolved) > 0 || !strings.HasSuffix(gate.Env["KEY"], "-key") {
			t.Errorf("%+v, %+v", inv, gate)
		}
	}
	if definitions[0] != definitions[1] || definitions[1] != definitions[2] {
		t.Errorf("the definition depends on the values: %v", definitions)
	}
	if inv, diags := p.Workstream("plain").Invocation(lending(nil)); diags.HasErrors() || len(inv.Unresolved) > 0 || inv.Command[1] != "a person" {
		t.Errorf("%+v, %v", inv, diags)
	}
}

// TestSensitiveNeeds: a process names the sensitive outputs that it needs, by instance.
func TestSensitiveNeeds(t *testing.T) {
	t.Parallel()
	p := build(t, lentOutputs, Inputs{})
	deploy := p.Workstream("deploy")
	needs := map[SensitiveNeed]bool{}
	for _, need := range deploy.SensitiveNeeds() {
		needs[need] = true
	}
	// All outputs of each element of a for expression count.
	want := map[SensitiveNeed]bool{{`login["a"]`, "token"}: true, {`login["a"]`, "key"}: true, {`login["b"]`, "token"}: true, {`login["b"]`, "key"}: true}
	if diff := cmp.Diff(want, needs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]SensitiveNeed{{`login["b"]`, "key"}}, deploy.Gates[0].SensitiveNeeds()); diff != "" {
		t.Error(diff)
	}
	if got := p.Workstream("plain").SensitiveNeeds(); got != nil {
		t.Error(got)
	}
}

// TestSecrecyOfSensitiveOutputs: a failure of an expression does not show the value.
func TestSecrecyOfSensitiveOutputs(t *testing.T) {
	t.Parallel()
	src := strings.Replace(lentOutputs, `command    = ["deploy", `, `command    = ["deploy", tonumber(workstream.login["a"].outputs.token), `, 1)
	f, _ := Parse([]byte(src), "lent.hcl")
	p, diags := f.Pipeline(Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	_, diags = p.Workstream("deploy").Invocation(lending(map[string]string{"token": secretText, "key": secretText}))
	text := shown(t, f, diags)
	if !diags.HasErrors() || !strings.Contains(text, "with the value of workstream.login.outputs.token") {
		t.Errorf("%d diagnostics:\n%s", len(diags), text)
	}
	for _, leak := range leaks {
		if strings.Contains(text, leak) {
			t.Errorf("it shows %q:\n%s", leak, text)
		}
	}
}

// TestDefinitionOfSensitiveOutputs: whether an output is sensitive counts, since the value on
// record is another one.
func TestDefinitionOfSensitiveOutputs(t *testing.T) {
	t.Parallel()
	plain := definition(t, "", `command = ["a"]`, Inputs{}, Results{})
	sensitive := definition(t, "", "command = [\"a\"]\nsensitive_outputs = [\"a\", \"b\"]", Inputs{}, Results{})
	reversed := definition(t, "", "command = [\"a\"]\nsensitive_outputs = [\"b\", \"a\"]", Inputs{}, Results{})
	none := definition(t, "", "command = [\"a\"]\nsensitive_outputs = []", Inputs{}, Results{})
	if plain == sensitive || sensitive != reversed || plain != none {
		t.Error(plain, sensitive, reversed, none)
	}
}
