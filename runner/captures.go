package runner

import (
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// captures captures the files of the workspace. It bounds what the captures of a session cost.
type captures struct {
	l *loop

	made      int           // the number of captures of the session
	took      time.Duration // the time that they took
	measuring bool
	failed    bool // the last capture failed, and was not skipped

	toldLeftOut  bool     // the user was told which files captures leave out
	toldUnstable []string // files that kept changing, about which the user was told
}

const (
	// freeCaptures is the number of captures that a session makes whatever they cost.
	freeCaptures = 10
	// captureShare bounds the time of captures at the boundaries of workstreams: they
	// may take one part in captureShare of the session's time.
	captureShare = 10
)

// count adds the captures of earlier runs, which the state records.
func (c *captures) count(st *state.State) {
	c.made += st.Captures.Made
	c.took += time.Duration(st.Captures.TookMS) * time.Millisecond
}

// measure starts to measure a capture. The caller must call the returned function at the end
// of the capture, whether it succeeded or not. A capture within another is not counted.
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

// affordable reports whether another capture may be made in a session that was active for
// the given time.
func (c *captures) affordable(active time.Duration) bool {
	return c.made < freeCaptures || c.took*captureShare <= active
}

// takeAtBoundary captures the files when a workstream is complete, if nothing else runs:
// only then do the files hold just the work of complete workstreams. It calls checkpoints,
// which adds the checkpoints of the boundary. The measured time includes making these
// checkpoints durable in a commit of their own.
func (cs *captures) takeAtBoundary(checkpoints func()) {
	l := cs.l
	if !cs.mayTake() {
		checkpoints()
		return
	}
	defer cs.measure(l.o.Now)()
	l.rec.Drain() // draining may start work
	if !l.slots.Resting() || l.status != running || l.rec.Err() != nil {
		checkpoints()
		return
	}
	cs.take(state.TriggerWorkstreamComplete)
	if l.files.CommitsToBranch() {
		l.readGit()
	}
	checkpoints()
	l.rec.Drain() // the next completion must not share a commit with these checkpoints
}

// mayTake reports whether the files may be captured at a boundary: nothing runs, and no
// retry is pending. The files that a failed attempt left belong to no complete workstream.
func (cs *captures) mayTake() bool {
	l := cs.l
	if l.o.Capture != CaptureBoundary || !l.o.Store.Captures() || l.status != running || l.rec.Err() != nil || !l.slots.Resting() {
		return false
	}
	active := time.Duration(l.x.State().ActiveMS)*time.Millisecond + l.o.Now().Sub(l.ran)
	return cs.affordable(active)
}

// checkpointLastStep makes the checkpoints of the last completed step if Runner was killed
// while it captured the files for them. The caller must call it before any capture. The
// checkpoints hold the files of the last capture before the kill, with the artifacts of
// the step, and never files that were edited since. It returns the durable commits.
func (op *opening) checkpointLastStep() ([]state.Commit, error) {
	l := op.l
	st := l.x.State()
	last := st.LastStep
	made := func(ref *state.CheckpointRef) bool { return ref.StepSeq == last.Seq }
	if !plan.WasKilled(st) || last.Step == 0 || last.Later || slices.ContainsFunc(st.Checkpoints, made) {
		return nil, nil
	}
	git := st.Git
	if n := len(st.Checkpoints); n > 0 && st.Checkpoints[n-1].Git != nil {
		git = st.Checkpoints[n-1].Git // the commit at which the killed run was
	}
	l.x.Checkpoint(state.TriggerWorkstreamComplete, "the runner was killed before it was made", git)
	if w := st.Workstream(st.StepName()); w != nil && w.Phase() != nil && batchDone(w.Phase(), w.Batch) {
		l.x.Checkpoint(state.TriggerBatchComplete, fmt.Sprintf("batch %d", w.Batch), git)
	}
	return l.x.Drain(l.ctx) // the next events must not share a commit with these checkpoints
}

// batchDone reports whether all workstreams of a batch are complete or skipped.
func batchDone(p *state.Phase, batch int) bool {
	return !slices.ContainsFunc(p.Workstreams, func(w *state.Workstream) bool {
		return w.Batch == batch && w.Status != state.Completed && w.Status != state.Skipped
	})
}
