package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint"
)

// keepEdits makes a checkpoint of the artifacts that were edited, where it was
// decided that they are put back or made again. Nothing runs yet: an edit that
// is made later is in no checkpoint, and is not overwritten. It returns what is
// durable, for views that have begun.
func (l *loop) keepEdits() ([]checkpoint.Commit, error) {
	if l.o.OnConflict != ConflictRestore {
		return nil, nil
	}
	var paths []string
	for _, conflicts := range l.facts.conflicts {
		for _, c := range edited(conflicts) {
			paths = append(paths, string(c.Path))
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	var id string
	var kept map[string]string
	err := l.untilSignal(func(ctx context.Context) (err error) {
		id, kept, err = l.x.KeepOverwritten(ctx, l.sv.files, l.scope(), paths)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("keep %s, which was edited, before it is overwritten: %w", list(paths), err)
	}
	lost := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return kept[path] != "" })
	if len(lost) > 0 {
		return nil, &UnkeptError{Paths: lost}
	}
	l.kept, l.keptIn = kept, id
	if l.sv.files.CommitsToBranch() {
		l.readGit()
	}
	return l.x.Drain(l.ctx)
}

// tellEdits says where the edits are that are overwritten.
func (l *loop) tellEdits() {
	if len(l.kept) > 0 {
		l.warn(fmt.Sprintf("the edit of %s is in a checkpoint before it is overwritten; `%s` brings it back, with the files as they were then",
			list(slices.Sorted(maps.Keys(l.kept))), l.o.Command("checkpoint rollback "+l.p.ID+" "+l.keptIn+" --files-only")))
	}
}

// UnkeptError names edited artifacts that no checkpoint can hold, so that they
// are not overwritten.
type UnkeptError struct{ Paths []string }

func (e *UnkeptError) Error() string {
	return list(e.Paths) + " was edited, and can't be kept in a checkpoint, so that overwriting it could not be undone"
}

// Unwrap makes it an ErrConflict.
func (e *UnkeptError) Unwrap() error { return ErrConflict }

// isKept reports whether a checkpoint has what is at a path.
func (l *loop) isKept(path, digest string) bool { return digest != "" && l.kept[path] == digest }

// unkept are the edits that nothing would bring back if they were overwritten.
func (l *loop) unkept(conflicts []Conflict) []Conflict {
	return filter(conflicts, func(c Conflict) bool { return !l.isKept(string(c.Path), c.Found) })
}

// endConflict makes the checkpoint of the files in which no edit is left.
func (l *loop) endConflict() {
	for _, conflicts := range l.facts.conflicts {
		if len(edited(conflicts)) > 0 {
			return // it is made again
		}
	}
	l.capture()
	if l.sv.files.CommitsToBranch() {
		l.readGit()
	}
	l.checkpoint(checkpoint.TriggerConflictResolved, "")
}
