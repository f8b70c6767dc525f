package runner

import (
	"testing"

	"prdrunner/pipeline"
)

func TestCheckMetric(t *testing.T) {
	t.Parallel()
	n := func(f float64) *float64 { return &f }
	tests := []struct {
		name            string
		rule            pipeline.MetricRule
		value, baseline any
		has             bool
		want            string
	}{
		{"above the minimum", pipeline.MetricRule{Min: n(80)}, 80.0, nil, false, ""},
		{"below the minimum", pipeline.MetricRule{Min: n(80)}, 79.5, nil, false, "m is 79.5, below the minimum of 80"},
		{"above the maximum", pipeline.MetricRule{Max: n(10)}, 11.0, nil, false, "m is 11, above the maximum of 10"},
		{"no baseline, no drop", pipeline.MetricRule{MaxDrop: n(1)}, 10.0, nil, false, ""},
		{"small drop", pipeline.MetricRule{MaxDrop: n(1)}, 89.0, 90.0, true, ""},
		{"large drop", pipeline.MetricRule{MaxDrop: n(1)}, 88.9, 90.0, true, "m dropped from 90 to 88.9, by more than 1"},
		{"a rise is no drop", pipeline.MetricRule{MaxDrop: n(1)}, 99.0, 90.0, true, ""},
		{"large rise", pipeline.MetricRule{MaxRise: n(2)}, 5.0, 2.0, true, "m rose from 2 to 5, by more than 2"},
		{"equal", pipeline.MetricRule{Equals: true}, true, nil, false, ""},
		{"not equal", pipeline.MetricRule{Equals: true}, false, nil, false, "m is false, and must be true"},
		{"text is no number", pipeline.MetricRule{Min: n(1)}, "many", nil, false, `m is "many", which is not a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.rule.Name = "m"
			if got := checkMetric(tt.rule, tt.value, tt.baseline, tt.has); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
