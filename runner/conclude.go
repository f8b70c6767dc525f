package runner

import (
	"fmt"

	"prdrunner/checkpoint/state"
)

// conclude records how the run ended, makes the last checkpoint, and runs the
// hooks, in this order.
func (l *loop) conclude() (Ending, error) {
	event, trigger, hook := l.cause.endEvent()
	for _, q := range l.openQuestions {
		q.close()
	}
	l.concluding = true
	if l.recorder.Err() == nil {
		l.captures.capture(trigger)
		l.readGit() // a capture may be a commit
		l.readWorkTree()
		switch {
		case l.captures.failed && l.cause.signal != "": // a signal may have come during the capture
			event, trigger, hook = l.cause.endEvent()
		case completes(event) && l.cause.unwritten != nil:
			event, trigger, hook = l.cause.pausedForCheckpoint()
		}
		ranMS := max(0, l.opts.Now().Sub(l.activeSince).Milliseconds())
		l.recorder.Add(nil, withHooks(l.pipeline, withDuration(event, ranMS), hook, ranMS)...)
		l.addCheckpoint(trigger, "")
		l.recorder.WriteAll()
		if completes(event) && l.recorder.Err() == nil && l.cause.unwritten != nil {
			// All work is done. The session must not end yet, since the last checkpoint
			// is not on disk.
			event, _, hook = l.cause.pausedForCheckpoint()
			l.recorder.Add(nil, withHooks(l.pipeline, event, hook, ranMS)...)
			l.recorder.Drain()
		}
	}
	st := l.session.State()
	e := Ending{
		Status: st.Status, Error: st.Error, Failed: l.cause.failures, Allowed: state.AllowedFailures(st.Phases), Pause: st.Pause, Signal: l.cause.signal,
		Duration: l.opts.Now().Sub(l.beganAt), Unwritten: l.recorder.Unwritten(),
	}
	if l.recorder.Err() == nil && !l.atOnce {
		l.runHooks()
	}
	for _, v := range l.opts.Views {
		v.End(e)
	}
	if l.recorder.Err() != nil {
		return e, fmt.Errorf("record the session: %w", l.recorder.Err())
	}
	return e, nil
}
