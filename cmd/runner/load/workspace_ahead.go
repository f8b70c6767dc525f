package load

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
)

// workspaceAhead opens the files of the workspace in the background while the command locks
// the session, so that neither waits for the other.
type workspaceAhead struct {
	opened  chan struct{} // closed when the files are open, or opening them failed
	w       *workspace.Workspace
	err     error
	cancel  context.CancelFunc
	awaited bool
}

// OpenWorkspaceAhead starts to open the files of the workspace for a capture, and to load
// the listing of the last capture in st, with which the new one is compared. st was read
// without a lock: if the session has another capture by the time it is locked, only time
// is lost. The caller must call stop.
func OpenWorkspaceAhead(ctx context.Context, env *cli.Environment, cfg *config.Config, store *checkpoint.Store, st *state.State) *workspaceAhead {
	ctx, cancel := context.WithCancel(ctx)
	f := &workspaceAhead{opened: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(f.opened)
		if f.w, f.err = OpenWorkspace(ctx, env, cfg, store); f.err == nil && st.Capture != nil {
			f.w.LoadAhead(ctx, st.Capture.Listing)
		}
	}()
	return f
}

// Await waits until the files are open, and returns them. The caller must close them.
func (f *workspaceAhead) Await() (*workspace.Workspace, error) {
	<-f.opened
	f.awaited = f.err == nil
	return f.w, f.err
}

// Stop stops opening the files, and closes them if take did not return them.
func (f *workspaceAhead) Stop() {
	f.cancel()
	<-f.opened
	if f.err == nil && !f.awaited {
		_ = f.w.Close() // nothing was written through it
	}
}
