package state_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// TestWhatACaptureHolds: a capture covers the whole workspace if it used git's list of
// files or a pattern for all files. It holds the whole workspace if no file was left out.
func TestWhatACaptureHolds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		capture          workspace.Capture
		patterns         []string
		unlimited, whole bool
	}{
		"some files":              {patterns: []string{"a/**"}},
		"all files":               {patterns: []string{"a", "**"}, unlimited: true, whole: true},
		"all files below":         {patterns: []string{"**/*"}, unlimited: true, whole: true},
		"those of git":            {capture: workspace.Capture{Commit: "c"}, unlimited: true, whole: true},
		"all but one that grew":   {capture: workspace.Capture{Commit: "c", Unstable: 1}, unlimited: true},
		"all but a socket":        {capture: workspace.Capture{Special: 1}, patterns: []string{"**"}, unlimited: true},
		"some, and not one of it": {capture: workspace.Capture{Special: 1}, patterns: []string{"a"}},
	} {
		c := &state.Capture{Capture: tt.capture}
		if c.Unlimited(tt.patterns) != tt.unlimited || c.Whole(tt.patterns) != tt.whole {
			t.Errorf("%s: unlimited %t, whole %t", name, c.Unlimited(tt.patterns), c.Whole(tt.patterns))
		}
	}
}

// TestWhoHoldsACapture: a capture is held by a valid checkpoint that has the same files
// and, where the commit is on the user's branch, the same commit.
func TestWhoHoldsACapture(t *testing.T) {
	t.Parallel()
	of := func(listing, commit, ref string) *state.Capture {
		return &state.Capture{Capture: workspace.Capture{Listing: listing, Commit: commit, Ref: ref}}
	}
	for name, tt := range map[string]struct {
		last *state.Capture
		ref  state.CheckpointRef
		held bool
	}{
		"nothing was captured":            {held: true},
		"the same files":                  {of("l", "", ""), state.CheckpointRef{Valid: true, Capture: of("l", "", "")}, true},
		"an invalid checkpoint":           {of("l", "", ""), state.CheckpointRef{Capture: of("l", "", "")}, false},
		"a checkpoint without files":      {of("l", "", ""), state.CheckpointRef{Valid: true}, false},
		"other files":                     {of("l", "", ""), state.CheckpointRef{Valid: true, Capture: of("m", "", "")}, false},
		"the same commit of the branch":   {of("l", "c", ""), state.CheckpointRef{Valid: true, Capture: of("l", "c", "")}, true},
		"another commit of the branch":    {of("l", "c", ""), state.CheckpointRef{Valid: true, Capture: of("l", "d", "")}, false},
		"another commit that Runner made": {of("l", "c", "refs/c"), state.CheckpointRef{Valid: true, Capture: of("l", "d", "refs/d")}, true},
	} {
		s := &state.State{Capture: tt.last, Checkpoints: []*state.CheckpointRef{&tt.ref}}
		if got := s.CaptureIsHeld(); got != tt.held {
			t.Errorf("%s: held %t", name, got)
		}
	}
}

// TestWhoMadeACapture: a run made the last capture, or another command did.
func TestWhoMadeACapture(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	if f.CapturedByRun() || f.FilesAsOf() != 0 {
		t.Errorf("nothing was captured: by a run %t, as of %d", f.CapturedByRun(), f.FilesAsOf())
	}
	f.apply(captured("run", 1))
	if !f.CapturedByRun() || f.FilesAsOf() != 2 {
		t.Errorf("by a run: %t, as of %d", f.CapturedByRun(), f.FilesAsOf())
	}
	as := checkpoint("one", state.TriggerManual)
	as.AsCaptured = true
	if f.apply(as); f.FilesAsOf() != 3 {
		t.Errorf("compared again: as of %d", f.FilesAsOf())
	}
	f.apply(state.SessionPaused{Reason: state.PauseRequested}, captured("command", 0))
	if f.CapturedByRun() {
		t.Error("a command made the last capture")
	}
}

// TestWhoseArtifactsAreRecorded: a path belongs to the workstream that recorded it last.
// If a failed attempt changed the artifact later, it is as that attempt left it.
func TestWhoseArtifactsAreRecorded(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	secret, changed, mine := file("secret", ""), file("both", ""), file("both", "")
	secret.LeftOut, changed.Digest, mine.Digest = true, "sha256:left", "sha256:mine"
	removed, unknown := file("one", ""), file("unknown", "")
	removed.Digest = ""
	f.apply(done("WS1", file("one", ""), file("both", ""), secret), done("WS2", mine, file("two", "")))
	digests := func() map[string]string {
		all := map[string]string{}
		for _, e := range state.RecordedFiles(f.State) {
			all[e.Path] = e.Digest
		}
		return all
	}
	checkpointtest.Same(t, "recorded", digests(), map[string]string{"one": "sha256:one", "both": "sha256:mine", "two": "sha256:two"})
	checkpointtest.Same(t, "the makers", f.MakersOf([]string{"both", "none", "two", "one"}), []string{"WS2", "WS1"})
	if got := state.RecordedEntries(f.State, 2); len(got) != 2 {
		t.Errorf("after the first: %+v", got)
	}
	if !f.IsArtifact("two") || f.IsArtifact("secret") || f.IsArtifact("none") {
		t.Error("IsArtifact: only files whose bytes are kept are artifacts")
	}
	lists := 0
	for range state.ArtifactLists(f.State) {
		lists++
		break
	}
	checkpointtest.Same(t, "lists, up to the first", lists, 1)

	f.apply(state.WorkstreamStarted{Workstream: "WS3", Attempt: 1}, state.WorkstreamFailed{Workstream: "WS3", Left: []state.Artifact{changed, removed, unknown}})
	checkpointtest.Same(t, "left by a failed attempt", digests(), map[string]string{"both": "sha256:left", "two": "sha256:two"})
	checkpointtest.Same(t, "the makers after it", f.MakersOf([]string{"both"}), []string{"WS2"})
	paths := 0
	for list := range state.ArtifactLists(f.State) {
		paths += len(list)
	}
	checkpointtest.Same(t, "paths in lists", paths, 8)
	ws2 := f.Workstream("WS2")
	if a, ok := f.Workstream("WS3").LeftIn(ws2, "both"); !ok || a.Digest != "sha256:left" {
		t.Errorf("left: %+v, %t", a, ok)
	}
	if _, ok := f.Workstream("WS3").LeftIn(ws2, "two"); ok {
		t.Error("the failed attempt did not change two")
	}
	if a, ok := f.Workstream("WS1").LeftIn(ws2, "both"); ok {
		t.Errorf("no attempt of WS1 failed, and it left %+v", a)
	}
	if f.apply(done("WS2", mine)); len(f.Workstream("WS3").LeftFiles()) == 0 {
		t.Error("WS3 has no record of what its failed attempt left")
	}
	if a, ok := f.Workstream("WS3").LeftIn(f.Workstream("WS2"), "both"); ok {
		t.Errorf("WS2 has made both again, and it still counts as left by WS3: %+v", a)
	}

	f.apply(state.CheckpointsRemoved{Empties: true}, done("WS4", file("four", "")))
	checkpointtest.Same(t, "after the session was emptied", digests(), map[string]string{"four": "sha256:four"})
	if len(f.ArtifactsOf("WS1")) != 0 || len(f.ArtifactsOf("WS4")) != 1 || f.ArtifactsOf("none") != nil || f.HoldsArtifacts(ws2) {
		t.Error("the artifacts from before are still there")
	}
	f.apply(state.WorkstreamInvalidated{Workstream: "WS4"})
	checkpointtest.Same(t, "after an invalidation", digests(), map[string]string{})
}

// TestStepFilesAreThoseOfCompletedWork: the files of the last step are those of its
// workstreams, unless a workstream was invalidated since or is no longer in the pipeline.
func TestStepFilesAreThoseOfCompletedWork(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	f.apply(done("WS1", file("one", state.FileCreated)))
	for name, tt := range map[string]struct {
		workstreams []string
		status      state.StepStatus
		created     int
	}{
		"completed":       {[]string{"WS1"}, state.Completed, 1},
		"pending again":   {[]string{"WS1"}, state.Pending, 0},
		"removed":         {[]string{"removed"}, state.Completed, 0},
		"one was removed": {[]string{"removed", "WS1"}, state.Completed, 1},
	} {
		s := f.Clone()
		s.LastStep.Workstreams, s.Workstream("WS1").Status = tt.workstreams, tt.status
		if created, modified := s.CountStepFiles(); created != tt.created || modified != 0 || len(s.StepFiles().Created) != tt.created {
			t.Errorf("%s: %d created, %d modified, and the files are %+v", name, created, modified, s.StepFiles())
		}
	}
}

// TestPhaseName: a session has no phase before the first one.
func TestPhaseName(t *testing.T) {
	t.Parallel()
	s := &state.State{Phases: []*state.Phase{{Name: "one"}, {Name: "two"}}}
	for phase, want := range []string{"", "one", "two", ""} {
		if s.CurrentPhase = phase; s.PhaseName() != want {
			t.Errorf("phase %d is named %q, want %q", phase, s.PhaseName(), want)
		}
	}
}

// TestVerdictsAreTheSame: two verdicts of one gate are the same if they judge the same
// thing by the same definition.
func TestVerdictsAreTheSame(t *testing.T) {
	t.Parallel()
	v := state.Verdict{Gate: "g", Definition: "d", Judged: "j"}
	for other, want := range map[state.Verdict]bool{
		v: true,
		{Gate: "g", Definition: "d", Judged: "j", Seen: &state.Seen{}}: true,
		{Gate: "x", Definition: "d", Judged: "j"}:                      false,
		{Gate: "g", Definition: "x", Judged: "j"}:                      false,
		{Gate: "g", Definition: "d", Judged: "x"}:                      false,
	} {
		if v.Same(other) != want {
			t.Errorf("%+v is the same as %+v: %t", v, other, !want)
		}
	}
}

// TestWhatWasDoneSince: work is listed in the order in which it was recorded.
func TestWhatWasDoneSince(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	f.apply(done("WS3"), done("WS1"), done("WS2"), state.WorkstreamInvalidated{Workstream: "WS2"})
	for since, want := range map[uint64]string{0: "WS3 WS1", 2: "WS1", 3: ""} {
		var names []string
		for _, w := range f.DoneSince(since) {
			names = append(names, w.Name)
		}
		checkpointtest.Same(t, "done", strings.Join(names, " "), want)
	}
}

// TestCheckpointOfAStep: a step number finds the checkpoint of the moment when the step
// completed, and preferably one whose files were captured at that moment.
func TestCheckpointOfAStep(t *testing.T) {
	t.Parallel()
	at := func(id string, step int, stepSeq, captured uint64, later bool) *state.CheckpointRef {
		ref := &state.CheckpointRef{ID: id, Step: step, StepSeq: stepSeq, Later: later, Valid: true}
		if captured > 0 {
			ref.Capture = &state.Capture{Seq: captured}
		}
		return ref
	}
	s := &state.State{Checkpoints: []*state.CheckpointRef{
		at("before", 1, 2, 2, false), // the step has completed again since
		at("bare", 1, 5, 1, false), at("first", 1, 5, 5, false), at("second", 1, 5, 6, false), at("stale", 1, 5, 4, false),
		at("bare-a", 2, 9, 0, false), at("bare-b", 2, 9, 8, false), at("later", 3, 12, 12, true),
	}}
	ids := map[int]string{}
	for step, ref := range state.Moments(s.Checkpoints) {
		ids[step] = ref.ID
	}
	checkpointtest.Same(t, "of the steps", ids, map[int]string{1: "first", 2: "bare-a"})
	if found, err := s.FindCheckpoint("2"); err != nil || found.ID != "bare-a" {
		t.Errorf("2: %+v, %v", found, err)
	}
	for ref, want := range map[string]string{"3": "only of 1, 2; later () has its number", "4": "only of 1, 2"} {
		if _, err := s.FindCheckpoint(ref); !errors.Is(err, state.ErrNoCheckpoint) || !strings.Contains(err.Error(), want) || ref == "4" && strings.Contains(err.Error(), "has its number") {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := (&state.State{}).FindCheckpoint("1"); !errors.Is(err, state.ErrNoCheckpoint) || !strings.Contains(err.Error(), "nor of any other") {
		t.Errorf("without checkpoints: %v", err)
	}
	for _, ref := range []string{"latest~", "latest~-1", "latest1"} {
		if found, err := s.FindCheckpoint(ref); err == nil {
			t.Errorf("%s: %+v", ref, found)
		}
	}
}

// TestWhyACheckpointIsUnusable gives the reason that people are shown, and the newest
// checkpoint that has none.
func TestWhyACheckpointIsUnusable(t *testing.T) {
	t.Parallel()
	refs := []*state.CheckpointRef{
		{ID: "usable", Valid: true},
		{ID: "damaged", Damage: &state.Damage{}},
		{ID: "invalid since rollback R1", InvalidatedBy: "R1"},
		{ID: "invalid"},
	}
	for _, ref := range refs {
		if got := ref.Unusable(); got != ref.ID && !ref.Valid || got != "" && ref.Valid {
			t.Errorf("%s: %q", ref.ID, got)
		}
	}
	if got := (&state.State{Checkpoints: refs}).NewestUsable(); got != refs[0] {
		t.Errorf("the newest: %+v", got)
	}
	if got := (&state.State{Checkpoints: refs[1:]}).NewestUsable(); got != nil {
		t.Errorf("there is none: %+v", got)
	}
}

// TestStepOfOldSessions: version 1.0 recorded how many steps completed, and not which one
// was the last.
func TestStepOfOldSessions(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	if f.CurrentStep() != 0 || f.StepName() != "" {
		t.Errorf("at the start: %d, %q", f.CurrentStep(), f.StepName())
	}
	f.apply(done("WS2"), done("WS1"))
	f.LastStep = state.LastStep{}
	if f.CurrentStep() != 2 || f.StepName() != "WS1" {
		t.Errorf("from the count: %d, %q", f.CurrentStep(), f.StepName())
	}
}

// TestNeededCheckpoints: the edits kept while a rollback was interrupted, and checkpoints
// that may hold the only copy of something.
func TestNeededCheckpoints(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	f.checkpoint("one", state.TriggerManual)
	f.apply(state.CheckpointCreated{ID: "conflict", Trigger: state.TriggerConflictStart, Reason: "edits"})
	f.checkpoint("safety", state.TriggerPreRollback)
	f.apply(state.RollbackStarted{ID: "R1", To: "one", Safety: "safety", Scope: state.RollbackAll})
	f.checkpoint("other", state.TriggerManual)
	f.checkpoint("kept", state.TriggerPreRollback)
	var kept []string
	for _, ref := range f.KeptEdits(*f.Rollback) {
		kept = append(kept, ref.ID)
	}
	checkpointtest.Same(t, "kept edits", kept, []string{"kept"})
	if got := f.KeptEdits(state.RollbackStarted{Safety: "none"}); got != nil {
		t.Errorf("of an unknown rollback: %+v", got)
	}
	checkpointtest.Same(t, "irreplaceable", f.Irreplaceable(), map[string]string{
		"conflict": "it holds edits", "safety": "it holds what was overwritten", "kept": "it holds what was overwritten",
	})
	f.apply(state.RollbackCompleted{ID: "R1"})
	f.rollBack("R2", "conflict", state.RollbackFiles, nil)
	checkpointtest.Same(t, "after the edits were restored", slices.Sorted(maps.Keys(f.Irreplaceable())), []string{"kept", "safety", "safety-R2"})
}

// TestAReportedConflictHoldsNoEdits: a checkpoint that was made because a workstream
// reported a conflict does not count as the only copy of overwritten files.
func TestAReportedConflictHoldsNoEdits(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	f.apply(state.CheckpointCreated{ID: "edits", Trigger: state.TriggerConflictStart, Reason: "files"},
		state.CheckpointCreated{ID: "debate", Trigger: state.TriggerConflictStart, Reason: "conflict C1", Conflict: "C1"})
	if all := f.Irreplaceable(); len(all) != 1 || all["edits"] == "" {
		t.Errorf("irreplaceable are %v, want only edits", all)
	}
}
