package runner

import (
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/runner/plan"
)

// captures says how much of a session's time went into captures.
type captures struct {
	made      int
	took      time.Duration
	measuring bool
}

const (
	// freeCaptures is how many captures a session makes whatever they cost.
	freeCaptures = 10
	// captureShare is the part of a session's time, one in so many, up to which
	// captures at the boundaries of workstreams may take.
	captureShare = 10
)

// count begins with what is on record of earlier runs.
func (c *captures) count(st *checkpoint.State) {
	c.made += st.Captures.Made
	c.took += time.Duration(st.Captures.TookMS) * time.Millisecond
}

// measure takes in a capture that begins now, whatever comes of it, when the function
// that it returns is called. One within another is not counted twice.
func (c *captures) measure(now func() time.Time) (ended func()) {
	if c.measuring {
		return func() {}
	}
	c.measuring = true
	began := now()
	return func() {
		c.measuring = false
		c.made++
		c.took += now().Sub(began)
	}
}

// affordable reports whether one more may be made in a session that was active for so
// long.
func (c *captures) affordable(active time.Duration) bool {
	return c.made < freeCaptures || c.took*captureShare <= active
}

// captureBoundary captures the files when a workstream is complete, if nothing else
// runs: then they are what the workstreams that are complete have left. It adds the
// checkpoints of the boundary. What it takes to make these durable of their own counts,
// too.
func (l *loop) captureBoundary(checkpoints func()) {
	if !l.mayCapture() {
		checkpoints()
		return
	}
	defer l.captures.measure(l.o.Now)()
	l.drain() // which may start something
	if !l.resting() || l.status != running || l.fatal != nil {
		checkpoints()
		return
	}
	l.capture(checkpoint.TriggerWorkstreamComplete)
	if l.files.CommitsToBranch() {
		l.readGit()
	}
	checkpoints()
	l.drain() // what completes next must not stand in one commit with them
}

// mayCapture reports whether the files may be captured at a boundary.
func (l *loop) mayCapture() bool {
	if l.o.Capture != CaptureBoundary || !l.o.Store.Captures() || l.status != running || l.fatal != nil || !l.resting() {
		return false
	}
	active := time.Duration(l.x.State().ActiveMS)*time.Millisecond + l.o.Now().Sub(l.ran)
	return l.captures.affordable(active)
}

// resting reports whether nothing runs, and nothing that failed is about to be tried
// again: what that has left is of no workstream that is complete.
func (l *loop) resting() bool { return l.slots.Resting() }

// checkpointLastStep makes the checkpoints of the step that completed last, where the
// runner was killed while it captured the files for them. It comes before anything is
// captured: their files are those of the last capture before the kill, with the artifacts
// of the step, and never those that were edited since. It returns what is durable then.
func (l *loop) checkpointLastStep() ([]checkpoint.Commit, error) {
	st := l.x.State()
	last := st.LastStep
	made := func(ref *checkpoint.CheckpointRef) bool { return ref.StepSeq == last.Seq }
	if !plan.WasKilled(st) || last.Step == 0 || last.Later || slices.ContainsFunc(st.Checkpoints, made) {
		return nil, nil
	}
	git := st.Git
	if n := len(st.Checkpoints); n > 0 && st.Checkpoints[n-1].Git != nil {
		git = st.Checkpoints[n-1].Git // where the killed run stood
	}
	l.x.Checkpoint(checkpoint.TriggerWorkstreamComplete, "the runner was killed before it was made", git)
	if w := st.Workstream(st.StepName()); w != nil && w.Phase() != nil && batchDone(w.Phase(), w.Batch) {
		l.x.Checkpoint(checkpoint.TriggerBatchComplete, fmt.Sprintf("batch %d", w.Batch), git)
	}
	return l.x.Drain(l.ctx) // what comes next must not stand in one commit with them
}

// batchDone reports whether all workstreams of a batch are complete or skipped.
func batchDone(p *checkpoint.Phase, batch int) bool {
	return !slices.ContainsFunc(p.Workstreams, func(w *checkpoint.Workstream) bool {
		return w.Batch == batch && w.Status != checkpoint.Completed && w.Status != checkpoint.Skipped
	})
}
