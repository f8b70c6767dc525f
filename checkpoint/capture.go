package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
)

// Capture records the files of the workspace for the checkpoints that follow. The caller
// makes sure that nothing runs meanwhile. The contents are durable when Capture returns.
// The record of the capture is durable with the next commit.
func (x *Session) Capture(ctx context.Context, w *workspace.Workspace, patterns []string) (workspace.Captured, error) {
	return x.capture(ctx, w, patterns, captureHow{})
}

// CaptureFor captures as Capture does, and a checkpoint with trigger t follows. If the
// workspace commits captures to the branch, the commit's message names that checkpoint.
func (x *Session) CaptureFor(ctx context.Context, w *workspace.Workspace, patterns []string, t state.Trigger) (workspace.Captured, error) {
	return x.capture(ctx, w, patterns, captureHow{trigger: t})
}

// CaptureFound is Capture at the beginning of a resumed run. The capture may contain edits
// that were made since the last run, so later comparisons do not use it.
func (x *Session) CaptureFound(ctx context.Context, w *workspace.Workspace, patterns []string) (workspace.Captured, error) {
	return x.capture(ctx, w, patterns, captureHow{found: true, trigger: state.TriggerStart})
}

// captureHow says how a capture differs from one during a run.
type captureHow struct {
	anew    bool          // unchanged files are captured again
	found   bool          // the files are as a resumed run found them
	trigger state.Trigger // the trigger of the checkpoint that the capture is for; "": no checkpoint may follow
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
		When:     x.store.Now(),
		Needed:   s.IsArtifact,
		LeftOut:  LeftOutSince(ctx, w, s),
	}
	if s.Capture != nil && !how.anew {
		o.Last = &s.Capture.Capture
	}
	if git := w.Git(); git != nil {
		id, err := captureRefs{&x.store.layout, git}.makeID(ctx, s)
		if err != nil {
			return workspace.Captured{}, err
		}
		o.Ref = disk.CaptureRef(s, id, x.commits.nextSeq())
	}
	announced := ""
	if w.CommitsToBranch() && how.trigger != "" && x.store.o.Policy.wantsTrigger(how.trigger) {
		announced = x.newCheckpointID(how.trigger, x.store.Now(), x.commits.nextSeq())
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

// leavesFiles reports whether an event implies that no file was changed.
func leavesFiles(e state.Event) bool {
	switch e.(type) {
	case state.WorkspaceCaptured, state.CheckpointCreated, state.CheckpointsRemoved, state.CheckpointSkipped, state.PauseAsked, state.PhaseExpanded, state.PhaseCompleted, state.PhaseSkipped,
		state.SessionPaused, state.SessionFailed, state.SessionInterrupted, state.SessionCompleted, state.HooksDue:
		return true
	}
	return false
}

// LeftOutSince returns the files that the newest recorded capture left out, if the state
// was rolled back to before that capture, else nil.
func LeftOutSince(ctx context.Context, w *workspace.Workspace, s *state.State) []string {
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
		return nil // the listing is lost, or ctx has ended, which the capture reports
	}
	return l.LeftOut
}

// captureMessage returns the message of a capture's commit. It names the checkpoint that
// the capture is for, unless id is "".
func captureMessage(s *state.State, id string) string {
	message := fmt.Sprintf("%s\n\nPRD: %s\nSession: %s\n", CaptureSubject(s), s.PRD, s.Session)
	if id != "" {
		message += "Checkpoint: " + id + "\n"
	}
	return message
}

// CaptureSubject returns the first line of the message of a capture's commit.
func CaptureSubject(s *state.State) string {
	return fmt.Sprintf("checkpoint: step-%d - %s", s.CurrentStep(), cmp.Or(s.StepName(), "init"))
}

// Including returns the globs that a capture takes in: patterns, and those that the
// configuration includes now.
func (s *Store) Including(patterns []string) []string {
	if !slices.ContainsFunc(s.o.Include, func(glob string) bool { return !slices.Contains(patterns, glob) }) {
		return patterns // in their order, so that a capture of unchanged files equals the last one
	}
	return sortedUnion(patterns, s.o.Include)
}

// CapturePatterns returns the globs for a capture by a caller that does not know the
// pipeline: those of the last capture, and those that the configuration includes now.
func (s *Store) CapturePatterns(ctx context.Context, w *workspace.Workspace, now *state.State) ([]string, error) {
	patterns, err := RecordedPatterns(ctx, w, now)
	return s.Including(patterns), err
}

// RecordedPatterns returns the globs of the session's last capture or, before the first
// capture, the paths of all recorded artifacts.
func RecordedPatterns(ctx context.Context, w *workspace.Workspace, s *state.State) ([]string, error) {
	if s.Capture == nil {
		var paths []string
		for path, r := range state.RecordedArtifacts(s) {
			if !r.Artifact.LeftOut {
				paths = append(paths, tree.EscapeGlob(path))
			}
		}
		slices.Sort(paths)
		return paths, nil
	}
	l, err := w.Load(ctx, s.Capture.Listing)
	switch {
	case err == nil:
		return l.Patterns, nil
	case objects.IsLost(err):
		lost := *s // a lost capture has no patterns
		lost.Capture = nil
		return RecordedPatterns(ctx, w, &lost)
	}
	return nil, fmt.Errorf("load the last capture: %w", err)
}

// FilesOf returns the files of a state: those of its capture, with the artifacts that were
// recorded since. known is false if the state has no capture; then the listing holds only
// the recorded artifacts.
func FilesOf(ctx context.Context, w *workspace.Workspace, s *state.State) (l *workspace.Listing, known bool, err error) {
	if s.Capture == nil {
		return (&workspace.Listing{}).With(state.RecordedFiles(s)), false, nil
	}
	l, err = w.Load(ctx, s.Capture.Listing)
	if err != nil {
		return nil, false, s.Capture.Unloaded(err)
	}
	return FilesSince(l, s), true, nil
}

// OutlineOf returns the outline of a state's capture.
func OutlineOf(ctx context.Context, w *workspace.Workspace, s *state.State) (*workspace.Outline, error) {
	o, err := w.Outline(ctx, s.Capture.Listing)
	if err != nil {
		return nil, s.Capture.Unloaded(err)
	}
	return o, nil
}

// FilesBeside returns the same files as FilesOf, for callers that only compare them with
// another listing. o is the outline of the state's capture. Entries of unchanged
// directories are copied from other, so that they may name no blobs. captured is l without
// the artifacts that were recorded since the capture.
func FilesBeside(ctx context.Context, o *workspace.Outline, s *state.State, other *workspace.Listing) (l, captured *workspace.Listing, err error) {
	if captured, err = o.Rest(ctx, other); err != nil {
		return nil, nil, s.Capture.Unloaded(err)
	}
	return FilesSince(captured, s), captured, nil
}

// FilesSince returns the files l of a state's capture with the artifacts that were
// recorded since.
func FilesSince(l *workspace.Listing, s *state.State) *workspace.Listing {
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

// leftGone returns the paths of artifacts that are missing since an attempt that failed
// after a commit.
func leftGone(s *state.State, after uint64) map[string]bool {
	gone := map[string]bool{}
	for path, r := range state.RecordedArtifacts(s) {
		if r.Artifact.Digest == "" && r.Seq > after {
			gone[path] = true
		}
	}
	return gone
}

// LeftOut returns the sorted paths of files that look sensitive, from a capture and from
// the artifacts of a state.
func LeftOut(l *workspace.Listing, s *state.State) []string {
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

// sortedUnion returns the sorted union of two lists.
func sortedUnion(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// GitOf returns the current branch and commit, nil if they can't be read.
func GitOf(ctx context.Context, w *workspace.Workspace) *state.Git {
	if w == nil || w.Git() == nil {
		return nil
	}
	branch, commit, err := w.Git().Head(ctx)
	if err != nil {
		return nil
	}
	return &state.Git{Branch: state.Text(branch), Commit: commit}
}

// ReadWorkTree asks git how the files of the work tree differ from HEAD. s is the state
// with the last capture. ReadWorkTree returns nil if git is not used.
func ReadWorkTree(ctx context.Context, w *workspace.Workspace, s *state.State) (*state.WorkTree, error) {
	if w == nil || w.Git() == nil {
		return nil, nil
	}
	var excluded []string
	if s.Capture != nil && s.Capture.LeftOut > 0 {
		l, err := w.Load(ctx, s.Capture.Listing)
		if err != nil {
			return nil, s.Capture.Unloaded(err)
		}
		excluded = l.LeftOut
	}
	modified, err := w.Modified(ctx, excluded)
	if err != nil {
		return nil, err
	}
	return state.NewWorkTree(modified), nil
}
