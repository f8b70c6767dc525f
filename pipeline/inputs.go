package pipeline

import (
	"bytes"
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

	"prdrunner/pipeline/files"
	"prdrunner/pipeline/limits"
	"prdrunner/pipeline/suggest"
)

// EnvironmentPrefix begins the names of environment variables that give values to
// variables of a pipeline. An Input whose Origin has this prefix may name a variable
// that the file does not declare.
const EnvironmentPrefix = "PRDRUNNER_VAR_"

// Inputs are the values and callbacks with which a file is evaluated.
type Inputs struct {
	Variables map[string]Input
	// Open leaves variables unknown that have neither a value nor a default. Such a
	// pipeline can be shown, but must not be run. A for_each over such a variable has a
	// single instance, NAME[…].
	Open      bool
	Workspace string         // directory of the included files and of those that functions read; "": reading them fails
	IDPattern *regexp.Regexp // nil: ^PRD-\d{3,}$
	// SessionID is the id of the pipeline where that is not its label, as that of a pipeline
	// which another one calls. "": the label.
	SessionID string
	// Hidden reports whether fileset() leaves out a slash-separated path of the workspace,
	// such as files of Runner and of git. Nil: fileset() sees all files.
	Hidden func(path string) bool
	// Links resolves symbolic links of the workspace. Nil: there are none.
	Links files.Links
	// Matches reports whether a file of the workspace matches one of the patterns, which
	// have the form that glob.Patterns returns. If it is set, inputs and filesets that match
	// nothing are warnings.
	Matches func(patterns []string) bool
	// Unsaved are contents of files of the workspace that an editor has, by path. They are read instead of the files.
	Unsaved map[string][]byte

	callers   []string       // the files that call this one, from the first on
	before    files.Contents // earlier contents of files, which are read instead of the present ones
	takenOver *takenOver     // values that are not evaluated again; nil: there are none
}

// files returns the files of the workspace.
func (in Inputs) files() *files.Workspace {
	instead := in.before
	if in.Unsaved != nil {
		instead = files.Contents{}
		for path, content := range in.Unsaved {
			instead[path] = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		}
	}
	return &files.Workspace{Dir: in.Workspace, Hidden: in.Hidden, Links: in.Links, Earlier: instead}
}

// Input is a value for a variable.
type Input struct {
	// Text is the value as typed: literal for strings, numbers and booleans, an HCL
	// expression for all other types.
	Text string
	// Expression says that Text is an HCL expression for a variable of any type, too, so that
	// its value keeps its type.
	Expression bool

	Value  cty.Value // a decoded value; if it is not NilVal, Text is ignored
	Origin string    // for messages: "--var", "PRDRUNNER_VAR_x", "vars.hcl:3"
}

func origin(in Input) string {
	if in.Origin == "" {
		return "the caller"
	}
	return in.Origin
}

func escapePercent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// ParseVarFile reads values for variables: lines `name = value` in HCL, or, if the file
// name ends in .json, a JSON object. The values are literal and can't refer to anything.
// Callers should not show the source, which may hold sensitive values.
func ParseVarFile(src []byte, filename string) (map[string]Input, hcl.Diagnostics) {
	if diag := limits.Check(src, filename); diag != nil {
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

// undeclaredInputs reports values for variables that the file does not declare, except
// values from the environment, which may be for other pipelines.
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
				origin(input), name, b.file.name, suggest.DidYouMean(name, maps.Keys(declared)), suggest.Listing(maps.Keys(declared))),
		})
	}
}

// inputValue returns the value of an input before conversion to the type of the
// variable.
func (b *builder) inputValue(v *variableBlock, in Input, sensitive bool) (cty.Value, bool) {
	if in.Value != cty.NilVal {
		plain, _ := in.Value.UnmarkDeep()
		return plain, true
	}
	if v.typ.IsPrimitiveType() || v.typ == cty.DynamicPseudoType && !in.Expression {
		return cty.StringVal(in.Text), true
	}
	src := []byte(in.Text)
	if limits.Check(src, "") != nil {
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
