package journal

import (
	"errors"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Relation is how an archive's session relates to the current session of its PRD.
type Relation string

// The relations of an archive's session to the current session of its PRD.
const (
	RelationNew      Relation = "new"      // there is no current session
	RelationEqual    Relation = "equal"    // both are at the same commit
	RelationForward  Relation = "forward"  // the archive's session continues the current one
	RelationSame     Relation = "same"     // like equal, except that the current session has captured files since, as an import does
	RelationOlder    Relation = "older"    // the current session continues the archive's
	RelationDiverged Relation = "diverged" // both are the same session, and each has commits that the other lacks
	RelationForeign  Relation = "foreign"  // they are different sessions
	RelationDamaged  Relation = "damaged"  // the current session can't be read
)

// Lineage holds the checksums of a session's lines, which tell its commits from those of
// another history. The first line of a journal that was started over has two: its own, and
// that of the line that it replaces.
type Lineage struct {
	Session string
	Seq     uint64 // last commit
	changed uint64 // last commit that did more than capture files
	sums    map[uint64][]string
}

// NewLineage returns a lineage without commits.
func NewLineage() *Lineage { return &Lineage{sums: map[uint64][]string{}} }

// Add adds a commit of the journal or of a segment.
func (l *Lineage) Add(c state.Commit) {
	l.sums[c.Seq] = append(l.sums[c.Seq], c.Sum)
	if c.State != nil {
		l.sums[c.Seq] = append(l.sums[c.Seq], c.Prev)
	}
	if c.State != nil || !onlyCaptures(c.Events) {
		l.changed = max(l.changed, c.Seq)
	}
}

// onlyCaptures reports whether all events are ones that an import records when it
// overwrites files or replaces a session of the same lineage. Such events do not advance
// the session.
func onlyCaptures(events []state.Event) bool {
	for _, e := range events {
		switch e := e.(type) {
		case state.WorkspaceCaptured, state.CheckpointsRemoved, state.ActsRemembered:
		case state.WorkstreamUncertain:
			if e.Attempt == 0 {
				return false
			}
		case state.CheckpointCreated:
			if e.Trigger != state.TriggerPreRollback {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// contains reports whether the last commit of other is a commit of l.
func (l *Lineage) contains(other *Lineage) bool {
	return slices.ContainsFunc(other.sums[other.Seq], func(sum string) bool { return slices.Contains(l.sums[other.Seq], sum) })
}

// Relate returns how an imported session relates to the current one.
func Relate(comes, here *Lineage) Relation {
	switch {
	case comes.Session != here.Session:
		return RelationForeign
	case comes.contains(here) && comes.Seq == here.Seq:
		return RelationEqual
	case comes.contains(here):
		return RelationForward
	case here.contains(comes) && here.changed <= comes.Seq:
		return RelationSame
	case here.contains(comes):
		return RelationOlder
	}
	return RelationDiverged
}

// ReadLineage reads the lineage and the state of a session, nil if there is none. paths
// are its journals, the current one first, as disk.Layout.Journals returns them. An older
// journal is read up to its first damaged line, since later lines prove nothing.
func ReadLineage(prd string, fs store.FS, paths []string) (*Lineage, *state.State, error) {
	l := NewLineage()
	f := NewFold()
	t, err := Replay(prd, paths[0], store.OpenLog(fs, paths[0]), func(c state.Commit) error {
		l.Add(c)
		return f.Apply(c)
	})
	if err != nil || f.State == nil {
		return nil, nil, err
	}
	l.Session, l.Seq = f.State.Session, t.Seq
	for _, path := range paths[1:] {
		_, err := Replay(prd, path, store.OpenLog(fs, path), func(c state.Commit) error {
			l.Add(c)
			return nil
		})
		var damaged *state.DamagedError
		if err != nil && !errors.As(err, &damaged) {
			return nil, nil, err
		}
	}
	return l, f.State, nil
}
