package checkpoint

import (
	"errors"
	"path/filepath"

	"prdrunner/checkpoint/store"
)

// Uncertain names the workstreams that must happen only once, and that the
// session here started after the archive's one parted from it: in what is
// imported they are uncertain, as after a rollback.
func (i *Import) Uncertain() []string { return names(i.uncertain(i.Relation, i.Here)) }

func names(events []WorkstreamUncertain) []string {
	var list []string
	for _, e := range events {
		list = append(list, e.Workstream)
	}
	return list
}

// uncertain is what becomes uncertain where the archive's session takes the
// place of the one here. That of another session tells nothing about this one.
func (i *Import) uncertain(relation Relation, here *State) []WorkstreamUncertain {
	if here == nil || relation != RelationOlder && relation != RelationDiverged {
		return nil
	}
	var events []WorkstreamUncertain
	for had := range here.Records() {
		w := i.State.Workstream(had.Name)
		if w == nil { // the pipeline did not have it then
			w = &Workstream{}
		}
		if had.maybeAgain(w) {
			events = append(events, WorkstreamUncertain{Workstream: had.Name, Attempt: had.Attempts, Error: Failure{
				Workstream: had.Name, Outcome: "unknown", Message: "an import went back before it: it may have happened",
			}})
		}
	}
	return events
}

// addUncertain puts on record what becomes uncertain, in the directory of a
// session that is not in place yet: once it is, nothing may come between.
func (i *Import) addUncertain(dir string, events []WorkstreamUncertain) (err error) {
	if len(events) == 0 {
		return nil
	}
	c := Commit{Seq: i.lineage.seq + 1, Time: i.store.now(), Prev: i.lineage.sums[i.lineage.seq][0]}
	for _, e := range events {
		c.Events = append(c.Events, e)
	}
	line, err := newEncoder().line(&c)
	if err == nil {
		err = fits(&c, line)
	}
	if err != nil {
		return err
	}
	log := store.OpenLog(i.store.fs, filepath.Join(dir, journalName))
	defer func() { err = errors.Join(err, log.Close()) }()
	return log.Append(line)
}
