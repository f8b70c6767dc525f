// Package reader reads the sessions of a state directory. It takes no lock and changes
// nothing: a writer may append to a journal or remove files meanwhile.
//
//	Reader.Current     the state of a PRD's current session, its document, its rescue copy
//	Reader.Sessions    all sessions of a PRD, current and archived; PRDs: which PRDs there are
//	Reader.ReadRecord  the state of a session by its directory; VisitRecord: its commits
//	Reader.Results     the work of completed workstreams, by digest; Acts: what happened once
//	Session            the checkpoints of one session, from their files or from its journal
//
// Current, Sessions and ReadRecord verify that the journal has every commit that a derived
// file names: such a file is written after its commit, so a journal that ends before has
// lost something. What a writer does on the way to opening a session is in package checkpoint.
package reader

import (
	"regexp"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Reader reads the sessions of a state directory. It is safe for concurrent use.
type Reader struct {
	Layout    *disk.Layout
	Rescues   journal.RescueDir
	IDPattern *regexp.Regexp // of the IDs of PRDs
}

// Session is a session by its directory, which need not exist.
type Session struct {
	Reader
	PRD string
	Dir string
}

// Session returns the session of a PRD in a directory.
func (r Reader) Session(prd, dir string) Session { return Session{r, prd, dir} }

// CurrentSession returns the current session of a PRD.
func (r Reader) CurrentSession(prd string) Session { return r.Session(prd, r.Layout.PRDDir(prd)) }

// Replay hands each commit in the current journal of a PRD to visit.
func (r Reader) Replay(prd string, visit func(state.Commit) error) (journal.Tail, error) {
	return r.replay(prd, r.Layout.JournalPath(prd), visit)
}

func (r Reader) replay(prd, path string, visit func(state.Commit) error) (journal.Tail, error) {
	return journal.Replay(prd, path, store.OpenLog(r.Layout.FS, path), visit)
}
