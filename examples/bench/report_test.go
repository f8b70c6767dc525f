package main

import (
	"strings"
	"testing"
)

// TestReport: a report has the middle figures, tells who is left out, and which
// targets are met or how far from their floor they are missed, leaving out those whose contest was not held.
func TestReport(t *testing.T) {
	t.Parallel()
	samples := func(figures ...float64) []sample {
		var all []sample
		for _, s := range figures {
			all = append(all, sample{Seconds: s})
		}
		return all
	}
	r := report{Contests: []contestReport{{Name: "run", Results: []result{
		{Name: "runner", Samples: samples(9, 1, 2)},
		{Name: "make", Samples: samples(4, 3, 5, 6)},
		{Name: "ninja", Missing: "ninja is not installed"},
	}}}}
	r.Targets = r.measure([]target{
		{"met", "", 0.5, ratio("run", "runner", "run", "make"), nil},
		{"missed", " s", 1.5, figure(seconds, "run", "runner"), nil},
		{"near", "", 0.1, ratio("run", "runner", "run", "make"), ratio("run", "runner", "run", "make")},
		{"far", " s", 1, figure(seconds, "run", "make"), figure(seconds, "run", "runner")},
		{"left out", "", 1, ratio("run", "ninja", "run", "make"), nil},
		{"not held", "", 1, ratio("other", "runner", "run", "make"), nil},
	})
	var shown strings.Builder
	r.print(&shown)
	got := strings.Join(strings.Fields(shown.String()), " ")
	for _, want := range []string{
		"run, rounds: 4",
		"runner 2.000 s 1.00", "make 4.000 s 2.00",
		"ninja left out: ninja is not installed",
		"met 0.50 0.5 met", "missed 2.00 s 1.5 s missed",
		"near 0.50 0.1 0.50 missed, but within 1.3 of the floor: 1.00 times",
		"far 4.00 s 1 s 2.00 s missed, 2.00 times the floor",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not have %q:\n%s", want, shown.String())
		}
	}
	if len(r.Targets) != 4 {
		t.Errorf("it has targets of what was not held: %+v", r.Targets)
	}
}
