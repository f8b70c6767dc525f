package main

import (
	"prdrunner/checkpoint"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
)

// earlyLoad reads a session while the command reads the pipeline. Commands that change
// nothing spend most of their time on these two.
type earlyLoad struct {
	prd  string // "": no session is read
	done chan struct{}
	snap *checkpoint.Snapshot
	err  error
}

// loadEarly starts to read the session of a PRD, if prd is not "". The caller must call
// wait.
func loadEarly(env *cli.Environment, cfg *config.Config, prd string) *earlyLoad {
	l := &earlyLoad{done: make(chan struct{})}
	if prd == "" || checkPRD(env, cfg, prd) != nil { // setUp reports the mistake
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

// wait returns when the session has been read.
func (l *earlyLoad) wait() { <-l.done }

// load returns the result of Store.Load. If loadEarly started to read the session of the
// same PRD, load waits for that.
func (l *earlyLoad) load(store *checkpoint.Store, prd string) (*checkpoint.Snapshot, error) {
	l.wait()
	if prd != l.prd {
		return store.Load(prd)
	}
	return l.snap, l.err
}
