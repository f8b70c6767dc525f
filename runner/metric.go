package runner

import (
	"fmt"
	"strconv"

	"prdrunner/pipeline"
)

// checkMetric says what is wrong with a metric's value, or "". The baseline
// is its value in the last complete session; without one there is nothing
// that it could have dropped or risen from.
func checkMetric(rule pipeline.MetricRule, value, baseline any, hasBaseline bool) string {
	if rule.Equals != nil && value != rule.Equals {
		return fmt.Sprintf("%s is %s, and must be %s", rule.Name, show(value), show(rule.Equals))
	}
	if rule.Min == nil && rule.Max == nil && rule.MaxDrop == nil && rule.MaxRise == nil {
		return ""
	}
	v, ok := value.(float64)
	if !ok {
		return fmt.Sprintf("%s is %s, which is not a number", rule.Name, show(value))
	}
	switch {
	case rule.Min != nil && v < *rule.Min:
		return fmt.Sprintf("%s is %s, below the minimum of %s", rule.Name, show(v), show(*rule.Min))
	case rule.Max != nil && v > *rule.Max:
		return fmt.Sprintf("%s is %s, above the maximum of %s", rule.Name, show(v), show(*rule.Max))
	}
	was, ok := baseline.(float64)
	if !hasBaseline || !ok {
		return ""
	}
	switch {
	case rule.MaxDrop != nil && was-v > *rule.MaxDrop:
		return fmt.Sprintf("%s dropped from %s to %s, by more than %s", rule.Name, show(was), show(v), show(*rule.MaxDrop))
	case rule.MaxRise != nil && v-was > *rule.MaxRise:
		return fmt.Sprintf("%s rose from %s to %s, by more than %s", rule.Name, show(was), show(v), show(*rule.MaxRise))
	}
	return ""
}

func show(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}
