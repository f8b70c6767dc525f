package pipeline

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/pipeline/diagnostics"
)

// secretText and secretJSON are sensitive values. leaks are the texts that must not
// appear anywhere: the secrets, texts derived from them, and the end of secretText as
// decoders quote it.
const (
	secretText = "tO7s3cr3t"
	secretJSON = `{"password": "tO7s3cr3t", "pin": 918273645}`
)

var leaks = []string{"tO7s3cr3t", "TO7S3CR3T", "t3rc3s7Ot", "dE83czNjcjN0", "918273645", "s3cr"}

// shown returns everything that can be printed of diagnostics.
func shown(t *testing.T, f *File, diags hcl.Diagnostics) string {
	t.Helper()
	var all bytes.Buffer
	for _, color := range []bool{false, true} {
		if err := diagnostics.WriteText(&all, f.Sources(), diags, 80, color); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.NewEncoder(&all).Encode(diagnostics.NewReport(f.Sources(), diags)); err != nil {
		t.Fatal(err)
	}
	// The output of HCL's own writer.
	files := map[string]*hcl.File{f.Name(): {Bytes: f.Source()}}
	if err := hcl.NewDiagnosticTextWriter(&all, files, 80, false).WriteDiagnostics(diags); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestSecrecy(t *testing.T) {
	t.Parallel()
	expressions := []string{
		`tonumber(var.secret)`, `tobool(var.secret)`, `jsondecode(var.secret)`, `yamldecode("a: [${var.secret}")`,
		`base64decode(var.secret)`, `regex("^x", var.secret)`, `regex(var.secret, "x")`, `regex("(${var.secret}", "x")`, `formatdate("YYYY", var.secret)`,
		`formatdate(var.secret, "2020-01-01T00:00:00Z")`, `timeadd(var.secret, "1h")`, `timeadd("2020-01-01T00:00:00Z", var.secret)`,
		`parseint(var.secret, 10)`, `file(var.secret)`, `filesha256("x/${var.secret}")`, `fileset(var.secret, "*")`, `fileset(".", "${var.secret}/[")`,
		`templatefile("greeting.tmpl", { nome = var.secret })`, `templatefile(var.secret, {})`,
		`format("%d", var.secret)`, `format(var.secret, 1)`, `format("%z${var.secret}")`, `lookup({ a = 1 }, var.secret)`, `{ a = 1 }[var.secret]`, `[1, 2][var.secret]`,
		`var.secret.attr`, `var.secret + 1`, `!var.secret`, `-var.secret`, `var.secret ? "a" : "b"`, `[for x in var.secret : x]`,
		`{ for x in ["a", "a"] : var.secret => x }`, `{ for x in [1] : x => x if var.secret }`, `"${[var.secret]}"`, `index(["a"], var.secret)`, `element([], var.secret)`,
		`csvdecode("a,b\n${var.secret}")`, `zipmap([var.secret], [])`, `substr("x", var.secret, 1)`, `split(1, [var.secret])`, `merge({}, var.secret)`,
		`coalesce(var.secret, [])`, `one([var.secret, var.secret])`, `sum([var.secret])`, `setproduct(var.secret)`, `range(var.secret)`, `flatten(var.secret)`,
		`tolist([var.secret, {}])`, `tomap({ a = var.secret, b = [] })`, `toset(var.secret)`, `try(tonumber(var.secret))`, `try(jsondecode(var.secret), file(var.secret))`,
		`local.derived + 1`, `tonumber(local.derived)`, `jsondecode(local.nested.text)`, `file(local.nested.text)`, `{ (var.secret) = 1 }.x`,
		`[var.secret, []]`, `["a\u0000${var.secret}"]`, `upper(var.nothing, var.secret)`, `jsondecode(var.object).missing`, `tonumber(jsondecode(var.object).password)`,
		`jsondecode(var.object).pin + []`, `jsondecode(upper(var.object))`, `strrev(var.secret) + 1`, `base64encode(var.secret) * 2`, `parseint(jsondecode(var.object).pin, 99)`,
	}
	places := map[string]string{
		"command": `command = [%s]`, "whole command": `command = %s`, "script": `script = %s`, "env": "command = [\"x\"]\nenv = { A = %s }",
		"whole env": "command = [\"x\"]\nenv = %s", "dir": "command = [\"x\"]\ndir = %s", "title": "command = [\"x\"]\ntitle = %s", "when": "command = [\"x\"]\nwhen = %s",
		"for_each": "command = [\"x\"]\nfor_each = %s", "timeout": "command = [\"x\"]\ntimeout = %s", "inputs": "command = [\"x\"]\ninputs = [%s]", "effect": "command = [\"x\"]\neffect = %s",
		"condition": "command = [\"x\"]\ngate \"g\" {\ncondition = %s\nerror_message = \"m\"\n}", "message": "command = [\"x\"]\ngate \"g\" {\ncondition = false\nerror_message = %s\n}",
		"metric": "command = [\"x\"]\ngate \"g\" {\nmetric = \"m\"\nmin = %s\n}", "retry": "command = [\"x\"]\nretry {\nattempts = %s\n}",
		"local": "command = [\"x\", local.extra]", "depends_on": "command = [\"x\"]\ndepends_on = [workstream.y[%s]]",
		"protect": "command = [\"x\"]\nprotect {\nscope = [%s]\nstate = [%s]\nexpiry = %s\n}", "url": `command = ["x"]`,
	}
	in := Inputs{Workspace: "testdata/workspace", Variables: map[string]Input{"secret": {Text: secretText}, "object": {Text: secretJSON}}}
	failed, runs := 0, 0
	for _, expr := range expressions {
		for place, format := range places {
			extra, url := `"x"`, `"x"`
			switch place {
			case "local":
				extra = expr
			case "url":
				url = expr
			}
			src := "variable \"secret\" { sensitive = true }\nvariable \"object\" { sensitive = true }\nvariable \"nothing\" { default = null }\n" +
				"locals {\n  derived = \"x-${var.secret}\"\n  nested = { text = upper(var.secret) }\n  extra = " + extra + "\n}\n" +
				"pipeline \"PRD-001\" {\n  savepoint \"s\" {\n    driver = \"sqlite\"\n    url = " + url + "\n  }\n  phase \"a\" {\n    workstream \"y\" {\n      for_each = toset([\"k\"])\n      command = [\"x\"]\n    }\n    workstream \"x\" {\n" +
				strings.ReplaceAll(format, "%s", expr) + "\n    }\n  }\n}\n"
			f, _ := Parse([]byte(src), "secret.hcl")
			p, diags := f.Pipeline(in)
			if p != nil {
				ws := p.Workstream("x")
				if _, more := ws.Enabled(Results{}); more.HasErrors() {
					diags = append(diags, more...)
				}
				for _, gate := range ws.Gates {
					if gate.Kind == GateCondition {
						_, message, more := gate.Condition(Results{})
						diags = append(append(diags, more...), &hcl.Diagnostic{Detail: message})
					}
				}
				_, more := ws.Invocation(Results{})
				diags = append(diags, more...)
			}
			runs++
			if len(diags) > 0 {
				failed++
			}
			text := shown(t, f, diags)
			for _, leak := range leaks {
				if strings.Contains(text, leak) {
					t.Errorf("%s in %s shows %q:\n%s", expr, place, leak, text)
				}
			}
		}
	}
	if failed < runs*8/10 {
		t.Errorf("only %d of %d expressions failed, so this test does not test much", failed, runs)
	}
}

// TestSecrecyOfInputs holds that a value that does not fit its variable is not shown.
func TestSecrecyOfInputs(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"type":       "variable \"secret\" {\n  type = number\n  sensitive = true\n}",
		"expression": "variable \"secret\" {\n  type = list(string)\n  sensitive = true\n}",
		"validation": "variable \"secret\" {\n  sensitive = true\n  validation {\n    condition = length(var.secret) > 100\n    error_message = \"${var.secret} is too short\"\n  }\n}",
		"bad check":  "variable \"secret\" {\n  sensitive = true\n  validation {\n    condition = tonumber(var.secret) > 100\n    error_message = tonumber(var.secret)\n  }\n}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := Parse([]byte(src+"\npipeline \"PRD-001\" {\n  phase \"a\" {\n    workstream \"x\" { command = [\"x\"] }\n  }\n}\n"), "secret.hcl")
			p, diags := f.Pipeline(Inputs{Variables: map[string]Input{"secret": {Text: secretText, Origin: "--var"}}})
			if p != nil {
				t.Fatal("this must fail")
			}
			if text := shown(t, f, diags); strings.Contains(text, secretText) {
				t.Error(text)
			}
		})
	}
}

// TestSecrecyOfDefaults holds that a default in the file itself is not shown.
func TestSecrecyOfDefaults(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`tonumber("tO7s3cr3t")`, `"tO7s3cr3t"`, `local["tO7s3cr3t"]`, `nofunc("tO7s3cr3t")`} {
		src := "variable \"secret\" {\n  sensitive = true\n  type = number\n  default = " + value + "\n}\npipeline \"PRD-001\" {\n  phase \"a\" {\n    workstream \"x\" { command = [\"x\"] }\n  }\n}\n"
		f, _ := Parse([]byte(src), "secret.hcl")
		p, diags := f.Pipeline(Inputs{})
		if p != nil {
			t.Error("this must fail", value)
		}
		if text := shown(t, f, diags); strings.Contains(text, secretText) {
			t.Error(text)
		}
	}
}

func TestSensitiveValuesAreNamedWithTheirVariables(t *testing.T) {
	t.Parallel()
	p := build(t, `
variable "object" {
  type      = object({ user = string, ports = list(number), on = bool, none = optional(string) })
  sensitive = true
}
pipeline "PRD-001" {
  phase "a" {
    workstream "x" {
      command = ["x", var.object.user]
    }
    workstream "y" {
      command = ["x"]
    }
  }
}`, Inputs{Variables: map[string]Input{"object": {Text: `{ user = "admin", ports = [5432, 15432], on = true }`}}})
	got := map[string]bool{}
	for _, secret := range p.Secrets {
		if secret.Variable != "object" {
			t.Error(secret)
		}
		got[secret.Value] = true
	}
	if len(got) != 3 || !got["admin"] || !got["5432"] || !got["15432"] {
		t.Error(got)
	}
}
