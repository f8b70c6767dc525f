package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// Capture records the files of the workspace, for the checkpoints that follow.
// It must be called only while nothing runs. The bytes are durable when it
// returns, and that they are recorded is with the next commit.
func (x *Session) Capture(ctx context.Context, w *workspace.Workspace, patterns []string) (workspace.Captured, error) {
	return x.capture(ctx, w, patterns, captureHow{})
}

// CaptureFor is Capture for a checkpoint that is made next. A commit on the branch
// names it in its message.
func (x *Session) CaptureFor(ctx context.Context, w *workspace.Workspace, patterns []string, t state.Trigger) (workspace.Captured, error) {
	return x.capture(ctx, w, patterns, captureHow{trigger: t})
}

// CaptureFound is Capture at the beginning of a resumed run. What was edited since the
// last run is in it, so that the files are not compared with it later.
func (x *Session) CaptureFound(ctx context.Context, w *workspace.Workspace, patterns []string) (workspace.Captured, error) {
	return x.capture(ctx, w, patterns, captureHow{found: true, trigger: state.TriggerStart})
}

// captureHow says how a capture differs from that of a run.
type captureHow struct {
	anew    bool          // what is as it was is captured again
	found   bool          // the files are as a resumed run found them
	trigger state.Trigger // of the checkpoint that it is made for, "" where none may follow
}

func (x *Session) capture(ctx context.Context, w *workspace.Workspace, patterns []string, how captureHow) (workspace.Captured, error) {
	if x.bad != nil {
		return workspace.Captured{}, x.bad
	}
	s := x.State()
	if s == nil {
		return workspace.Captured{}, fmt.Errorf("capture the workspace: %w", errNoStart)
	}
	o := workspace.CaptureOptions{
		Patterns: patterns,
		When:     x.store.now(),
		Needed:   s.IsArtifact,
		LeftOut:  leftOutSince(ctx, w, s),
	}
	if s.Capture != nil && !how.anew {
		o.Last = &s.Capture.Capture
	}
	if git := w.Git(); git != nil {
		id, err := x.makeRefsID(ctx, git)
		if err != nil {
			return workspace.Captured{}, err
		}
		o.Ref = captureRef(s, id, x.next())
	}
	announced := ""
	if w.CommitsToBranch() && how.trigger != "" && x.store.o.Policy.wants(how.trigger) {
		announced = x.newCheckpointID(how.trigger, x.store.now(), x.next())
	}
	o.Message = captureMessage(s, announced)
	began := x.store.o.Now()
	c, err := w.Capture(ctx, o)
	took := x.store.o.Now().Sub(began)
	x.uncaptured, x.missed, x.captured, x.announced = err != nil, err != nil, err == nil, ""
	if err != nil {
		return c, err
	}
	running, byRun := s.RunningAt != nil, x.runs && !how.found
	if c.Changed || running && byRun && !s.CapturedByRun() {
		e := state.WorkspaceCaptured{Capture: c.Capture, Aside: running && !byRun}
		if x.runs {
			e.TookMS = max(1, took.Milliseconds())
		}
		x.Add(e)
	}
	if c.Changed {
		x.announced = announced
	}
	return c, nil
}

// leavesFiles reports whether an event says that nothing has happened to the files.
func leavesFiles(e state.Event) bool {
	switch e.(type) {
	case state.WorkspaceCaptured, state.CheckpointCreated, state.CheckpointsRemoved, state.CheckpointSkipped, state.PauseAsked, state.PhaseCompleted, state.PhaseSkipped,
		state.SessionPaused, state.SessionFailed, state.SessionInterrupted, state.SessionCompleted, state.HooksDue:
		return true
	}
	return false
}

// leftOutSince names what the newest capture on record left out, where the
// state was taken back to before that.
func leftOutSince(ctx context.Context, w *workspace.Workspace, s *state.State) []string {
	newest := s.Capture
	for _, ref := range s.Checkpoints {
		if ref.Capture != nil && (newest == nil || ref.Capture.Seq > newest.Seq) {
			newest = ref.Capture
		}
	}
	if newest == s.Capture || newest.LeftOut == 0 {
		return nil
	}
	l, err := w.Load(ctx, newest.Listing)
	if err != nil {
		return nil // it is lost, or this ends before it matters
	}
	return l.LeftOut
}

// captureMessage is the message of a capture's commit. It names the checkpoint that
// the capture is made for, if there is one.
func captureMessage(s *state.State, id string) string {
	step := cmp.Or(s.StepName(), "init")
	message := fmt.Sprintf("checkpoint: step-%d - %s\n\nPRD: %s\nSession: %s\n", s.CurrentStep(), step, s.PRD, s.Session)
	if id != "" {
		message += "Checkpoint: " + id + "\n"
	}
	return message
}

// Including returns what a capture of some globs takes in: these, and those that
// the configuration includes now.
func (s *Store) Including(patterns []string) []string {
	all := union(patterns, s.o.Include)
	if covers(patterns, all) {
		return patterns // in their order, so that an unchanged capture is one
	}
	return all
}

// CapturePatterns are the globs of a capture now, for who captures without
// knowing the pipeline: those of the last one, which knew it, and those that
// were configured since.
func (s *Store) CapturePatterns(ctx context.Context, w *workspace.Workspace, now *state.State) ([]string, error) {
	patterns, err := recordedPatterns(ctx, w, now)
	return s.Including(patterns), err
}

// recordedPatterns are the globs that the session captured last, or, before its
// first capture, the paths of all artifacts on record.
func recordedPatterns(ctx context.Context, w *workspace.Workspace, s *state.State) ([]string, error) {
	if s.Capture == nil {
		var paths []string
		for path, r := range state.RecordedArtifacts(s) {
			if !r.Artifact.LeftOut {
				paths = append(paths, escapeGlob(path))
			}
		}
		slices.Sort(paths)
		return paths, nil
	}
	l, err := w.Load(ctx, s.Capture.Listing)
	switch {
	case err == nil:
		return l.Patterns, nil
	case isLost(err):
		lost := *s // a capture that is gone tells nothing any more
		lost.Capture = nil
		return recordedPatterns(ctx, w, &lost)
	}
	return nil, fmt.Errorf("load the last capture: %w", err)
}

// isLost reports whether an error says that an object is not there, or is not
// what it was.
func isLost(err error) bool {
	var damaged *objects.DamagedError
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged)
}

// FilesOf returns the files of a state: those of its capture, with the artifacts
// that were recorded since. known is false where nothing was ever captured, so
// that the listing holds the recorded artifacts and nothing else.
func FilesOf(ctx context.Context, w *workspace.Workspace, s *state.State) (l *workspace.Listing, known bool, err error) {
	if s.Capture == nil {
		return (&workspace.Listing{}).With(state.RecordedFiles(s)), false, nil
	}
	l, err = w.Load(ctx, s.Capture.Listing)
	if err != nil {
		return nil, false, s.Capture.Unloaded(err)
	}
	return filesSince(l, s), true, nil
}

// OutlineOf returns the outline of the capture that a state has.
func OutlineOf(ctx context.Context, w *workspace.Workspace, s *state.State) (*workspace.Outline, error) {
	o, err := w.Outline(ctx, s.Capture.Listing)
	if err != nil {
		return nil, s.Capture.Unloaded(err)
	}
	return o, nil
}

// FilesBeside is FilesOf a state, of whose capture this is the outline, for who
// compares them with other files: where nothing changed, these are taken for them,
// so that they may name no blobs. captured is without what was recorded since.
func FilesBeside(ctx context.Context, o *workspace.Outline, s *state.State, other *workspace.Listing) (l, captured *workspace.Listing, err error) {
	if captured, err = o.Beside(ctx, other); err != nil {
		return nil, nil, s.Capture.Unloaded(err)
	}
	return filesSince(captured, s), captured, nil
}

// filesSince adds to the files of a state's capture the artifacts that were
// recorded since.
func filesSince(l *workspace.Listing, s *state.State) *workspace.Listing {
	after := uint64(0)
	if s.Capture != nil {
		after = s.Capture.Seq
	}
	since := slices.DeleteFunc(state.RecordedEntries(s, after), func(e workspace.Entry) bool {
		i, there := slices.BinarySearchFunc(l.Entries, e.Path, func(e workspace.Entry, path string) int { return cmp.Compare(e.Path, path) })
		return there && l.Entries[i].Digest == e.Digest && e.Digest != ""
	})
	return l.Without(leftGone(s, after)).With(since)
}

// leftGone returns the artifacts that an attempt which failed after a commit left gone.
func leftGone(s *state.State, after uint64) map[string]bool {
	gone := map[string]bool{}
	for path, r := range state.RecordedArtifacts(s) {
		if r.Artifact.Digest == "" && r.Seq > after {
			gone[path] = true
		}
	}
	return gone
}

// leftOut are the files that look sensitive, of a capture and of the artifacts
// of a state, sorted.
func leftOut(l *workspace.Listing, s *state.State) []string {
	paths := slices.Clone(l.LeftOut)
	for list := range state.ArtifactLists(s) {
		for _, a := range list {
			if a.LeftOut {
				paths = append(paths, string(a.Path))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// escapeGlob makes a path a pattern that matches only itself.
func escapeGlob(path string) string {
	var b []byte
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', ']', '{', '}', '\\':
			b = append(b, '\\')
		}
		b = append(b, path[i])
	}
	return string(b)
}
