package runner

import (
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
)

// handleRequests reads the requests of other commands from the session's inbox and
// executes them.
func (l *loop) handleRequests() {
	all, err := l.session.Requests()
	if !l.recorder.Check(err) {
		return
	}
	if err != nil && !l.warnedInbox {
		l.warnUser(fmt.Sprintf("the inbox can't be read: %v", err))
	}
	l.warnedInbox = err != nil
	l.passOnPause()
	for _, r := range all {
		l.handleRequest(r, func(refusal error) {
			if err := l.session.Answer(r, refusal); err != nil {
				l.warnUser(fmt.Sprintf("a request could not be answered: %v", err))
			}
		})
	}
}

// handleRequest executes a request. It calls reply with nil once the result is durable,
// or with the reason for refusing the request.
func (l *loop) handleRequest(r checkpoint.Request, reply func(refusal error)) {
	answer := Answer{Comment: string(r.Comment), Inputs: r.Inputs, Again: r.To, By: r.By}
	if r.Judged != "" {
		answer.To = state.Verdict{Gate: r.Gate, Definition: r.Definition, Judged: r.Judged}
	}
	switch {
	case l.concluding:
		reply(errors.New("the run has just ended"))
	case r.Verb == checkpoint.VerbPause:
		l.cause.requested = true
		l.recorder.Add(func() { reply(nil) }, state.PauseAsked{By: r.By, Reason: l.maskComment(answer)})
		l.stopNewWork(stopPause)
	case r.Verb == checkpoint.VerbApprove:
		answer.Verdict = Approve
		l.handleAnswer(r.Gate, answer, reply)
	case r.Verb == checkpoint.VerbReject:
		answer.Verdict = Reject
		l.handleAnswer(r.Gate, answer, reply)
	case r.Verb == checkpoint.VerbCreate:
		l.createCheckpoint(l.maskComment(answer), reply)
	case r.Verb == checkpoint.VerbResolve:
		reply(fmt.Errorf("%s can be resolved once the run has ended", r.Workstream))
	default:
		reply(fmt.Errorf("the runner does not know the request %q", r.Verb))
	}
}

// createCheckpoint makes a checkpoint that the user requested, of the files that were
// captured last.
func (l *loop) createCheckpoint(reason state.Text, reply func(refusal error)) {
	id, made := l.session.Checkpoint(state.TriggerManual, string(reason), l.git)
	if !made {
		reply(errors.New("checkpoints are switched off"))
		return
	}
	l.recorder.Add(func() {
		if l.recorder.WriteCheckpoints(); !l.session.Written(id) {
			reply(errors.New("its file could not be written"))
			return
		}
		reply(nil)
	})
}
