package checkpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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

func TestRetainReasons(t *testing.T) {
	t.Parallel()
	batch := func(id string, age time.Duration) *CheckpointRef {
		return &CheckpointRef{ID: id, Trigger: TriggerBatchComplete, Phase: "services", Valid: true, CreatedAt: noon().Add(-age)}
	}
	of := func(trigger Trigger, ref *CheckpointRef) *CheckpointRef {
		ref.Trigger = trigger
		return ref
	}
	pinned := func(ref *CheckpointRef) *CheckpointRef { ref.Pinned = true; return ref }
	invalid := func(ref *CheckpointRef) *CheckpointRef { ref.Valid, ref.InvalidatedBy = false, "R-1"; return ref }
	damaged := func(ref *CheckpointRef) *CheckpointRef { ref.Valid, ref.Damage = false, &Damage{}; return ref }
	sizes := Usage{Total: 5 * megabyte, Held: map[string]Holding{
		"a": {Own: megabyte}, "b": {Own: megabyte}, "c": {Own: megabyte}, "d": {Own: megabyte}, "e": {Own: megabyte / 2},
	}}
	many := map[Trigger]int{TriggerBatchComplete: 9}
	for _, tt := range []struct {
		name   string
		refs   []*CheckpointRef
		policy Policy
		pass   Pass
		want   []string // "-" before the reason: removed
	}{
		{
			"counts", []*CheckpointRef{batch("a", 0), batch("b", 0), of(TriggerManual, batch("c", 0)), batch("d", 0)},
			Policy{Retention: map[Trigger]int{TriggerBatchComplete: 2}}, Pass{},
			[]string{
				"-only the last 2 of batch_complete in services are kept", "one of the last 2 of batch_complete in services",
				"the number of manual is not limited", "the newest valid one",
			},
		},
		{
			"what does not count", []*CheckpointRef{batch("a", 0), pinned(batch("b", 0)), invalid(batch("c", 0)), batch("d", 0), damaged(batch("e", 0))},
			Policy{Retention: map[Trigger]int{TriggerBatchComplete: 2}}, Pass{},
			[]string{
				"one of the last 2 of batch_complete in services", "pinned", "invalid since rollback R-1, and not counted",
				"the newest valid one", "damaged, and not counted",
			},
		},
		{
			"ages", []*CheckpointRef{
				of(TriggerManual, batch("a", 9*day)), pinned(batch("b", 9*day)), invalid(batch("c", 9*day)), damaged(batch("d", 9*day)),
				of(TriggerPause, batch("e", 9*day)), batch("f", 6*day), batch("g", 9*day), batch("h", 8*day),
			},
			DefaultPolicy(), Pass{Clock: steadily(), Needed: map[string]string{"g": "rollback R-2 is not finished"}},
			[]string{
				"all of manual are kept", "pinned", "-older than 168h (created 9 days ago)", "-older than 168h (created 9 days ago)",
				"the number of pause is not limited", "one of the last 3 of batch_complete in services",
				"needed: rollback R-2 is not finished", "the newest valid one",
			},
		},
		{
			"asked for", []*CheckpointRef{of(TriggerManual, batch("a", 9*day)), batch("b", 25*time.Hour), batch("c", 23*time.Hour), batch("d", 25*time.Hour)},
			DefaultPolicy(), Pass{Clock: Clock{Now: noon()}, Prune: PruneOptions{OlderThan: day}},
			[]string{
				"all of manual are kept", "-asked for: older than 24h", "one of the last 3 of batch_complete in services", "the newest valid one",
			},
		},
		{
			"asked for more than the policy keeps", []*CheckpointRef{batch("a", 9*day), batch("b", 0)},
			DefaultPolicy(), Pass{Clock: steadily(), Prune: PruneOptions{OlderThan: 10 * day}},
			[]string{"one of the last 3 of batch_complete in services", "the newest valid one"},
		},
		{
			"size takes invalid ones first", []*CheckpointRef{batch("a", 0), batch("b", 0), invalid(batch("c", 0)), damaged(batch("d", 0)), batch("e", 0)},
			Policy{MaxSizeMB: 2, Retention: many}, Pass{Usage: sizes},
			[]string{
				"-over max_size_mb: 3 MB of 2 MB", "one of the last 9 of batch_complete in services",
				"-over max_size_mb: 5 MB of 2 MB", "-over max_size_mb: 4 MB of 2 MB", "the newest valid one",
			},
		},
		{
			"size takes nothing without which it fits", []*CheckpointRef{batch("e", 0), batch("a", 0), batch("large", 0), batch("b", 0)},
			Policy{MaxSizeMB: 3, Retention: many}, Pass{Usage: Usage{Total: 6 * megabyte, Held: map[string]Holding{
				"e": {Own: megabyte / 2}, "a": {}, "large": {Own: 3 * megabyte},
			}}},
			[]string{
				"one of the last 9 of batch_complete in services", "one of the last 9 of batch_complete in services",
				"-over max_size_mb: 6 MB of 3 MB", "the newest valid one",
			},
		},
		{
			"size takes nothing in vain, and nothing that is not counted", []*CheckpointRef{batch("a", 0), of(TriggerPreRollback, batch("b", 0)), batch("c", 0)},
			Policy{MaxSizeMB: 3, Retention: many}, Pass{Usage: sizes},
			[]string{"one of the last 9 of batch_complete in services", "the number of pre_rollback is not limited", "the newest valid one"},
		},
		{
			"asked for what is not counted", []*CheckpointRef{of(TriggerPreRollback, batch("a", 9*day)), of(TriggerPause, batch("b", 9*day)), batch("c", 0)},
			DefaultPolicy(), Pass{Clock: Clock{Now: noon()}, Prune: PruneOptions{OlderThan: day}, Needed: map[string]string{"a": "rollback R-3 can be undone with it"}},
			[]string{"needed: rollback R-3 can be undone with it", "-asked for: older than 24h", "the newest valid one"},
		},
		{
			"a clock that nothing confirms", []*CheckpointRef{batch("a", 9*day), batch("b", 9*day-time.Hour)},
			DefaultPolicy(), Pass{Clock: Clock{Now: noon()}},
			[]string{"created 9 days ago only if the clock is right, which no record confirms", "the newest valid one"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for i, d := range Retain(tt.refs, tt.policy, tt.pass).Decisions {
				if d.ID != tt.refs[i].ID {
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
	refs := []*CheckpointRef{
		{ID: "a", Valid: true, Trigger: TriggerPause}, {ID: "b", Valid: true, Trigger: TriggerPause}, {ID: "c", Valid: true, Trigger: TriggerPause},
	}
	policy := Policy{MaxSizeMB: 2, Retention: map[Trigger]int{TriggerPause: 9}}
	usage := Usage{
		Total: 4 * megabyte, // of which 1 MB less 30 bytes is nobody's
		Blobs: []int64{megabyte, megabyte, megabyte, 0},
		Held: map[string]Holding{
			"a": {Own: 10, Blobs: []int{0, 1, 3}}, "b": {Own: 10, Blobs: []int{0, 2}}, "c": {Own: 10},
			"elsewhere": {Blobs: []int{2}},
		},
	}
	r := Retain(refs, policy, Pass{Usage: usage})
	var freed []int64
	for _, d := range r.Decisions {
		freed = append(freed, d.Bytes)
	}
	if want := []int64{10 + megabyte, 10 + megabyte, 0}; !slices.Equal(freed, want) {
		t.Errorf("freed %v instead of %v", freed, want)
	}
	if r.Over != 0 || r.Freed != 20+2*megabyte {
		t.Errorf("over by %d, freed %d", r.Over, r.Freed)
	}
	policy.MaxSizeMB = 1
	if r = Retain(refs, policy, Pass{Usage: usage}); r.Over != 3*megabyte || r.Freed != 0 {
		t.Errorf("over by %d, freed %d where nothing helps", r.Over, r.Freed)
	}
}

// drawn is a session, a policy and a pass as rapid draws them.
type drawn struct {
	refs   []*CheckpointRef
	policy Policy
	pass   Pass
}

func draw(t *rapid.T) drawn {
	triggers := []Trigger{TriggerManual, TriggerBatchComplete, TriggerWorkstreamComplete, TriggerPause, TriggerUserInterrupt}
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		return noon().Add(time.Duration(rapid.IntRange(-30*24*60, 3*24*60).Draw(t, "minute")) * time.Minute)
	})
	d := drawn{policy: Policy{
		Retention: map[Trigger]int{},
		MaxAge:    rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour, 7 * day}).Draw(t, "max age"),
		MaxSizeMB: rapid.IntRange(0, 3).Draw(t, "max size"),
	}}
	for _, trigger := range triggers {
		if rapid.Bool().Draw(t, "listed") {
			d.policy.Retention[trigger] = rapid.IntRange(-1, 3).Draw(t, "count")
		}
	}
	d.pass = Pass{Needed: map[string]string{}, Usage: Usage{
		Total: rapid.Int64Range(0, 2*megabyte).Draw(t, "rest"), Held: map[string]Holding{},
		Blobs: rapid.SliceOfN(rapid.Int64Range(0, megabyte), 6, 6).Draw(t, "blobs"),
	}}
	if rapid.Bool().Draw(t, "timed") {
		d.pass.Clock = Clock{Now: moment.Draw(t, "now"), Seen: rapid.SliceOfN(moment, 0, 10).Draw(t, "seen")}
	}
	if rapid.IntRange(0, 3).Draw(t, "asked") == 0 {
		d.pass.Prune.OlderThan = 2 * day
	}
	for i := range rapid.IntRange(0, 20).Draw(t, "n") {
		ref := &CheckpointRef{
			ID: strconv.Itoa(i), Seq: uint64(i + 1), CreatedAt: moment.Draw(t, "at"),
			Trigger: rapid.SampledFrom(triggers).Draw(t, "trigger"),
			Phase:   rapid.SampledFrom([]string{"a", "b"}).Draw(t, "phase"),
			Valid:   rapid.Bool().Draw(t, "valid"),
			Pinned:  rapid.IntRange(0, 5).Draw(t, "pinned") == 0,
		}
		if !ref.Valid && rapid.Bool().Draw(t, "damaged") {
			ref.Damage = &Damage{}
		}
		if rapid.IntRange(0, 5).Draw(t, "needed") == 0 {
			d.pass.Needed[ref.ID] = "a test"
		}
		d.refs = append(d.refs, ref)
		d.pass.Usage.Held[ref.ID] = Holding{
			Own:   rapid.Int64Range(1, megabyte).Draw(t, "own"),
			Blobs: rapid.SliceOfN(rapid.IntRange(0, 5), 0, 4).Draw(t, "refers to"),
		}
	}
	d.pass.Usage.Total += d.held()
	return d
}

// held adds up what the checkpoints hold, the plain way.
func (d drawn) held() int64 {
	var sum int64
	blobs := map[int]bool{}
	for _, h := range d.pass.Usage.Held {
		sum += h.Own
		for _, b := range h.Blobs {
			if !blobs[b] {
				sum += d.pass.Usage.Blobs[b]
			}
			blobs[b] = true
		}
	}
	return sum
}

// after is the session once the decisions were carried out.
func (d drawn) after(r RetainResult) drawn {
	next := drawn{policy: d.policy, pass: d.pass}
	next.pass.Usage.Held = map[string]Holding{}
	for i, decision := range r.Decisions {
		if decision.Keep {
			next.refs = append(next.refs, d.refs[i])
			next.pass.Usage.Held[decision.ID] = d.pass.Usage.Held[decision.ID]
		}
	}
	next.pass.Usage.Total -= d.held() - next.held()
	return next
}

// mustStay says which checkpoints no policy may touch.
func (d drawn) mustStay(i int) bool {
	later := func(ref *CheckpointRef) bool { return ref.Valid }
	_, needed := d.pass.Needed[d.refs[i].ID]
	count, listed := d.policy.Retention[d.refs[i].Trigger]
	newest := d.refs[i].Valid && !slices.ContainsFunc(d.refs[i+1:], later)
	automatic := d.pass.Prune == PruneOptions{}
	return newest || needed || d.refs[i].Pinned || listed && count == -1 || !listed && automatic
}

func TestRetainProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		r := Retain(d.refs, d.policy, d.pass)
		valid := map[group]int{}
		for i, ref := range slices.Backward(d.refs) {
			g := groupOf(ref.Trigger, ref.Phase)
			if ref.Valid && !ref.Pinned {
				valid[g]++
			}
			count, listed := d.policy.Retention[ref.Trigger]
			switch decision := r.Decisions[i]; {
			case decision.ID != ref.ID || decision.Reason == "":
				t.Fatalf("decision %d: %+v", i, decision)
			case d.mustStay(i) && !decision.Keep:
				t.Fatalf("%+v may not go: %+v", ref, decision)
			case !d.mustStay(i) && decision.Keep && ref.Valid && listed && valid[g] > count:
				t.Fatalf("%+v is beyond the count: %+v", ref, decision)
			}
		}
		next := d.after(r)
		if freed := d.pass.Usage.Total - next.pass.Usage.Total; freed != r.Freed {
			t.Fatalf("freed %d, says %d", freed, r.Freed)
		}
		if limit := int64(d.policy.MaxSizeMB) * megabyte; limit > 0 {
			d.checkSize(t, r, limit)
		}
		if again := Retain(next.refs, next.policy, next.pass); len(next.after(again).refs) != len(next.refs) {
			t.Fatalf("a second pass removes more: %+v", again.Decisions)
		}
	})
}

// checkSize holds that size removes as little as it can: nothing if the limit
// is out of reach, and else nothing that could have stayed.
func (d drawn) checkSize(t *rapid.T, r RetainResult, limit int64) {
	left := d.after(r).pass.Usage.Total
	if over := max(0, left-limit); over != r.Over {
		t.Fatalf("over by %d, says %d", over, r.Over)
	}
	fewest := RetainResult{Decisions: slices.Clone(r.Decisions)}
	for i := range r.Decisions {
		bySize := strings.HasPrefix(r.Decisions[i].Reason, "over max_size_mb")
		_, listed := d.policy.Retention[d.refs[i].Trigger]
		switch {
		case bySize && (r.Over > 0 || !listed):
			t.Fatalf("removed in vain: %+v", r.Decisions[i])
		case bySize:
			one := RetainResult{Decisions: slices.Clone(r.Decisions)}
			one.Decisions[i].Keep = true
			if d.after(one).pass.Usage.Total <= limit {
				t.Fatalf("it fits with it too: %+v", r.Decisions[i])
			}
		case listed && !d.mustStay(i):
			fewest.Decisions[i].Keep = false
		}
	}
	if least := d.after(fewest).pass.Usage.Total; r.Over > 0 && least <= limit {
		t.Fatalf("over by %d, and yet %d would be left", r.Over, least)
	}
}

// TestRetainLeavesWhatFits: size takes no more than it must.
func TestRetainLeavesWhatFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		limit := int64(d.policy.MaxSizeMB) * megabyte
		sized := d.after(Retain(d.refs, d.policy, d.pass))
		d.policy.MaxSizeMB = 0
		unsized := d.after(Retain(d.refs, d.policy, d.pass))
		if unsized.pass.Usage.Total <= limit && len(sized.refs) != len(unsized.refs) {
			t.Fatalf("it fits without, and yet size takes %d", len(unsized.refs)-len(sized.refs))
		}
	})
}

// TestRetainIsMonotone: what goes at one time goes at a later one, and what
// goes by age goes with a shorter one.
func TestRetainIsMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		d.policy.MaxSizeMB = 0
		earlier := Retain(d.refs, d.policy, d.pass)
		if d.pass.Clock.Now.IsZero() {
			return
		}
		d.pass.Clock.Now = d.pass.Clock.Now.Add(time.Duration(rapid.Int64Range(0, int64(30*day)).Draw(t, "later")))
		for i, later := range Retain(d.refs, d.policy, d.pass).Decisions {
			if later.Keep && !earlier.Decisions[i].Keep {
				t.Fatalf("%+v was removed before: %+v", later, earlier.Decisions[i])
			}
		}
	})
}

// TestRetainCountsInTheOrderOfTheJournal: times decide nothing but ages.
func TestRetainCountsInTheOrderOfTheJournal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		d.policy.MaxAge, d.pass.Prune = 0, PruneOptions{}
		want := Retain(d.refs, d.policy, d.pass)
		for _, ref := range d.refs {
			ref.CreatedAt = noon().Add(time.Duration(rapid.Int64Range(-int64(5000*day), int64(5000*day)).Draw(t, "another time")))
		}
		if diff := cmp.Diff(want, Retain(d.refs, d.policy, d.pass)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// TestAJumpOfTheClockRemovesNothing lets the clock jump once between two
// checkpoints, or between the last one and the pass.
func TestAJumpOfTheClockRemovesNothing(t *testing.T) {
	t.Parallel()
	jumps := []time.Duration{-day, 3650 * day, -3650 * day, 7 * day, 30 * day}
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{Retention: map[Trigger]int{TriggerPause: 100}, MaxAge: rapid.SampledFrom([]time.Duration{time.Hour, 7 * day, 720 * time.Hour}).Draw(t, "max age")}
		n := rapid.IntRange(2, 30).Draw(t, "n")
		at, jump := rapid.IntRange(1, n).Draw(t, "where"), rapid.SampledFrom(jumps).Draw(t, "jump")
		clock, step := noon(), p.MaxAge/2/time.Duration(n)
		var refs []*CheckpointRef
		for i := range n {
			if i == at {
				clock = clock.Add(jump)
			}
			refs = append(refs, &CheckpointRef{ID: strconv.Itoa(i), Trigger: TriggerPause, Valid: true, CreatedAt: clock})
			clock = clock.Add(step)
		}
		if at == n {
			clock = clock.Add(jump)
		}
		for _, d := range Retain(refs, p, Pass{Clock: Clock{Now: clock}}).Decisions {
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
		{"no limit", 0, untouched, others, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var refs []*CheckpointRef
			for i, age := range tt.ages {
				refs = append(refs, &CheckpointRef{ID: strconv.Itoa(i), Trigger: TriggerPause, Valid: true, CreatedAt: noon().Add(-age)})
			}
			refs = append(refs, &CheckpointRef{ID: "now", Valid: true, CreatedAt: noon()})
			r := Retain(refs, Policy{MaxAge: tt.max, Retention: map[Trigger]int{TriggerPause: 100}}, Pass{Clock: Clock{Now: noon(), Seen: tt.seen}})
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

func TestRetainSessions(t *testing.T) {
	t.Parallel()
	ended := func(id, prd string, complete bool, age time.Duration) ArchivedSession {
		return ArchivedSession{ID: id, PRD: prd, Complete: complete, EndedAt: noon().Add(-age), Bytes: 10}
	}
	pinned := ended("pinned", "PRD-001", true, 9*day)
	pinned.Pinned = true
	sessions := []ArchivedSession{
		ended("newest", "PRD-001", true, 8*day), ended("old", "PRD-001", true, 9*day), pinned,
		ended("other", "PRD-002", true, 35*day),
		ended("failed", "PRD-001", false, 9*day), ended("old failed", "PRD-001", false, 31*day), ended("wanted", "PRD-001", false, 32*day),
		ended("never complete", "PRD-003", false, 32*day),
	}
	in := Pass{Clock: steadily(), Needed: map[string]string{"wanted": "a test"}}
	got := map[string]string{}
	r := RetainSessions(sessions, DefaultPolicy(), in)
	for _, d := range r.Decisions {
		got[d.ID] = fmt.Sprint(d.Keep, " ", d.Reason)
	}
	newest := "true the newest complete one, which the next is measured against"
	if diff := cmp.Diff(map[string]string{
		"newest": newest, "other": newest, "old": "false older than 168h (created 9 days ago)", "pinned": "true a checkpoint of it is pinned",
		"failed": "true not old enough", "old failed": "false older than 720h (created 31 days ago)", "wanted": "true needed: a test",
		"never complete": "false older than 720h (created 32 days ago)",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Freed != 30 {
		t.Errorf("freed %d", r.Freed)
	}
	in.Clock = Clock{Now: noon().Add(3650 * day), Seen: in.Clock.Seen}
	for _, d := range RetainSessions(sessions[4:5], DefaultPolicy(), in).Decisions {
		if !d.Keep {
			t.Errorf("the clock jumped: %+v", d)
		}
	}
}

func TestDurationsForPeople(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration][2]string{
		168 * time.Hour: {"168h", "7 days"}, 26*time.Hour + 59*time.Second: {"26h0m59s", "26h"}, 90 * time.Minute: {"1h30m", "1h30m"},
		10 * time.Minute: {"10m", "10m"}, 20 * time.Second: {"20s", "20s"}, 1500 * time.Millisecond: {"1.5s", "1s"}, time.Millisecond: {"1ms", "1ms"},
	} {
		if got := [2]string{short(d), roughly(d)}; got != want {
			t.Errorf("%d: %q instead of %q", d, got, want)
		}
	}
}

func BenchmarkRetain(b *testing.B) {
	const n = 10_000
	refs := make([]*CheckpointRef, n)
	usage := Usage{Total: n * megabyte, Blobs: make([]int64, n), Held: make(map[string]Holding, n)}
	triggers := []Trigger{TriggerPhaseTransition, TriggerBatchComplete, TriggerPause, TriggerUserInterrupt}
	for i := range refs {
		id := fmt.Sprintf("CP-services-%08d", i)
		refs[i] = &CheckpointRef{
			ID: id, Seq: uint64(i), Trigger: triggers[i%len(triggers)], Phase: "services", Valid: i%7 != 0,
			CreatedAt: noon().Add(time.Duration(i-n) * time.Minute),
		}
		usage.Blobs[i] = 1000
		usage.Held[id] = Holding{Own: 1000, Blobs: []int{i, (i + 1) % n, (i * 31) % n, (i * 97) % n}}
	}
	in := Pass{Clock: Clock{Now: noon()}, Usage: usage}
	for b.Loop() {
		Retain(refs, DefaultPolicy(), in)
	}
}
