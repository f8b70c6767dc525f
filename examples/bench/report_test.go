package main

import (
	"strings"
	"testing"
)

// TestReport: a report has the middle figures, tells who is left out, and which
// targets are met, leaving out those whose contest was not held.
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
		{"met", "", 0.5, ratio("run", "runner", "run", "make")},
		{"missed", " s", 1.5, figure(seconds, "run", "runner")},
		{"left out", "", 1, ratio("run", "ninja", "run", "make")},
		{"not held", "", 1, ratio("other", "runner", "run", "make")},
	})
	var shown strings.Builder
	r.print(&shown)
	got := strings.Join(strings.Fields(shown.String()), " ")
	for _, want := range []string{
		"run, rounds: 4",
		"runner 2.000 s 1.00", "make 4.000 s 2.00",
		"ninja left out: ninja is not installed",
		"met 0.50 0.5 met", "missed 2.00 s 1.5 s missed",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not have %q:\n%s", want, shown.String())
		}
	}
	if len(r.Targets) != 2 {
		t.Errorf("it has targets of what was not held: %+v", r.Targets)
	}
}
