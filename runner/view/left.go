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

// left estimates how long the run still takes. The zero value makes no estimate.
type left struct {
	read    func(context.Context) map[string]time.Duration // see Options.Typical
	began   time.Time
	reading bool
	typical map[string]time.Duration // nil: not known
	text    string
	made    time.Time // when text was
}

// due reports whether it is time to read how long workstreams take, once.
func (l *left) due(now time.Time) bool {
	due := l.read != nil && !l.reading && now.Sub(l.began) >= estimateAfter
	l.reading = l.reading || due
	return due
}

// describe says how long the run still takes: about 3m left. It returns "" if that is not known.
func (l *left) describe(p *progress.Progress, now time.Time) string {
	if len(l.typical) == 0 {
		return ""
	}
	if now.Sub(l.made) >= estimateInterval {
		l.text, l.made = "", now
		if d, known := p.Left(now, l.typical); known && d > 0 {
			l.text = fmt.Sprintf("about %s left", clock(roundLeft(d)))
		}
	}
	return l.text
}

// roundLeft rounds up an estimate to what it can promise.
func roundLeft(d time.Duration) time.Duration {
	to := 5 * time.Minute
	switch {
	case d <= time.Minute:
		to = 5 * time.Second
	case d <= time.Hour:
		to = time.Minute
	}
	return (d + to - 1).Truncate(to)
}
