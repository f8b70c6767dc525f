package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
)

// question is an approval or a review that waits for the user.
type question struct {
	gate    *gateRun // its verdict is the one that the user is asked to approve
	review  bool
	prompt  context.CancelFunc // ends the prompt at the terminal; nil without one
	expiry  *time.Timer
	checked bool // an answer is being checked
	late    bool // the approval expired while an answer was being checked
}

// endPrompt cancels the prompt. The prompt reports its end in a later event.
func (q *question) endPrompt() {
	if q.prompt != nil {
		q.prompt()
	}
}

// ask asks the user to approve the files and values to which the verdict is bound. If the
// same question was asked before and has not expired, ask continues to wait for its
// answer.
func (g *gateRun) ask() {
	l := g.loop
	rec := l.session.State().Gate(g.Label())
	now := l.o.Now()
	q := &question{gate: g}
	asked, diags := l.planner.VerdictSince(g.Gate, rec.Seen)
	if rec.Status == state.Waiting && !diags.HasErrors() && rec.Verdict().Same(asked) && (rec.ExpiresAt == nil || rec.ExpiresAt.After(now)) {
		g.verdict = rec.Verdict()
		q.wait(rec.ExpiresAt)
		return
	}
	e := state.GateAsked{Verdict: g.verdict, Message: state.Text(l.o.Mask(g.Approval.Message)), Approvers: g.Approval.Approvers}
	if g.Approval.Timeout > 0 {
		at := now.Add(g.Approval.Timeout)
		e.ExpiresAt = &at
	}
	if err := journal.Recordable(e); err != nil {
		g.unjudgeable(state.Failure{Outcome: "error", Message: state.Text(err.Error())})
		return
	}
	l.recorder.Add(func() { q.wait(e.ExpiresAt) }, e)
}

// reviewOr waits for a review if the gate is marked for review, and otherwise calls then at
// once.
func (g *gateRun) reviewOr() {
	l := g.loop
	switch {
	case !l.session.State().Gate(g.Label()).Review:
		g.then(true)
	default:
		q := &question{gate: g, review: true}
		l.recorder.Add(func() {
			if l.o.Asker == nil || l.status != running {
				q.leave()
				return
			}
			q.wait(nil)
		})
	}
}

// leave pauses the session for a review that the user did not give in this run. The
// gate has passed, so its workstream or phase is complete. Nothing else starts.
func (q *question) leave() {
	l := q.gate.loop
	l.cause.reviews = append(l.cause.reviews, q.gate.Label())
	l.halt(stopPause)
	q.gate.then(true)
}

// wait prompts at the terminal, if there is one. An answer may also come as a request from
// another command. Other work continues meanwhile.
func (q *question) wait(expires *time.Time) {
	l := q.gate.loop
	label := q.gate.Label()
	l.asked[label] = q
	if expires != nil {
		q.expiry = time.AfterFunc(max(0, expires.Sub(l.o.Now())), func() { l.events <- func() { q.expire() } })
	}
	if l.o.Asker == nil || l.status != running {
		return
	}
	shown := Question{Gate: label, Review: q.review, Message: "Go on after " + label + "?"}
	if !q.review {
		shown.Message, shown.Approvers = l.o.Mask(q.gate.Approval.Message), q.gate.Approval.Approvers
	}
	within, cancel := context.WithCancel(l.ctx)
	q.prompt = cancel
	go func() {
		answer, err := l.o.Asker.Approve(within, shown)
		l.events <- func() { q.prompted(answer, err) }
	}()
}

// prompting reports whether a prompt is open at the terminal, or an answer is being
// checked.
func (l *loop) prompting() bool {
	for _, q := range l.asked {
		if q.prompt != nil || q.checked {
			return true
		}
	}
	return false
}

// prompted handles the answer that the user gave at the terminal.
func (q *question) prompted(answer Answer, err error) {
	l := q.gate.loop
	label := q.gate.Label()
	q.endPrompt()
	q.prompt = nil
	if l.asked[label] != q {
		return // another command answered the question
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		l.warn(fmt.Sprintf("the answer for %s could not be read: %v", label, err))
	}
	if err == nil && answer.Verdict != Later && answer.Verdict != "" {
		l.answer(label, answer, func(refusal error) {
			if refusal != nil {
				l.warn(refusal.Error())
			}
		})
		return
	}
	if q.review {
		delete(l.asked, label)
		q.leave()
	}
}

// answer handles the user's answer to a question. It calls reply with nil once the accepted
// answer is durable, or with the reason for which it refuses the answer.
func (l *loop) answer(label string, answer Answer, reply func(refusal error)) {
	q := l.asked[label]
	switch {
	case q == nil || q.checked:
		reply(fmt.Errorf("%s does not wait for an answer", label))
	case answer.To != (state.Verdict{}) && !answer.To.Same(l.session.State().Gate(label).Verdict()):
		reply(fmt.Errorf("what %s asked about has changed meanwhile, and it asks again: look at it, and answer that", label))
	case !q.review && len(q.gate.Approval.Approvers) > 0 && !slices.Contains(q.gate.Approval.Approvers, answer.By.User):
		reply(fmt.Errorf("%s may be answered by %s, not by %s", label, text.Enumerate(q.gate.Approval.Approvers), answer.By.User))
	case answer.Verdict == Reject:
		q.rejected(answer, reply)
	case q.review:
		q.close()
		l.recorder.Add(func() { reply(nil); q.gate.then(true) }, state.GateReviewed{Gate: label, By: answer.By, Comment: l.comment(answer)})
	default:
		q.check(answer, reply)
	}
}

// check reads the files and values again, which must still be those that the user was
// asked about, and then accepts the approval.
func (q *question) check(answer Answer, reply func(refusal error)) {
	label := q.gate.Label()
	q.checked = true
	q.gate.survey(func(err error) {
		q.checked = false
		v, diags := q.gate.loop.planner.VerdictSince(q.gate.Gate, q.gate.verdict.Seen)
		switch {
		case q.gate.loop.cut():
			reply(fmt.Errorf("%s: the run is ending; answer again", label))
		case q.late:
			reply(fmt.Errorf("%s: the time to answer is over", label))
			q.expire()
		case err != nil:
			reply(fmt.Errorf("what %s asks about can't be read: %w", label, err))
		case diags.HasErrors() || !v.Same(q.gate.verdict):
			q.close()
			reply(fmt.Errorf("what %s asks about has changed; it is asked again", label))
			q.gate.takeMended(func(err error) { q.gate.judged(err) })
		default:
			q.approved(answer, reply)
		}
	})
}

func (q *question) approved(answer Answer, reply func(error)) {
	l := q.gate.loop
	label := q.gate.Label()
	q.close()
	l.recordedFiles.pass(label, l.facts.Judging[label].Files)
	l.recorder.Add(nil, state.GateApproved{Verdict: q.gate.verdict, By: answer.By, Comment: l.comment(answer)})
	l.checkpoint(state.TriggerGatePassed, label)
	l.recorder.Add(func() { reply(nil); q.gate.then(true) })
}

func (q *question) rejected(answer Answer, reply func(error)) {
	l := q.gate.loop
	label := q.gate.Label()
	q.close()
	comment := l.comment(answer)
	message := state.Text("rejected by " + answer.By.User)
	if comment != "" {
		message += ": " + comment
	}
	v := state.Verdict{Gate: label}
	if !q.review {
		v = q.gate.verdict
		v.Gate = label
	}
	l.recorder.Add(func() { reply(nil); q.gate.then(false) }, state.GateRejected{Verdict: v, By: answer.By, Reason: comment})
	l.fail(state.Failure{Workstream: ownerOf(q.gate.Gate), Gate: label, Outcome: "rejected", Message: message})
}

func (l *loop) comment(a Answer) state.Text { return state.Text(l.o.Mask(a.Comment)) }

// close removes a question, and ends its prompt and its timer.
func (q *question) close() {
	delete(q.gate.loop.asked, q.gate.Label())
	q.endPrompt()
	if q.expiry != nil {
		q.expiry.Stop()
	}
}

// expire fails an approval that the user did not give in time.
func (q *question) expire() {
	if q.gate.loop.asked[q.gate.Label()] != q {
		return
	}
	if q.checked {
		q.late = true // the answer that is being checked is refused
		return
	}
	q.close()
	q.gate.fail(nil, 0, state.Failure{
		Outcome: "timed_out", Message: state.Text(fmt.Sprintf("nobody approved within %s", q.gate.Approval.Timeout)),
	})
}
