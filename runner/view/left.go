package view

import (
	"context"
	"fmt"
	"time"

	"prdrunner/runner/progress"
)

const (
	// estimateAfter is how long a run takes before its view reads how long earlier ones took: a short run
	// needs no estimate, and pays nothing for it.
	estimateAfter = 2 * time.Second
	// estimateInterval is how often the estimate is made anew.
	estimateInterval = time.Second
)

// left estimates how long the run still takes. Its reading is a goroutine, which end ends. The zero value makes no
// estimate.
type left struct {
	read    func(ctx context.Context, session string) map[string]time.Duration // see Options.Typical
	session string
	began   time.Time
	cancel  context.CancelFunc // nil: reading has not begun
	done    chan map[string]time.Duration
	typical map[string]time.Duration // nil: not known
	text    string
	made    time.Time // when text was
}

// begin takes note of the beginning of the run.
func (l *left) begin(session string, now time.Time) { l.session, l.began = session, now }

// look has it read how long workstreams take, once, when it is time.
func (l *left) look(now time.Time) {
	if l.read == nil || l.cancel != nil || now.Sub(l.began) < estimateAfter {
		return
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	l.done = make(chan map[string]time.Duration, 1)
	read, done, session := l.read, l.done, l.session
	go func() {
		defer close(done) // a second receive does not wait
		done <- read(ctx, session)
	}()
}

// end ends the reading. Nothing is read after that.
func (l *left) end() {
	l.read = nil
	if l.cancel != nil {
		l.cancel()
		if l.typical == nil {
			l.typical = <-l.done
		}
	}
}

// describe says how long the run still takes: about 3m left. It returns "" if that is not known.
func (l *left) describe(p *progress.Progress, now time.Time) string {
	if l.typical == nil && l.done != nil {
		select {
		case l.typical = <-l.done:
		default:
		}
	}
	if len(l.typical) == 0 {
		return ""
	}
	if now.Sub(l.made) >= estimateInterval {
		l.text, l.made = "", now
		if d, known := p.Left(now, l.typical); known && d > 0 {
			l.text = sayLeft(d)
		}
	}
	return l.text
}

// aFew is how many seconds are said as a few.
const aFew = 5 * time.Second

// sayLeft says how long a run still takes, as exactly as an estimate can: about 45s left.
func sayLeft(d time.Duration) string {
	to := 5 * time.Minute
	switch {
	case d < aFew:
		return "a few seconds left"
	case d < time.Minute:
		to = 5 * time.Second
	case d < time.Hour:
		to = time.Minute
	}
	return fmt.Sprintf("about %s left", clock(d.Round(to)))
}
