package pipeline

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// sensitiveMark marks a value that was made from a sensitive variable with the name of
// the variable.
type sensitiveMark string

// minSecretLength is the shortest text that can be masked without making
// output unreadable.
const minSecretLength = 4

// secrets collects every text of a sensitive value, for masking.
func (b *builder) secrets(v *variableBlock, value cty.Value) {
	short := false
	// The callback never fails.
	_ = cty.Walk(value, func(_ cty.Path, leaf cty.Value) (bool, error) {
		if leaf.IsNull() || !leaf.IsKnown() {
			return false, nil
		}
		text := ""
		switch leaf.Type() {
		case cty.String:
			text = leaf.AsString()
		case cty.Number:
			text = leaf.AsBigFloat().Text('f', -1)
		}
		switch {
		case text == "":
		case len(text) < minSecretLength:
			short = true
		default:
			b.pipeline.Secrets = append(b.pipeline.Secrets, Secret{Variable: v.name, Value: text})
		}
		return true, nil
	})
	if short {
		b.errorf("Sensitive value too short", v.block.DefRange(),
			"A value of the sensitive variable %q is shorter than %d characters, so it cannot be masked in output. Use a longer value, or do not declare it sensitive.", v.name, minSecretLength)
	}
}

// placeholder returns a value of the given type that depends only on the name.
func placeholder(name string, typ cty.Type) cty.Value {
	switch {
	case typ == cty.String, typ == cty.DynamicPseudoType:
		return cty.StringVal("sensitive " + name)
	case typ == cty.Number:
		return cty.NumberIntVal(1)
	case typ == cty.Bool:
		return cty.False
	case typ.IsListType():
		return cty.ListVal([]cty.Value{placeholder(name, typ.ElementType())})
	case typ.IsSetType():
		return cty.SetVal([]cty.Value{placeholder(name, typ.ElementType())})
	case typ.IsMapType():
		return cty.MapVal(map[string]cty.Value{"sensitive": placeholder(name, typ.ElementType())})
	case typ.IsObjectType():
		values := map[string]cty.Value{}
		for attr, attrType := range typ.AttributeTypes() {
			values[attr] = placeholder(name+"."+attr, attrType)
		}
		return cty.ObjectVal(values)
	case typ.IsTupleType():
		var values []cty.Value
		for _, elem := range typ.TupleElementTypes() {
			values = append(values, placeholder(name, elem))
		}
		return cty.TupleVal(values)
	}
	return cty.UnknownVal(typ)
}

// withhold makes diagnostics of an expression over sensitive values safe to show. A
// diagnostic that also appears with the values unknown (safe) is kept. For all others,
// only the place is kept.
func withhold(diags, safe hcl.Diagnostics, names []string) hcl.Diagnostics {
	result := make(hcl.Diagnostics, 0, len(diags))
	for _, diag := range diags {
		kept := &hcl.Diagnostic{Severity: diag.Severity, Summary: "Invalid value", Subject: diag.Subject, Context: diag.Context}
		i := slices.IndexFunc(safe, func(other *hcl.Diagnostic) bool { return sameDiagnostic(diag, other) })
		if i >= 0 {
			kept.Summary, kept.Detail = safe[i].Summary, safe[i].Detail
		} else {
			kept.Detail = fmt.Sprintf("The expression cannot be evaluated with the value of %s. The reason is withheld, because that value is sensitive.", sensitiveReferences(names))
		}
		result = append(result, kept)
	}
	return result
}

func sameDiagnostic(a, b *hcl.Diagnostic) bool {
	if a.Severity != b.Severity || a.Summary != b.Summary || (a.Subject == nil) != (b.Subject == nil) {
		return false
	}
	return a.Subject == nil || *a.Subject == *b.Subject
}

// withoutMarks removes all marks, and reports whether there were any.
func withoutMarks(value cty.Value) (cty.Value, bool) {
	if !containsMarked(value) {
		return value, false
	}
	unmarked, _ := value.UnmarkDeep()
	return unmarked, true
}

// containsMarked does the same as value.ContainsMarked, faster for sets: a set has
// the marks of all its elements.
func containsMarked(value cty.Value) bool {
	if typ := value.Type(); typ.IsPrimitiveType() || typ.IsSetType() {
		return value.IsMarked()
	}
	return value.ContainsMarked()
}
