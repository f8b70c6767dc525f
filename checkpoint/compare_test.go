package checkpoint

import (
	"context"
	"testing"

	"prdrunner/checkpoint/workspace"
)

// stateOf is a session of two phases to compare.
func stateOf(change func(*State)) *State {
	s := &State{
		PRD: "PRD-009", Session: "S1", Status: StatusInProgress, CurrentPhase: 1, Steps: 1,
		Pipeline: FileRef{Path: "PRD-009.hcl", Digest: "sha256:p"},
		Metrics:  map[string]Metric{"coverage": {Value: 80.0}, "lint_clean": {Value: true}},
		Phases: []*Phase{
			{Name: "one", Status: Running, Attempt: 1, Workstreams: []*Workstream{{
				Name: "WS1", Status: Completed, Attempts: 1, Digest: Digest{Definition: "sha256:d", Variables: map[string]string{"a": "sha256:1"}},
				Outputs:   map[string]Text{"url": "http://a"},
				Artifacts: []Artifact{{Path: "a.sql", Digest: "sha256:a"}, {Path: "b.sql", Digest: "sha256:b"}},
				Gates:     []*Gate{{Label: "lint (WS1)", Status: Passed, Attempts: 1, Judged: "sha256:j"}},
			}}},
			{Name: "two", Status: Pending, Workstreams: []*Workstream{{Name: "WS2", Status: Pending}}},
		},
	}
	if change != nil {
		change(s)
	}
	return s
}

func TestCompareStates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*State)
		want   Comparison
	}{
		{name: "nothing"},
		{
			name: "where it stands",
			change: func(s *State) {
				s.Status, s.CurrentPhase, s.Steps = StatusFailed, 2, 2
				s.Error = &Failure{Message: "exit code 1"}
			},
			want: Comparison{State: []ValueChange{
				{"status", "in_progress", "failed"}, {"phase", "one", "two"}, {"current_step", 1, 2}, {"error", nil, "exit code 1"},
			}},
		},
		{
			name: "steps",
			change: func(s *State) {
				s.Phases[0].Status = Completed
				s.Phases[1].Status, s.Phases[1].Attempt = Running, 1
				s.Phases[1].Workstreams[0].Status, s.Phases[1].Workstreams[0].Attempts = Failed, 2
			},
			want: Comparison{
				Phases:      []StepChange{{Name: "one", From: Running, To: Completed, FromAttempts: 1, ToAttempts: 1}, {Name: "two", From: Pending, To: Running, ToAttempts: 1}},
				Workstreams: []StepChange{{Name: "WS2", From: Pending, To: Failed, ToAttempts: 2}},
			},
		},
		{
			name: "a digest, with the same status",
			change: func(s *State) {
				w := s.Phases[0].Workstreams[0]
				w.Digest.Variables = map[string]string{"a": "sha256:2"}
				w.Gates[0].Judged = "sha256:k"
			},
			want: Comparison{
				Workstreams: []StepChange{{Name: "WS1", From: Completed, To: Completed, FromAttempts: 1, ToAttempts: 1, Changed: []string{"variables"}}},
				Gates:       []StepChange{{Name: "lint (WS1)", From: Passed, To: Passed, FromAttempts: 1, ToAttempts: 1, Changed: []string{"judged"}}},
			},
		},
		{
			name: "another pipeline",
			change: func(s *State) {
				s.Phases[1] = &Phase{Name: "three", Status: Pending, Workstreams: []*Workstream{{Name: "WS3", Status: Pending}}}
			},
			want: Comparison{
				Phases:      []StepChange{{Name: "three", To: Pending}, {Name: "two", From: Pending}},
				Workstreams: []StepChange{{Name: "WS3", To: Pending}, {Name: "WS2", From: Pending}},
			},
		},
		{
			name: "results",
			change: func(s *State) {
				s.Metrics = map[string]Metric{"coverage": {Value: 81.5}, "race_free": {Value: true}}
				w := s.Phases[0].Workstreams[0]
				w.Outputs = map[string]Text{"url": "http://b"}
				w.Artifacts = []Artifact{{Path: "a.sql", Digest: "sha256:z"}, {Path: "c.sql", Digest: "sha256:c"}}
			},
			want: Comparison{
				Metrics: []ValueChange{{"coverage", 80.0, 81.5}, {"lint_clean", true, nil}, {"race_free", nil, true}},
				Outputs: []ValueChange{{"WS1.url", Text("http://a"), Text("http://b")}},
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
			got.fill()
			tt.want.fill()
			same(t, "comparison", got, tt.want)
			if got.Same() != (tt.change == nil) {
				t.Errorf("Same is %v", got.Same())
			}
		})
	}
}

// Checkpoints of a journal are compared with each other and with where the
// session stands, by every name they have.
func TestCompare(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.run()
	first, _ := x.Checkpoint(TriggerManual, "", nil)
	commit(t, x)
	for _, e := range work("WS2", "type-check", "c.ts") {
		commit(t, x, e)
	}
	must(t, x.Close())
	s := f.open()
	c, err := s.Compare(context.Background(), nil, "PRD-009", CompareOptions{From: first})
	must(t, err)
	same(t, "artifacts", c.Artifacts, []ArtifactChange{{"c.ts", "WS2", workspace.Added}})
	same(t, "state", c.State, []ValueChange{{"current_step", 1, 2}})
	if c.From.Name != first || c.To.Name != "now" || c.Files == nil || c.Git != nil {
		t.Errorf("%+v", c)
	}
	back, err := s.Compare(context.Background(), nil, "PRD-009", CompareOptions{From: PointWorkspace, To: "latest"})
	must(t, err)
	same(t, "artifacts", back.Artifacts, []ArtifactChange{{"c.ts", "WS2", workspace.Deleted}})
}
