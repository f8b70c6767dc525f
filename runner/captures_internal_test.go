package runner

import (
	"testing"
	"time"

	"prdrunner/checkpoint/state"
)

// TestCapturesAreAffordable: a session makes its first ten captures even if they are
// slow. It makes more captures as long as all captures together took at most a tenth of
// its time.
func TestCapturesAreAffordable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		made         int
		took, active time.Duration
		want         bool
	}{
		"the first":          {0, 0, 0, true},
		"the tenth, slow":    {9, time.Hour, time.Minute, true},
		"the eleventh, slow": {10, time.Hour, time.Minute, false},
		"just a tenth":       {10, time.Second, 10 * time.Second, true},
		"just over a tenth":  {10, time.Second + 1, 10 * time.Second, false},
		"again, later":       {10, time.Hour, 10 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally := captures{count: c.made, duration: c.took}
			if got := tally.affordable(c.active); got != c.want {
				t.Errorf("affordable: %t, want %t", got, c.want)
			}
		})
	}
}

// TestCapturesCountOverResumes: a resumed session adds its captures to those of earlier
// runs, which are in the state. A measurement inside another one counts once.
func TestCapturesCountOverResumes(t *testing.T) {
	t.Parallel()
	var c captures
	c.addEarlierRuns(&state.State{Captures: state.Captures{Made: 7, TookMS: 1500}})
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	whole := c.measure(clock)
	within := c.measure(clock)
	now = now.Add(time.Second)
	within()
	now = now.Add(time.Second)
	whole()
	if c.count != 8 || c.duration != 3500*time.Millisecond {
		t.Errorf("%d captures took %s, want 8 and 3.5s", c.count, c.duration)
	}
}
