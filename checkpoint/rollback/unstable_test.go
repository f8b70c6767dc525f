package rollback

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// logger is a detector that appends to a file whenever a capture reads the file, as a
// server appends to its log.
type logger struct{ file string }

func (l logger) Write(p []byte) (int, error) {
	if !strings.HasPrefix(string(p), "log") {
		return len(p), nil
	}
	f, err := os.OpenFile(l.file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	if _, err = f.WriteString("more\n"); err == nil {
		err = f.Close()
	}
	return len(p), err
}

func (logger) Found() bool { return false }

// quiet is a detector that finds nothing.
type quiet struct{}

func (quiet) Write(p []byte) (int, error) { return len(p), nil }
func (quiet) Found() bool                 { return false }

// TestRollbackLeavesUnstable: a rollback to a capture that left out a file, because the
// file kept changing, must not touch that file. Nor may a rollback to a capture that has
// the file, while the file keeps changing.
func TestRollbackLeavesUnstable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newGitProject(t, map[string]string{"server.log": "first", "other": "first"})
	first, log := s.Target, filepath.Join(s.Root, "server.log")
	s.Put(map[string]string{"server.log": "log of today\n", "other": "second"})
	s.Workspace.Refuse(func() workspace.Detector { return logger{log} })
	second, err := s.Session.Create(ctx, s.Workspace, "")
	checkpointtest.Must(t, err)
	if second.Capture.Unstable != 1 || second.Capture.Whole(nil) || !second.Capture.Unlimited(nil) {
		t.Fatalf("captured %+v", second.Capture)
	}

	roll := func(to string, detector workspace.Detector, other string) {
		t.Helper()
		s.Workspace.Refuse(func() workspace.Detector { return detector })
		was, err := os.ReadFile(log)
		checkpointtest.Must(t, err)
		plan, err := PlanTo(ctx, s.Open(), s.Workspace, "PRD-009", Options{To: to, Scope: state.RollbackFiles})
		checkpointtest.Must(t, err)
		if to == second.ID && !slices.Contains(plan.Unstable, "server.log") {
			t.Errorf("the plan does not name server.log: %+v", plan.Unstable)
		}
		_, err = Run(ctx, s.Session, s.Workspace, Options{To: to, Scope: state.RollbackFiles})
		checkpointtest.Must(t, err)
		is, err := os.ReadFile(log)
		checkpointtest.Must(t, err)
		if !strings.HasPrefix(string(is), string(was)) {
			t.Errorf("the rollback changed the log from %q to %q", was, is)
		}
		text, err := os.ReadFile(filepath.Join(s.Root, "other"))
		checkpointtest.Must(t, err)
		checkpointtest.Same(t, "the other file", string(text), other)
	}
	s.Put(map[string]string{"other": "third"})
	roll(second.ID, quiet{}, "second")
	s.Put(map[string]string{"server.log": "log of tomorrow\n"})
	roll(first, logger{log}, "first")
	roll(second.ID, logger{log}, "second")
	s.Put(map[string]string{"server.log": "at rest"})
	s.Workspace.Refuse(func() workspace.Detector { return quiet{} })
	_, err = Run(ctx, s.Session, s.Workspace, Options{To: first, Scope: state.RollbackFiles})
	checkpointtest.Must(t, err)
	text, err := os.ReadFile(log)
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "the log, no longer changing", string(text), "first")
}

// TestUnstableArtifact: a capture must fail if a recorded artifact keeps changing while
// it is read.
func TestUnstableArtifact(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newGitProject(t, map[string]string{"other": "first"})
	s.Put(map[string]string{"a.sql": "log of an artifact\n"}) // WS1 has recorded this artifact
	s.Workspace.Refuse(func() workspace.Detector { return logger{filepath.Join(s.Root, "a.sql")} })
	_, err := s.Session.Create(ctx, s.Workspace, "")
	if err == nil || !strings.Contains(err.Error(), "the artifact a.sql: changed while it was read") {
		t.Errorf("got %v", err)
	}
}
