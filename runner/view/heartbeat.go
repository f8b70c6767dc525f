package view

import (
	"fmt"
	"time"

	"prdrunner/runner/progress"
)

// beat says what goes on if nothing was printed for long enough, so that the log of a CI system
// shows that the run is alive, and the system does not end it. It returns the time until the next
// beat.
func (v *plain) beat() time.Duration {
	now := v.now()
	v.left.look(now)
	if silent := now.Sub(v.printed); silent < v.heartbeat {
		return v.heartbeat - silent
	}
	v.printActive(now)
	v.writePage()
	return v.heartbeat
}

// firstTick returns the time until the first beat, or until it is time to read what the estimate needs.
func (v *plain) firstTick() time.Duration {
	if v.left.read == nil {
		return v.heartbeat
	}
	return min(v.heartbeat, estimateAfter)
}

// printActive prints in one line what runs and waits, and for how long.
func (v *plain) printActive(now time.Time) {
	var all []string
	for _, a := range v.progress.Active() {
		all = append(all, describeActive(a, now))
	}
	if len(all) == 0 {
		v.page.Printf("%s\n", v.page.Paint(Dim, "… still at work"))
		return
	}
	c := v.progress.Counts()
	waits := describeWaits(v.progress, 120, 0)
	if waits != "" {
		waits = "; " + waits
	}
	if halt := describeHalt(v.progress); halt != "" && !v.progress.Over() {
		waits += "; " + halt
	}
	left := v.left.describe(v.progress, now)
	if left != "" {
		left += "; "
	}
	v.page.Line("%s", v.page.Paint(Dim, fmt.Sprintf("… %d of %d done; %s%s%s", c.Passed(), c.Total, left, fitNames(all, 120), waits)))
}

// describeActive says what an active step does: WS2 for 3m 4s.
func describeActive(a progress.Active, now time.Time) string {
	since := clock(now.Sub(a.Since))
	switch a.Activity {
	case progress.Retrying:
		return fmt.Sprintf("%s again in %s", a.Name, clock(max(0, a.Until.Sub(now))))
	case progress.Asking:
		return fmt.Sprintf("%s waits for approval, for %s", a.Name, since)
	case progress.Judging:
		return fmt.Sprintf("%s is judged, for %s", a.Name, since)
	case progress.Starting:
		return fmt.Sprintf("%s gets ready, for %s", a.Name, since)
	case progress.Serving:
		return fmt.Sprintf("%s is ready, for %s", a.Name, since)
	case progress.Working, progress.Reviewing, progress.Hooking:
	}
	if a.Activity == progress.Working && a.Attempt > 1 {
		return fmt.Sprintf("%s runs for %s (%s)", a.Name, since, attempt(a.Attempt))
	}
	return fmt.Sprintf("%s runs for %s", a.Name, since)
}
