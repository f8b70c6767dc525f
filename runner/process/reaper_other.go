//go:build !linux

package process

// reaper does nothing here: orphans are not children of Runner.
type reaper struct{}

func (*Executor) startReaper() {}

func (*Executor) stopReaper() {}
