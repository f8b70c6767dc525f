package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner/record"
)

// addCheckpoint adds a checkpoint to the next commit if the policy asks for one on this
// trigger.
func (l *loop) addCheckpoint(t state.Trigger, reason string) {
	l.session.Checkpoint(t, reason, l.git)
}

// readGit reads the branch and commit of git for the next checkpoints.
func (l *loop) readGit() {
	if l.opts.Git == nil {
		return
	}
	head, err := l.opts.Git.Head(l.ctx)
	if err != nil {
		l.warnUser(errors.Join(errors.New("where git stands could not be read"), err).Error())
		return
	}
	if head != nil && l.opts.Mask(string(head.Branch)) != string(head.Branch) {
		l.warnUser("the name of the git branch holds a sensitive value: the checkpoints that come do not say where git stands")
		head = nil
	}
	l.git = head
}

// readWorkTree reads for the next checkpoint how the files of the git work tree differ from
// HEAD. The caller must ensure that nothing runs. A signal ends it, and the checkpoint then
// has what git said last, if that is still true of its files.
func (l *loop) readWorkTree() {
	if l.opts.Git == nil || l.atOnce || l.recorder.Err() != nil {
		return
	}
	var tree *state.WorkTree
	err := l.runUntilSignal(func(ctx context.Context) (err error) {
		tree, err = checkpoint.ReadWorkTree(ctx, l.files, l.session.State())
		return err
	})
	switch {
	case errors.Is(err, record.ErrGivenUp):
	case err != nil:
		l.warnUser("which files differ from the commit of git could not be read: " + err.Error())
	default:
		l.session.RecordWorkTree(tree)
	}
}

// checkpointLastStep makes the checkpoints of the last completed step if Runner was killed
// while it captured the files for them. The caller must call it before any capture. The
// checkpoints hold the files of the last capture before the kill, with the artifacts of
// the step, and never files that were edited since. It returns the durable commits.
func (op *opening) checkpointLastStep() ([]state.Commit, error) {
	l := op.loop
	st := l.session.State()
	last := st.LastStep
	made := func(ref *state.CheckpointRef) bool { return ref.StepSeq == last.Seq }
	if !st.WasKilled() || last.Step == 0 || last.Later || slices.ContainsFunc(st.Checkpoints, made) {
		return nil, nil
	}
	git := st.Git
	if n := len(st.Checkpoints); n > 0 && st.Checkpoints[n-1].Git != nil {
		git = st.Checkpoints[n-1].Git // the commit at which the killed run was
	}
	l.session.Checkpoint(state.TriggerWorkstreamComplete, "the runner was killed before it was made", git)
	if w := st.Workstream(st.StepName()); w != nil && w.Phase() != nil && batchDone(w.Phase(), w.Batch) {
		l.session.Checkpoint(state.TriggerBatchComplete, fmt.Sprintf("batch %d", w.Batch), git)
	}
	return l.session.Drain(l.ctx) // the next events must not share a commit with these checkpoints
}

// batchDone reports whether all workstreams of a batch are finished.
func batchDone(p *state.Phase, batch int) bool {
	return !slices.ContainsFunc(p.Workstreams, func(w *state.Workstream) bool {
		return w.Batch == batch && !w.Finished()
	})
}
