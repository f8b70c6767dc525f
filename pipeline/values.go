package pipeline

import (
	"encoding/json"
	"errors"
	"math/big"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"prdrunner/pipeline/glob"
)

// The functions below evaluate constant arguments. Each returns the zero value for a nil
// argument and after a mistake.

func (b *builder) evalText(a *argument, fr frame) string {
	if a == nil {
		return ""
	}
	value, ok := b.constant(a, fr, cty.String)
	if !ok {
		return ""
	}
	return value.AsString()
}

func (b *builder) boolean(a *argument, fr frame) bool {
	if a == nil {
		return false
	}
	value, ok := b.constant(a, fr, cty.Bool)
	return ok && value.True()
}

// number returns nil if there is no value.
func (b *builder) number(a *argument, fr frame) *json.Number {
	if a == nil {
		return nil
	}
	value, ok := b.constant(a, fr, cty.Number)
	if !ok {
		return nil
	}
	number, ok := decimalOf(value)
	if !ok {
		b.errorf("Invalid number", a.exprRange(), "%q must be a decimal number with an exponent from -%d to %d.", a.name, maxExponent, maxExponent)
		return nil
	}
	return &number
}

// integer evaluates a whole number that must not be less than the minimum.
func (b *builder) integer(a *argument, fr frame, minimum int64) (int, bool) {
	if a == nil {
		return 0, false
	}
	value, ok := b.constant(a, fr, cty.Number)
	if !ok {
		return 0, false
	}
	n, accuracy := value.AsBigFloat().Int64()
	if accuracy != big.Exact || n < minimum || n > 1_000_000 {
		b.errorf("Invalid number", a.exprRange(), "%q must be a whole number from %d to 1000000.", a.name, minimum)
		return 0, false
	}
	return int(n), true
}

func (b *builder) duration(a *argument, fr frame) time.Duration {
	if a == nil {
		return 0
	}
	value, ok := b.constant(a, fr, cty.String)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(value.AsString())
	if err != nil || d <= 0 {
		b.errorf("Invalid duration", a.exprRange(), "%q cannot be %q; write a positive duration with its unit, such as \"90s\", \"10m\" or \"1h30m\".", a.name, value.AsString())
		return 0
	}
	return d
}

// stringList evaluates a list, set or tuple of texts.
func (b *builder) stringList(a *argument, fr frame) []string {
	if a == nil {
		return nil
	}
	if a.texts != nil {
		return a.texts
	}
	if list, ok := b.lists[a]; ok {
		return list
	}
	var list []string
	if value, ok := b.constant(a, fr, cty.DynamicPseudoType); ok {
		var err error
		if list, err = toStrings(value); err != nil {
			b.errorf("Incorrect value type", a.exprRange(), "%q must be a list of strings: %s.%s", a.name, err, a.asList())
			list = nil
		}
	}
	if a.kinds&kindEach == 0 {
		b.lists[a] = list
	}
	return list
}

var (
	errNotList  = errors.New("this is not a list")
	errNull     = errors.New("an element is null")
	errElements = errors.New("an element is neither a string, a number nor a boolean")
)

// toStrings converts an unmarked list of texts. It is faster than cty's conversion,
// which matters because it runs for each instance of each for_each. Unknown parts are
// checked by type, and become "".
func toStrings(value cty.Value) ([]string, error) {
	typ := value.Type()
	switch {
	case !value.IsKnown():
		if typ != cty.DynamicPseudoType && !typ.IsListType() && !typ.IsSetType() && !typ.IsTupleType() {
			return nil, errNotList
		}
		return nil, nil
	case value.IsNull() || !typ.IsListType() && !typ.IsSetType() && !typ.IsTupleType():
		return nil, errNotList
	}
	list := make([]string, 0, value.LengthInt())
	for it := value.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		text, err := toText(elem)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

func toText(value cty.Value) (string, error) {
	switch {
	case !value.IsKnown():
		if typ := value.Type(); typ != cty.DynamicPseudoType && !typ.IsPrimitiveType() {
			return "", errElements
		}
		return "", nil
	case value.IsNull():
		return "", errNull
	case value.Type() == cty.String:
		return value.AsString(), nil
	}
	converted, err := convert.Convert(value, cty.String)
	if err != nil {
		return "", errElements
	}
	return converted.AsString(), nil
}

// evalPath evaluates a path inside the workspace.
func (b *builder) evalPath(a *argument, fr frame) string {
	text := b.evalText(a, fr)
	if text != "" && !glob.Inside(text) {
		b.errorf("Path outside the workspace", a.exprRange(), "%q in %q must be a path relative to the workspace, with slashes, and must not lead out of it.", text, a.name)
	}
	return text
}
