package show_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	past := func(id string, minute int, took time.Duration, status state.Status, change func(*state.State, *info.PastSession)) info.PastSession {
		st := &state.State{
			PRD: "PRD-009", Title: "Cashier\nWorkflows", Session: id, Status: status, CreatedAt: at(minute), UpdatedAt: at(minute).Add(took), ActiveMS: took.Milliseconds(),
			Phases: []*state.Phase{{Name: "one", Status: state.Completed, Workstreams: []*state.Workstream{
				{Name: "tests", Status: state.Completed, WorkSeq: 1, Attempts: 1, DurationMS: took.Milliseconds()},
				{Name: "x\x1b[2J", Status: state.Completed, WorkSeq: 1, Attempts: 1, DurationMS: took.Milliseconds()},
				{Name: "other", Status: state.Failed},
			}}},
		}
		s := info.PastSession{StoredSession: reader.StoredSession{PRD: "PRD-009", Place: disk.PlaceHistory, Dir: "/ws/.runner/history/" + id, State: st}}
		s.Timeline = history.Timeline{}
		if change != nil {
			change(st, &s)
		}
		return s
	}
	report := info.NewHistoryReport(cmdline, at(20), "PRD-009", []info.PastSession{
		past("aaaaaaaa-1", 1, 10*time.Second, state.StatusComplete, nil),
		past("bbbbbbbb-1", 2, 11*time.Second, state.StatusFailed, func(_ *state.State, s *info.PastSession) { s.Place = disk.PlaceFailed }),
		past("cccccccc-1", 3, 12*time.Second, state.StatusInProgress, func(st *state.State, _ *info.PastSession) { st.RunningAt, st.Resumes = pointer(at(3)), 2 }),
		{StoredSession: reader.StoredSession{PRD: "PRD-009", Place: disk.PlaceHistory, Dir: "/ws/.runner/history/bad", Err: errors.New("garbage")}},
		past("dddddddd-1", 4, 20*time.Second, state.StatusPaused, func(st *state.State, _ *info.PastSession) { st.Abandoned = true }),
		past("eeeeeeee-1", 19, time.Minute, state.StatusInProgress, func(st *state.State, s *info.PastSession) {
			st.RunningAt, s.Owned, s.Place = pointer(at(19)), true, disk.PlaceCurrent
		}),
	})
	last := report
	last.Last(1)
	compareAnswers(t, "history.txt", []answer{
		{"all", func(w io.Writer) error { return show.History(w, report) }},
		{"the last", func(w io.Writer) error { return show.History(w, last) }},
		asJSON("the last", last),
	})
}
