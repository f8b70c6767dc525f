package checkpoint

import (
	"errors"
	"slices"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Relation is how a session relates to the one that is there.
type Relation string

// The relations of an archive's session to the one of its PRD that is here.
const (
	RelationNew      Relation = "new"      // there is none here
	RelationEqual    Relation = "equal"    // they stand at the same commit
	RelationForward  Relation = "forward"  // the archive's goes on from where this one stands
	RelationSame     Relation = "same"     // likewise, but that this one has captured files since, as an import does
	RelationOlder    Relation = "older"    // this one goes on from where the archive's stands
	RelationDiverged Relation = "diverged" // they are of one session, and each has commits of its own
	RelationForeign  Relation = "foreign"  // they are different sessions
	RelationDamaged  Relation = "damaged"  // what is here can't be read
)

// lineage is what tells a session's commits from those of another history: the
// sums of its lines. A line that a journal was begun anew with has two: its own,
// and that of the line whose place it takes.
type lineage struct {
	session string
	seq     uint64 // where it stands
	changed uint64 // the last commit of more than files that were captured
	sums    map[uint64][]string
}

func newLineage() *lineage { return &lineage{sums: map[uint64][]string{}} }

// add adds a commit of the journal, or of what it was compacted from.
func (l *lineage) add(c state.Commit) {
	l.sums[c.Seq] = append(l.sums[c.Seq], c.Sum)
	if c.State != nil {
		l.sums[c.Seq] = append(l.sums[c.Seq], c.Prev)
	}
	if c.State != nil || !onlyCaptures(c.Events) {
		l.changed = max(l.changed, c.Seq)
	}
}

// onlyCaptures reports whether events are of the kind that an import puts on
// record, overwriting files or a session of the same lineage: the session stands
// where it stood.
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

// has reports whether the other stood, where it stands now, at a commit of
// this one.
func (l *lineage) has(other *lineage) bool {
	return slices.ContainsFunc(other.sums[other.seq], func(sum string) bool { return slices.Contains(l.sums[other.seq], sum) })
}

// relate says how a session that comes relates to the one that is here.
func relate(comes, here *lineage) Relation {
	switch {
	case comes.session != here.session:
		return RelationForeign
	case comes.has(here) && comes.seq == here.seq:
		return RelationEqual
	case comes.has(here):
		return RelationForward
	case here.has(comes) && here.changed <= comes.seq:
		return RelationSame
	case here.has(comes):
		return RelationOlder
	}
	return RelationDiverged
}

// lineageIn reads the lineage of the session in a directory, and where it
// stands; nil where there is none. What a journal was compacted from proves
// nothing where it is damaged.
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
