package retention

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Clock is what a pass knows of the time.
//
// A clock may be wrong, by a dead battery, a restored machine or a mistyped
// year, and nothing tells a clock that jumped from a session that nobody
// touched for as long. So an age is the time that was seen to pass, not the
// difference of two readings. All readings that are known stand in order; of
// the time between two that follow each other, at most half of the greatest
// age counts. One jump, however far and in either direction, then ages nothing
// by more than that: what was young stays. A session that is worked on every few
// days ages as the calendar says, and so does an untouched one where others
// give readings; one that lies alone keeps what was young when it was left,
// until a person asks with Pass.OlderThan.
//
// An age is never more than the difference of the readings either: a clock set
// back removes nothing that it would not have removed before.
type Clock struct {
	Now time.Time
	// Seen are readings that are on record, besides the times of what is
	// judged, in any order: at least the newest one, of this session and of
	// others. More of them give better ages.
	Seen []time.Time
}

// trusted is how much time between two readings is believed in any case, so
// that a policy of seconds, good for trying things out, means what it says.
const trusted = time.Minute

// ageVerdict is what an ageRule says.
type ageVerdict int

const (
	young    ageVerdict = iota
	doubtful            // too old, if the clock is right
	tooOld
)

// ageRule judges ages.
type ageRule struct {
	now   time.Time
	most  time.Duration // the greatest age that is kept; 0: any
	asked bool          // by a person, who takes the clock at its word

	readings []time.Time     // in order, up to now
	passed   []time.Duration // what was seen to pass from the first one to each
}

// newAgeRule returns the rule for things of the given times, of which a policy
// keeps those up to a greatest age.
func newAgeRule(in Pass, most time.Duration, times []time.Time) ageRule {
	r := ageRule{now: in.Clock.Now, most: most}
	if in.OlderThan > 0 {
		r.most, r.asked = in.OlderThan, true
	}
	if r.now.IsZero() || r.most <= 0 || r.asked {
		return r
	}
	r.readings = slices.Concat(in.Clock.Seen, times, []time.Time{r.now})
	r.readings = slices.DeleteFunc(r.readings, r.now.Before)
	slices.SortFunc(r.readings, time.Time.Compare)
	step, sum := max(r.most/2, trusted), time.Duration(0)
	r.passed = make([]time.Duration, len(r.readings))
	for i := 1; i < len(r.readings); i++ {
		between := min(r.readings[i].Sub(r.readings[i-1]), step)
		sum = min(sum, math.MaxInt64-between) + between
		r.passed[i] = sum
	}
	return r
}

// judge says whether something of one of the rule's times is too old, and why.
func (r ageRule) judge(created time.Time) (ageVerdict, string) {
	age := r.now.Sub(created)
	switch {
	case r.now.IsZero() || r.most <= 0 || age <= r.most:
		return young, ""
	case r.asked:
		return tooOld, "asked for: older than " + short(r.most)
	case r.seen(created) <= r.most:
		return doubtful, fmt.Sprintf("created %s ago only if the clock is right, which no record confirms", roughly(age))
	}
	return tooOld, fmt.Sprintf("older than %s (created %s ago)", short(r.most), roughly(age))
}

// seen returns how much time was seen to pass since one of the readings.
func (r ageRule) seen(since time.Time) time.Duration {
	i, _ := slices.BinarySearchFunc(r.readings, since, time.Time.Compare)
	return r.passed[len(r.passed)-1] - r.passed[i]
}

// short formats a duration as people write it: 168h, not 168h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// roughly formats an age: 9 days, 26h, 1h30m.
func roughly(age time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case age >= 2*day:
		return fmt.Sprintf("%d days", age/day)
	case age >= time.Minute:
		return short(age.Truncate(time.Minute))
	case age >= time.Second:
		return short(age.Truncate(time.Second))
	}
	return short(age)
}
