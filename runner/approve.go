package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
)

// open is an approval, or a review, that waits for a person.
type open struct {
	gate    *pipeline.Gate
	verdict checkpoint.Verdict
	review  bool
	cancel  context.CancelFunc // ends the prompt; nil without one
	expiry  *time.Timer
	then    func(bool)
}

// ask asks for an approval of what the verdict is bound to.
func (l *loop) ask(ctx context.Context, g *pipeline.Gate, v checkpoint.Verdict, then func(bool)) {
	rec := l.x.State().Gate(g.Label())
	now := l.o.Now()
	same := rec != nil && rec.Status == checkpoint.Waiting && rec.Definition == v.Definition && rec.Judged == v.Judged &&
		(rec.ExpiresAt == nil || rec.ExpiresAt.After(now))
	a := &open{gate: g, verdict: v, then: then}
	if same {
		l.wait(ctx, a, rec.ExpiresAt)
		return
	}
	e := checkpoint.GateAsked{Verdict: v, Message: checkpoint.Text(l.o.Mask(g.Approval.Message)), Approvers: g.Approval.Approvers}
	if g.Approval.Timeout > 0 {
		at := now.Add(g.Approval.Timeout)
		e.ExpiresAt = &at
	}
	l.add(func() { l.wait(ctx, a, e.ExpiresAt) }, e)
}

// reviewOr stops for review where the gate passed and waits for it, and goes
// on otherwise.
func (l *loop) reviewOr(ctx context.Context, g *pipeline.Gate, then func(bool)) {
	rec := l.x.State().Gate(g.Label())
	if rec == nil || !rec.Review {
		then(true)
		return
	}
	if l.o.Asker == nil {
		l.cause.reviews = append(l.cause.reviews, g.Label())
		l.halt(stopPause)
		then(true)
		return
	}
	a := &open{gate: g, review: true, then: then}
	l.add(func() { l.wait(ctx, a, nil) })
}

// wait prompts at the terminal, if there is one, and otherwise waits for an
// answer from beside while other work goes on.
func (l *loop) wait(ctx context.Context, a *open, expires *time.Time) {
	label := a.gate.Label()
	l.asked[label] = a
	if expires != nil {
		a.expiry = time.AfterFunc(max(0, expires.Sub(l.o.Now())), func() { l.events <- func() { l.expire(label) } })
	}
	if l.o.Asker == nil {
		return
	}
	q := Question{Gate: label, Review: a.review, Message: "Go on after " + label + "?"}
	if a.gate.Approval != nil && !a.review {
		q.Message, q.Approvers = l.o.Mask(a.gate.Approval.Message), a.gate.Approval.Approvers
	}
	ctx, a.cancel = context.WithCancel(ctx)
	go func() {
		answer, err := l.o.Asker.Approve(ctx, q)
		l.events <- func() { l.answered(label, answer, err) }
	}()
}

// prompting reports whether somebody at the terminal is being asked.
func (l *loop) prompting() bool {
	for _, a := range l.asked {
		if a.cancel != nil {
			return true
		}
	}
	return false
}

// answered takes in what the person at the terminal said.
func (l *loop) answered(label string, answer Answer, err error) {
	a := l.asked[label]
	if a == nil {
		return // somebody answered from beside
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		l.warn(fmt.Sprintf("the answer for %s could not be read: %v", label, err))
	}
	if err != nil || answer.Verdict == Later || answer.Verdict == "" {
		a.cancel()
		a.cancel = nil
		if a.review {
			delete(l.asked, label)
			l.cause.reviews = append(l.cause.reviews, label)
			l.halt(stopPause)
			a.then(true)
		}
		return
	}
	if err := l.answer(label, answer); err != nil {
		l.warn(err.Error())
		a.cancel = nil
	}
}

// answer records a person's answer, and goes on with it.
func (l *loop) answer(label string, answer Answer) error {
	a := l.asked[label]
	if a == nil {
		return fmt.Errorf("%s does not wait for an answer", label)
	}
	if a.gate.Approval != nil && !a.review && len(a.gate.Approval.Approvers) > 0 && !slices.Contains(a.gate.Approval.Approvers, answer.By.User) {
		return fmt.Errorf("%s may be answered by %s, not by %s", label, list(a.gate.Approval.Approvers), answer.By.User)
	}
	l.close(label)
	comment := checkpoint.Text(l.o.Mask(answer.Comment))
	switch {
	case answer.Verdict == Reject:
		f := checkpoint.Failure{
			Workstream: ownerOf(a.gate), Gate: label, Outcome: "rejected",
			Message: checkpoint.Text("rejected by " + answer.By.User + reasonSuffix(string(comment))),
		}
		v := a.verdict
		v.Gate = label
		l.add(func() { a.then(false) }, checkpoint.GateRejected{Verdict: v, By: answer.By, Reason: comment})
		l.fail(f)
	case a.review:
		l.add(func() { a.then(true) }, checkpoint.GateReviewed{Gate: label, By: answer.By, Comment: comment})
	default:
		l.add(nil, checkpoint.GateApproved{Verdict: a.verdict, By: answer.By, Comment: comment})
		l.checkpoint(checkpoint.TriggerGatePassed, label)
		l.add(func() { a.then(true) })
	}
	return nil
}

func reasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// close ends the prompt and the expiry of a question.
func (l *loop) close(label string) {
	a := l.asked[label]
	delete(l.asked, label)
	if a.cancel != nil {
		a.cancel()
	}
	if a.expiry != nil {
		a.expiry.Stop()
	}
}

// expire fails an approval that nobody gave in time.
func (l *loop) expire(label string) {
	a := l.asked[label]
	if a == nil {
		return
	}
	l.close(label)
	l.failGate(a.gate, a.verdict, nil, 0, checkpoint.Failure{
		Outcome: "timed_out", Message: checkpoint.Text(fmt.Sprintf("nobody approved within %s", a.gate.Approval.Timeout)),
	}, a.then)
}

// requests takes in what other commands asked of the owner of the session.
func (l *loop) requests() {
	all, err := l.x.Requests()
	if err != nil {
		l.warn(fmt.Sprintf("the inbox can't be read: %v", err))
		return
	}
	for _, r := range all {
		refusal := l.request(r)
		l.add(func() {
			if err := l.x.Answer(r, refusal); err != nil {
				l.warn(fmt.Sprintf("a request could not be answered: %v", err))
			}
		})
	}
}

// request does what was asked, or says why not.
func (l *loop) request(r checkpoint.Request) error {
	switch r.Verb {
	case checkpoint.VerbPause:
		l.add(nil, checkpoint.PauseAsked{By: r.By, Reason: r.Comment})
		l.cause.requested = true
		l.halt(stopPause)
		return nil
	case checkpoint.VerbApprove:
		return l.answer(r.Gate, Answer{Verdict: Approve, Comment: string(r.Comment), By: r.By})
	case checkpoint.VerbReject:
		return l.answer(r.Gate, Answer{Verdict: Reject, Comment: string(r.Comment), By: r.By})
	case checkpoint.VerbResolve:
		return fmt.Errorf("%s can be resolved once the run has ended", r.Workstream)
	}
	return fmt.Errorf("the runner does not know the request %q", r.Verb)
}

func (l *loop) warn(message string) {
	for _, v := range l.o.Views {
		v.Warn(l.o.Mask(message))
	}
}
