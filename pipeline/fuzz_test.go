package pipeline

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/pipeline/diagnostics"
)

// FuzzVarFile holds that no file with values of variables, in either notation, makes the
// language panic, and that each value names its origin.
func FuzzVarFile(f *testing.F) {
	for _, seed := range []string{
		"name = \"x\"\nn = 1\nlist = [1, {a = null}]\n", "a = b", "a = \"${1/0}\"", "a {}\n", "\xff = 1", "a = <<EOT\n", `{"a": [1, "${b}"], "b": null}`, `[1]`, `{"a": 1e999}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, src []byte, inJSON bool) {
		name := "fuzz.vars.hcl"
		if inJSON {
			name = "fuzz.json"
		}
		values, diags := ParseVarFile(src, name)
		for variable, in := range values {
			if !strings.HasPrefix(in.Origin, name+":") {
				t.Errorf("%q is from %q", variable, in.Origin)
			}
		}
		if err := diagnostics.WriteText(io.Discard, nil, diags, 80, true); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzParse holds that no bytes make the language panic, and that a pipeline is returned
// exactly if there are no errors.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/valid/*.hcl", "testdata/invalid/*.hcl"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			src, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	f.Add([]byte(withResults))
	f.Add([]byte(typed))
	f.Add([]byte("pipeline \"\" {\n phase \"\" {\n workstream \"\" {\n for_each = {(null)=1}\n command = [for x in workstream : x]\n}\n}\n}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, _ := Parse(src, "fuzz.hcl")
		p, diags := file.Pipeline(Inputs{})
		if (p == nil) != diags.HasErrors() {
			t.Fatal("pipeline and errors disagree", diags)
		}
		if err := diagnostics.WriteText(io.Discard, file.Sources(), diags, 80, true); err != nil {
			t.Fatal(err)
		}
		diagnostics.NewReport(file.Sources(), diags)
		Format(src)
		if p == nil {
			return
		}
		for _, phase := range p.Phases {
			phase.Enabled(results())
			for _, gate := range phase.Gates {
				exerciseGate(gate)
			}
			for _, ws := range phase.Workstreams {
				ws.Enabled(results())
				ws.Invocation(results())
				ws.Invocation(Results{})
				ws.Verify(results())
				ws.Variables()
				for _, gate := range ws.Gates {
					exerciseGate(gate)
				}
			}
		}
		for _, hook := range p.Hooks {
			hook.Invocation(results())
		}
	})
}

func exerciseGate(gate *Gate) {
	gate.Definition(results())
	gate.Definition(Results{})
	switch gate.Kind {
	case GateCommand:
		gate.Invocation(results())
	case GateCondition:
		gate.Condition(results())
	case GateMetric, GateApproval:
	}
}
