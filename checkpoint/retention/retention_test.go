package retention

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const day = 24 * time.Hour

// noon is when the passes of these tests happen.
func noon() time.Time { return time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC) }

// steadily are readings of a clock that nothing is wrong with.
func steadily() Clock {
	c := Clock{Now: noon()}
	for h := range 40 * 24 {
		c.Seen = append(c.Seen, noon().Add(-time.Duration(h)*time.Hour))
	}
	return c
}

// usual is a policy that keeps some, as the one that applies where nothing is
// configured.
func usual() Policy {
	return Policy{
		Counts:       map[string]int{"phase_transition": -1, "batch_complete": 3, "user_interrupt": 1, "manual": -1},
		MaxAge:       7 * day,
		FailedMaxAge: 30 * day,
		MaxSizeMB:    50,
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	batch := func(id string, age time.Duration) Checkpoint {
		return Checkpoint{ID: id, Group: Group{"batch_complete", "services"}, At: noon().Add(-age)}
	}
	of := func(trigger string, c Checkpoint) Checkpoint { c.Group = Group{Trigger: trigger}; return c }
	pinned := func(c Checkpoint) Checkpoint { c.Pinned = true; return c }
	invalid := func(c Checkpoint) Checkpoint { c.Unusable = "invalid since rollback R-1"; return c }
	damaged := func(c Checkpoint) Checkpoint { c.Unusable = "damaged"; return c }
	sizes := Usage{Total: 5 * Megabyte, Held: map[string]Holding{
		"a": {Own: Megabyte}, "b": {Own: Megabyte}, "c": {Own: Megabyte}, "d": {Own: Megabyte}, "e": {Own: Megabyte / 2},
	}}
	many := map[string]int{"batch_complete": 9}
	for _, tt := range []struct {
		name   string
		given  []Checkpoint
		policy Policy
		pass   Pass
		want   []string // "-" before the reason: removed
	}{
		{
			"counts", []Checkpoint{batch("a", 0), batch("b", 0), of("manual", batch("c", 0)), batch("d", 0)},
			Policy{Counts: map[string]int{"batch_complete": 2}}, Pass{},
			[]string{
				"-only the last 2 of batch_complete in services are kept", "one of the last 2 of batch_complete in services",
				"the number of manual is not limited", "the newest valid one",
			},
		},
		{
			"what does not count", []Checkpoint{batch("a", 0), pinned(batch("b", 0)), invalid(batch("c", 0)), batch("d", 0), damaged(batch("e", 0))},
			Policy{Counts: map[string]int{"batch_complete": 2}}, Pass{},
			[]string{
				"one of the last 2 of batch_complete in services", "pinned", "invalid since rollback R-1, and not counted",
				"the newest valid one", "damaged, and not counted",
			},
		},
		{
			"ages", []Checkpoint{
				of("manual", batch("a", 9*day)), pinned(batch("b", 9*day)), invalid(batch("c", 9*day)), damaged(batch("d", 9*day)),
				of("pause", batch("e", 9*day)), batch("f", 6*day), batch("g", 9*day), batch("h", 8*day),
			},
			usual(), Pass{Clock: steadily(), Needed: map[string]string{"g": "rollback R-2 is not finished"}},
			[]string{
				"all of manual are kept", "pinned", "-older than 168h (created 9 days ago)", "-older than 168h (created 9 days ago)",
				"-older than 168h (created 9 days ago)", "one of the last 3 of batch_complete in services",
				"needed: rollback R-2 is not finished", "the newest valid one",
			},
		},
		{
			"asked for", []Checkpoint{of("manual", batch("a", 9*day)), batch("b", 25*time.Hour), batch("c", 23*time.Hour), batch("d", 25*time.Hour)},
			usual(), Pass{Clock: Clock{Now: noon()}, OlderThan: day},
			[]string{
				"all of manual are kept", "-asked for: older than 24h", "one of the last 3 of batch_complete in services", "the newest valid one",
			},
		},
		{
			"asked for more than the policy keeps", []Checkpoint{batch("a", 9*day), batch("b", 0)},
			usual(), Pass{Clock: steadily(), OlderThan: 10 * day},
			[]string{"one of the last 3 of batch_complete in services", "the newest valid one"},
		},
		{
			"size takes invalid ones first", []Checkpoint{batch("a", 0), batch("b", 0), invalid(batch("c", 0)), damaged(batch("d", 0)), batch("e", 0)},
			Policy{MaxSizeMB: 2, Counts: many}, Pass{Usage: sizes},
			[]string{
				"-over max_size_mb: 3 MB of 2 MB", "one of the last 9 of batch_complete in services",
				"-over max_size_mb: 5 MB of 2 MB", "-over max_size_mb: 4 MB of 2 MB", "the newest valid one",
			},
		},
		{
			"size takes nothing without which it fits", []Checkpoint{batch("e", 0), batch("a", 0), batch("large", 0), batch("b", 0)},
			Policy{MaxSizeMB: 3, Counts: many}, Pass{Usage: Usage{Total: 6 * Megabyte, Held: map[string]Holding{
				"e": {Own: Megabyte / 2}, "a": {}, "large": {Own: 3 * Megabyte},
			}}},
			[]string{
				"one of the last 9 of batch_complete in services", "one of the last 9 of batch_complete in services",
				"-over max_size_mb: 6 MB of 3 MB", "the newest valid one",
			},
		},
		{
			"size takes nothing in vain, and nothing that is not counted", []Checkpoint{batch("a", 0), of("pre_rollback", batch("b", 0)), batch("c", 0)},
			Policy{MaxSizeMB: 3, Counts: many}, Pass{Usage: sizes},
			[]string{"one of the last 9 of batch_complete in services", "the number of pre_rollback is not limited", "the newest valid one"},
		},
		{
			"asked for what is not counted", []Checkpoint{of("pre_rollback", batch("a", 9*day)), of("pause", batch("b", 9*day)), batch("c", 0)},
			usual(), Pass{Clock: Clock{Now: noon()}, OlderThan: day, Needed: map[string]string{"a": "rollback R-3 can be undone with it"}},
			[]string{"needed: rollback R-3 can be undone with it", "-asked for: older than 24h", "the newest valid one"},
		},
		{
			"a clock that nothing confirms", []Checkpoint{batch("a", 9*day), batch("b", 9*day-time.Hour)},
			usual(), Pass{Clock: Clock{Now: noon()}},
			[]string{"created 9 days ago only if the clock is right, which no record confirms", "the newest valid one"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for i, d := range Decide(tt.given, tt.policy, tt.pass).Decisions {
				if d.ID != tt.given[i].ID {
					t.Errorf("decision %d is about %s", i, d.ID)
				}
				if !d.Keep {
					d.Reason = "-" + d.Reason
				}
				got = append(got, d.Reason)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSharedBlobsAreFreedWithTheLast also shows that nothing goes where all
// that may go is too little.
func TestSharedBlobsAreFreedWithTheLast(t *testing.T) {
	t.Parallel()
	paused := Group{Trigger: "pause"}
	given := []Checkpoint{{ID: "a", Group: paused}, {ID: "b", Group: paused}, {ID: "c", Group: paused}}
	policy := Policy{MaxSizeMB: 2, Counts: map[string]int{"pause": 9}}
	usage := Usage{
		Total: 4 * Megabyte, // of which 1 MB less 30 bytes is nobody's
		Blobs: []int64{Megabyte, Megabyte, Megabyte, 0},
		Held: map[string]Holding{
			"a": {Own: 10, Blobs: []int{0, 1, 3}}, "b": {Own: 10, Blobs: []int{0, 2}}, "c": {Own: 10},
			"elsewhere": {Blobs: []int{2}},
		},
	}
	r := Decide(given, policy, Pass{Usage: usage})
	var freed []int64
	for _, d := range r.Decisions {
		freed = append(freed, d.Bytes)
	}
	if want := []int64{10 + Megabyte, 10 + Megabyte, 0}; !slices.Equal(freed, want) {
		t.Errorf("freed %v instead of %v", freed, want)
	}
	if r.Over != 0 || r.Freed != 20+2*Megabyte {
		t.Errorf("over by %d, freed %d", r.Over, r.Freed)
	}
	if got := usage.Freed([]string{"c", "b", "a"}); !slices.Equal(got, []int64{10, 10, 10 + 2*Megabyte}) {
		t.Errorf("the removal of each frees %v", got)
	}
	policy.MaxSizeMB = 1
	if r = Decide(given, policy, Pass{Usage: usage}); r.Over != 3*Megabyte || r.Freed != 0 {
		t.Errorf("over by %d, freed %d where nothing helps", r.Over, r.Freed)
	}
}

func BenchmarkDecide(b *testing.B) {
	const n = 10_000
	given := make([]Checkpoint, n)
	usage := Usage{Total: n * Megabyte, Blobs: make([]int64, n), Held: make(map[string]Holding, n)}
	groups := []Group{{Trigger: "phase_transition"}, {"batch_complete", "services"}, {Trigger: "pause"}, {Trigger: "user_interrupt"}}
	for i := range given {
		id := fmt.Sprintf("CP-services-%08d", i)
		given[i] = Checkpoint{ID: id, Group: groups[i%len(groups)], At: noon().Add(time.Duration(i-n) * time.Minute)}
		if i%7 == 0 {
			given[i].Unusable = "invalid"
		}
		usage.Blobs[i] = 1000
		usage.Held[id] = Holding{Own: 1000, Blobs: []int{i, (i + 1) % n, (i * 31) % n, (i * 97) % n}}
	}
	in := Pass{Clock: Clock{Now: noon()}, Usage: usage}
	for b.Loop() {
		Decide(given, usual(), in)
	}
}

func TestNoSizeLimit(t *testing.T) {
	t.Parallel()
	given := []Checkpoint{{ID: "old", Group: Group{Trigger: "pause"}}, {ID: "new", Group: Group{Trigger: "pause"}}}
	usage := Usage{Total: 9 * Megabyte, Held: map[string]Holding{"old": {Own: 8 * Megabyte}}}
	r := Decide(given, Policy{Counts: map[string]int{"pause": 100}}, Pass{Usage: usage})
	if !r.Decisions[0].Keep || r.Freed != 0 || r.Over != 0 {
		t.Errorf("%+v", r)
	}
}
