package pipeline

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// variableBlock is a variable block.
type variableBlock struct {
	name        string
	block       *hclsyntax.Block
	typ         cty.Type // DynamicPseudoType where none was given
	untyped     bool
	defaults    *typeexpr.Defaults
	value       *argument // default
	description *argument
	sensitive   *argument
	validations []*validationBlock
}

// validationBlock is a condition that the value of a variable must satisfy.
type validationBlock struct {
	condition    *argument
	errorMessage *argument
	rng          hcl.Range
}

var variableSchema = &hcl.BodySchema{
	Attributes: attributes("type", "default", "description", "sensitive"),
	Blocks:     []hcl.BlockHeaderSchema{{Type: "validation"}},
}

var validationSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "condition", Required: true}, {Name: "error_message", Required: true}},
}

func (d *decoder) decodeVariable(block *hclsyntax.Block) *variableBlock {
	v := &variableBlock{name: d.identifier(block), block: block, typ: cty.DynamicPseudoType, untyped: true}
	content := d.content(block.Body, variableSchema)
	if attr, ok := content.Attributes["type"]; ok {
		typ, defaults, diags := typeexpr.TypeConstraintWithDefaults(attr.Expr)
		d.diags = append(d.diags, diags...)
		if !diags.HasErrors() {
			v.typ, v.defaults, v.untyped = typ, defaults, false
		}
	}
	v.value = d.argument(content, "default")
	v.description = d.argument(content, "description")
	v.sensitive = d.argument(content, "sensitive")
	for _, inner := range content.Blocks {
		checks := d.content(inner.Body, validationSchema)
		v.validations = append(v.validations, &validationBlock{
			condition:    d.argument(checks, "condition"),
			errorMessage: d.argument(checks, "error_message"),
			rng:          inner.DefRange(),
		})
	}
	return v
}

// variable is an evaluated variable.
type variable struct {
	block     *variableBlock
	value     cty.Value // marked if sensitive; unknown if the evaluation failed
	sensitive bool
	sum       string // digest of the value, or SensitiveVariable
}

// variable evaluates one variable from its input or its default.
func (b *builder) variable(v *variableBlock) *variable {
	result := &variable{block: v, value: cty.UnknownVal(v.typ.WithoutOptionalAttributesDeep())}
	if v.sensitive != nil {
		if value, ok := b.constant(v.sensitive, frame{}, cty.Bool); ok {
			result.sensitive = value.True()
		} else {
			result.sensitive = true // an unreadable argument may mean true
		}
	}
	if v.description != nil {
		b.constant(v.description, frame{}, cty.String)
	}
	value, ok := b.variableValue(v, result.sensitive)
	if !ok {
		return result
	}
	result.value = value
	if result.sensitive {
		b.secrets(v, value)
		result.value = value.Mark(sensitiveMark(v.name))
	}
	return result
}

// variableValue returns the given or default value, converted and unmarked.
func (b *builder) variableValue(v *variableBlock, sensitive bool) (cty.Value, bool) {
	var fallback cty.Value
	haveDefault := false
	if v.value != nil {
		before := len(b.diags)
		value, ok := b.constant(v.value, frame{nullable: true}, cty.DynamicPseudoType)
		if sensitive {
			withholdDefault(b.diags[before:], v)
		}
		if ok {
			fallback, haveDefault = b.convertVariable(v, value, "Invalid default value for variable", `The default of variable %q does not fit its type %s: %s.`, sensitive, b.defaultSubject(v, sensitive))
		}
		if !haveDefault {
			return cty.NilVal, false
		}
	}
	input, given := b.in.Variables[v.name]
	if !given {
		if haveDefault {
			return fallback, true
		}
		if b.in.Open {
			return cty.NilVal, false
		}
		b.errorf("Missing value for variable", v.block.DefRange(),
			"The variable %q has no default, so it needs a value: --var %s=…, a line in a file given by --var-file, or the environment variable PRDRUNNER_VAR_%s.", v.name, v.name, v.name)
		return cty.NilVal, false
	}
	value, ok := b.inputValue(v, input, sensitive)
	if !ok {
		return cty.NilVal, false
	}
	return b.convertVariable(v, value, "Invalid value for variable", `The value of variable %q from `+escapePercent(origin(input))+` does not fit its type %s: %s.`, sensitive, v.block.DefRange())
}

// withholdDefault removes the source of a sensitive default from diagnostics.
func withholdDefault(diags hcl.Diagnostics, v *variableBlock) {
	for i, diag := range diags {
		diags[i] = &hcl.Diagnostic{
			Severity: diag.Severity,
			Summary:  "Invalid default value for variable",
			Detail:   fmt.Sprintf("The default of variable %q cannot be evaluated. The reason is withheld, because the variable is sensitive.", v.name),
			Subject:  v.block.DefRange().Ptr(),
		}
	}
}

// defaultSubject returns the range for a diagnostic about a default. It never returns a
// line that holds a sensitive value.
func (b *builder) defaultSubject(v *variableBlock, sensitive bool) hcl.Range {
	if sensitive {
		return v.block.DefRange()
	}
	return v.value.exprRange()
}

func (b *builder) convertVariable(v *variableBlock, value cty.Value, summary, format string, sensitive bool, subject hcl.Range) (cty.Value, bool) {
	if v.defaults != nil && !value.IsNull() {
		value = v.defaults.Apply(value)
	}
	converted, err := convert.Convert(value, v.typ)
	if err != nil {
		reason := convertReason(err)
		if sensitive {
			reason = "the reason is withheld, because the variable is sensitive"
		}
		b.errorf(summary, subject, format, v.name, typeexpr.TypeString(v.typ), reason)
		return cty.NilVal, false
	}
	return converted, true
}

// validate evaluates the validation blocks, once all variables have values.
func (b *builder) validate(v *variable) {
	for _, check := range v.block.validations {
		if check.condition == nil || check.errorMessage == nil {
			continue
		}
		message := b.validationMessage(check.errorMessage)
		value, ok := b.evaluate(check.condition, frame{allow: kindVar}, cty.Bool)
		if !ok || !value.IsKnown() {
			continue
		}
		if value.IsNull() {
			b.errorf("Invalid validation condition", check.condition.exprRange(), "The condition of a validation must be true or false, not null.")
			continue
		}
		if plain, _ := value.Unmark(); plain.False() {
			b.errorf("Invalid value for variable", v.block.block.DefRange(), "Variable %q: %s (checked at line %d).", v.block.name, message, check.rng.Start.Line)
		}
	}
}

// validationMessage returns the error_message of a validation, if it may be shown.
func (b *builder) validationMessage(a *argument) string {
	value, ok := b.evaluate(a, frame{allow: kindVar}, cty.String)
	switch {
	case !ok || !value.IsKnown() || value.IsNull():
		return "the condition is false"
	case value.ContainsMarked():
		return "the condition is false; its error_message is not shown, because it holds a sensitive value"
	}
	return value.AsString()
}
