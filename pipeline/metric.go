package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// metricAttributes are the arguments of a metric gate.
var metricAttributes = []string{"metric", "min", "max", "max_drop", "max_rise", "equals"}

// metricBlock holds the arguments of a gate that belong to a metric.
type metricBlock struct {
	name    *argument
	min     *argument
	max     *argument
	maxDrop *argument
	maxRise *argument
	equals  *argument
}

func (d *decoder) decodeMetric(content *hclsyntax.Body, block *hclsyntax.Block) *metricBlock {
	m := &metricBlock{
		name:    d.argument(content, "metric"),
		min:     d.argument(content, "min"),
		max:     d.argument(content, "max"),
		maxDrop: d.argument(content, "max_drop"),
		maxRise: d.argument(content, "max_rise"),
		equals:  d.argument(content, "equals"),
	}
	bounds := []*argument{m.min, m.max, m.maxDrop, m.maxRise, m.equals}
	given := 0
	for _, bound := range bounds {
		if bound == nil {
			continue
		}
		given++
		if m.name == nil {
			d.report("Argument without effect", fmt.Sprintf("%q is a bound of a metric, but the gate names no \"metric\".", bound.name), bound.nameRange)
		}
	}
	if m.name == nil {
		return nil
	}
	if given == 0 {
		d.report("Metric without bound", `A gate with a "metric" needs at least one of "min", "max", "max_drop", "max_rise" and "equals".`, m.name.nameRange)
	}
	if m.equals != nil && given > 1 {
		d.report("Conflicting bounds", `"equals" cannot stand beside other bounds.`, m.equals.nameRange)
	}
	return m
}

func (b *builder) metric(block *metricBlock, fr frame) *MetricRule {
	rule := &MetricRule{
		Name:    b.evalText(block.name, fr),
		Min:     b.number(block.min, fr),
		Max:     b.number(block.max, fr),
		MaxDrop: b.notNegative(block.maxDrop, fr),
		MaxRise: b.notNegative(block.maxRise, fr),
		Equals:  b.equals(block.equals, fr),
	}
	if value, ok := b.constant(block.name, fr, cty.String); ok && value.AsString() == "" {
		b.errorf("Invalid value for argument", block.name.exprRange(), `"metric" must be the name of a metric.`)
	}
	if rule.Min != nil && rule.Max != nil && isGreater(*rule.Min, *rule.Max) {
		b.errorf("Conflicting bounds", block.min.exprRange(), "\"min\" (%s) is greater than \"max\" (%s), so the gate can never pass.", *rule.Min, *rule.Max)
	}
	return rule
}

func isGreater(a, b json.Number) bool {
	x, okX := Rat(a)
	y, okY := Rat(b)
	return okX && okY && x.Cmp(y) > 0
}

func (b *builder) notNegative(a *argument, fr frame) *json.Number {
	n := b.number(a, fr)
	if n != nil && strings.HasPrefix(string(*n), "-") {
		b.errorf("Invalid number", a.exprRange(), "%q must not be negative: it says how far the metric may move from the last complete session.", a.name)
		return nil
	}
	return n
}

// equals reads a number, a boolean or a string.
func (b *builder) equals(a *argument, fr frame) any {
	if a == nil {
		return nil
	}
	value, ok := b.constant(a, fr, cty.DynamicPseudoType)
	if !ok {
		return nil
	}
	switch value.Type() {
	case cty.Number:
		n, ok := decimalOf(value)
		if !ok {
			b.errorf("Invalid number", a.exprRange(), "%q must be a decimal number with an exponent from -%d to %d.", a.name, maxExponent, maxExponent)
		}
		return n
	case cty.Bool:
		return value.True()
	case cty.String:
		return value.AsString()
	}
	b.errorf("Incorrect value type", a.exprRange(), `"equals" must be a number, a boolean or a string.`)
	return nil
}

// addToDigest adds the rule to a digest.
func (m *MetricRule) addToDigest(h *hasher) {
	h.writeField("metric", m.Name)
	for _, bound := range []struct {
		name  string
		value *json.Number
	}{{"min", m.Min}, {"max", m.Max}, {"max_drop", m.MaxDrop}, {"max_rise", m.MaxRise}} {
		if bound.value != nil {
			text, _, _ := numberInDigest(*bound.value)
			h.writeField(bound.name, text)
		}
	}
	equals := m.Equals
	if n, ok := equals.(json.Number); ok {
		if _, f, exact := numberInDigest(n); exact {
			equals = f
		}
	}
	if equals != nil {
		h.writeField("equals", fmt.Sprintf("%T %v", equals, equals))
	}
}
