package plan

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"prdrunner/pipeline"
)

// CheckMetric returns why a metric's value breaks the rule, or "". The baseline is the
// value in the last complete session; if it is nil, max_drop and max_rise are not checked.
// Numbers are compared exactly.
func CheckMetric(rule pipeline.MetricRule, value, baseline any) string {
	if rule.Equals != nil && !sameMetric(value, rule.Equals) {
		return fmt.Sprintf("%s is %s, and must be %s", rule.Name, formatMetric(value), formatMetric(rule.Equals))
	}
	if rule.Min == nil && rule.Max == nil && rule.MaxDrop == nil && rule.MaxRise == nil {
		return ""
	}
	v, ok := exactNumber(value)
	if !ok {
		return fmt.Sprintf("%s is %s, which is not a number", rule.Name, formatMetric(value))
	}
	switch {
	case rule.Min != nil && compareTo(v, rule.Min) < 0:
		return fmt.Sprintf("%s is %s, below the minimum of %s", rule.Name, formatMetric(value), *rule.Min)
	case rule.Max != nil && compareTo(v, rule.Max) > 0:
		return fmt.Sprintf("%s is %s, above the maximum of %s", rule.Name, formatMetric(value), *rule.Max)
	}
	was, ok := exactNumber(baseline)
	if !ok {
		return ""
	}
	drop, rise := new(big.Rat).Sub(was, v), new(big.Rat).Sub(v, was)
	switch {
	case rule.MaxDrop != nil && compareTo(drop, rule.MaxDrop) > 0:
		return fmt.Sprintf("%s dropped from %s to %s, by more than %s", rule.Name, formatMetric(baseline), formatMetric(value), *rule.MaxDrop)
	case rule.MaxRise != nil && compareTo(rise, rule.MaxRise) > 0:
		return fmt.Sprintf("%s rose from %s to %s, by more than %s", rule.Name, formatMetric(baseline), formatMetric(value), *rule.MaxRise)
	}
	return ""
}

// exactNumber returns the value of a metric as an exact number. It returns false if the
// value is not a number.
func exactNumber(value any) (*big.Rat, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return nil, false
	}
	return pipeline.Rat(n)
}

// compareTo compares a number with a bound. The pipeline has already checked that the
// bound is a number.
func compareTo(v *big.Rat, bound *json.Number) int {
	if b, ok := pipeline.Rat(*bound); ok {
		return v.Cmp(b)
	}
	return 0
}

// sameMetric reports whether two values of a metric are equal.
func sameMetric(a, b any) bool {
	x, isNumber := exactNumber(a)
	y, both := exactNumber(b)
	if isNumber && both {
		return x.Cmp(y) == 0
	}
	return a == b
}

func formatMetric(v any) string {
	if v, ok := v.(string); ok {
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}
