package info

import (
	"fmt"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// HistoryReport is the sessions of a PRD, as `history --json` prints it.
type HistoryReport struct {
	FormatVersion string           `json:"format_version"`
	PRD           string           `json:"prd"`
	Sessions      []HistorySession `json:"sessions"` // the oldest first

	Title string `json:"-"`
}

// HistorySession is a session in a history.
type HistorySession struct {
	Session     string           `json:"session,omitempty"`
	Place       disk.Place       `json:"place"`
	Path        state.Text       `json:"path"`
	Status      state.Status     `json:"status,omitempty"`
	Running     bool             `json:"running"`
	Killed      bool             `json:"killed"` // its runner was killed, and nothing has resumed it
	Abandoned   bool             `json:"abandoned"`
	BeganFrom   string           `json:"began_from,omitempty"` // the complete session whose results it took over
	CreatedAt   time.Time        `json:"created_at,omitzero"`
	UpdatedAt   time.Time        `json:"updated_at,omitzero"`
	Runs        int              `json:"runs"`
	RanMS       int64            `json:"ran_ms"` // the time of its runs together
	Workstreams StepCounts       `json:"workstreams"`
	Durations   []DurationReport `json:"durations"`         // of what the session itself ran with success
	Slower      []SlowerReport   `json:"slower"`            // than in earlier sessions
	Damaged     state.Text       `json:"damaged,omitempty"` // why the session can't be read
}

// DurationReport is how long a phase or a workstream took.
type DurationReport struct {
	Kind   history.Kind `json:"kind"`
	Name   string       `json:"name"`
	TookMS int64        `json:"took_ms"`
}

// SlowerReport is a phase or a workstream that took longer than in earlier sessions.
type SlowerReport struct {
	DurationReport
	MedianMS int64 `json:"median_ms"`
	Sessions int   `json:"sessions"` // how many the median is of
}

func newDurationReport(d history.Duration) DurationReport {
	return DurationReport{d.Kind, d.Name, d.Took.Milliseconds()}
}

// PastSession is a session for a history.
type PastSession struct {
	reader.StoredSession
	Timeline history.Timeline
	Owned    bool // a process runs it
}

// NewHistoryReport returns the history of sessions, the oldest first.
func NewHistoryReport(cmdline advice.CommandLine, now time.Time, prd string, sessions []PastSession) HistoryReport {
	r := HistoryReport{FormatVersion: FormatVersion, PRD: prd, Sessions: []HistorySession{}}
	var earlier [][]history.Duration
	for _, past := range sessions {
		s := HistorySession{Place: past.Place, Path: state.Text(cmdline.Display(past.Dir)), Durations: []DurationReport{}, Slower: []SlowerReport{}}
		st := past.State
		if st == nil {
			s.Damaged = state.Text(cmdline.Localize(past.Err.Error()))
			r.Sessions = append(r.Sessions, s)
			continue
		}
		r.Title = st.Title
		s.setState(st, now, past.Owned)
		took := past.Timeline.Durations(st)
		for _, d := range took {
			s.Durations = append(s.Durations, newDurationReport(d))
		}
		for _, d := range history.Slower(took, earlier) {
			s.Slower = append(s.Slower, SlowerReport{newDurationReport(d.Duration), d.Median.Milliseconds(), d.Sessions})
		}
		earlier = append(earlier, took)
		r.Sessions = append(r.Sessions, s)
	}
	return r
}

func (s *HistorySession) setState(st *state.State, now time.Time, owned bool) {
	s.Session, s.Status, s.CreatedAt, s.UpdatedAt, s.Runs, s.RanMS = st.Session, st.Status, st.CreatedAt, st.UpdatedAt, st.Resumes+1, st.ActiveMS
	s.Abandoned, s.Running, s.Killed = st.Abandoned, owned && st.RunningAt != nil, !owned && st.WasKilled()
	if st.BeganFrom != nil {
		s.BeganFrom = st.BeganFrom.Session
	}
	switch {
	case s.Running:
		s.RanMS += max(0, now.Sub(*st.RunningAt).Milliseconds())
	case s.Killed: // up to the last event
		s.RanMS += max(0, st.UpdatedAt.Sub(*st.RunningAt).Milliseconds())
	}
	var counts SessionStatus
	for _, p := range Resultless(st.Phases) {
		for _, w := range p.Workstreams {
			counted := *w
			counts.countWorkstream(&counted)
		}
	}
	s.Workstreams = counts.Counts
}

// Result returns how a session ended, or that it has not.
func (s HistorySession) Result() string {
	switch {
	case s.Damaged != "":
		return string(view.Damaged)
	case s.Abandoned:
		return string(view.Abandoned)
	case s.Running:
		return "running"
	case s.Killed:
		return string(view.Killed)
	case s.Place == disk.PlaceFailed && s.Status != state.StatusComplete:
		return fmt.Sprintf("%s, %s", s.Status, view.GivenUp)
	case s.Status == state.StatusInProgress, s.Status == state.StatusInitialized, s.Status == state.StatusPaused:
		return fmt.Sprintf("%s, %s", s.Status, view.Unfinished)
	}
	return string(s.Status)
}

// Last keeps the newest sessions.
func (r *HistoryReport) Last(n int) { r.Sessions = r.Sessions[max(0, len(r.Sessions)-n):] }

// Took formats a number of milliseconds for people.
func Took(ms int64) string { return view.Duration(milliseconds(ms)) }

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
