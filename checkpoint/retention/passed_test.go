package retention

import (
	"testing"
	"time"
)

// TestPassed: time has passed only as far as readings confirm it.
func TestPassed(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	after := func(hours ...int) (all []time.Time) {
		for _, h := range hours {
			all = append(all, made.Add(time.Duration(h)*time.Hour))
		}
		return all
	}
	for name, tt := range map[string]struct {
		now  int
		seen []time.Time
		want bool
	}{
		"before":            {23, after(6, 12, 18), false},
		"at the limit":      {24, after(6, 12, 18), false},
		"after":             {25, after(6, 12, 18), true},
		"a jump":            {24 * 365, nil, false},
		"a jump, confirmed": {100, after(12, 24, 36), true},
		"the clock is back": {-5, after(6, 12, 18, 30), false},
	} {
		if got := (Clock{Now: made.Add(time.Duration(tt.now) * time.Hour), Seen: tt.seen}).Passed(made, 24*time.Hour); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
