package logs

import (
	"cmp"
	"errors"
	"os"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// selected is an attempt whose log is to be printed.
type selected struct {
	step
	attempt int
}

// runs reports whether the attempt runs.
func (a selected) runs() bool { return a.running && a.attempt == a.attempts }

// lastAttempts returns the last attempt at each step that has begun, or the one with a number.
func lastAttempts(steps []step, number int) []selected {
	var all []selected
	for _, s := range steps {
		if s.attempts > 0 && number == 0 {
			all = append(all, selected{s, s.attempts})
		} else if s.attempts > 0 {
			all = append(all, selected{s, number})
		}
	}
	return all
}

// since returns the attempts that run, or that ended at a time or later. An attempt whose end is not
// on record counts by the time when its log was last written.
func (p *printer) since(steps []step, times spans, at time.Time) ([]selected, error) {
	var all []selected
	for _, s := range steps {
		for n := 1; n <= s.attempts; n++ {
			a := selected{s, n}
			if a.runs() {
				all = append(all, a)
				continue
			}
			ended := times.of(a).ended
			if ended.IsZero() {
				var err error
				if ended, err = p.lastWritten(a); err != nil {
					return nil, err
				}
			}
			if !ended.Before(at) {
				all = append(all, a)
			}
		}
	}
	return all, nil
}

// lastWritten returns when the log of an attempt was written last, zero if it is not here.
func (p *printer) lastWritten(a selected) (time.Time, error) {
	f, err := p.openLog(a.step, a.attempt)
	if errors.Is(err, os.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// failures returns what has failed in a session and did not succeed since: one failure for each log,
// or for each message where there is no log.
func failures(st *state.State) []state.Failure {
	var all []state.Failure
	seen := map[state.Text]bool{}
	add := func(f *state.Failure) {
		if f == nil || seen[cmp.Or(f.Log, f.Message)] {
			return
		}
		seen[cmp.Or(f.Log, f.Message)] = true
		all = append(all, *f)
	}
	gates := func(list []*state.Gate) {
		for _, g := range list {
			if g.Status == state.Failed {
				add(g.Error)
			}
		}
	}
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			switch w.Status {
			case state.Failed, state.Interrupted, state.Uncertain:
				add(w.Error)
			case state.Running:
				if w.Retries() {
					add(w.Error)
				}
			case state.Pending, state.Succeeded, state.Completed, state.Skipped, state.Passed, state.Rejected, state.Waiting:
			}
			gates(w.Gates)
		}
		gates(p.Gates)
	}
	add(st.Error)
	return all
}

// failedAttempts returns the attempts whose logs the failures name, and the failures that have no log.
func failedAttempts(steps []step, failed []state.Failure) (logged []selected, without []state.Failure) {
	for _, f := range failed {
		found := false
		for _, s := range steps {
			for n := s.attempts; n > 0 && !found; n-- {
				if disk.LogName(s.log, n) == string(f.Log) {
					logged, found = append(logged, selected{s, n}), true
				}
			}
		}
		if !found {
			without = append(without, f)
		}
	}
	return logged, without
}
