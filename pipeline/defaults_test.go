package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
)

const defaultsPipeline = `
variable "token" {
  default   = "long-enough"
  sensitive = true
}

gate "shared" { script = "check" }

pipeline "PRD-001" {
  defaults {
    env     = { MODE = "fast", LEVEL = 1, TITLE = issue.title, SESSION = run.session }
    dir     = "app"
    shell   = ["bash", "-c"]
    timeout = "10m"
    effect  = "pure"
    retry {
      attempts      = 3
      on_exit_codes = [75]
    }
  }
  issue {
    number = 1
    script = "show"
  }
  review { command = ["review"] }
  agent "smith" {
    command = ["smith"]
    env     = { MODE = "agent", AGENT = 1 }
    dir     = "forge"
    timeout = "1m"
  }
  hook {
    on     = ["failed"]
    script = "tell"
  }

  phase "one" {
    workstream "plain" { script = "plain" }
    workstream "own" {
      command = ["own"]
      env     = { MODE = null, LEVEL = 2 }
      dir     = "."
      effect  = "once"
      timeout = "2m"
      verify  = ["verify"]
    }
  }
  phase "two" {
    defaults {
      env     = { MODE = "slow", TOKEN = var.token, LEVEL = null }
      timeout = "5m"
      effect  = "idempotent"
      retry { attempts = 2 }
    }
    workstream "plain2" {
      script = "plain"
      dir    = true ? null : "never"
      gates  = [gate.shared]
      gate "own" { script = "check" }
    }
    workstream "forged" {
      agent = agent.smith
      env   = { MODE = "own" }
    }
    gate "last" {
      command = ["check"]
      dir     = "checks"
    }
  }
}`

func defaultsResults() Results {
	return Results{Run: RunInfo{Session: "S1"}, Issue: &IssueValues{Number: 1, Title: "T"}}
}

// TestDefaults: each process gets the variables, the directory and the shell of the defaults
// of its phase and of the pipeline, unless it says its own.
func TestDefaults(t *testing.T) {
	t.Parallel()
	p := build(t, defaultsPipeline, Inputs{})
	results := defaultsResults()
	plain := map[string]string{"MODE": "fast", "LEVEL": "1", "TITLE": "T", "SESSION": "S1"}
	slow := map[string]string{"MODE": "slow", "TOKEN": "long-enough", "TITLE": "T", "SESSION": "S1"}
	workstream := func(name string) func() (Invocation, hcl.Diagnostics) {
		return func() (Invocation, hcl.Diagnostics) { return p.Workstream(name).Invocation(results) }
	}
	gate := func(label string) func() (Invocation, hcl.Diagnostics) {
		return func() (Invocation, hcl.Diagnostics) { return p.Gate(label).Invocation(results) }
	}
	for name, test := range map[string]struct {
		of   func() (Invocation, hcl.Diagnostics)
		want Invocation
	}{
		"workstream":     {workstream("plain"), Invocation{Command: []string{"bash", "-c", "plain"}, Dir: "app", Env: plain}},
		"its own values": {workstream("own"), Invocation{Command: []string{"own"}, Env: map[string]string{"LEVEL": "2", "TITLE": "T", "SESSION": "S1"}}},
		"verify": {func() (Invocation, hcl.Diagnostics) {
			inv, _, diags := p.Workstream("own").Verify(results)
			return inv, diags
		}, Invocation{Command: []string{"verify"}, Env: map[string]string{"LEVEL": "2", "TITLE": "T", "SESSION": "S1"}}},
		"phase":            {workstream("plain2"), Invocation{Command: []string{"bash", "-c", "plain"}, Dir: "app", Env: slow}},
		"gate":             {gate("own (plain2)"), Invocation{Command: []string{"bash", "-c", "check"}, Dir: "app", Env: slow}},
		"shared gate":      {gate("shared (plain2)"), Invocation{Command: []string{"bash", "-c", "check"}, Dir: "app", Env: plain}},
		"gate of a phase":  {gate("last (two)"), Invocation{Command: []string{"check"}, Dir: "checks", Env: slow}},
		"agent":            {workstream("forged"), Invocation{Command: []string{"smith"}, Dir: "forge", Env: map[string]string{"MODE": "own", "AGENT": "1", "TOKEN": "long-enough", "TITLE": "T", "SESSION": "S1"}}},
		"hook":             {func() (Invocation, hcl.Diagnostics) { return p.Hooks[0].Invocation(results) }, Invocation{Command: []string{"bash", "-c", "tell"}, Dir: "app", Env: plain}},
		"review":           {func() (Invocation, hcl.Diagnostics) { return p.Review.Invocation(results) }, Invocation{Command: []string{"review"}, Dir: "app", Env: plain}},
		"before the issue": {func() (Invocation, hcl.Diagnostics) { inv, _, diags := p.Issue.Invocation(); return inv, diags }, Invocation{Command: []string{"bash", "-c", "show"}, Dir: "app", Env: map[string]string{"MODE": "fast", "LEVEL": "1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv, diags := test.of()
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			test.want.Definition, test.want.Range = inv.Definition, inv.Range
			if diff := cmp.Diff(test.want, inv); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDefaultsOfPhases: the timeout, effect and retry of a phase have precedence over those
// of the pipeline, argument by argument.
func TestDefaultsOfPhases(t *testing.T) {
	t.Parallel()
	p := build(t, defaultsPipeline, Inputs{})
	type settings struct {
		Timeout string
		Effect  Effect
		Retries int
		Codes   []int
	}
	for name, want := range map[string]settings{
		"plain":  {"10m0s", Pure, 3, []int{75}},
		"own":    {"2m0s", Once, 1, []int{75}},
		"plain2": {"5m0s", Idempotent, 2, []int{75}},
		"forged": {"1m0s", Idempotent, 2, []int{75}},
	} {
		ws := p.Workstream(name)
		got := settings{ws.Timeout.String(), ws.Effect, ws.Retry.Attempts, ws.Retry.OnExitCodes}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for label, want := range map[string]string{"own (plain2)": "5m0s", "shared (plain2)": "10m0s", "last (two)": "5m0s"} {
		if got := p.Gate(label).Timeout.String(); got != want {
			t.Errorf("%s: timeout %s, want %s", label, got, want)
		}
	}
}

// TestDefinitionWithDefaults: what a workstream or gate inherits counts as if it stood in
// the block itself.
func TestDefinitionWithDefaults(t *testing.T) {
	t.Parallel()
	const prelude = `
variable "token" {
  default   = "long-enough"
  sensitive = true
}
locals { common = { A = "1", T = var.token } }
`
	of := func(outer, inner, body string) [2]string {
		p := build(t, prelude+`pipeline "PRD-001" {
`+outer+`
  agent "smith" { command = ["a"] }
  phase "a" {
`+inner+`
    workstream "x" {
`+body+`
      gate "g" {
        script = "g"
      }
    }
  }
}`, Inputs{})
		inv, diags := p.Workstream("x").Invocation(Results{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		gate, diags := p.Workstream("x").Gates[0].Definition(Results{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return [2]string{inv.Definition, gate}
	}
	defaults := func(text string) string { return "defaults {\n" + text + "\n}" }
	body := "script = \"s\"\nagent = agent.smith\n"
	for name, test := range map[string]struct {
		a, b       [2]string
		same, gate bool
	}{
		"a variable moves out":         {of("", "", body+`env = { A = 1, B = 2 }`), of("", defaults(`env = { A = 1 }`), body+`env = { B = 2 }`), true, false},
		"from the phase":               {of("", defaults(`env = { A = 1, B = 2 }`), body), of(defaults(`env = { B = 2 }`), defaults(`env = { A = 1 }`), body), true, true},
		"beside a sensitive one":       {of("", "", body+`env = { A = 1, T = var.token }`), of(defaults(`env = { T = var.token }`), "", body+`env = { A = 1 }`), true, false},
		"not written out":              {of("", "", body+`env = local.common`), of(defaults(`env = local.common`), "", body), true, false},
		"a replaced variable":          {of(defaults(`env = { A = 1 }`), "", body+`env = { A = 3 }`), of(defaults(`env = { A = var.token }`), "", body+`env = { A = 3 }`), true, false},
		"a removed variable":           {of("", "", body), of(defaults(`env = { A = 1 }`), "", body+`env = { A = null }`), true, false},
		"another value":                {of(defaults(`env = { A = 1 }`), "", body), of(defaults(`env = { A = 2 }`), "", body), false, false},
		"another sensitive expression": {of(defaults(`env = { A = var.token }`), "", body), of(defaults(`env = { A = "${var.token}!" }`), "", body), false, false},
		"another name":                 {of(defaults(`env = { A = var.token }`), "", body), of(defaults(`env = { B = var.token }`), "", body), false, false},
		"dir":                          {of("", "", body+`dir = "d"`), of(defaults(`dir = "d"`), "", body), true, false},
		"the workspace":                {of("", "", body), of(defaults(`dir = "d"`), defaults(`dir = "."`), body), true, true},
		"shell":                        {of("", "", body+`shell = ["bash", "-c"]`), of("", defaults(`shell = ["bash", "-c"]`), body), true, false},
	} {
		if (test.a[0] == test.b[0]) != test.same {
			t.Errorf("%s: the same workstream: %v", name, !test.same)
		}
		if (test.a[1] == test.b[1]) != test.gate {
			t.Errorf("%s: the same gate: %v", name, !test.gate)
		}
	}
}

// TestDifferencesOfEnv: a plan names the variable that changed, wherever it is inherited
// from, and shows no value if a variable of the process is sensitive.
func TestDifferencesOfEnv(t *testing.T) {
	t.Parallel()
	of := func(defaults, env string) *Workstream {
		return build(t, `
variable "token" {
  default   = "long-enough"
  sensitive = true
}
pipeline "PRD-001" {
  defaults { env = `+defaults+` }
  phase "a" {
    workstream "x" {
      command = ["x"]
      env     = `+env+`
    }
  }
}`, Inputs{}).Workstream("x")
	}
	for name, test := range map[string]struct {
		was, is *Workstream
		want    []Difference
	}{
		"in defaults":      {of(`{ MODE = "a" }`, `{ B = 1 }`), of(`{ MODE = "b" }`, `{ B = 1 }`), []Difference{{Name: "env.MODE", Old: `"a"`, New: `"b"`}}},
		"moved":            {of(`{ MODE = "a" }`, `{ B = 1 }`), of(`{}`, `{ B = 1, MODE = "a" }`), nil},
		"beside a secret":  {of(`{ MODE = "a" }`, `{ T = var.token }`), of(`{ MODE = "b" }`, `{ T = var.token }`), []Difference{{Name: "env.MODE"}}},
		"a secret":         {of(`{ T = var.token }`, `{ B = 1 }`), of(`{ T = "${var.token}!" }`, `{ B = 1 }`), []Difference{{Name: "env.T"}}},
		"renamed a secret": {of(`{ OLD = "was-plain" }`, `{}`), of(`{}`, `{ T = var.token }`), []Difference{{Name: "env.T"}, {Name: "env.OLD"}}},
		"all of it hidden": {of(`{ MODE = "a" }`, `{ B = 1 }`), of(`merge({}, { T = var.token })`, `{ B = 1 }`), []Difference{{Name: "env"}}},
	} {
		if diff := cmp.Diff(test.want, test.is.DifferencesFrom(test.was, Results{}, Results{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
