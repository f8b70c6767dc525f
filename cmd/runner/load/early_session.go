package load

import (
	"prdrunner/checkpoint"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
)

// EarlySession reads a session while the command reads the pipeline. Commands that change
// nothing spend most of their time on these two.
type EarlySession struct {
	PRD  string // "": no session is read
	done chan struct{}
	snap *checkpoint.Snapshot
	err  error
}

// StartSession starts to read the session of the PRD that ref names, if it names one. The
// caller must call wait.
func StartSession(env *cli.Environment, cfg *config.Config, ref PipelineRef) *EarlySession {
	prd := ref.PRD
	l := &EarlySession{done: make(chan struct{})}
	if prd == "" || CheckPRD(env, cfg, prd) != nil { // SetUp reports the mistake
		close(l.done)
		return l
	}
	store, err := OpenStore(env, cfg, ref)
	if err != nil {
		close(l.done)
		return l
	}
	l.PRD = prd
	go func() {
		defer close(l.done)
		l.snap, l.err = store.Load(prd)
	}()
	return l
}

// Wait returns when the session has been read.
func (l *EarlySession) Wait() { <-l.done }

// Load returns the result of Store.Load. If StartSession started to read the session of the
// same PRD, load waits for that.
func (l *EarlySession) Load(store *checkpoint.Store, prd string) (*checkpoint.Snapshot, error) {
	l.Wait()
	if prd != l.PRD {
		return store.Load(prd)
	}
	return l.snap, l.err
}
