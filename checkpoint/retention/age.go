package retention

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Clock holds the known readings of the clock.
//
// A clock can be wrong: an empty battery, a restored machine, a mistyped year. A clock that
// jumped cannot be told from a session that lay untouched for as long. So an age is not the
// difference of two readings. It is the sum of the steps between all known readings, in
// which each step counts for at most half of the maximum age. One jump of the clock, in
// either direction, therefore adds at most half of the maximum age, and young checkpoints
// stay.
//
// A session with a reading every few days ages by the calendar. An untouched session does
// so too if other sessions give readings. Without any readings its young checkpoints stay,
// until the user asks with Pass.OlderThan.
//
// An age is never more than the difference of the readings, so that a clock that was set
// back removes nothing more.
type Clock struct {
	Now time.Time
	// Seen holds recorded readings besides the times of the checkpoints, in any order: at
	// least the newest reading of this session. More readings give better ages.
	Seen []time.Time
	// Others returns the readings of other sessions. It is called only if an age stays in
	// doubt without them, because it may have to read all sessions. It may be nil.
	Others func() []time.Time
}

// Passed reports whether more than limit has passed since one of the recorded times, as far
// as the readings confirm it.
func (c Clock) Passed(since time.Time, limit time.Duration) bool {
	r := newAgeRule(Pass{Clock: c}, limit, []time.Time{since})
	v, _ := r.verdict(since)
	return v == tooOld
}

// minStep is a step that always counts in full, so that a policy of seconds works for
// trying it out.
const minStep = time.Minute

// verdict is the result of an ageRule.
type verdict int

const (
	young    verdict = iota
	doubtful         // too old if the clock is right, which the readings do not confirm
	tooOld
)

// ageRule tells which ages are too old.
type ageRule struct {
	now       time.Time
	limit     time.Duration // maximum age to keep; 0 for no limit
	requested bool          // the user asked for the limit, so that the clock is trusted

	readings []time.Time     // sorted, up to now
	passed   []time.Duration // confirmed time from the first reading to each
}

// newAgeRule returns the rule for checkpoints or sessions of the given times.
func newAgeRule(in Pass, most time.Duration, times []time.Time) ageRule {
	r := ageRule{now: in.Clock.Now, limit: most}
	if in.OlderThan > 0 {
		r.limit, r.requested = in.OlderThan, true
	}
	r.take(slices.Concat(in.Clock.Seen, times, []time.Time{r.now}))
	if in.Clock.Others != nil && slices.ContainsFunc(times, r.doubts) {
		r.take(slices.Concat(r.readings, in.Clock.Others()))
	}
	return r
}

// take makes the confirmed times follow from readings.
func (r *ageRule) take(readings []time.Time) {
	r.readings = slices.DeleteFunc(readings, r.now.Before)
	slices.SortFunc(r.readings, time.Time.Compare)
	step, sum := max(r.limit/2, minStep), time.Duration(0)
	r.passed = make([]time.Duration, len(r.readings))
	for i := 1; i < len(r.readings); i++ {
		between := min(r.readings[i].Sub(r.readings[i-1]), step)
		sum = min(sum, math.MaxInt64-between) + between
		r.passed[i] = sum
	}
}

// doubts reports whether the readings do not confirm that a time is too old.
func (r *ageRule) doubts(created time.Time) bool {
	v, _ := r.verdict(created)
	return v == doubtful
}

// verdict decides about one of the times that were given to newAgeRule, with a reason.
func (r *ageRule) verdict(created time.Time) (verdict, string) {
	age := r.now.Sub(created)
	switch {
	case r.now.IsZero() || r.limit <= 0 || age <= r.limit:
		return young, ""
	case r.requested:
		return tooOld, "asked for: older than " + formatDuration(r.limit)
	case r.confirmed(created) <= r.limit:
		return doubtful, fmt.Sprintf("created %s ago only if the clock is right, which no record confirms", formatAge(age))
	}
	return tooOld, fmt.Sprintf("older than %s (created %s ago)", formatDuration(r.limit), formatAge(age))
}

// confirmed returns the confirmed time since one of the readings.
func (r *ageRule) confirmed(since time.Time) time.Duration {
	i, _ := slices.BinarySearchFunc(r.readings, since, time.Time.Compare)
	return r.passed[len(r.passed)-1] - r.passed[i]
}

// formatDuration formats a duration as users write it: 168h, not 168h0m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// formatAge formats an age in its largest unit: 9 days, 26h, 1h30m.
func formatAge(age time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case age >= 2*day:
		return fmt.Sprintf("%d days", age/day)
	case age >= time.Minute:
		return formatDuration(age.Truncate(time.Minute))
	case age >= time.Second:
		return formatDuration(age.Truncate(time.Second))
	}
	return formatDuration(age)
}
