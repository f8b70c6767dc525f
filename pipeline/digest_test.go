package pipeline

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// definition returns the digest of the definition of workstream x of a pipeline.
func definition(t *testing.T, prelude, body string, in Inputs, r Results) string {
	t.Helper()
	p := build(t, prelude+"\npipeline \"PRD-001\" {\n  phase \"a\" {\n    workstream \"x\" {\n"+body+"\n    }\n  }\n}", in)
	inv, diags := p.Workstream("x").Invocation(r)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if !strings.HasPrefix(inv.Definition, "sha256:") || len(inv.Definition) != 71 {
		t.Fatal(inv.Definition)
	}
	return inv.Definition
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	const token = `variable "token" {
  type      = string
  sensitive = true
}
variable "host" { default = "a" }
`
	with := func(token string) Inputs { return Inputs{Variables: map[string]Input{"token": {Text: token}}} }
	first := Results{Run: RunInfo{Session: "S1", Attempt: 1}}
	for _, test := range []struct {
		name        string
		preA, bodyA string
		preB, bodyB string
		inA, inB    Inputs
		runA, runB  Results
		wantTheSame bool
	}{
		{name: "command", bodyA: `command = ["a"]`, bodyB: `command = ["b"]`},
		{name: "arguments are not joined", bodyA: `command = ["a", "b"]`, bodyB: `command = ["a b"]`},
		{name: "script against command", bodyA: `command = ["sh", "-euc", "x"]`, bodyB: `script = "x"`},
		{name: "shell", bodyA: `script = "x"`, bodyB: "script = \"x\"\nshell = [\"bash\", \"-c\"]"},
		{name: "the default shell written out", bodyA: `script = "x"`, bodyB: "script = \"x\"\nshell = [\"sh\", \"-euc\"]", wantTheSame: true},
		{name: "dir", bodyA: `command = ["a"]`, bodyB: "command = [\"a\"]\ndir = \"d\""},
		{name: "env", bodyA: "command = [\"a\"]\nenv = { A = 1 }", bodyB: "command = [\"a\"]\nenv = { A = 2 }"},
		{name: "order of env", bodyA: "command = [\"a\"]\nenv = { A = 1, B = 2 }", bodyB: "command = [\"a\"]\nenv = { B = 2, A = 1 }", wantTheSame: true},
		{name: "inputs", bodyA: `command = ["a"]`, bodyB: "command = [\"a\"]\ninputs = [\"x\"]"},
		{name: "inputs against artifacts", bodyA: "command = [\"a\"]\nartifacts = [\"x\"]", bodyB: "command = [\"a\"]\ninputs = [\"x\"]"},
		{name: "effect", bodyA: `command = ["a"]`, bodyB: "command = [\"a\"]\neffect = \"pure\""},
		{name: "a cache", bodyA: "command = [\"a\"]\neffect = \"pure\"", bodyB: "command = [\"a\"]\neffect = \"pure\"\ncache = true", wantTheSame: true},
		{name: "how a value is written", preA: `locals { v = "a" }`, bodyA: `command = [local.v]`, bodyB: `command = ["a"]`, wantTheSame: true},
		{
			name:        "what does not decide what the process does",
			bodyA:       `command = ["a"]`,
			bodyB:       "command = [\"a\"]\ntitle = \"t\"\ndescription = \"d\"\ntimeout = \"1m\"\nretry { attempts = 3 }\non_gate_failure = \"rerun\"\ngate \"g\" { command = [\"x\"] }",
			wantTheSame: true,
		},
		{name: "a sensitive value", preA: token, preB: token, bodyA: `command = [var.token]`, bodyB: `command = [var.token]`, inA: with("secret-1"), inB: with("secret-2"), wantTheSame: true},
		{name: "layout of a sensitive expression", preA: token, preB: token, bodyA: `command = ["a", var.token]`, bodyB: "command = [\n  \"a\", # comment\n  var.token\n]", inA: with("secret-1"), inB: with("secret-2"), wantTheSame: true},
		{name: "spaces in a sensitive expression", preA: token, preB: token, bodyA: `command = ["a",var.token]`, bodyB: "command = [ \"a\" ,   var.token ] # comment", inA: with("secret-1"), inB: with("secret-2"), wantTheSame: true},
		{name: "another sensitive expression", preA: token, preB: token, bodyA: `command = [var.token]`, bodyB: `command = [upper(var.token)]`, inA: with("secret-1"), inB: with("secret-1")},
		{name: "what stands beside a sensitive value", preA: token + `locals { h = "a" }`, preB: token + `locals { h = "b" }`, bodyA: `script = "curl ${local.h} ${var.token}"`, bodyB: `script = "curl ${local.h} ${var.token}"`, inA: with("secret-1"), inB: with("secret-1")},
		{name: "a sensitive local", preA: token + `locals { h = "a-${var.token}" }`, preB: token + `locals { h = "b-${var.token}" }`, bodyA: `script = local.h`, bodyB: `script = local.h`, inA: with("secret-1"), inB: with("secret-1")},
		{name: "a decoded secret", preA: token + `locals { h = jsondecode(var.token).x }`, preB: token + `locals { h = jsondecode(var.token).x }`, bodyA: `script = local.h`, bodyB: `script = local.h`, inA: with(`{"x":"long-1"}`), inB: with(`{"x":"long-2"}`), wantTheSame: true},
		{name: "beside a decoded secret", preA: token + `locals { v = "a" }`, preB: token + `locals { v = "b" }`, bodyA: `script = "${local.v}${jsondecode(var.token).x}"`, bodyB: `script = "${local.v}${jsondecode(var.token).x}"`, inA: with(`{"x":"long-1"}`), inB: with(`{"x":"long-1"}`)},
		{name: "run", bodyA: `command = ["a", run.session, run.attempt]`, bodyB: `command = ["a", run.session, run.attempt]`, runA: first, runB: Results{Run: RunInfo{Session: "S2", Attempt: 7, Resumed: true}}, wantTheSame: true},
		{name: "run against nothing", bodyA: `command = ["a", run.session]`, bodyB: `command = ["a", "run.session"]`, runA: first, runB: first},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := definition(t, test.preA, test.bodyA, test.inA, test.runA)
			b := definition(t, test.preB, test.bodyB, test.inB, test.runB)
			if (a == b) != test.wantTheSame {
				t.Errorf("the same: %v, want %v", a == b, test.wantTheSame)
			}
		})
	}
}

// TestDefinitionIsFixed guards digests that are stored: a change makes every
// workstream of every pipeline run again.
func TestDefinitionIsFixed(t *testing.T) {
	t.Parallel()
	got := definition(t, "", "script = \"make\"\nenv = { A = 1 }\ndir = \"d\"\ninputs = [\"i\"]\nartifacts = [\"a\"]", Inputs{}, Results{})
	if want := "sha256:f57e2d3ff6bb2fa2325427f9e4c25bb3891b6130633368d6fbd016a9de175ece"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDefinitionIsPathIndependent(t *testing.T) {
	t.Parallel()
	var sums []string
	for range 2 {
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/f.txt", []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
		sums = append(sums, definition(t, "", `command = concat([file("f.txt"), filesha256("f.txt")], tolist(fileset(".", "*.txt")))`, Inputs{Workspace: dir}, Results{}))
	}
	if sums[0] != sums[1] {
		t.Error(sums)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	p := build(t, `
variable "region" { default = "eu" }
variable "token" {
  default   = "secret-token"
  sensitive = true
}
variable "unused" { default = 1 }
variable "label" { default = "x" }
locals {
  url  = "https://${var.region}"
  full = "${local.url}/${var.token}"
}
pipeline "PRD-001" {
  phase "a" {
    workstream "x" {
      title   = var.label
      command = ["curl", local.full]
    }
  }
}`, Inputs{})
	got := p.Workstream("x").Variables()
	if len(got) != 2 || got["token"] != "sensitive" || got["region"] != sumValue(p.Workstream("x").def.scope.variables["region"].value) || !strings.HasPrefix(got["region"], "sha256:") {
		t.Error(got)
	}
}

func TestGateDefinition(t *testing.T) {
	t.Parallel()
	gate := func(body string, in Inputs, r Results) string {
		p := build(t, `
variable "floor" { default = 80 }
variable "token" {
  default   = "secret-token"
  sensitive = true
}
pipeline "PRD-001" {
  phase "a" {
    workstream "x" {
      command = ["true"]
      gate "g" {
`+body+`
      }
    }
  }
}`, in)
		sum, diags := p.Workstream("x").Gates[0].Definition(r)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return sum
	}
	with := func(name, text string) Inputs { return Inputs{Variables: map[string]Input{name: {Text: text}}} }
	coverage := func(n json.Number) Results { return Results{Metrics: map[string]any{"coverage": n}} }
	condition := "condition = metric.coverage > var.floor\nerror_message = \"low\""
	secret := "condition = var.token != \"\"\nerror_message = \"low\""
	for _, test := range []struct {
		name string
		a, b string
		same bool
	}{
		{"command", gate(`command = ["a"]`, Inputs{}, Results{}), gate(`command = ["b"]`, Inputs{}, Results{}), false},
		{"inputs", gate(`command = ["a"]`, Inputs{}, Results{}), gate("command = [\"a\"]\ninputs = [\"x\"]", Inputs{}, Results{}), false},
		{"timeout and pause", gate(`command = ["a"]`, Inputs{}, Results{}), gate("command = [\"a\"]\ntimeout = \"1m\"\npause = true", Inputs{}, Results{}), true},
		{"metric bound", gate("metric = \"m\"\nmin = 1", Inputs{}, Results{}), gate("metric = \"m\"\nmin = 2", Inputs{}, Results{}), false},
		{"min against max", gate("metric = \"m\"\nmin = 1", Inputs{}, Results{}), gate("metric = \"m\"\nmax = 1", Inputs{}, Results{}), false},
		{"equals of another type", gate("metric = \"m\"\nequals = 1", Inputs{}, Results{}), gate("metric = \"m\"\nequals = \"1\"", Inputs{}, Results{}), false},
		{"approval", gate("approval { message = \"a\" }", Inputs{}, Results{}), gate("approval { message = \"b\" }", Inputs{}, Results{}), false},
		{"condition's variable", gate(condition, with("floor", "80"), coverage("90")), gate(condition, with("floor", "81"), coverage("90")), false},
		{"condition's result", gate(condition, Inputs{}, coverage("90")), gate(condition, Inputs{}, coverage("91")), false},
		{"condition again", gate(condition, Inputs{}, coverage("90")), gate(condition, Inputs{}, coverage("90")), true},
		{"sensitive", gate(secret, with("token", "long-1"), Results{}), gate(secret, with("token", "long-2"), Results{}), true},
	} {
		if (test.a == test.b) != test.same {
			t.Errorf("%s: the same: %v", test.name, test.a == test.b)
		}
	}
}
