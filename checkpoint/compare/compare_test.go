package compare

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// stateOf is a session of two phases to compare.
func stateOf(change func(*state.State)) *state.State {
	s := &state.State{
		PRD: "PRD-009", Session: "S1", Status: state.StatusInProgress, CurrentPhase: 1, Steps: 1,
		Pipeline: state.FileRef{Path: "PRD-009.hcl", Digest: "sha256:p"},
		Metrics:  map[string]state.Metric{"coverage": {Value: 80.0}, "lint_clean": {Value: true}},
		Phases: []*state.Phase{
			{Name: "one", Status: state.Running, Attempt: 1, Workstreams: []*state.Workstream{{
				Name: "WS1", Status: state.Completed, Attempts: 1, Digest: state.Digest{Definition: "sha256:d", Variables: map[string]string{"a": "sha256:1"}},
				Outputs:   map[string]state.Text{"url": "http://a"},
				Artifacts: []state.Artifact{{Path: "a.sql", Digest: "sha256:a"}, {Path: "b.sql", Digest: "sha256:b"}},
				Gates:     []*state.Gate{{Label: "lint (WS1)", Status: state.Passed, Attempts: 1, Judged: "sha256:j"}},
			}}},
			{Name: "two", Status: state.Pending, Workstreams: []*state.Workstream{{Name: "WS2", Status: state.Pending}}},
		},
	}
	if change != nil {
		change(s)
	}
	return s
}

func TestStates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*state.State)
		want   Comparison
	}{
		{name: "nothing"},
		{
			name: "where it stands",
			change: func(s *state.State) {
				s.Status, s.CurrentPhase, s.Steps = state.StatusFailed, 2, 2
				s.Error = &state.Failure{Message: "exit code 1"}
			},
			want: Comparison{State: []ValueChange{
				{"status", "in_progress", "failed"}, {"phase", "one", "two"}, {"current_step", 1, 2}, {"error", nil, state.Text("exit code 1")},
			}},
		},
		{
			name: "steps",
			change: func(s *state.State) {
				s.Phases[0].Status = state.Completed
				s.Phases[1].Status, s.Phases[1].Attempt = state.Running, 1
				s.Phases[1].Workstreams[0].Status, s.Phases[1].Workstreams[0].Attempts = state.Failed, 2
				s.Phases[1].Workstreams[0].Digest.Definition = "sha256:new" // it had none before it ran
			},
			want: Comparison{
				Phases:      []StepChange{{Name: "one", From: state.Running, To: state.Completed, FromAttempts: 1, ToAttempts: 1}, {Name: "two", From: state.Pending, To: state.Running, ToAttempts: 1}},
				Workstreams: []StepChange{{Name: "WS2", From: state.Pending, To: state.Failed, ToAttempts: 2}},
			},
		},
		{
			name: "a digest, with the same status",
			change: func(s *state.State) {
				w := s.Phases[0].Workstreams[0]
				w.Digest.Variables = map[string]string{"a": "sha256:2"}
				w.Gates[0].Judged = "sha256:k"
			},
			want: Comparison{
				Workstreams: []StepChange{{Name: "WS1", From: state.Completed, To: state.Completed, FromAttempts: 1, ToAttempts: 1, Changed: []string{"variables"}}},
				Gates:       []StepChange{{Name: "lint (WS1)", From: state.Passed, To: state.Passed, FromAttempts: 1, ToAttempts: 1, Changed: []string{"judged"}}},
			},
		},
		{
			name: "another pipeline",
			change: func(s *state.State) {
				s.Phases[1] = &state.Phase{Name: "three", Status: state.Pending, Workstreams: []*state.Workstream{{Name: "WS3", Status: state.Pending}}}
			},
			want: Comparison{
				Phases:      []StepChange{{Name: "three", To: state.Pending}, {Name: "two", From: state.Pending}},
				Workstreams: []StepChange{{Name: "WS3", To: state.Pending}, {Name: "WS2", From: state.Pending}},
			},
		},
		{
			name: "results",
			change: func(s *state.State) {
				s.Metrics = map[string]state.Metric{"coverage": {Value: 81.5}, "race_free": {Value: true}}
				w := s.Phases[0].Workstreams[0]
				w.Outputs = map[string]state.Text{"url": "http://b"}
				w.Artifacts = []state.Artifact{{Path: "a.sql", Digest: "sha256:z"}, {Path: "c.sql", Digest: "sha256:c"}}
			},
			want: Comparison{
				Metrics: []ValueChange{{"coverage", 80.0, 81.5}, {"lint_clean", true, nil}, {"race_free", nil, true}},
				Outputs: []ValueChange{{"WS1.url", state.Text("http://a"), state.Text("http://b")}},
				Artifacts: []ArtifactChange{
					{"a.sql", "WS1", workspace.Modified}, {"b.sql", "WS1", workspace.Deleted}, {"c.sql", "WS1", workspace.Added},
				},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got Comparison
			got.compareStates(stateOf(nil), stateOf(tt.change))
			got.fillLists()
			tt.want.fillLists()
			same(t, "comparison", got, tt.want)
			if got.Same() != (tt.change == nil) {
				t.Errorf("Same is %v", got.Same())
			}
		})
	}
}

// Checkpoints of a journal are compared with each other and with where the
// session stands, by every name they have.
func TestPoints(t *testing.T) {
	t.Parallel()
	s, err := checkpoint.OpenStore("/ws/.runner", checkpoint.Options{FS: store.NewMemory(), RescueDir: "/ws/rescue"})
	must(t, err)
	x, err := s.Lock(t.Context(), "PRD-009", state.Actor{User: "ana"})
	must(t, err)
	must(t, x.Start(state.SessionStarted{
		FormatVersion: state.FormatVersion, Session: "S1", PRD: "PRD-009",
		Shape: state.Shape{Phases: []state.PhaseShape{{Name: "one", Workstreams: []state.WorkstreamShape{{Name: "WS1"}}}}},
	}))
	x.Add(state.PhaseStarted{Phase: "one"})
	first, _ := x.Checkpoint(state.TriggerManual, "", nil)
	_, err = x.Drain(t.Context())
	must(t, err)
	x.Add(
		state.WorkstreamStarted{Workstream: "WS1", Attempt: 1},
		state.WorkstreamCompleted{Workstream: "WS1", Work: &state.Work{
			Attempt: 1, Artifacts: []state.Artifact{{Path: "c.ts", Size: 3, Mode: 0o644, Digest: "sha256:c"}},
		}})
	must(t, x.Close())

	c, err := Points(t.Context(), s, nil, "PRD-009", Options{From: first})
	must(t, err)
	same(t, "artifacts", c.Artifacts, []ArtifactChange{{"c.ts", "WS1", workspace.Added}})
	same(t, "state", c.State, []ValueChange{{"current_step", 0, 1}})
	if c.From.Name != first || c.To.Name != "now" || c.Files == nil || c.Git != nil {
		t.Errorf("%+v", c)
	}
	now := time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)
	back, err := Points(t.Context(), s, nil, "PRD-009", Options{From: PointWorkspace, To: "latest", Now: now})
	must(t, err)
	same(t, "artifacts", back.Artifacts, []ArtifactChange{{"c.ts", "WS1", workspace.Deleted}})
	if !back.From.At.Equal(now) || back.From.StepName != "WS1" {
		t.Errorf("%+v", back.From)
	}
	if _, err := Points(t.Context(), s, nil, "PRD-009", Options{From: "CP-none"}); !errors.Is(err, state.ErrNoCheckpoint) {
		t.Errorf("a reference to nothing: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same compares by what is exported.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Point{})); diff != "" {
		t.Errorf("%s, - wanted, + got:\n%s", what, diff)
	}
}
