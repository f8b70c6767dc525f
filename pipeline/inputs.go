package pipeline

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// EnvironmentPrefix begins the names of environment variables that give values
// to variables. An Input whose Origin begins with it may name a variable that
// the file does not declare.
const EnvironmentPrefix = "PRDRUNNER_VAR_"

// Inputs is what a file is evaluated with.
type Inputs struct {
	Variables map[string]Input
	// Open leaves variables open that have neither a value nor a default, and
	// what depends on them: such a pipeline can be looked at, but must not be run.
	// A for_each over one has a single instance, NAME[…].
	Open      bool
	Workspace string         // root of file(), fileset() and their kin; "": they fail
	IDPattern *regexp.Regexp // nil: ^PRD-\d{3,}$
	// Hidden reports whether fileset() does not see a slash-separated path of the
	// workspace, such as Runner's own files and git's; nil: it sees everything.
	Hidden func(path string) bool
	// Links tells where symbolic links of the workspace lead; nil: there are none.
	Links Links
	// Matches reports whether a file of the workspace matches one of the patterns,
	// which are as Patterns returns them. With it, inputs and filesets that match
	// nothing are warnings; nil: nobody asks.
	Matches func(patterns []string) bool

	before Files // what functions read instead of what is there now
}

// Files are files of the workspace as they were, by path: how to open each, nil for
// one that was not there.
type Files map[string]func() (io.ReadCloser, error)

// Links tells where symbolic links lead, within the workspace and at the moment of the call.
type Links interface {
	// Behind returns the patterns that say what a pattern means behind links.
	// Patterns are as Patterns returns them.
	Behind(pattern string) []string
	// Target returns the path that no link is on the way to of what is at a path; the
	// path unchanged where that is out of the workspace.
	Target(path string) string
}

// Input is a value for a variable.
type Input struct {
	// Text is the value as a person typed it: literal for strings, numbers and
	// booleans, an HCL expression for everything else.
	Text   string
	Value  cty.Value // already decoded; where it is not NilVal, Text is ignored
	Origin string    // for messages: "--var", "PRDRUNNER_VAR_x", "vars.hcl:3"
}

func origin(in Input) string {
	if in.Origin == "" {
		return "the caller"
	}
	return in.Origin
}

func escapePercent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// ParseVarFile reads values for variables: `name = value` lines in HCL, or an
// object in a file whose name ends in .json. The values are literal: they can't
// refer to anything. The source should not be shown, since it may hold
// sensitive values.
func ParseVarFile(src []byte, filename string) (map[string]Input, hcl.Diagnostics) {
	if diag := tooDeep(src, filename); diag != nil {
		return nil, hcl.Diagnostics{diag}
	}
	var file *hcl.File
	var diags hcl.Diagnostics
	if strings.HasSuffix(filename, ".json") {
		file, diags = json.Parse(src, filename)
	} else {
		file, diags = hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	}
	if file == nil || file.Body == nil || diags.HasErrors() {
		return nil, diags
	}
	attrs, more := file.Body.JustAttributes()
	diags = append(diags, more...)
	inputs := make(map[string]Input, len(attrs))
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		attr := attrs[name]
		value, more := attr.Expr.Value(nil)
		for _, diag := range more {
			diag.Expression, diag.EvalContext = nil, nil
		}
		diags = append(diags, more...)
		if !more.HasErrors() {
			inputs[name] = Input{Value: value, Origin: fmt.Sprintf("%s:%d", filename, attr.NameRange.Start.Line)}
		}
	}
	return inputs, diags
}

// undeclaredInputs reports values for variables that the file does not have.
// The environment may hold them for other pipelines.
func (b *builder) undeclaredInputs() {
	declared := map[string]bool{}
	for _, v := range b.file.variables {
		declared[v.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(b.in.Variables)) {
		input := b.in.Variables[name]
		if declared[name] || strings.HasPrefix(input.Origin, EnvironmentPrefix) {
			continue
		}
		b.diags = append(b.diags, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Value for undeclared variable",
			Detail: fmt.Sprintf("%s gives a value to the variable %q, which %s does not declare.%s Declared are: %s.",
				origin(input), name, b.file.name, didYouMean(name, maps.Keys(declared)), listing(maps.Keys(declared))),
		})
	}
}

// inputValue is an input as a value, not yet converted.
func (b *builder) inputValue(v *variableBlock, in Input, sensitive bool) (cty.Value, bool) {
	if in.Value != cty.NilVal {
		plain, _ := in.Value.UnmarkDeep()
		return plain, true
	}
	if v.typ.IsPrimitiveType() || v.typ == cty.DynamicPseudoType {
		return cty.StringVal(in.Text), true
	}
	src := []byte(in.Text)
	if tooDeep(src, "") != nil {
		b.errorf("Invalid value for variable", v.block.DefRange(), "The value of variable %q from %s is nested too deep.", v.name, origin(in))
		return cty.NilVal, false
	}
	expr, diags := hclsyntax.ParseExpression(src, "", hcl.InitialPos)
	var value cty.Value
	if !diags.HasErrors() {
		value, diags = expr.Value(nil)
	}
	if !diags.HasErrors() {
		return value, true
	}
	reason := diags[0].Summary + "; " + diags[0].Detail
	if sensitive {
		reason = "The reason is withheld, because the variable is sensitive."
	}
	b.errorf("Invalid value for variable", v.block.DefRange(),
		"The value of variable %q from %s must be an HCL expression, such as [\"a\", \"b\"] or { key = \"value\" }. %s", v.name, origin(in), reason)
	return cty.NilVal, false
}
