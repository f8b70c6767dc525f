package rollback

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// shared is a workspace in which two PRDs have a session. A rollback of PRD-009 changes
// or deletes artifacts of PRD-010.
type shared struct {
	*checkpointtest.Project
	session   *checkpoint.Session // of PRD-009
	workspace *workspace.Workspace
	target    string       // the checkpoint of PRD-009 from before the other PRD's work
	other     *state.State // of PRD-010
}

// newShared lets PRD-010 record the text "out" for each file. Before and after that, some
// files have another content or do not exist.
func newShared(t *testing.T) *shared {
	t.Helper()
	files := []struct{ path, before, now string }{ // "": there is no such file
		{"changed", "old", "out"},
		{"comes back", "out", ""},
		{"edited since", "old", "mine"},
		{"made", "", "out"},
		{"same text", "out", "out"},
	}
	s := &shared{Project: &checkpointtest.Project{Fixture: checkpointtest.OnDisk(t), Root: t.TempDir()}}
	for _, f := range files {
		if f.before != "" {
			s.Save(f.path, f.before)
		}
	}
	s.Begin("session-1")
	st := s.State()
	s.target = st.Checkpoints[len(st.Checkpoints)-1].ID
	x := checkpointtest.LockPRD(t, s.Open(), "PRD-010")
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-010", "other", 1)))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	var artifacts []state.Artifact
	for _, f := range files {
		artifacts = append(artifacts, checkpointtest.Put(t, x.Store(), f.path, "out"))
		if f.now == "" {
			checkpointtest.Must(t, os.Remove(filepath.Join(s.Root, f.path)))
		} else {
			s.Save(f.path, f.now)
		}
	}
	checkpointtest.Must(t, os.Chmod(filepath.Join(s.Root, "same text"), 0o755))
	checkpointtest.Produce(t, x, "w0", artifacts...)
	s.other = x.State()
	checkpointtest.Must(t, x.Close())
	store := s.Open()
	s.session, s.workspace = checkpointtest.LockPRD(t, store, "PRD-009"), s.Workspace(store)
	s.Capture(s.session, s.workspace, state.TriggerManual)
	t.Cleanup(func() { checkpointtest.Must(t, s.session.Close()) })
	return s
}

// back rolls PRD-009 back.
func (s *shared) back(o Options) *Result {
	s.T.Helper()
	done, err := Run(context.Background(), s.session, s.workspace, o)
	checkpointtest.Must(s.T, err)
	return done
}

// wantTaken compares which artifacts of PRD-010 the rollbacks of PRD-009 changed or
// deleted.
func (s *shared) wantTaken(when string, want ...TakenBack) {
	s.T.Helper()
	taken, err := FindTakenBack(context.Background(), s.Open(), s.workspace, s.other)
	checkpointtest.Must(s.T, err)
	checkpointtest.Same(s.T, when, taken, want)
}

// takenBy describes the artifacts that a rollback of PRD-009 changed or deleted.
func takenBy(done *Result, files ...state.Text) TakenBack {
	return TakenBack{PRD: "PRD-009", Rollback: done.ID, At: done.At, Safety: done.Safety, Files: files}
}

// TestLosses: a rollback must name the artifacts of another PRD that it deletes or
// changes, except those that differ from their record already or that the rollback
// restores.
func TestLosses(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	want := []Loss{{PRD: "PRD-010", Session: "other", Status: s.other.Status, Files: []state.Text{"changed", "made"}}}
	plan, err := PlanTo(context.Background(), s.Open(), s.workspace, "PRD-009", Options{To: s.target})
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "the plan", plan.Losses, want)
	checkpointtest.Same(t, "the rollback", s.back(Options{To: s.target}).Losses, want)
}

// TestTakenBack: an artifact that a rollback of another PRD changed or deleted must be
// reported for as long as the file differs from its record, with only the newest such
// rollback.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.wantTaken("no rollback")
	first := s.back(Options{To: s.target})
	s.wantTaken("rolled back", takenBy(first, "changed", "made"))
	s.Save("made", "out")
	s.wantTaken("one file made again", takenBy(first, "changed"))
	undo := s.back(Options{To: first.Safety})
	s.wantTaken("undone", takenBy(undo, "comes back"))
	s.Save("comes back", "out")
	s.back(Options{To: s.target, Scope: state.RollbackState})
	s.Save("changed", "mine")
	s.wantTaken("the user's own edit after a rollback of the state", takenBy(first, "changed"))
	s.Save("changed", "out")
	s.Capture(s.session, s.workspace, state.TriggerManual)
	s.wantTaken("the file as recorded")
	second := s.back(Options{To: s.target})
	s.wantTaken("rolled back again", takenBy(second, "changed", "made"))
	s.Save("made", "out")
	s.Capture(s.session, s.workspace, state.TriggerManual)
	third := s.back(Options{To: s.target})
	s.wantTaken("a third time", takenBy(third, "made"), takenBy(second, "changed"))
	later := *s.other
	later.CreatedAt = second.At
	taken, err := FindTakenBack(context.Background(), s.Open(), s.workspace, &later)
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "a session that began with the second", taken, []TakenBack{takenBy(third, "made")})
}

// TestTakenBackByArchived: the rollbacks of an archived session must be reported, too,
// without a checkpoint to undo them. A journal that was last written before the session
// of PRD-010 began is not read.
func TestTakenBackByArchived(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	done := s.back(Options{To: s.target})
	dir, err := s.session.Archive(context.Background(), checkpointtest.By, "")
	checkpointtest.Must(t, err)
	want := takenBy(done, "changed", "made")
	want.Safety = ""
	s.wantTaken("archived", want)
	old := s.other.CreatedAt.Add(-time.Minute)
	checkpointtest.Must(t, os.Chtimes(filepath.Join(dir, disk.JournalName), old, old))
	s.wantTaken("a journal from before")
}
