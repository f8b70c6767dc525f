package view

import (
	"fmt"
	"sync"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/progress"
)

// heartbeat is the plain view that says what goes on when it has printed nothing for a while, so
// that the log of a CI system shows that the run is alive, and the system does not end it. A
// goroutine does that, which End and Close end.
type heartbeat struct {
	every time.Duration

	mu      sync.Mutex // of everything below
	plain   *plain
	printed time.Time // when it printed something last
	stop    func()    // ends the goroutine
}

func newHeartbeat(o Options) *heartbeat {
	return &heartbeat{every: o.Heartbeat, plain: newPlain(o), stop: func() {}}
}

// Begin implements runner.View.
func (v *heartbeat) Begin(b runner.Beginning) {
	v.print(func() { v.plain.Begin(b) })
	v.stop = repeatedly(v.every, v.beat)
}

// beat prints what goes on if nothing was printed for long enough, and returns the time until
// the next beat.
func (v *heartbeat) beat() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.plain.now()
	if silent := now.Sub(v.printed); silent < v.every {
		return v.every - silent
	}
	v.plain.printActive(now)
	v.plain.writePage()
	v.printed = now
	return v.every
}

// print has the plain view print.
func (v *heartbeat) print(what func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	what()
	v.printed = v.plain.now()
}

// Commit implements runner.View.
func (v *heartbeat) Commit(c state.Commit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.plain.printCommit(c)
	if v.plain.page.Len() > 0 {
		v.plain.writePage()
		v.printed = v.plain.now()
	}
}

// Warn implements runner.View.
func (v *heartbeat) Warn(message string) { v.print(func() { v.plain.Warn(message) }) }

// Stop implements runner.View.
func (v *heartbeat) Stop(s runner.Stopping) { v.print(func() { v.plain.Stop(s) }) }

// End implements runner.View.
func (v *heartbeat) End(e runner.Ending) {
	v.stop()
	v.print(func() { v.plain.End(e) })
}

// Close implements View.
func (v *heartbeat) Close() { v.stop() }

// Err implements View.
func (v *heartbeat) Err() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.plain.Err()
}

// printActive prints in one line what runs and waits, and for how long.
func (v *plain) printActive(now time.Time) {
	var all []string
	for _, a := range v.progress.Active() {
		all = append(all, describeActive(a, now))
	}
	if len(all) == 0 {
		v.page.printf("%s\n", v.page.paint(dim, "… still at work"))
		return
	}
	c := v.progress.Counts()
	v.page.printf("%s\n", v.page.paint(dim, fmt.Sprintf("… %d of %d done; %s", c.Settled(), c.Total, fitNames(all, 120))))
}

// describeActive says what an active step does: WS2 for 3m04s.
func describeActive(a progress.Active, now time.Time) string {
	since := clock(now.Sub(a.Since))
	switch a.Activity {
	case progress.Retrying:
		return fmt.Sprintf("%s again in %s", a.Name, clock(max(0, a.Until.Sub(now))))
	case progress.Asking:
		return fmt.Sprintf("%s waits for approval, for %s", a.Name, since)
	case progress.Judging:
		return fmt.Sprintf("%s is judged, for %s", a.Name, since)
	case progress.Working:
	}
	if a.Attempt > 1 {
		return fmt.Sprintf("%s runs for %s (%s)", a.Name, since, attempt(a.Attempt))
	}
	return fmt.Sprintf("%s runs for %s", a.Name, since)
}
