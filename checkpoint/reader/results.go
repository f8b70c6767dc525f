package reader

import (
	"path/filepath"
	"slices"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
)

// Results returns the work of the given workstreams in the current session of a PRD and in
// archived ones. For each digest of a workstream it returns the work of the last attempt
// with that digest. It returns nothing for a digest whose last attempt did not complete,
// or whose work was rejected or edited afterwards. It skips sessions that can't be read.
func (r Reader) Results(prd string, workstreams map[string]bool) map[string][]state.Result {
	places, err := r.Layout.SessionDirs(prd)
	if err != nil {
		return nil
	}
	all := resultsByDigest{}
	for _, p := range places {
		if !slices.Contains([]disk.Place{disk.PlaceCurrent, disk.PlaceHistory, disk.PlaceFailed}, p.Place) {
			continue
		}
		found := resultsByDigest{}
		c := resultCollector{fold: journal.NewFold(), of: workstreams, found: found}
		path := filepath.Join(p.Dir, disk.JournalName)
		if _, err := r.replay(p.PRD, path, c.visit); err != nil {
			continue
		}
		for name, results := range found {
			for _, result := range results {
				all.addResult(name, result)
			}
		}
	}
	return all.usable()
}

// resultsByDigest maps workstreams to the result of the last attempt with each digest. A
// result without a session stands for an attempt without usable work.
type resultsByDigest map[string][]state.Result

// addResult records the result of an attempt, unless a later attempt with the same
// digest is known.
func (all resultsByDigest) addResult(workstream string, r state.Result) {
	i := slices.IndexFunc(all[workstream], func(known state.Result) bool { return known.Work.Digest.Equal(r.Work.Digest) })
	switch {
	case i < 0:
		all[workstream] = append(all[workstream], r)
	case !r.At.Before(all[workstream][i].At):
		all[workstream][i] = r
	}
}

// usable returns the results of attempts that have usable work.
func (all resultsByDigest) usable() map[string][]state.Result {
	results := make(map[string][]state.Result, len(all))
	for name, known := range all {
		if known = slices.DeleteFunc(known, func(r state.Result) bool { return r.Session == "" }); len(known) > 0 {
			results[name] = known
		}
	}
	return results
}

// resultCollector folds a journal and records the result of each attempt.
type resultCollector struct {
	fold  *journal.Fold
	of    map[string]bool
	found resultsByDigest
}

func (c resultCollector) visit(commit state.Commit) error {
	if commit.State != nil {
		err := c.fold.Apply(commit)
		c.noteAll(commit.Time)
		return err
	}
	if c.fold.State == nil {
		c.fold.State = &state.State{}
	}
	for i, e := range commit.Events {
		if err := c.fold.ApplyEvent(commit.Seq, &commit, i, e); err != nil {
			return err
		}
		switch e := e.(type) {
		case state.SessionStarted: // a new session may start with the records of a complete one
			c.noteAll(commit.At(i))
		case state.WorkstreamStarted:
			c.noteWork(e.Workstream, commit.At(i))
		case state.WorkstreamCompleted:
			c.noteWork(e.Workstream, commit.At(i))
		case state.WorkstreamEdited:
			c.noteWork(e.Workstream, commit.At(i))
		case state.GateRejected:
			c.noteRejected(commit.At(i))
		}
	}
	return nil
}

// noteWork records the result of a workstream's current attempt, or that it has none.
func (c resultCollector) noteWork(workstream string, at time.Time) {
	w := c.fold.State.Workstream(workstream)
	if w == nil || !c.of[workstream] || w.Attempts == 0 {
		return
	}
	r := state.Result{At: at, Work: state.Work{Digest: w.Digest}}
	if w.Status == state.Completed && w.Worked() && len(w.Edited) == 0 && w.Rejected == "" && w.Adopted == "" {
		r.Session, r.Work = c.fold.State.Session, *c.fold.State.WorkOf(w)
		if w.Session != "" {
			r.Session = w.Session
		}
		if w.EndedAt != nil {
			r.At = *w.EndedAt
		}
	}
	c.found.addResult(workstream, r)
}

// noteAll records the results of all completed workstreams.
func (c resultCollector) noteAll(at time.Time) {
	for w := range c.fold.State.Records() {
		if w.Status == state.Completed {
			c.noteWork(w.Name, at)
		}
	}
}

func (c resultCollector) noteRejected(at time.Time) {
	for w := range c.fold.State.Records() {
		if w.Rejected != "" {
			c.noteWork(w.Name, at)
		}
	}
}
