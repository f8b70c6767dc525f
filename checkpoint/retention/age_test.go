package retention

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAJumpOfTheClockRemovesNothing lets the clock jump once between two
// checkpoints, or between the last one and the pass.
func TestAJumpOfTheClockRemovesNothing(t *testing.T) {
	t.Parallel()
	jumps := []time.Duration{-day, 3650 * day, -3650 * day, 7 * day, 30 * day}
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{Counts: map[string]int{"pause": 100}, MaxAge: rapid.SampledFrom([]time.Duration{time.Hour, 7 * day, 720 * time.Hour}).Draw(t, "max age")}
		n := rapid.IntRange(2, 30).Draw(t, "n")
		at, jump := rapid.IntRange(1, n).Draw(t, "where"), rapid.SampledFrom(jumps).Draw(t, "jump")
		clock, step := noon(), p.MaxAge/2/time.Duration(n)
		var given []Checkpoint
		for i := range n {
			if i == at {
				clock = clock.Add(jump)
			}
			given = append(given, Checkpoint{ID: strconv.Itoa(i), Group: Group{Trigger: "pause"}, At: clock})
			clock = clock.Add(step)
		}
		if at == n {
			clock = clock.Add(jump)
		}
		for _, d := range Decide(given, p, Pass{Clock: Clock{Now: clock}}).Decisions {
			if !d.Keep {
				t.Fatalf("removed: %+v", d)
			}
		}
	})
}

func TestAges(t *testing.T) {
	t.Parallel()
	untouched := []time.Duration{10*day + time.Hour, 10 * day} // how old its checkpoints are
	others := []time.Time{noon().Add(-7 * day), noon().Add(-4 * day), noon().Add(-day)}
	for _, tt := range []struct {
		name    string
		max     time.Duration
		ages    []time.Duration
		seen    []time.Time
		removed int
		doubted int
	}{
		{"a session that lies alone", 7 * day, untouched, nil, 0, 2},
		{"one beside others that are worked on", 7 * day, untouched, others, 2, 0},
		{"worked on every three days", 7 * day, []time.Duration{9 * day, 6 * day, 3 * day}, nil, 1, 0},
		{"seconds mean what they say", time.Second, []time.Duration{3 * time.Second, 2 * time.Second, time.Second}, nil, 2, 0},
		{"recorded by a clock that was ahead", 7 * day, []time.Duration{10 * day, -3650 * day, -3649 * day}, nil, 0, 1},
		{"recorded by a clock that was behind", 7 * day, []time.Duration{3650 * day, day}, nil, 0, 1},
		{"confirmed for exactly the limit", 7 * day, []time.Duration{10 * day, 5 * day}, nil, 0, 1},
		{"no limit", 0, untouched, others, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var given []Checkpoint
			for i, age := range tt.ages {
				given = append(given, Checkpoint{ID: strconv.Itoa(i), Group: Group{Trigger: "pause"}, At: noon().Add(-age)})
			}
			given = append(given, Checkpoint{ID: "now", At: noon()})
			r := Decide(given, Policy{MaxAge: tt.max, Counts: map[string]int{"pause": 100}}, Pass{Clock: Clock{Now: noon(), Seen: tt.seen}})
			removed := 0
			for _, d := range r.Decisions {
				if !d.Keep {
					removed++
				}
			}
			if removed != tt.removed || r.Doubted != tt.doubted {
				t.Errorf("removes %d and doubts %d instead of %d and %d: %+v", removed, r.Doubted, tt.removed, tt.doubted, r.Decisions)
			}
		})
	}
}

// TestOthersSettleDoubts: the readings of other sessions count, and are asked for only if an
// age is in doubt without them.
func TestOthersSettleDoubts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		age         time.Duration
		seen        []time.Time
		want, asked bool
	}{
		{"young", 6 * day, nil, false, false},
		{"confirmed without them", 10 * day, []time.Time{noon().Add(-7 * day), noon().Add(-4 * day)}, true, false},
		{"confirmed by them", 10 * day, nil, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := false
			c := Clock{Now: noon(), Seen: tt.seen, Others: func() []time.Time {
				asked = true
				return []time.Time{noon().Add(-7 * day), noon().Add(-4 * day)}
			}}
			if got := c.Passed(noon().Add(-tt.age), 7*day); got != tt.want || asked != tt.asked {
				t.Errorf("passed: %t, want %t; asked the others: %t, want %t", got, tt.want, asked, tt.asked)
			}
		})
	}
}

func TestDurationsForPeople(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration][2]string{
		48 * time.Hour:  {"48h", "2 days"},
		168 * time.Hour: {"168h", "7 days"}, 26*time.Hour + 59*time.Second: {"26h0m59s", "26h"}, 90 * time.Minute: {"1h30m", "1h30m"},
		10 * time.Minute: {"10m", "10m"}, 20 * time.Second: {"20s", "20s"}, 1500 * time.Millisecond: {"1.5s", "1s"}, time.Millisecond: {"1ms", "1ms"},
	} {
		if got := [2]string{formatDuration(d), formatAge(d)}; got != want {
			t.Errorf("%d: %q instead of %q", d, got, want)
		}
	}
}
