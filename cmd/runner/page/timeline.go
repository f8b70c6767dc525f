package page

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline/graph"
	"prdrunner/runner/view"
)

// scale places times on a line on which the runs of a session follow each other. The time between
// runs takes no room.
type scale struct {
	runs   []history.Run
	before []time.Duration // how long the runs before each run took together
	total  time.Duration
}

func newScale(t history.Timeline) *scale {
	s := &scale{runs: t.Runs}
	for _, r := range t.Runs {
		s.before = append(s.before, s.total)
		s.total += r.To.Sub(r.From)
	}
	return s
}

// at returns the place of a time, from 0 to 100.
func (s *scale) at(t time.Time) float64 {
	if s.total <= 0 {
		return 0
	}
	var place time.Duration
	for i, r := range s.runs {
		if t.Before(r.From) {
			break
		}
		place = s.before[i] + min(t.Sub(r.From), r.To.Sub(r.From))
	}
	return 100 * float64(place) / float64(s.total)
}

// end returns when the run ended in which a time lies.
func (s *scale) end(t time.Time) time.Time {
	var end time.Time
	for _, r := range s.runs {
		if !t.Before(r.From) {
			end = r.To
		}
	}
	return end
}

// bar is a bar of the timeline, in hundredths of its width.
type bar struct {
	From, Width float64
	Class       graph.Class
	Gate        bool
	Lost        bool // its end is not on record
	Title       string
}

// leastWidth is how wide a bar is at least, so that it can be seen.
const leastWidth = 0.4

// bars returns the bars of the workstreams: of each attempt, and of each judgement of their gates. running says that a run is
// on, which is the last one.
func (s *scale) bars(t history.Timeline, running bool) map[string][]bar {
	bars := map[string][]bar{}
	for _, a := range t.Attempts {
		owner, end := a.Name, a.To
		if _, of, is := state.CutLabel(a.Name); is {
			owner = of
		}
		b := bar{Gate: a.Kind == history.Gate, Lost: end.IsZero(), Class: classOf(a.Result)}
		now := b.Lost && running && !a.From.Before(s.runs[len(s.runs)-1].From)
		if b.Lost {
			end = s.end(a.From)
		}
		if now {
			b.Lost, b.Class = false, graph.ClassRunning
		}
		b.From = s.at(a.From)
		b.Width = max(leastWidth, s.at(end)-b.From)
		b.Title = said(a, end, now)
		bars[owner] = append(bars[owner], b)
	}
	return bars
}

// said says what a bar shows, which may run now. What is usual is left out: that it is the first attempt, and succeeded.
func said(a history.Attempt, end time.Time, now bool) string {
	text := fmt.Sprintf("%s to %s, %s", a.From.UTC().Format(time.TimeOnly), end.UTC().Format(time.TimeOnly), view.Duration(end.Sub(a.From)))
	if now {
		text = "runs since " + a.From.UTC().Format(time.TimeOnly)
	}
	if name, _, gate := state.CutLabel(a.Name); gate {
		text = name + ": " + text
	}
	if a.Number > 1 {
		text += fmt.Sprintf(", attempt %d", a.Number)
	}
	switch {
	case now:
		return text
	case a.To.IsZero():
		return text + ", its end is not on record"
	}
	if a.Result != state.Completed && a.Result != state.Passed {
		text += ", " + string(a.Result)
	}
	return text
}

// joined merges the bars of several rows into one row. Bars that touch become one bar. If one of them has failed, so
// has the merged bar.
func joined(rows []row) []bar {
	var all, bars []bar
	for _, r := range rows {
		all = append(all, r.Bars...)
	}
	slices.SortFunc(all, func(a, b bar) int { return cmp.Compare(a.From, b.From) })
	for _, b := range all {
		b.Title, b.Gate = "", false
		n := len(bars)
		if n == 0 || b.From > bars[n-1].From+bars[n-1].Width {
			bars = append(bars, b)
			continue
		}
		last := &bars[n-1]
		last.Width = max(last.Width, b.From+b.Width-last.From)
		last.Lost = last.Lost && b.Lost
		if b.Class == graph.ClassFailed {
			last.Class = b.Class
		}
	}
	return bars
}

// classOf returns the class of what an attempt ended with.
func classOf(result state.StepStatus) graph.Class {
	switch result {
	case state.Completed, state.Passed, state.Succeeded:
		return graph.ClassDone
	case state.Failed, state.Rejected:
		return graph.ClassFailed
	case state.Running:
		return graph.ClassRunning
	case state.Waiting, state.Interrupted, state.Uncertain:
		return graph.ClassWaiting
	case state.Pending, state.Skipped:
	}
	return graph.ClassAside
}
