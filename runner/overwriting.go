package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace/tree"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
)

// overwriting makes the checkpoint of the files that a run is about to overwrite although
// the user may have edited them.
type overwriting struct {
	loop *loop

	edits        []string          // edited artifacts that are to be restored or made again
	called       []string          // edited artifacts of called pipelines, which may overwrite them
	partial      []string          // files that are taken for partial work
	kept         map[string]string // digests of the files that this checkpoint holds, by path: the run may overwrite them
	checkpointID string            // the id of the checkpoint
}

// keepFiles makes a checkpoint of the files that are about to be overwritten although the
// user may have edited them. Nothing runs yet. A later edit is in no checkpoint, so the
// run does not overwrite it. keep returns the durable commits, which the views get after
// Begin.
func (ow *overwriting) keepFiles(plan *plan.Plan) ([]state.Commit, error) {
	l := ow.loop
	ow.edits, ow.partial = ow.editedArtifacts(), ow.partialWork()
	called, err := ow.calledEdits(plan)
	if err != nil {
		return nil, err
	}
	ow.called = called
	paths := slices.Concat(ow.edits, ow.called)
	if l.opts.Store.Captures() { // without captures, partial work is undone without a checkpoint
		paths = append(paths, ow.partial...)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if len(paths) == 0 {
		return nil, nil
	}
	lost, err := ow.keepPaths(paths)
	if err != nil {
		return nil, err
	}
	if len(lost) > 0 {
		ow.kept = nil // no checkpoint was made
		var refused []string
		for _, path := range lost {
			overwritten, err := ow.overwrites(plan, path)
			if err != nil {
				return nil, err
			}
			if overwritten || slices.Contains(ow.edits, path) || slices.Contains(ow.called, path) {
				refused = append(refused, path)
			}
		}
		if len(refused) > 0 {
			return nil, &UnkeptError{Paths: refused}
		}
		isLost := func(path string) bool { return slices.Contains(lost, path) }
		ow.partial = slices.DeleteFunc(ow.partial, isLost)
		if paths = slices.DeleteFunc(paths, isLost); len(paths) == 0 {
			return nil, nil
		}
		if lost, err = ow.keepPaths(paths); err != nil {
			return nil, err
		}
		if len(lost) > 0 {
			return nil, &UnkeptError{Paths: lost}
		}
	}
	if l.files.CommitsToBranch() {
		l.readGit()
	}
	return l.session.Drain(l.ctx)
}

// keepReturned makes a checkpoint of edited artifacts that the run is about to restore or to
// make again, and that it knows only since its instances are known.
func (ow *overwriting) keepReturned(paths []string) error {
	had := ow.kept
	lost, err := ow.keepPaths(paths)
	if err == nil && len(lost) > 0 {
		err = fmt.Errorf("%w: move it away, and resume", &UnkeptError{Paths: lost})
	}
	if err != nil {
		return err
	}
	maps.Copy(ow.kept, had)
	ow.loop.recorder.Drain()
	ow.warnEdits(paths)
	return nil
}

// keepPaths makes a checkpoint that holds the given files. If a checkpoint can't hold
// some of them, it makes none and returns their paths. It tries again after a failure,
// and never ignores one.
func (ow *overwriting) keepPaths(paths []string) (lost []string, err error) {
	l := ow.loop
	err = l.recorder.WriteRequired(record.Part{
		Problem: text.Enumerate(paths) + " could not be kept before it is overwritten", Done: "kept",
		Try: func() error {
			return l.runUntilSignal(func(ctx context.Context) (err error) {
				ow.checkpointID, ow.kept, err = l.session.KeepOverwritten(ctx, l.files, l.captures.capturePatterns(), paths)
				return err
			})
		},
	})
	if err != nil && l.cause.signal != "" && !l.recorder.Final(err) {
		err = fmt.Errorf("%w: %w", record.ErrGivenUp, err)
	}
	if err != nil {
		return nil, fmt.Errorf("keep %s, before it is overwritten: %w", text.Enumerate(paths), err)
	}
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return ow.kept[path] != "" }), nil
}

// editedArtifacts returns the sorted paths of edited artifacts if they are to be restored
// or made again.
func (ow *overwriting) editedArtifacts() []string {
	if ow.loop.opts.OnConflict != plan.ConflictRestore {
		return nil
	}
	var paths []string
	for _, conflicts := range ow.loop.facts.Conflicts {
		for _, c := range plan.EditedArtifacts(conflicts) {
			paths = append(paths, string(c.Path))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// warnOverwritten tells the user which checkpoint holds the files that the run
// overwrites.
func (ow *overwriting) warnOverwritten() {
	l := ow.loop
	if edits := slices.Concat(ow.edits, ow.called); len(edits) > 0 {
		slices.Sort(edits)
		ow.warnEdits(slices.Compact(edits))
	}
	if len(ow.partial) == 0 {
		return
	}
	what := text.Enumerate(ow.partial) + " is taken for partial work of what did not complete"
	if ow.checkpointID == "" {
		l.warnUser(what + "; how it was found is in no checkpoint, since they are switched off")
		return
	}
	l.warnUser(fmt.Sprintf("%s; how it was found is in a checkpoint, and `%s` brings that back, with the files as they were then", what, ow.commandBack()))
}

// warnEdits tells the user how edits that the run overwrites can be brought back.
func (ow *overwriting) warnEdits(paths []string) {
	if c := ow.loop.opts.Caller; c != nil { // its checkpoints can't be rolled back to; the first caller has kept the edit, too
		ow.loop.warnUser(fmt.Sprintf("the edit of %s is in a checkpoint of %s before it is overwritten; `%s` lists its checkpoints",
			text.Enumerate(paths), c.Root, ow.loop.opts.Command("checkpoint list "+c.Root)))
		return
	}
	ow.loop.warnUser(fmt.Sprintf("the edit of %s is in a checkpoint before it is overwritten; `%s` brings it back, with the files as they were then",
		text.Enumerate(paths), ow.commandBack()))
}

// commandBack returns the command that brings back what the run overwrites.
func (ow *overwriting) commandBack() string {
	return ow.loop.opts.Command("checkpoint rollback " + ow.loop.pipeline.ID + " " + ow.checkpointID + " --files-only")
}

// UnkeptError lists artifacts that were or may have been edited and that no checkpoint can
// hold. They are not overwritten.
type UnkeptError struct{ Paths []string }

func (e *UnkeptError) Error() string {
	return text.Enumerate(e.Paths) + " was or may have been edited, and can't be kept in a checkpoint, so that overwriting it could not be undone"
}

// Unwrap makes it an ErrConflict.
func (e *UnkeptError) Unwrap() error { return ErrConflict }

// isKept reports whether a checkpoint holds the file at a path with this digest.
func (ow *overwriting) isKept(path, digest string) bool {
	return digest != "" && ow.kept[path] == digest
}

// unkeptConflicts returns the conflicts whose edits could not be restored if they were
// overwritten.
func (ow *overwriting) unkeptConflicts(conflicts []plan.Conflict) []plan.Conflict {
	return slices.DeleteFunc(slices.Clone(conflicts), func(c plan.Conflict) bool {
		return ow.isKept(string(c.Path), c.Found) || ow.isRecorded(string(c.Path), c.Found)
	})
}

// isRecorded reports whether a workstream has recorded this content of a file last. Then
// the file is not an edit of the user, even if it is an artifact of another workstream.
func (ow *overwriting) isRecorded(path, digest string) bool {
	file, _, ok := ow.loop.recordedFiles.Artifact(path)
	return ok && digest != "" && file.Digest == digest
}

// conflictsResolved reports whether edited artifacts were restored, and no workstream has
// yet to make an edited artifact again.
func (ow *overwriting) conflictsResolved() bool {
	for _, conflicts := range ow.loop.facts.Conflicts {
		if len(plan.EditedArtifacts(conflicts)) > 0 {
			return false
		}
	}
	return len(ow.edits) > 0
}

// checkpointResolved makes the checkpoint of the files after the last edit was restored.
func (ow *overwriting) checkpointResolved() {
	l := ow.loop
	l.captures.capture(state.TriggerConflictResolved)
	if l.files.CommitsToBranch() {
		l.readGit()
	}
	l.addCheckpoint(state.TriggerConflictResolved, "")
}

// mayTakeBack reports whether the run may undo partial work with the given digest, "" for
// a missing file. The file must be on record as left by an attempt, or be in the
// checkpoint that the run made before anything started. A later edit is neither.
func (ow *overwriting) mayTakeBack(path, digest string) bool {
	l := ow.loop
	kept := digest == "" || l.surveyor.Partial.LeftByFailure(path, digest) || ow.isKept(path, digest) || !l.opts.Store.Captures()
	return kept && l.surveyor.Partial.Includes(path, digest)
}

// partialWork returns the sorted paths of existing files that count as partial work. The
// user may have edited them nevertheless.
func (ow *overwriting) partialWork() []string {
	var paths []string
	for _, all := range ow.loop.facts.Partial {
		for _, a := range all {
			if a.Found != "" {
				paths = append(paths, string(a.Path))
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// unkeptPartial returns the artifacts of a workstream that hold partial work and that no
// checkpoint holds, so that they could not be restored after the run overwrote them.
func (ow *overwriting) unkeptPartial(name string) []plan.Conflict {
	var unkept []plan.Conflict
	for _, a := range ow.loop.facts.Partial[name] {
		if !ow.mayTakeBack(string(a.Path), a.Found) && !ow.isRecorded(string(a.Path), a.Found) {
			unkept = append(unkept, plan.Conflict{Path: a.Path, Workstream: name, Recorded: a.Digest, Found: a.Found})
		}
	}
	return unkept
}

// overwrites reports whether the plan overwrites partial work at a path. It does if the
// workstream that recorded the file runs again, or if the partial work is undone, which
// takes the stored bytes of the file.
func (ow *overwriting) overwrites(planned *plan.Plan, path string) (bool, error) {
	l := ow.loop
	runs := make(map[string]bool)
	var patterns []string
	for _, phase := range planned.Phases {
		for _, s := range phase.Steps {
			ws := l.pipeline.Workstream(s.Name)
			if s.Kind == plan.WorkstreamStep && ws != nil && l.planner.ExclusionReason(ws) == "" && s.Decision != plan.Reuse && s.Decision != plan.Skipped {
				runs[ws.Name], patterns = true, append(patterns, l.surveyor.Extend(ws.ArtifactPatterns)...)
			}
		}
	}
	for owner, all := range l.facts.Partial {
		i := slices.IndexFunc(all, func(a plan.PartialArtifact) bool { return string(a.Path) == path })
		if i < 0 {
			continue
		}
		kept, err := l.files.Contents().HasObject(all[i].Digest)
		if err != nil {
			return false, fmt.Errorf("look for the bytes of %s: %w", path, err)
		}
		if runs[owner] || kept && tree.MatchesAny(patterns, path) {
			return true, nil
		}
	}
	return false, nil
}
