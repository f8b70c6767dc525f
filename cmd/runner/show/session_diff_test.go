package show_test

import (
	"io"
	"testing"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

func TestSessionDiff(t *testing.T) {
	t.Parallel()
	session := func(id string, minute int, status state.Status, ms int64, outputs map[string]state.Text) info.PastSession {
		st := &state.State{PRD: "PRD-009", Session: id, Status: status, CreatedAt: at(minute), UpdatedAt: at(minute + 1), ActiveMS: 3 * ms, Metrics: map[string]state.Metric{
			"coverage": {Value: outputs["url"], Workstream: "tests"},
		}}
		work := func(name string, ms int64) *state.Workstream {
			return &state.Workstream{Name: name, Status: state.Completed, WorkSeq: 1, Attempts: 1, DurationMS: ms, Outputs: outputs}
		}
		st.Phases = []*state.Phase{{Name: "one", Status: state.Completed, Workstreams: []*state.Workstream{work("tests", ms), work("lint", 50), work("service[10]", 5), work("service[2]", 5)}}}
		return info.PastSession{StoredSession: reader.StoredSession{PRD: "PRD-009", Place: disk.PlaceHistory, Dir: "/ws/.runner/" + id, State: st}, Timeline: history.Timeline{}}
	}
	a := session("aaaaaaaa-1", 1, state.StatusFailed, 4000, map[string]state.Text{"url": "http://a"})
	b := session("bbbbbbbb-1", 9, state.StatusComplete, 8000, map[string]state.Text{"url": "b\x1b[2J\nnext"})
	b.State.Phases[0].Workstreams[1].Cached = &state.Cached{Session: "aaaaaaaa-1"}
	b.State.Phases[0].Workstreams[3].Artifacts = []state.Artifact{{Path: "gen/x.go", Digest: "sha256:00"}}
	a.State.Pipeline.Digest, b.State.Pipeline.Digest = "sha256:aa", "sha256:bb"
	b.State.Document = &state.FileRef{Path: "PRD.md", Digest: "sha256:cc"}
	b.State.Phases[0].Workstreams[0].Digest.Upstream = "sha256:dd"
	a.State.Error = &state.Failure{Message: "no"}
	a.State.Phases = append(a.State.Phases, &state.Phase{Name: "two", Status: state.Running})
	b.State.Phases = append(b.State.Phases, &state.Phase{Name: "two", Status: state.Completed})
	h := info.NewHistoryReport(cmdline, at(20), "PRD-009", []info.PastSession{a, b})
	differ := info.NewSessionDiffReport(h, h.Sessions[0], h.Sessions[1], a.State, b.State)
	back := info.NewSessionDiffReport(h, h.Sessions[1], h.Sessions[0], b.State, a.State)
	running := back
	running.To.Running = true
	runningFirst := differ
	runningFirst.From.Running = true
	same := info.NewSessionDiffReport(h, h.Sessions[0], h.Sessions[0], a.State, a.State)
	compareAnswers(t, "session_diff.txt", []answer{
		{"they differ", func(w io.Writer) error { return show.SessionDiff(w, differ) }},
		asJSON("they differ", differ),
		{"the other way", func(w io.Writer) error { return show.SessionDiff(w, back) }},
		{"the second runs", func(w io.Writer) error { return show.SessionDiff(w, running) }},
		{"the first runs", func(w io.Writer) error { return show.SessionDiff(w, runningFirst) }},
		{"the same", func(w io.Writer) error { return show.SessionDiff(w, same) }},
	})
}
