package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"prdrunner/checkpoint/objects"
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
func (x *Session) CaptureFor(ctx context.Context, w *workspace.Workspace, patterns []string, t Trigger) (workspace.Captured, error) {
	return x.capture(ctx, w, patterns, captureHow{trigger: t})
}

// CaptureFound is Capture at the beginning of a resumed run. What was edited since the
// last run is in it, so that the files are not compared with it later.
func (x *Session) CaptureFound(ctx context.Context, w *workspace.Workspace, patterns []string) (workspace.Captured, error) {
	return x.capture(ctx, w, patterns, captureHow{found: true, trigger: TriggerStart})
}

// captureHow says how a capture differs from that of a run.
type captureHow struct {
	anew    bool    // what is as it was is captured again
	found   bool    // the files are as a resumed run found them
	trigger Trigger // of the checkpoint that it is made for, "" where none may follow
}

// add takes in a capture that is on record.
func (c *Captures) add(seq uint64, e WorkspaceCaptured) {
	c.AsOf, c.Behind = seq, 0
	if e.TookMS > 0 {
		c.Made++
		c.TookMS += e.TookMS
	}
}

// filesAsOf is the last commit as of which the files of a state were captured, 0 where
// they never were.
func (s *State) filesAsOf() uint64 {
	if s.Capture == nil {
		return 0
	}
	return max(s.Captures.AsOf, s.Capture.Seq)
}

// doneSince returns the workstreams that did the work that is on record of them after
// a commit, in the order of their steps.
func (s *State) doneSince(seq uint64) []*Workstream {
	var done []*Workstream
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if (w.Status == Completed || w.Status == Succeeded) && w.recordedSeq() > seq {
				done = append(done, w)
			}
		}
	}
	slices.SortStableFunc(done, func(a, b *Workstream) int { return cmp.Compare(a.recordedSeq(), b.recordedSeq()) })
	return done
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
		Needed:   s.isArtifact,
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
	if c.Changed || running && byRun && !s.capturedByRun() {
		e := WorkspaceCaptured{Capture: c.Capture, Aside: running && !byRun}
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
func leavesFiles(e Event) bool {
	switch e.(type) {
	case WorkspaceCaptured, CheckpointCreated, CheckpointsRemoved, CheckpointSkipped, PauseAsked, PhaseCompleted, PhaseSkipped,
		SessionPaused, SessionFailed, SessionInterrupted, SessionCompleted, HooksDue:
		return true
	}
	return false
}

// capturedByRun reports whether a run made the last capture. What is as somebody else
// captured it is captured by a run all the same: that judges it.
func (s *State) capturedByRun() bool {
	return s.Capture != nil && s.RunCapture != nil && s.RunCapture.Seq == s.Capture.Seq
}

// CaptureIsHeld reports whether a checkpoint that can be gone back to has the files of
// the last capture, and the same commit of the branch. It is true where nothing was ever captured.
func (s *State) CaptureIsHeld() bool {
	return s.Capture == nil || slices.ContainsFunc(s.Checkpoints, func(ref *CheckpointRef) bool {
		return ref.Valid && ref.Capture != nil && ref.Capture.Listing == s.Capture.Listing &&
			(!s.Capture.OnBranch() || ref.Capture.Commit == s.Capture.Commit)
	})
}

// leftOutSince names what the newest capture on record left out, where the
// state was taken back to before that.
func leftOutSince(ctx context.Context, w *workspace.Workspace, s *State) []string {
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

// isArtifact reports whether a path is that of a recorded artifact.
func (s *State) isArtifact(path string) bool {
	return slices.ContainsFunc(RecordedFiles(s), func(e workspace.Entry) bool { return e.Path == path })
}

// Whole reports whether a capture of the given patterns took in everything in
// the workspace: not only what a pipeline declares, and every file of that.
func (c *Capture) Whole(patterns []string) bool {
	return c.Unstable+c.Special == 0 && c.Unlimited(patterns)
}

// Unlimited reports whether everything in the workspace is in scope of a
// capture of the given patterns.
func (c *Capture) Unlimited(patterns []string) bool {
	return c.InGit() || slices.Contains(patterns, "**") || slices.Contains(patterns, "**/*")
}

// InGit reports whether a capture looked at what git shows.
func (c *Capture) InGit() bool { return c.Commit != "" }

// Scope is what a capture of the given patterns looked at.
func (c *Capture) Scope(patterns []string) workspace.Scope {
	return workspace.Scope{Git: c.InGit(), Patterns: patterns}
}

// captureMessage is the message of a capture's commit. It names the checkpoint that
// the capture is made for, if there is one.
func captureMessage(s *State, id string) string {
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
func (s *Store) CapturePatterns(ctx context.Context, w *workspace.Workspace, now *State) ([]string, error) {
	patterns, err := recordedPatterns(ctx, w, now)
	return s.Including(patterns), err
}

// recordedPatterns are the globs that the session captured last, or, before its
// first capture, the paths of all artifacts on record.
func recordedPatterns(ctx context.Context, w *workspace.Workspace, s *State) ([]string, error) {
	if s.Capture == nil {
		var paths []string
		for path, r := range recordedArtifacts(s) {
			if !r.artifact.LeftOut {
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
func FilesOf(ctx context.Context, w *workspace.Workspace, s *State) (l *workspace.Listing, known bool, err error) {
	if s.Capture == nil {
		return (&workspace.Listing{}).With(RecordedFiles(s)), false, nil
	}
	l, err = w.Load(ctx, s.Capture.Listing)
	if err != nil {
		return nil, false, s.Capture.unloaded(err)
	}
	return filesSince(l, s), true, nil
}

// OutlineOf returns the outline of the capture that a state has.
func OutlineOf(ctx context.Context, w *workspace.Workspace, s *State) (*workspace.Outline, error) {
	o, err := w.Outline(ctx, s.Capture.Listing)
	if err != nil {
		return nil, s.Capture.unloaded(err)
	}
	return o, nil
}

// FilesBeside is FilesOf a state, of whose capture this is the outline, for who
// compares them with other files: where nothing changed, these are taken for them,
// so that they may name no blobs. captured is without what was recorded since.
func FilesBeside(ctx context.Context, o *workspace.Outline, s *State, other *workspace.Listing) (l, captured *workspace.Listing, err error) {
	if captured, err = o.Beside(ctx, other); err != nil {
		return nil, nil, s.Capture.unloaded(err)
	}
	return filesSince(captured, s), captured, nil
}

// unloaded says that the listing of a capture could not be read.
func (c *Capture) unloaded(err error) error {
	return fmt.Errorf("load the files of commit %d: %w", c.Seq, err)
}

// filesSince adds to the files of a state's capture the artifacts that were
// recorded since.
func filesSince(l *workspace.Listing, s *State) *workspace.Listing {
	after := uint64(0)
	if s.Capture != nil {
		after = s.Capture.Seq
	}
	since := slices.DeleteFunc(recordedEntries(s, after), func(e workspace.Entry) bool {
		i, there := slices.BinarySearchFunc(l.Entries, e.Path, func(e workspace.Entry, path string) int { return cmp.Compare(e.Path, path) })
		return there && l.Entries[i].Digest == e.Digest && e.Digest != ""
	})
	return l.Without(leftGone(s, after)).With(since)
}

// leftGone returns the artifacts that an attempt which failed after a commit left gone.
func leftGone(s *State, after uint64) map[string]bool {
	gone := map[string]bool{}
	for path, r := range recordedArtifacts(s) {
		if r.artifact.Digest == "" && r.seq > after {
			gone[path] = true
		}
	}
	return gone
}

// RecordedFiles returns the artifacts on record as files, but those whose bytes
// are not kept.
func RecordedFiles(s *State) []workspace.Entry { return recordedEntries(s, 0) }

// leftOut are the files that look sensitive, of a capture and of the artifacts
// of a state, sorted.
func leftOut(l *workspace.Listing, s *State) []string {
	paths := slices.Clone(l.LeftOut)
	for list := range artifactLists(s) {
		for _, a := range list {
			if a.LeftOut {
				paths = append(paths, string(a.Path))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// recordedEntries returns the artifacts that were recorded after a commit, but
// those whose bytes are not kept.
func recordedEntries(s *State, after uint64) []workspace.Entry {
	var entries []workspace.Entry
	for path, r := range recordedArtifacts(s) {
		if a := r.artifact; r.seq > after && r.seq > s.EmptiedSeq && !a.LeftOut && a.Digest != "" {
			entries = append(entries, workspace.Entry{Path: path, Mode: a.Mode, Size: a.Size, Digest: a.Digest})
		}
	}
	return entries
}

// MakersOf returns the workstreams that the artifacts at some paths are of, each
// once.
func (s *State) MakersOf(paths []string) []string {
	recorded := recordedArtifacts(s)
	var names []string
	for _, path := range paths {
		if r, ok := recorded[path]; ok && !slices.Contains(names, r.workstream) {
			names = append(names, r.workstream)
		}
	}
	return names
}

// recordedArtifact is an artifact, the commit that recorded it, and whose it is.
type recordedArtifact struct {
	seq        uint64
	artifact   Artifact
	workstream string
}

// recordedArtifacts returns the artifacts on record, by path. A path belongs to
// the workstream that recorded it last. What an attempt that failed left of it is
// on record, too, and has no digest where that is nothing.
func recordedArtifacts(s *State) map[string]recordedArtifact {
	newest := map[string]recordedArtifact{}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if w.Status != Completed && w.Status != Succeeded {
				continue
			}
			seq := w.recordedSeq()
			for _, a := range w.Artifacts {
				path := string(a.Path)
				if had, ok := newest[path]; a.Digest != "" && (!ok || seq >= had.seq) {
					newest[path] = recordedArtifact{seq, a, w.Name}
				}
			}
		}
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			for _, a := range w.leftFiles() {
				if had, ok := newest[string(a.Path)]; ok && w.Left.Seq > had.seq {
					newest[string(a.Path)] = recordedArtifact{w.Left.Seq, a, had.workstream}
				}
			}
		}
	}
	return newest
}

// recordedSeq is the commit that recorded the artifacts of a workstream.
func (w *Workstream) recordedSeq() uint64 { return max(w.FilesSeq, w.WorkSeq) }

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
