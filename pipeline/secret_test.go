package pipeline

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// resolving returns results in which secrets have these values.
func resolving(values map[string]string) Results {
	return Results{Secret: func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}}
}

// TestSecretsOfProcesses: a process names the secrets that it needs, also those of its agent
// and of the defaults. Without their values, its definition is known and it is unresolved.
func TestSecretsOfProcesses(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/valid/secret.hcl")
	if err != nil {
		t.Fatal(err)
	}
	p := build(t, string(src), Inputs{})
	push, notes := p.Workstream(`push["a"]`), p.Workstream("notes")
	for name, test := range map[string]struct{ got, want []string }{
		"workstream": {push.Secrets(), []string{"ci", "database", "deploy_token"}},
		"verify":     {push.VerifySecrets(), []string{"ci", "database", "deploy_token"}},
		"gate":       {push.Gates[0].Secrets(), []string{"ci", "deploy_token"}},
		"agent":      {notes.Secrets(), []string{"ci", "registry"}},
		"no verify":  {notes.VerifySecrets(), nil},
		"hook":       {p.Hooks[0].Secrets(), []string{"ci"}},
		"review":     {p.Review.Secrets(), []string{"ci"}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if diff := cmp.Diff([]string{"secret.deploy_token", "secret.registry", "secret.ci", "secret.database"}, p.Sensitive()); diff != "" || !p.HasSecrets() {
		t.Error(diff)
	}
	some := map[string]string{"ci": "ci-value", "deploy_token": "deploy-value"}
	all := map[string]string{"ci": "ci-value", "deploy_token": "deploy-value", "database": `{"user": "dba-user"}`, "registry": "registry-value"}
	definitions := map[string]bool{}
	for name, test := range map[string]struct {
		results    Results
		unresolved bool
	}{"load": {Results{}, true}, "some": {resolving(some), true}, "all": {resolving(all), false}} {
		inv, diags := push.Invocation(test.results)
		if diags.HasErrors() || (len(inv.Unresolved) > 0) != test.unresolved {
			t.Errorf("%s: unresolved %v, %v", name, inv.Unresolved, diags)
		}
		definitions[inv.Definition] = true
		if len(inv.Unresolved) == 0 {
			want := map[string]string{"CI_TOKEN": "ci-value", "TOKEN": "deploy-value", "USER": "dba-user"}
			if diff := cmp.Diff(want, inv.Env); diff != "" {
				t.Error(diff)
			}
		}
	}
	if len(definitions) != 1 {
		t.Errorf("the definition depends on the values: %v", definitions)
	}
	inv, diags := notes.Invocation(resolving(all))
	if diags.HasErrors() || inv.Env["TOKEN"] != "Bearer registry-value" || inv.Task != "Write the notes. The token is ci-value." {
		t.Errorf("%+v, %v", inv, diags)
	}
}

// TestSecretSources: the sources of secrets, and their timeouts.
func TestSecretSources(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/valid/secret.hcl")
	if err != nil {
		t.Fatal(err)
	}
	p := build(t, string(src), Inputs{})
	type source struct {
		Env, File string
		Timeout   time.Duration
		Command   []string
	}
	for name, want := range map[string]source{
		"deploy_token": {Timeout: 30 * time.Second, Command: []string{"pass", "show", "team/deploy"}},
		"registry":     {Timeout: time.Minute, Command: []string{"bash", "-euc", "vault kv get -field=password team/registry"}},
		"ci":           {Env: "CI_JOB_TOKEN", Timeout: time.Minute},
		"database":     {File: "/run/secrets/database", Timeout: time.Minute},
	} {
		s := p.SecretSource(name)
		inv, isProcess, diags := s.Invocation()
		got := source{s.Env, s.File, s.Timeout, inv.Command}
		if diff := cmp.Diff(want, got); diff != "" || diags.HasErrors() || isProcess != (want.Command != nil) || len(inv.Env) != 0 {
			t.Errorf("%s: %v, process %v with %v, (-want +got):\n%s", name, diags, isProcess, inv.Env, diff)
		}
	}
	if p.SecretSource("none") != nil {
		t.Error("there is a secret that the file does not declare")
	}
}

// TestDefinitionOfSecrets: a secret counts by its name, wherever its value comes from.
func TestDefinitionOfSecrets(t *testing.T) {
	t.Parallel()
	of := func(secrets, env string) string {
		p := build(t, `pipeline "PRD-001" {
  `+secrets+`
  phase "a" {
    workstream "x" {
      command = ["x"]
      env     = `+env+`
    }
  }
}`, Inputs{})
		inv, diags := p.Workstream("x").Invocation(Results{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return inv.Definition
	}
	const two = "secret \"a\" { env = \"A\" }\nsecret \"b\" { env = \"B\" }\n"
	first := of(two, `{ T = secret.a }`)
	for name, test := range map[string]struct {
		definition string
		same       bool
	}{
		"another source":     {of("secret \"a\" { file = \"/x\" }", `{ T = secret.a }`), true},
		"another secret":     {of(two, `{ T = secret.b }`), false},
		"another expression": {of(two, `{ T = "${secret.a}!" }`), false},
		"another variable":   {of(two, `{ U = secret.a }`), false},
		"a plain text":       {of(two, `{ T = "sensitive secret.a" }`), false},
	} {
		if (test.definition == first) != test.same {
			t.Errorf("%s: the same: %v", name, !test.same)
		}
	}
}

// TestSecrecyOfSecrets: a failure of an expression over a secret does not show its value.
func TestSecrecyOfSecrets(t *testing.T) {
	t.Parallel()
	f, _ := Parse([]byte(`pipeline "PRD-001" {
  secret "a" { env = "A" }
  phase "a" {
    workstream "x" {
      command = ["x", jsondecode(secret.a).name]
      env     = { T = tonumber(secret.a) }
    }
  }
}`), "secret.hcl")
	p, diags := f.Pipeline(Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	_, diags = p.Workstream("x").Invocation(resolving(map[string]string{"a": secretText}))
	text := shown(t, f, diags)
	if len(diags) != 2 || !strings.Contains(text, "with the value of secret.a") {
		t.Errorf("%d diagnostics:\n%s", len(diags), text)
	}
	for _, leak := range leaks {
		if strings.Contains(text, leak) {
			t.Errorf("it shows %q:\n%s", leak, text)
		}
	}
}
