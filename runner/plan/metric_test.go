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
		want            string
	}{
		{"above the minimum", pipeline.MetricRule{Min: n("80")}, json.Number("80"), nil, ""},
		{"below the minimum", pipeline.MetricRule{Min: n("80")}, json.Number("79.5"), nil, "m is 79.5, below the minimum of 80"},
		{"above the maximum", pipeline.MetricRule{Max: n("10")}, json.Number("11"), nil, "m is 11, above the maximum of 10"},
		{"no baseline, no drop", pipeline.MetricRule{MaxDrop: n("1")}, json.Number("10"), nil, ""},
		{"small drop", pipeline.MetricRule{MaxDrop: n("1")}, json.Number("89"), json.Number("90"), ""},
		{"large drop", pipeline.MetricRule{MaxDrop: n("1")}, json.Number("88.9"), json.Number("90"), "m dropped from 90 to 88.9, by more than 1"},
		{"a rise is no drop", pipeline.MetricRule{MaxDrop: n("1")}, json.Number("99"), json.Number("90"), ""},
		{"large rise", pipeline.MetricRule{MaxRise: n("2")}, json.Number("5"), json.Number("2"), "m rose from 2 to 5, by more than 2"},
		{"beyond 2^53", pipeline.MetricRule{Max: n("9007199254740992")}, json.Number("9007199254740993"), nil, "m is 9007199254740993, above the maximum of 9007199254740992"},
		{"not equal beyond 2^53", pipeline.MetricRule{Equals: json.Number("9007199254740992")}, json.Number("9007199254740993"), nil, "m is 9007199254740993, and must be 9007199254740992"},
		{"a rise of exactly the maximum", pipeline.MetricRule{MaxRise: n("2")}, json.Number("4"), json.Number("2"), ""},
		{"exactly the maximum", pipeline.MetricRule{Max: n("10")}, json.Number("10"), nil, ""},
		{"the baseline is no number", pipeline.MetricRule{MaxDrop: n("1")}, json.Number("10"), true, ""},
		{"equal texts", pipeline.MetricRule{Equals: "ok"}, "ok", nil, ""},
		{"a number and a text", pipeline.MetricRule{Equals: json.Number("1")}, "1", nil, `m is "1", and must be 1`},
		{"equal, in another notation", pipeline.MetricRule{Equals: json.Number("1000")}, json.Number("1e+3"), nil, ""},
		{"a drop of exactly the maximum", pipeline.MetricRule{MaxDrop: n("0.1")}, json.Number("0.2"), json.Number("0.3"), ""},
		{"a drop beyond 2^53", pipeline.MetricRule{MaxDrop: n("0")}, json.Number("9007199254740992"), json.Number("9007199254740993"), "m dropped from 9007199254740993 to 9007199254740992, by more than 0"},
		{"equal", pipeline.MetricRule{Equals: true}, true, nil, ""},
		{"not equal", pipeline.MetricRule{Equals: true}, false, nil, "m is false, and must be true"},
		{"text is no number", pipeline.MetricRule{Min: n("1")}, "many", nil, `m is "many", which is not a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.rule.Name = "m"
			if got := plan.CheckMetric(tt.rule, tt.value, tt.baseline); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
