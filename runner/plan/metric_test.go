package plan_test

import (
	"encoding/json"
	"testing"

	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

func TestCheckMetric(t *testing.T) {
	t.Parallel()
	n := func(text json.Number) *json.Number { return &text }
	tests := []struct {
		name            string
		rule            pipeline.MetricRule
		value, baseline any
		has             bool
		want            string
	}{
		{"above the minimum", pipeline.MetricRule{Min: n("80")}, json.Number("80"), nil, false, ""},
		{"below the minimum", pipeline.MetricRule{Min: n("80")}, json.Number("79.5"), nil, false, "m is 79.5, below the minimum of 80"},
		{"above the maximum", pipeline.MetricRule{Max: n("10")}, json.Number("11"), nil, false, "m is 11, above the maximum of 10"},
		{"no baseline, no drop", pipeline.MetricRule{MaxDrop: n("1")}, json.Number("10"), nil, false, ""},
		{"small drop", pipeline.MetricRule{MaxDrop: n("1")}, json.Number("89"), json.Number("90"), true, ""},
		{"large drop", pipeline.MetricRule{MaxDrop: n("1")}, json.Number("88.9"), json.Number("90"), true, "m dropped from 90 to 88.9, by more than 1"},
		{"a rise is no drop", pipeline.MetricRule{MaxDrop: n("1")}, json.Number("99"), json.Number("90"), true, ""},
		{"large rise", pipeline.MetricRule{MaxRise: n("2")}, json.Number("5"), json.Number("2"), true, "m rose from 2 to 5, by more than 2"},
		{"beyond 2^53", pipeline.MetricRule{Max: n("9007199254740992")}, json.Number("9007199254740993"), nil, false, "m is 9007199254740993, above the maximum of 9007199254740992"},
		{"not equal beyond 2^53", pipeline.MetricRule{Equals: json.Number("9007199254740992")}, json.Number("9007199254740993"), nil, false, "m is 9007199254740993, and must be 9007199254740992"},
		{"equal, in another notation", pipeline.MetricRule{Equals: json.Number("1000")}, json.Number("1e+3"), nil, false, ""},
		{"a drop of exactly the maximum", pipeline.MetricRule{MaxDrop: n("0.1")}, json.Number("0.2"), json.Number("0.3"), true, ""},
		{"a drop beyond 2^53", pipeline.MetricRule{MaxDrop: n("0")}, json.Number("9007199254740992"), json.Number("9007199254740993"), true, "m dropped from 9007199254740993 to 9007199254740992, by more than 0"},
		{"equal", pipeline.MetricRule{Equals: true}, true, nil, false, ""},
		{"not equal", pipeline.MetricRule{Equals: true}, false, nil, false, "m is false, and must be true"},
		{"text is no number", pipeline.MetricRule{Min: n("1")}, "many", nil, false, `m is "many", which is not a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.rule.Name = "m"
			if got := plan.CheckMetric(tt.rule, tt.value, tt.baseline, tt.has); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
