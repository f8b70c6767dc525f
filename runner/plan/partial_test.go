package plan_test

import (
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/plan"
)

// TestPartialWork: a workstream has started in the present run and not completed. A file
// that matches its artifacts is its partial work, whatever the content of the file.
func TestPartialWork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		play    func(*session)
		path    string
		partial bool
	}{
		{"nothing runs", func(*session) {}, "data/log", false},
		{"its workstream runs", func(s *session) { s.begin("writer") }, "data/log", true},
		{"its workstream failed in this run", func(s *session) { s.fail("writer", "exit code 1") }, "data/log", true},
		{"another one runs", func(s *session) { s.begin("writer") }, "data/sum", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, crowd)
			crowded(s)
			s.start()
			pl := s.planner()
			pl.SetBeginCommit(s.st.Seq)
			tt.play(s)
			if got := pl.IsPartialWork(tt.path, "any"); got != tt.partial {
				t.Errorf("got %t", got)
			}
		})
	}
	t.Run("its workstream failed in an earlier run", func(t *testing.T) {
		t.Parallel()
		s := newSession(t, crowd)
		crowded(s)
		s.fail("writer", "exit code 1")
		s.end()
		s.start()
		pl := s.planner()
		pl.SetBeginCommit(s.st.Seq)
		if pl.IsPartialWork("data/log", "any") || !pl.IsPartialWork("data/log", "writer") {
			t.Error("want the file to be partial work only while its content is what the earlier run left")
		}
	})
}

// TestPartialWorkOutsideRun: while nothing runs, the capture alone says what is partial
// work.
func TestPartialWorkOutsideRun(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*session){
		"its workstream was killed": func(s *session) { s.begin("writer") },
		"its workstream failed":     func(s *session) { s.fail("writer", "exit code 1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, crowd)
			crowded(s)
			play(s)
			s.adjust = func(f *plan.Facts) { f.Stopped = plan.PartialWork{} }
			if s.planner().IsPartialWork("data/log", "any") {
				t.Error("there is no capture, but the file is partial work")
			}
		})
	}
}

// TestPartialWorkAdd: the patterns of workstreams that have begun and not completed count.
func TestPartialWorkAdd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status     state.StepStatus
		uncaptured bool
		captured   bool // whether the file that the run left counts
		later      bool // whether another content counts
	}{
		{state.Pending, true, false, false},
		{state.Completed, true, false, false},
		{state.Running, false, true, false},
		{state.Running, true, true, true},
		{state.Interrupted, false, true, false},
		{state.Interrupted, true, true, true},
		{state.Failed, true, true, false},
		{state.Uncertain, true, true, false},
	} {
		var p plan.PartialWork
		p.Add([]string{"out"}, &state.Workstream{Status: tt.status}, tt.uncaptured)
		p.Add([]string{"none"}, nil, tt.uncaptured)
		p.SetCapture(nil)
		if got := p.Includes("out", "1"); got != tt.later {
			t.Errorf("%s, uncaptured %t: without a capture, got %t", tt.status, tt.uncaptured, got)
		}
		p.SetCapture(&workspace.Listing{Entries: []workspace.Entry{{Path: "out", Digest: "1"}, {Path: "none", Digest: "1"}}, Special: []string{"pipe"}})
		if got := p.Includes("out", "1"); got != tt.captured {
			t.Errorf("%s, uncaptured %t: as captured, got %t", tt.status, tt.uncaptured, got)
		}
		if got := p.Includes("out", "2"); got != tt.later {
			t.Errorf("%s, uncaptured %t: changed since the capture, got %t", tt.status, tt.uncaptured, got)
		}
		if p.Includes("none", "1") || p.Includes("other", "") {
			t.Errorf("%s, uncaptured %t: files that match no pattern count", tt.status, tt.uncaptured)
		}
	}
}

func TestPartialWorkOfFailedAttempts(t *testing.T) {
	t.Parallel()
	p := plan.PartialWork{ByFailedAttempts: map[string]state.Artifact{"out": {Digest: "1"}, "gone": {}}}
	if !p.LeftByFailure("out", "1") || p.LeftByFailure("out", "2") || p.LeftByFailure("other", "") || !p.LeftByFailure("gone", "") {
		t.Error("want an artifact to count only while its content is what the failed attempt left")
	}
	if !p.Includes("out", "1") || p.Includes("out", "2") {
		t.Error("want only the content that a failed attempt left to be partial work")
	}
}
