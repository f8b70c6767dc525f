package logs

import (
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/stream"
)

// span is when an attempt began and ended. Zero times are not on record.
type span struct{ began, ended time.Time }

// spans are the times of attempts, by the name of their log file.
type spans map[string]*span

// recordedSpans returns the times of the attempts on record in the journal of the current session.
func recordedSpans(store *checkpoint.Store, prd string) (spans, error) {
	all := spans{}
	last := map[string]*span{} // by the name of the log: the attempt that began last
	_, err := store.Reader().Replay(prd, func(c state.Commit) error {
		for i, e := range c.Events {
			at := c.At(i)
			if a, ok := beginningOf(e); ok {
				last[a.log] = &span{began: at}
				all[disk.LogName(a.log, a.attempt)] = last[a.log]
			} else if log := stream.Ends(e); log != "" && last[log] != nil && last[log].ended.IsZero() {
				last[log].ended = at
			}
		}
		return nil
	})
	return all, err
}

// of returns the times of an attempt: those in the journal, or, for a journal that was compacted or
// a record of an earlier session, those in the state.
func (all spans) of(a selected) span {
	if found := all[disk.LogName(a.log, a.attempt)]; found != nil {
		return *found
	}
	if a.attempt == a.attempts {
		return a.record
	}
	return span{}
}

// recordOf returns the times of the last attempt at a workstream.
func recordOf(w *state.Workstream) span {
	var s span
	if w.StartedAt != nil {
		s.began = *w.StartedAt
	}
	if w.EndedAt != nil {
		s.ended = *w.EndedAt
	}
	return s
}

// verdictOf returns the times of the last judgement of a gate.
func verdictOf(g *state.Gate) span {
	if g.At == nil {
		return span{}
	}
	return span{began: g.At.Add(-time.Duration(g.DurationMS) * time.Millisecond), ended: *g.At}
}

// parseSince reads a time: how long ago, or a date. A time without a zone is UTC, as Runner prints
// times.
func parseSince(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, advice.Usagef("--since takes a duration, such as 5m or 2h, or a time, such as 2026-01-31, 2026-01-31T15:04:05 (UTC) or 2026-01-31T15:04:05+02:00, not %q", text)
}
