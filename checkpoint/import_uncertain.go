package checkpoint

import (
	"errors"
	"path/filepath"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Uncertain names the workstreams that must happen only once, and that the
// session here started after the archive's one parted from it: in what is
// imported they are uncertain, as after a rollback.
func (i *Import) Uncertain() []string { return names(i.uncertain(i.Relation, i.Here)) }

// Pending names the workstreams of the archive's session that must happen only once and
// are not done in it: where it was exported, they may happen, too.
func (i *Import) Pending() []string {
	var list []string
	for _, p := range i.State.Phases {
		for _, w := range p.Workstreams {
			if w.Once && w.Status != state.Completed && w.Status != state.Succeeded {
				list = append(list, w.Name)
			}
		}
	}
	return list
}

func names(events []state.WorkstreamUncertain) []string {
	var list []string
	for _, e := range events {
		list = append(list, e.Workstream)
	}
	return list
}

// uncertain is what becomes uncertain where the archive's session takes the place
// of what is here: what was started later, in that same session, as it is here or as it
// was set aside.
func (i *Import) uncertain(relation Relation, here *state.State) []state.WorkstreamUncertain {
	if !replaces(relation) {
		return nil
	}
	var events []state.WorkstreamUncertain
	for _, copied := range i.others(here) {
		if copied.Session != i.Session {
			continue
		}
		for had := range copied.Records() {
			w := i.State.Workstream(had.Name)
			if w == nil { // the pipeline did not have it then
				w = &state.Workstream{}
			}
			if had.MaybeAgain(w) {
				events = addLater(events, state.WorkstreamUncertain{Workstream: had.Name, Attempt: had.Attempts, Error: *had.WentBackBefore("an import")})
			}
		}
	}
	return events
}

// addLater adds an event about a workstream, of two the one that knows of more attempts.
func addLater(events []state.WorkstreamUncertain, e state.WorkstreamUncertain) []state.WorkstreamUncertain {
	i := slices.IndexFunc(events, func(o state.WorkstreamUncertain) bool { return o.Workstream == e.Workstream })
	switch {
	case i < 0:
		return append(events, e)
	case e.Attempt > events[i].Attempt:
		events[i] = e
	}
	return events
}

// replaces reports whether an archive's session takes the place of what is here, and
// does not just go on from it.
func replaces(r Relation) bool {
	switch r {
	case RelationNew, RelationOlder, RelationDiverged, RelationForeign, RelationDamaged:
		return true
	case RelationEqual, RelationForward, RelationSame:
	}
	return false
}

// others are the sessions of the PRD that are here, or were set aside, as far as they
// can be read.
func (i *Import) others(here *state.State) []*state.State {
	all := slices.Clone(i.aside)
	if here != nil {
		all = append(all, here)
	}
	return all
}

// unknownTo returns what has happened only once in the sessions of the PRD here, and
// that the archive's session does not know of. In a session that can't be read each
// workstream may have happened that is not done in the archive's.
func (i *Import) unknownTo(relation Relation, here *state.State) ([]state.Act, error) {
	if !replaces(relation) {
		return nil, nil
	}
	removed, err := i.store.removedActs(i.PRD)
	if err != nil {
		return nil, err
	}
	acts := removed.Acts
	for _, s := range i.others(here) {
		acts = state.MergeActs(acts, s.KnownActs()...)
	}
	acts = state.UnknownActs(acts, i.State.KnownActs())
	unread := i.unread
	switch gone := removed.unread(); {
	case relation == RelationDamaged:
		unread = state.Text(i.store.layout.Within(i.store.layout.PRDDir(i.PRD)))
	case unread == "" && len(gone) > 0:
		unread = state.Text(gone[0])
	}
	if unread == "" {
		return acts, nil
	}
	for _, name := range i.Pending() {
		if !slices.ContainsFunc(acts, func(a state.Act) bool { return a.Workstream == name }) {
			acts = append(acts, state.Act{Workstream: name, Uncertain: true, Unread: unread})
		}
	}
	return acts, nil
}

// addKnown puts on record what becomes uncertain, and what has happened in other
// sessions, in the directory of a session that is not in place yet: once it is, nothing
// may come between.
func (i *Import) addKnown(dir string, events []state.WorkstreamUncertain, acts []state.Act) (err error) {
	if len(events)+len(acts) == 0 {
		return nil
	}
	c := state.Commit{Seq: i.lineage.seq + 1, Time: i.store.now(), Prev: i.lineage.sums[i.lineage.seq][0]}
	for _, e := range events {
		c.Events = append(c.Events, e)
	}
	if len(acts) > 0 {
		c.Events = append(c.Events, state.ActsRemembered{Acts: acts})
	}
	line, err := journal.NewEncoder().Line(&c)
	if err == nil {
		err = journal.CheckSize(&c, line)
	}
	if err != nil {
		return err
	}
	log := store.OpenLog(i.store.fs, filepath.Join(dir, disk.JournalName))
	defer func() { err = errors.Join(err, log.Close()) }()
	return log.Append(line)
}
