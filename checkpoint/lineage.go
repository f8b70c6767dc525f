package checkpoint

import (
	"errors"
	"slices"

	"prdrunner/checkpoint/journal"
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

// lineage holds the checksums of a session's lines, which tell its commits from those of
// another history. The first line of a journal that was started over has two: its own, and
// that of the line that it replaces.
type lineage struct {
	session string
	seq     uint64 // last commit
	changed uint64 // last commit that did more than capture files
	sums    map[uint64][]string
}

func newLineage() *lineage { return &lineage{sums: map[uint64][]string{}} }

// add adds a commit of the journal or of a segment.
func (l *lineage) add(c state.Commit) {
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
func (l *lineage) contains(other *lineage) bool {
	return slices.ContainsFunc(other.sums[other.seq], func(sum string) bool { return slices.Contains(l.sums[other.seq], sum) })
}

// relate returns how an imported session relates to the current one.
func relate(comes, here *lineage) Relation {
	switch {
	case comes.session != here.session:
		return RelationForeign
	case comes.contains(here) && comes.seq == here.seq:
		return RelationEqual
	case comes.contains(here):
		return RelationForward
	case here.contains(comes) && here.changed <= comes.seq:
		return RelationSame
	case here.contains(comes):
		return RelationOlder
	}
	return RelationDiverged
}

// lineageIn reads the lineage and the state of the session in a directory, nil if there is
// none. A segment is read up to its first damaged line, since later lines prove nothing.
func (s *Store) lineageIn(prd, dir string) (*lineage, *state.State, error) {
	paths, err := s.layout.Journals(dir)
	if err != nil {
		return nil, nil, err
	}
	l := newLineage()
	f := journal.NewFold()
	t, err := journal.Replay(prd, paths[0], store.OpenLog(s.fs, paths[0]), func(c state.Commit) error {
		l.add(c)
		return f.Apply(c)
	})
	if err != nil || f.State == nil {
		return nil, nil, err
	}
	l.session, l.seq = f.State.Session, t.Seq
	for _, path := range paths[1:] {
		_, err := journal.Replay(prd, path, store.OpenLog(s.fs, path), func(c state.Commit) error {
			l.add(c)
			return nil
		})
		var damaged *state.DamagedError
		if err != nil && !errors.As(err, &damaged) {
			return nil, nil, err
		}
	}
	return l, f.State, nil
}
