package journal

import (
	"testing"

	"prdrunner/checkpoint/state"
)

// tracked returns what a tracker that begins with a state says of a file with a digest.
func tracked(s *state.State, digest string) state.FileChange {
	f := newFileTracker()
	f.adoptState(s)
	e := f.Mark(s, state.WorkstreamSucceeded{Work: state.Work{Artifacts: []state.Artifact{{Path: "a", Digest: digest}}}})
	return e.(state.WorkstreamSucceeded).Work.Artifacts[0].Change
}

// TestFilesOfAState: a file is known by the workstream that completed with it last. A
// workstream that did not complete tells what was there before it ran: no file if it
// created the file, another one if it modified it.
func TestFilesOfAState(t *testing.T) {
	t.Parallel()
	const same, other = "1", "2"
	for name, tt := range map[string]struct {
		status  state.StepStatus
		workSeq uint64
		change  state.FileChange
		want    map[string]state.FileChange
	}{
		"completed, created":     {state.Completed, 3, state.FileCreated, map[string]state.FileChange{same: "", other: state.FileModified}},
		"failed, created":        {state.Failed, 3, state.FileCreated, map[string]state.FileChange{same: state.FileCreated, other: state.FileCreated}},
		"failed, modified":       {state.Failed, 3, state.FileModified, map[string]state.FileChange{same: state.FileModified, other: state.FileModified}},
		"failed, unchanged":      {state.Failed, 3, "", map[string]state.FileChange{same: "", other: state.FileModified}},
		"without work, created":  {state.Failed, 0, state.FileCreated, map[string]state.FileChange{same: "", other: state.FileModified}},
		"without work, modified": {state.Failed, 0, state.FileModified, map[string]state.FileChange{same: "", other: state.FileModified}},
	} {
		s := &state.State{Phases: []*state.Phase{{Workstreams: []*state.Workstream{
			{Name: "w", Status: tt.status, WorkSeq: tt.workSeq, Artifacts: []state.Artifact{{Path: "a", Digest: same, Change: tt.change}}},
		}}}}
		for digest, want := range tt.want {
			if got := tracked(s, digest); got != want {
				t.Errorf("%s: a file with the digest %s is %q, want %q", name, digest, got, want)
			}
		}
	}
	for _, tt := range []struct {
		first, second uint64 // when the workstreams recorded the file
		want          string // the digest that is known
	}{{5, 3, "1"}, {3, 5, "2"}, {3, 3, "2"}} {
		s := &state.State{Phases: []*state.Phase{{Workstreams: []*state.Workstream{
			{Name: "v", Status: state.Completed, WorkSeq: tt.first, Artifacts: []state.Artifact{{Path: "a", Digest: "1"}}},
			{Name: "w", Status: state.Completed, WorkSeq: tt.second, Artifacts: []state.Artifact{{Path: "a", Digest: "2"}}},
		}}}}
		if got := tracked(s, tt.want); got != "" {
			t.Errorf("recorded at %d and %d, the file with the digest %s is %q, want it known", tt.first, tt.second, tt.want, got)
		}
	}
}

// TestEditedFilesAreMarked: an edit of a completed workstream's file does not change what
// the workstream did. An edit of another one's file is compared with the known file.
func TestEditedFilesAreMarked(t *testing.T) {
	t.Parallel()
	file := func(digest string) []state.Artifact { return []state.Artifact{{Path: "a", Digest: digest}} }
	for name, tt := range map[string]struct {
		workstream string
		status     state.StepStatus
		want, then state.FileChange // then: of the edited file, once more
	}{
		"completed": {"w", state.Completed, state.FileCreated, ""},
		"failed":    {"w", state.Failed, state.FileModified, state.FileModified},
		"unknown":   {"x", state.Completed, state.FileModified, ""},
	} {
		w := &state.Workstream{Name: "w", Status: state.Completed, WorkSeq: 3, Artifacts: []state.Artifact{{Path: "a", Digest: "1", Change: state.FileCreated}}}
		s := &state.State{Phases: []*state.Phase{{Workstreams: []*state.Workstream{w}}}}
		f := newFileTracker()
		f.adoptState(s)
		w.Status = tt.status
		e := f.Mark(s, state.WorkstreamEdited{Workstream: tt.workstream, Artifacts: file("2")}).(state.WorkstreamEdited)
		if got := e.Artifacts[0].Change; got != tt.want {
			t.Errorf("%s: the edited file is %q, want %q", name, got, tt.want)
		}
		if tt.workstream != "w" {
			continue
		}
		w.Artifacts = e.Artifacts
		f.observe(s, e)
		work := f.Mark(s, state.WorkstreamCompleted{Work: &state.Work{Artifacts: file("2")}}).(state.WorkstreamCompleted)
		if got := work.Work.Artifacts[0].Change; got != tt.then {
			t.Errorf("%s: after the edit the same file is %q, want %q", name, got, tt.then)
		}
	}
}
