package main

import (
	"prdrunner/checkpoint"
)

// earlyLoad is a session that is read while the pipeline is: for what only looks at
// both, reading them takes most of the time.
type earlyLoad struct {
	prd  string // "": nothing is read
	done chan struct{}
	snap *checkpoint.Snapshot
	err  error
}

// loadEarly begins to read the session of a PRD, where one is named. Whoever begins
// waits.
func loadEarly(env *environment, cfg *config, prd string) *earlyLoad {
	l := &earlyLoad{done: make(chan struct{})}
	if prd == "" || checkPRD(env, cfg, prd) != nil { // which is told when the pipeline is looked for
		close(l.done)
		return l
	}
	store, err := openStore(env, cfg, prd)
	if err != nil {
		close(l.done)
		return l
	}
	l.prd = prd
	go func() {
		defer close(l.done)
		l.snap, l.err = store.Load(prd)
	}()
	return l
}

// wait returns when nothing is read any more.
func (l *earlyLoad) wait() { <-l.done }

// load is Store.Load. It has been begun with where the PRD is the one that was named.
func (l *earlyLoad) load(store *checkpoint.Store, prd string) (*checkpoint.Snapshot, error) {
	l.wait()
	if prd != l.prd {
		return store.Load(prd)
	}
	return l.snap, l.err
}
