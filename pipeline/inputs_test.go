package pipeline

import (
	"regexp"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

const typed = `
variable "text" { type = string }
variable "number" { type = number }
variable "flag" { type = bool }
variable "list" { type = list(string) }
variable "object" { type = object({ a = string, b = optional(number, 7) }) }
variable "any" {}
pipeline "PRD-001" {
  phase "a" {
    workstream "x" {
      command = [var.text, var.number, var.flag, join("+", var.list), var.object.a, var.object.b, var.any]
    }
  }
}`

func TestInputs(t *testing.T) {
	t.Parallel()
	good := map[string]Input{
		"text": {Text: "[not a list"}, "number": {Text: "80"}, "flag": {Text: "true"}, "list": {Text: `["a", "b"]`},
		"object": {Text: `{ a = "x" }`}, "any": {Value: cty.StringVal("v")},
	}
	inv, diags := build(t, typed, Inputs{Variables: good}).Workstream("x").Invocation(Results{})
	if got := strings.Join(inv.Command, " "); got != "[not a list 80 true a+b x 7 v" {
		t.Error(got, diags)
	}
	for _, test := range []struct {
		name, variable string
		input          Input
		want           string
	}{
		{"not a number", "number", Input{Text: "many", Origin: "--var"}, "from --var does not fit its type number: a number is required"},
		{"not an expression", "list", Input{Text: "[", Origin: "PRDRUNNER_VAR_list"}, "from PRDRUNNER_VAR_list must be an HCL expression"},
		{"a reference", "list", Input{Text: "[var.text]"}, "must be an HCL expression"},
		{"a percent sign", "number", Input{Text: "x", Origin: "100%d.hcl:1"}, "from 100%d.hcl:1 does"},
		{"missing attribute", "object", Input{Text: "{}"}, "attribute \"a\" is required"},
		{"nested too deep", "list", Input{Text: strings.Repeat("[", 10_000)}, "nested too deep"},
		{"undeclared", "txet", Input{Text: "x", Origin: "vars.hcl:3"}, `vars.hcl:3 gives a value to the variable "txet", which test.hcl does not declare. Did you mean "text"?`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := Inputs{Variables: map[string]Input{}}
			for name, value := range good {
				in.Variables[name] = value
			}
			in.Variables[test.variable] = test.input
			f, _ := Parse([]byte(typed), "test.hcl")
			p, diags := f.Pipeline(in)
			if p != nil || len(diags) != 1 || !strings.Contains(diags[0].Detail, test.want) {
				t.Error(diags)
			}
		})
	}
	good["other"] = Input{Text: "x", Origin: "PRDRUNNER_VAR_other"}
	build(t, typed, Inputs{Variables: good})
}

func TestIDPattern(t *testing.T) {
	t.Parallel()
	src := strings.ReplaceAll(`pipeline "TICKET-7" {
  phase "a" {
    workstream "x" { command = ["x"] }
  }
}`, "\t", "")
	build(t, src, Inputs{IDPattern: regexp.MustCompile(`^TICKET-\d+$`)})
	f, _ := Parse([]byte(src), "test.hcl")
	for pattern, want := range map[string]string{
		"": "be PRD- and three digits or more, such as PRD-009", `^(?:A|B)$`: `match the pattern A|B`,
		`^(?:A|B)-\d+$`: `match the pattern ^(?:A|B)-\d+$`, `^A(?:B)$`: `match the pattern ^A(?:B)$`,
	} {
		var in Inputs
		if pattern != "" {
			in.IDPattern = regexp.MustCompile(pattern)
		}
		if _, diags := f.Pipeline(in); len(diags) != 1 || !strings.Contains(diags[0].Detail, "must "+want+". ") {
			t.Errorf("%q: %v", pattern, diags)
		}
	}
}

func TestVarFiles(t *testing.T) {
	t.Parallel()
	load := func(name, text string) (map[string]Input, error) {
		inputs, diags := ParseVarFile([]byte(text), name)
		if diags.HasErrors() {
			return nil, diags
		}
		return inputs, nil
	}
	for name, text := range map[string]string{"v.hcl": "a = \"x\"\n\nb = [1, 2]\n", "v.json": "{\"a\": \"x\",\n\n\"b\": [1, 2]}"} {
		inputs, err := load(name, text)
		if err != nil {
			t.Fatal(err)
		}
		if len(inputs) != 2 || inputs["a"].Value.AsString() != "x" || inputs["b"].Value.LengthInt() != 2 || !strings.HasSuffix(inputs["b"].Origin, name+":3") {
			t.Errorf("%s: %#v", name, inputs)
		}
	}
	for name, text := range map[string]string{"syntax.hcl": "a = ", "block.hcl": "a {}", "reference.hcl": "a = var.b", "syntax.json": "{", "list.json": "[1]", "deep.hcl": "a = " + strings.Repeat("[", 10_000)} {
		if inputs, err := load(name, text); err == nil {
			t.Error(name, inputs)
		}
	}
}

// TestValidationMessage: a value that fails its validation is refused, whether or not the
// error_message can be shown.
func TestValidationMessage(t *testing.T) {
	t.Parallel()
	const src = `
variable "unset" {}
variable "password" {
  default   = "long enough"
  sensitive = true
}
variable "x" {
  default = "x"
  validation {
    condition     = var.x != "x"
    error_message = MESSAGE
  }
}
` + "pipeline \"PRD-001\" {\n  phase \"a\" {\n    workstream \"w\" { command = [\"x\"] }\n  }\n}\n"
	for message, want := range map[string]string{
		`"not ${var.x}"`:           "not x",
		`"not ${var.unset}"`:       "the condition is false (checked",
		`var.x == "x" ? null : ""`: "the condition is false (checked",
		`"not ${var.password}"`:    "the condition is false; its error_message is not shown",
	} {
		f, _ := Parse([]byte(strings.Replace(src, "MESSAGE", message, 1)), "test.hcl")
		_, diags := f.Pipeline(Inputs{Open: true})
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s: %v", message, diags)
		}
	}
}
