package survey

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// The command of a gate may judge any file. So the verdict of a gate that declares no
// files holds only as long as the workspace is unchanged since the last capture before
// the verdict. Artifacts that workstreams recorded meanwhile count as unchanged: a
// verdict is bound to the runs that made them.

// findChangedFiles compares the files with the capture of the last run. Artifacts that
// workstreams have recorded since count as unchanged.
func (s *Surveyor) findChangedFiles(ctx context.Context, f *plan.Facts, st *state.State) error {
	e, err := s.listNow(ctx, f, st)
	if err != nil {
		return err
	}
	return s.compareWithEnd(ctx, f, e)
}

// runEnd holds the files at the end of a run, and the files now.
type runEnd struct {
	st      *state.State         // the state, with the capture that the run made when it ended
	outline *workspace.Outline   // the outline of the capture
	files   *workspace.Workspace // the workspace, with or without git, like the capture
	is      *workspace.Listing   // the files now
}

// listNow lists the present files that are in the scope of the last run's capture. It
// returns nil if the capture is not known or can't be read.
func (s *Surveyor) listNow(ctx context.Context, f *plan.Facts, st *state.State) (*runEnd, error) {
	f.CaptureError, f.NoCaptureReason, f.ChangedFiles = nil, "no capture of the whole workspace could prove it unchanged", nil
	s.lastCapture, s.endListing, s.changesSince = nil, nil, make(map[string]string)
	if st == nil || st.RunCapture == nil {
		return nil, nil
	}
	then := *st
	then.Capture = st.RunCapture
	outline, err := checkpoint.OutlineOf(ctx, s.files, &then)
	if err != nil {
		f.CaptureError, err = classifyLost(ctx, err)
		return nil, err
	}
	e := &runEnd{st: &then, outline: outline, files: s.files.WithGit(st.RunCapture.InGit())}
	e.is, err = e.files.Now(ctx, outline.Patterns)
	if err != nil && s.files.Git() == nil && ctx.Err() == nil { // if Runner does not use git, an error of git must not stop it
		e.files = s.files
		e.is, err = e.files.Now(ctx, outline.Patterns)
	}
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	return e, nil
}

// compareWithEnd adds the changes between the end of the last run and the listed files to
// the facts, and the reason why the workspace is not proved unchanged.
func (s *Surveyor) compareWithEnd(ctx context.Context, f *plan.Facts, e *runEnd) error {
	if e == nil {
		return nil
	}
	was, captured, err := checkpoint.FilesBeside(ctx, e.outline, e.st, e.is)
	if err != nil {
		f.CaptureError, err = classifyLost(ctx, err)
		return err
	}
	changes, err := s.files.CorrectDeletions(ctx, workspace.Diff(was, e.is))
	if err != nil {
		return err
	}
	var unknown []string
	s.lastCapture, s.endListing = captured, was
	f.ChangedFiles = slices.DeleteFunc(changes, func(c workspace.Change) bool {
		if slices.Contains(s.ownFiles, c.Path) {
			return true
		}
		leftOut := c.From == nil && slices.Contains(was.LeftOut, c.Path)
		if leftOut { // the file existed, but it is not known whether it changed
			unknown = append(unknown, c.Path)
		}
		return leftOut
	})
	if !s.judgesAnything() || !e.st.RunCapture.Whole(was.Patterns) {
		return nil
	}
	if len(unknown) > 0 {
		f.NoCaptureReason = "captures leave out " + text.Enumerate(unknown)
		return nil
	}
	blind, err := e.describeUncovered(ctx, s.ownFiles, was)
	if err != nil {
		return err
	}
	f.NoCaptureReason = blind
	return nil
}

// judgesAnything reports whether the verdict of some gate is bound to the whole
// workspace. Only then do files matter that no capture covers.
func (s *Surveyor) judgesAnything() bool {
	bound := func(g *pipeline.Gate) bool { return g.Kind != pipeline.GateApproval && !plan.DeclaresFiles(g) }
	return slices.ContainsFunc(s.p.Phases, func(phase *pipeline.Phase) bool {
		return slices.ContainsFunc(phase.Gates, bound) || slices.ContainsFunc(phase.Workstreams, func(ws *pipeline.Workstream) bool {
			return slices.ContainsFunc(ws.Gates, bound)
		})
	})
}

// describeUncovered says which files a capture of the whole workspace does not cover. It
// returns "" if the capture covers all files.
func (e *runEnd) describeUncovered(ctx context.Context, own []string, was *workspace.Listing) (string, error) {
	is := e.is
	if e.st.RunCapture.InGit() && e.files.Git() == nil {
		return "captures leave out what nothing declares, since they are made without git now", nil
	}
	if !workspace.SameSparse(was, is) {
		return otherSparse, nil
	}
	if len(is.LeftOut) > 0 {
		return "captures leave out " + text.Enumerate(is.LeftOut), nil
	}
	if len(is.Unstable) > 0 {
		return text.Enumerate(is.Unstable) + " keeps changing while it is read", nil
	}
	if len(is.Special) > 0 {
		return "captures cannot take in " + text.Enumerate(is.Special), nil
	}
	ignored, err := e.files.Ignored(ctx, is)
	if err != nil {
		return "", fmt.Errorf("look at the workspace: %w", err)
	}
	ignored = slices.DeleteFunc(ignored, func(path string) bool { return slices.Contains(own, path) })
	if len(ignored) > 0 {
		return "captures leave out " + text.Enumerate(ignored) + ", which git ignores", nil
	}
	return "", nil
}

// filesAt returns the files of a capture, with the artifacts recorded since. It returns
// nil if they are no longer known or can't be read. Then no file is proved unchanged.
// unread is the reason to show to the user; it does not stop the run.
func (s *Surveyor) filesAt(ctx context.Context, st *state.State, c *state.Capture) (l *workspace.Listing, unread, err error) {
	then := *st
	then.Capture = c
	l, known, failed := checkpoint.FilesOf(ctx, s.files, &then)
	switch {
	case failed != nil:
		unread, err = classifyLost(ctx, failed)
		return nil, unread, err
	case !known:
		return nil, nil, nil
	}
	return l, nil, nil
}

// classifyLost sorts an error about the files of a capture. It returns err if the
// context has ended, nothing if the files no longer exist, and else unread, which Runner
// shows to the user.
func classifyLost(ctx context.Context, failed error) (unread, err error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(failed, fs.ErrNotExist):
		return nil, nil
	}
	return fmt.Errorf("what changed since the last run is not known: %w", failed), nil
}

// findChangesAfter finds the changes between the last capture before a gate's verdict and
// the end of the last run. The verdict may come from an earlier run than the last one.
func (s *Surveyor) findChangesAfter(ctx context.Context, f *plan.Facts, st *state.State, g *pipeline.Gate) error {
	f.ChangedInRun[g.Label()] = ""
	if s.endListing == nil || g.Kind != pipeline.GateCommand {
		return nil
	}
	before := captureBefore(st, st.Gate(g.Label()))
	if before == nil {
		f.ChangedInRun[g.Label()] = "nothing was captured before it was judged"
		return nil
	}
	if before.Unstable+before.Special > 0 {
		f.ChangedInRun[g.Label()] = "not every file could be captured before it was judged"
		return nil
	}
	if before.Listing == st.RunCapture.Listing {
		return nil
	}
	moving, ok := s.changesSince[before.Listing]
	if !ok {
		was, _, err := s.filesAt(ctx, st, before)
		if err != nil {
			return err
		}
		if was == nil {
			f.ChangedInRun[g.Label()] = "what was captured before it was judged is lost"
			return nil
		}
		moving = firstChange(was, s.endListing, before.Scope(was.Patterns), st.RunCapture.Scope(s.endListing.Patterns))
		s.changesSince[before.Listing] = moving
	}
	f.ChangedInRun[g.Label()] = moving
	return nil
}

// otherSparse says that files that a process could judge appeared or disappeared without
// being added or deleted.
const otherSparse = "the sparse checkout leaves out other files than it did"

// firstChange names the first change between two listings, "" if nothing changed.
func firstChange(was, is *workspace.Listing, from, to workspace.Scope) string {
	if !workspace.SameSparse(was, is) { // checked first, because such a file may look as if it was added
		return otherSparse
	}
	changes, apart := workspace.SplitByScope(workspace.Diff(was, is), from, to)
	switch {
	case len(changes) > 0:
		return fmt.Sprintf("%s was %s in the run that judged it", changes[0].Path, changes[0].Kind)
	case len(apart) > 0:
		return apart[0].Path + " is in only one of the captures before and after it was judged"
	}
	return ""
}

// captureBefore returns the last capture on record that is older than a gate's verdict,
// or nil. Runner makes captures only while nothing runs, so the capture is also older
// than the start of the judgement.
func captureBefore(st *state.State, g *state.Gate) *state.Capture {
	var last *state.Capture
	consider := func(c *state.Capture) {
		if c != nil && g.At != nil && c.At.Before(*g.At) && (last == nil || c.Seq > last.Seq) {
			last = c
		}
	}
	consider(st.RunCapture)
	for _, ref := range st.Checkpoints {
		consider(ref.Capture)
	}
	return last
}
