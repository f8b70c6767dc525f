package transfer

import (
	"errors"
	"path/filepath"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Uncertain returns the workstreams that must happen only once and that the session here
// started after it parted from the archive's session. In the imported session they are
// uncertain, as after a rollback.
func (i *Import) Uncertain() []string { return workstreamNames(i.uncertain(i.Relation, i.Here)) }

// Pending returns the workstreams of the archive's session that must happen only once and
// are not done in it. They may also happen on the machine that exported the session.
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

func workstreamNames(events []state.WorkstreamUncertain) []string {
	var list []string
	for _, e := range events {
		list = append(list, e.Workstream)
	}
	return list
}

// uncertain returns the workstreams that become uncertain when the archive's session
// replaces the current one: those that the same session, in its current or an archived
// copy, started later.
func (i *Import) uncertain(relation journal.Relation, here *state.State) []state.WorkstreamUncertain {
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
			if w == nil { // the pipeline did not have the workstream then
				w = &state.Workstream{}
			}
			if had.MaybeAgain(w) {
				events = addLater(events, state.WorkstreamUncertain{Workstream: had.Name, Attempt: had.Attempts, Error: *had.WentBackBefore("an import")})
			}
		}
	}
	return events
}

// addLater adds an event about a workstream. If the list has an event about the same
// workstream, addLater keeps the one with more attempts.
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

// replaces reports whether the archive's session replaces the current one, and does not
// just continue it.
func replaces(r journal.Relation) bool {
	switch r {
	case journal.RelationNew, journal.RelationOlder, journal.RelationDiverged, journal.RelationForeign, journal.RelationDamaged:
		return true
	case journal.RelationEqual, journal.RelationForward, journal.RelationSame:
	}
	return false
}

// others returns the PRD's sessions that can be read: the archived ones, and here unless
// it is nil.
func (i *Import) others(here *state.State) []*state.State {
	all := slices.Clone(i.aside)
	if here != nil {
		all = append(all, here)
	}
	return all
}

// unknownTo returns the acts that the PRD's sessions here record and that the archive's
// session does not know. If a session can't be read, it may have done every workstream
// that is not done in the archive's session, so unknownTo adds all of these.
func (i *Import) unknownTo(relation journal.Relation, here *state.State) ([]state.Act, error) {
	if !replaces(relation) {
		return nil, nil
	}
	removed, err := i.store.Layout().ReadActs(i.PRD)
	if err != nil {
		return nil, err
	}
	acts := removed.Acts
	for _, s := range i.others(here) {
		acts = state.MergeActs(acts, s.KnownActs()...)
	}
	acts = state.UnknownActs(acts, i.State.KnownActs())
	unread := i.unread
	switch gone := removed.UnreadNames(); {
	case relation == journal.RelationDamaged:
		unread = state.Text(i.store.Layout().Within(i.store.Layout().PRDDir(i.PRD)))
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

// Unprotected returns the workstreams whose changes can't be rolled back here: their safety
// checkpoints stayed on the machine that exported the session.
func (i *Import) Unprotected() []string {
	var list []string
	for _, e := range i.unprotected() {
		list = append(list, e.Workstream)
	}
	return list
}

// unprotected returns the events that give up rollbacks to safety checkpoints that are not
// here.
func (i *Import) unprotected() []state.ProtectionKept {
	var events []state.ProtectionKept
	for _, p := range i.State.Protections {
		var gone *safety.NotFoundError
		if _, err := i.store.Safety().Read(p.Checkpoint); errors.As(err, &gone) {
			events = append(events, state.ProtectionKept{
				Workstream: p.Workstream, Checkpoint: p.Checkpoint, Reason: "its safety checkpoint stayed on the machine that exported the session",
			})
		}
	}
	return events
}

// addKnown appends a commit with uncertain workstreams and acts, and with the protections
// that end, to the journal in dir, before the session in dir is put in place. Once it is in
// place nothing may come before that commit.
func (i *Import) addKnown(dir string, events []state.WorkstreamUncertain, acts []state.Act) (err error) {
	unprotected := i.unprotected()
	if len(events)+len(acts)+len(unprotected) == 0 {
		return nil
	}
	c := state.Commit{Seq: i.Seq + 1, Time: i.store.Now(), Prev: i.Sum}
	for _, e := range events {
		c.Events = append(c.Events, e)
	}
	for _, e := range unprotected {
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
	log := store.OpenLog(i.store.FS(), filepath.Join(dir, disk.JournalName))
	defer func() { err = errors.Join(err, log.Close()) }()
	return log.Append(line)
}
