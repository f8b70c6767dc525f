package retention

import (
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	// What is random is the same in every run, unless a flag says otherwise.
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	m.Run()
}

// drawn is a session, a policy and a pass as rapid draws them.
type drawn struct {
	given  []Checkpoint
	policy Policy
	pass   Pass
}

func draw(t *rapid.T) drawn {
	triggers := []string{"manual", "batch_complete", "workstream_complete", "pause", "user_interrupt"}
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		return noon().Add(time.Duration(rapid.IntRange(-30*24*60, 3*24*60).Draw(t, "minute")) * time.Minute)
	})
	d := drawn{policy: Policy{
		Counts:    map[string]int{},
		MaxAge:    rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour, 7 * day}).Draw(t, "max age"),
		MaxSizeMB: rapid.IntRange(0, 3).Draw(t, "max size"),
	}}
	for _, trigger := range triggers {
		if rapid.Bool().Draw(t, "listed") {
			d.policy.Counts[trigger] = rapid.IntRange(-1, 3).Draw(t, "count")
		}
	}
	d.pass = Pass{Needed: map[string]string{}, Usage: Usage{
		Total: rapid.Int64Range(0, 2*Megabyte).Draw(t, "rest"), Held: map[string]Holding{},
		Blobs: rapid.SliceOfN(rapid.Int64Range(0, Megabyte), 6, 6).Draw(t, "blobs"),
	}}
	if rapid.Bool().Draw(t, "timed") {
		d.pass.Clock = Clock{Now: moment.Draw(t, "now"), Seen: rapid.SliceOfN(moment, 0, 10).Draw(t, "seen")}
	}
	if rapid.IntRange(0, 3).Draw(t, "asked") == 0 {
		d.pass.OlderThan = 2 * day
	}
	for i := range rapid.IntRange(0, 20).Draw(t, "n") {
		c := Checkpoint{
			ID: strconv.Itoa(i), At: moment.Draw(t, "at"),
			Group: Group{
				Trigger: rapid.SampledFrom(triggers).Draw(t, "trigger"),
				Phase:   rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "phase"),
			},
			Unusable: rapid.SampledFrom([]string{"", "", "invalid", "damaged"}).Draw(t, "unusable"),
			Pinned:   rapid.IntRange(0, 5).Draw(t, "pinned") == 0,
		}
		if rapid.IntRange(0, 5).Draw(t, "needed") == 0 {
			d.pass.Needed[c.ID] = "a test"
		}
		d.given = append(d.given, c)
		d.pass.Usage.Held[c.ID] = Holding{
			Own:   rapid.Int64Range(1, Megabyte).Draw(t, "own"),
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
func (d drawn) after(r Result) drawn {
	next := drawn{policy: d.policy, pass: d.pass}
	next.pass.Usage.Held = map[string]Holding{}
	for i, decision := range r.Decisions {
		if decision.Keep {
			next.given = append(next.given, d.given[i])
			next.pass.Usage.Held[decision.ID] = d.pass.Usage.Held[decision.ID]
		}
	}
	next.pass.Usage.Total -= d.held() - next.held()
	return next
}

// mustStay says which checkpoints no policy may touch.
func (d drawn) mustStay(i int) bool {
	usable := func(c Checkpoint) bool { return c.Unusable == "" }
	c := d.given[i]
	_, needed := d.pass.Needed[c.ID]
	count, listed := d.policy.Counts[c.Group.Trigger]
	newest := usable(c) && !slices.ContainsFunc(d.given[i+1:], usable)
	return newest || needed || c.Pinned || listed && count == -1
}

func TestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		r := Decide(d.given, d.policy, d.pass)
		usable := map[Group]int{}
		for i, c := range slices.Backward(d.given) {
			if c.Unusable == "" && !c.Pinned {
				usable[c.Group]++
			}
			count, listed := d.policy.Counts[c.Group.Trigger]
			switch decision := r.Decisions[i]; {
			case decision.ID != c.ID || decision.Reason == "":
				t.Fatalf("decision %d: %+v", i, decision)
			case d.mustStay(i) && !decision.Keep:
				t.Fatalf("%+v may not go: %+v", c, decision)
			case !d.mustStay(i) && decision.Keep && c.Unusable == "" && listed && usable[c.Group] > count:
				t.Fatalf("%+v is beyond the count: %+v", c, decision)
			}
		}
		next := d.after(r)
		if freed := d.pass.Usage.Total - next.pass.Usage.Total; freed != r.Freed {
			t.Fatalf("freed %d, says %d", freed, r.Freed)
		}
		if limit := int64(d.policy.MaxSizeMB) * Megabyte; limit > 0 {
			d.checkSize(t, r, limit)
		}
		if again := Decide(next.given, next.policy, next.pass); len(next.after(again).given) != len(next.given) {
			t.Fatalf("a second pass removes more: %+v", again.Decisions)
		}
	})
}

// checkSize holds that size removes as little as it can: nothing if the limit
// is out of reach, and else nothing that could have stayed.
func (d drawn) checkSize(t *rapid.T, r Result, limit int64) {
	left := d.after(r).pass.Usage.Total
	if over := max(0, left-limit); over != r.Over {
		t.Fatalf("over by %d, says %d", over, r.Over)
	}
	fewest := Result{Decisions: slices.Clone(r.Decisions)}
	for i := range r.Decisions {
		bySize := strings.HasPrefix(r.Decisions[i].Reason, "over max_size_mb")
		_, listed := d.policy.Counts[d.given[i].Group.Trigger]
		switch {
		case bySize && (r.Over > 0 || !listed):
			t.Fatalf("removed in vain: %+v", r.Decisions[i])
		case bySize:
			one := Result{Decisions: slices.Clone(r.Decisions)}
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

// TestSizeLeavesWhatFits: size takes no more than it must.
func TestSizeLeavesWhatFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		limit := int64(d.policy.MaxSizeMB) * Megabyte
		sized := d.after(Decide(d.given, d.policy, d.pass))
		d.policy.MaxSizeMB = 0
		unsized := d.after(Decide(d.given, d.policy, d.pass))
		if unsized.pass.Usage.Total <= limit && len(sized.given) != len(unsized.given) {
			t.Fatalf("it fits without, and yet size takes %d", len(unsized.given)-len(sized.given))
		}
	})
}

// TestLaterTakesNoLess: what goes at one time goes at a later one, and what
// goes by age goes with a shorter one.
func TestLaterTakesNoLess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		d.policy.MaxSizeMB = 0
		earlier := Decide(d.given, d.policy, d.pass)
		if d.pass.Clock.Now.IsZero() {
			return
		}
		d.pass.Clock.Now = d.pass.Clock.Now.Add(time.Duration(rapid.Int64Range(0, int64(30*day)).Draw(t, "later")))
		for i, later := range Decide(d.given, d.policy, d.pass).Decisions {
			if later.Keep && !earlier.Decisions[i].Keep {
				t.Fatalf("%+v was removed before: %+v", later, earlier.Decisions[i])
			}
		}
	})
}

// TestCountsInTheOrderOfTheJournal: times decide nothing but ages.
func TestCountsInTheOrderOfTheJournal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		d.policy.MaxAge, d.pass.OlderThan = 0, 0
		want := Decide(d.given, d.policy, d.pass)
		for i := range d.given {
			d.given[i].At = noon().Add(time.Duration(rapid.Int64Range(-int64(5000*day), int64(5000*day)).Draw(t, "another time")))
		}
		if diff := cmp.Diff(want, Decide(d.given, d.policy, d.pass)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}
