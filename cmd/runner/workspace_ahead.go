package main

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
)

// filesAhead are the files of the workspace, which are opened while the session is
// locked: neither waits for the other.
type filesAhead struct {
	opened chan struct{} // closed when they are, or can't be
	w      *workspace.Workspace
	err    error
	cancel context.CancelFunc
	taken  bool
}

// openAhead begins to open the files of the workspace for a capture, and to load what
// that is compared with, as a state has it which was read without a lock: if it is another
// one by then, that costs time and nothing else. Whoever calls it calls stop in the end.
func openAhead(ctx context.Context, env *environment, cfg *config, store *checkpoint.Store, st *checkpoint.State) *filesAhead {
	ctx, cancel := context.WithCancel(ctx)
	f := &filesAhead{opened: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(f.opened)
		if f.w, f.err = openWorkspace(ctx, env, cfg, store); f.err == nil && st.Capture != nil {
			f.w.LoadAhead(ctx, st.Capture.Listing)
		}
	}()
	return f
}

// take hands the files over, which whoever takes them closes.
func (f *filesAhead) take() (*workspace.Workspace, error) {
	<-f.opened
	f.taken = f.err == nil
	return f.w, f.err
}

// stop ends it, and closes what nobody took.
func (f *filesAhead) stop() {
	f.cancel()
	<-f.opened
	if f.err == nil && !f.taken {
		_ = f.w.Close() // nothing was written through it
	}
}
