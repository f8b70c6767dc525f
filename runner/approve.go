package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
)

// question is an approval or a review that waits for the user.
type question struct {
	gate      *gateRun // the user is asked to approve its verdict
	review    bool
	number    int                // in the order in which the questions were opened
	prompt    context.CancelFunc // ends the prompt at the terminal; nil without one
	postponed bool               // the user does not want to answer in this run, or can't
	expiry    *time.Timer
	checking  bool // checkApproval is reading the files for an answer
	expired   bool // the approval expired while checking was set
}

// endPrompt cancels the prompt. The prompt reports its end in a later event.
func (q *question) endPrompt() {
	if q.prompt != nil {
		q.prompt()
	}
}

// askApproval asks the user to approve the files and values to which the verdict is
// bound. If the same question was asked before and has not expired, ask continues to wait
// for its answer.
func (g *gateRun) askApproval() {
	l := g.loop
	rec := l.session.State().Gate(g.Label())
	now := l.opts.Now()
	q := &question{gate: g}
	asked, diags := l.planner.VerdictSince(g.Gate, rec.Seen)
	if rec.Status == state.Waiting && !diags.HasErrors() && rec.Verdict().Same(asked) && (rec.ExpiresAt == nil || rec.ExpiresAt.After(now)) {
		g.verdict = rec.Verdict()
		l.showAwaited(Awaited{Gate: g.Label(), Message: string(rec.Message), Since: *cmp.Or(rec.At, &now)})
		q.waitForAnswer(rec.ExpiresAt)
		return
	}
	e := state.GateAsked{Verdict: g.verdict, Message: state.Text(l.opts.Mask(g.Approval.Message)), Approvers: g.Approval.Approvers, Inputs: l.askedInputs(g.Gate)}
	if g.Approval.Timeout > 0 {
		at := now.Add(g.Approval.Timeout)
		e.ExpiresAt = &at
	}
	if err := journal.Recordable(e); err != nil {
		g.failUnjudged(state.Failure{Outcome: "error", Message: state.Text(err.Error())})
		return
	}
	if g.again != "" {
		l.warnUser(fmt.Sprintf("why %s asks: %s", g.Label(), g.again))
	}
	l.recorder.Add(func() { q.waitForAnswer(e.ExpiresAt) }, e)
}

// awaitReview waits for a review if the gate is marked for review. Otherwise it ends the
// gate as passed.
func (g *gateRun) awaitReview() {
	l := g.loop
	switch {
	case !l.session.State().Gate(g.Label()).Review:
		g.onEnd(true)
	default:
		q := &question{gate: g, review: true}
		l.recorder.Add(func() {
			if l.opts.Asker == nil || l.status != running {
				q.pauseForReview()
				return
			}
			l.showAwaited(Awaited{Gate: g.Label(), Message: "Continue?", Since: l.opts.Now()})
			q.waitForAnswer(nil)
		})
	}
}

// pauseForReview pauses the session for a review that the user did not give in this run.
// The gate counts as passed, so its workstream or phase can complete, and nothing else
// starts.
func (q *question) pauseForReview() {
	l := q.gate.loop
	l.cause.reviews = append(l.cause.reviews, q.gate.Label())
	l.stopNewWork(stopPause)
	q.gate.onEnd(true)
}

// waitForAnswer prompts at the terminal, if there is one. Another command may send the
// answer, too. Other work continues meanwhile.
func (q *question) waitForAnswer(expires *time.Time) {
	l := q.gate.loop
	label := q.gate.Label()
	l.questions++
	q.number = l.questions
	l.openQuestions[label] = q
	if expires != nil {
		q.expiry = time.AfterFunc(max(0, expires.Sub(l.opts.Now())), func() { l.events <- func() { q.expire() } })
	}
	l.promptNext()
}

// promptNext asks the user the next open question at the terminal, unless another one is being
// asked: with two prompts at once, one could read the answer to the other. Once the run starts
// nothing new, no question is asked any more.
func (l *loop) promptNext() {
	if l.opts.Asker == nil || l.prompting() {
		return
	}
	unasked := slices.DeleteFunc(slices.Collect(maps.Values(l.openQuestions)), func(q *question) bool { return q.postponed })
	slices.SortFunc(unasked, func(a, b *question) int { return cmp.Compare(a.number, b.number) })
	switch {
	case l.status != running:
		for _, q := range unasked {
			if q.review {
				delete(l.openQuestions, q.gate.Label())
				q.pauseForReview()
			}
		}
	case len(unasked) > 0:
		unasked[0].openPrompt()
	}
}

// openPrompt asks the question at the terminal.
func (q *question) openPrompt() {
	l := q.gate.loop
	label := q.gate.Label()
	shown := Question{Gate: label, Review: q.review, Message: "Continue after " + label + "?"}
	if !q.review {
		shown.Message, shown.Approvers, shown.Inputs = l.opts.Mask(q.gate.Approval.Message), q.gate.Approval.Approvers, l.askedInputs(q.gate.Gate)
	}
	within, cancel := context.WithCancel(l.ctx)
	q.prompt, l.prompted = cancel, q
	go func() {
		answer, err := l.opts.Asker.Approve(within, shown)
		l.events <- func() { q.handlePromptAnswer(answer, err) }
	}()
}

// prompting reports whether a prompt is open at the terminal, or an answer is being
// checked.
func (l *loop) prompting() bool {
	if l.prompted != nil {
		return true
	}
	for _, q := range l.openQuestions {
		if q.checking {
			return true
		}
	}
	return false
}

// handlePromptAnswer handles the answer that the user gave at the terminal.
func (q *question) handlePromptAnswer(answer Answer, err error) {
	l := q.gate.loop
	label := q.gate.Label()
	q.endPrompt()
	q.prompt, l.prompted = nil, nil
	if l.openQuestions[label] != q { // another command answered the question
		l.promptNext()
		return
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		l.warnUser(fmt.Sprintf("the answer for %s could not be read: %v", label, err))
	}
	if err == nil && answer.Verdict != Later && answer.Verdict != "" {
		l.handleAnswer(label, answer, func(refusal error) {
			if refusal != nil {
				l.warnUser(refusal.Error())
			}
			l.promptNext()
		})
		return
	}
	q.postponed = true
	defer l.promptNext()
	if q.review {
		delete(l.openQuestions, label)
		q.pauseForReview()
	}
}

// handleAnswer handles the user's answer to a question. It calls reply with nil once the
// accepted answer is durable, or with the reason for which it refuses the answer.
func (l *loop) handleAnswer(label string, answer Answer, reply func(refusal error)) {
	q := l.openQuestions[label]
	switch {
	case q == nil || q.checking:
		reply(fmt.Errorf("%s does not wait for an answer", label))
	case answer.To != (state.Verdict{}) && !answer.To.Same(l.session.State().Gate(label).Verdict()):
		reply(fmt.Errorf("what %s asked about has changed meanwhile, and it asks again: look at it, and answer that", label))
	case !q.review && len(q.gate.Approval.Approvers) > 0 && !slices.Contains(q.gate.Approval.Approvers, answer.By.User):
		reply(fmt.Errorf("%s may be answered by %s, not by %s", label, text.Enumerate(q.gate.Approval.Approvers), answer.By.User))
	case answer.Verdict == Reject:
		q.acceptRejection(answer, reply)
	case q.review:
		q.close()
		l.recorder.Add(func() { reply(nil); q.gate.onEnd(true) }, state.GateReviewed{Gate: label, By: answer.By, Comment: l.maskComment(answer)})
	default:
		inputs, err := state.CheckInputs(l.askedInputs(q.gate.Gate), answer.Inputs, true)
		if err != nil {
			reply(fmt.Errorf("%s: %w", label, err))
			return
		}
		answer.Inputs = inputs
		q.checkApproval(answer, reply)
	}
}

// askedInputs returns what a gate asks a person to give with an approval.
func (l *loop) askedInputs(g *pipeline.Gate) []state.AskedInput {
	if g.Approval == nil {
		return nil
	}
	var asked []state.AskedInput
	for _, in := range g.Approval.Inputs {
		a := state.AskedInput{Name: in.Name, Type: state.InputType(in.Type), Description: state.Text(l.opts.Mask(in.Description))}
		if in.Default != nil {
			value := state.Text(*in.Default)
			a.Default = &value
		}
		for _, option := range in.Options {
			a.Options = append(a.Options, state.Text(option))
		}
		asked = append(asked, a)
	}
	return asked
}

// maskInputs returns the inputs of an answer without sensitive values.
func (l *loop) maskInputs(a Answer) map[string]state.Text {
	if a.Inputs == nil {
		return nil
	}
	masked := make(map[string]state.Text, len(a.Inputs))
	for name, value := range a.Inputs {
		masked[name] = state.Text(l.opts.Mask(string(value)))
	}
	return masked
}

// checkApproval reads the files and values again. It accepts the approval if they are
// unchanged since the user was asked.
func (q *question) checkApproval(answer Answer, reply func(refusal error)) {
	label := q.gate.Label()
	q.checking = true
	q.gate.surveyFiles(func(err error) {
		q.checking = false
		v, diags := q.gate.loop.planner.VerdictSince(q.gate.Gate, q.gate.verdict.Seen)
		switch {
		case q.gate.loop.tasksCancelled():
			reply(fmt.Errorf("%s: the run is ending; answer again", label))
		case q.expired:
			reply(fmt.Errorf("%s: the time to answer is over", label))
			q.expire()
		case err != nil:
			reply(fmt.Errorf("what %s asks about can't be read: %w", label, err))
		case diags.HasErrors() || !v.Same(q.gate.verdict):
			q.close()
			reply(fmt.Errorf("what %s asks about has changed; it is asked again", label))
			q.gate.recordRepairs(func(err error) { q.gate.handleSurvey(err) })
		default:
			q.acceptApproval(answer, reply)
		}
	})
}

func (q *question) acceptApproval(answer Answer, reply func(error)) {
	l := q.gate.loop
	label := q.gate.Label()
	q.close()
	l.recordedFiles.SetJudged(label, l.facts.Judging[label].Files)
	l.recorder.Add(nil, state.GateApproved{Verdict: q.gate.verdict, By: answer.By, Comment: l.maskComment(answer), Inputs: l.maskInputs(answer)})
	l.addCheckpoint(state.TriggerGatePassed, label)
	l.recorder.Add(func() { reply(nil); q.gate.onEnd(true) })
}

func (q *question) acceptRejection(answer Answer, reply func(error)) {
	l := q.gate.loop
	label := q.gate.Label()
	st := l.session.State()
	again, err := state.Rejection{State: st, Gate: st.Gate(label)}.Work(answer.Again)
	if err == nil {
		answer.Inputs, err = state.CheckInputs(l.askedInputs(q.gate.Gate), answer.Inputs, false)
	}
	if err != nil {
		reply(fmt.Errorf("%s: %w", label, err))
		return
	}
	q.close()
	comment := l.maskComment(answer)
	message := state.Text("rejected by " + answer.By.User)
	if comment != "" {
		message += ": " + comment
	}
	v := state.Verdict{Gate: label}
	if !q.review {
		v = q.gate.verdict
		v.Gate = label
	}
	l.recorder.Add(func() { reply(nil); q.gate.onEnd(false) }, state.GateRejected{Verdict: v, By: answer.By, Reason: comment, Inputs: l.maskInputs(answer), To: again})
	l.addFailure(state.Failure{Workstream: ownerOf(q.gate.Gate), Gate: label, Outcome: "rejected", Message: message}, true)
}

func (l *loop) maskComment(a Answer) state.Text { return state.Text(l.opts.Mask(a.Comment)) }

// close removes a question, and ends its prompt and its timer.
func (q *question) close() {
	delete(q.gate.loop.openQuestions, q.gate.Label())
	q.endPrompt()
	if q.expiry != nil {
		q.expiry.Stop()
	}
}

// expire fails an approval that the user did not give in time.
func (q *question) expire() {
	if q.gate.loop.openQuestions[q.gate.Label()] != q {
		return
	}
	if q.checking {
		q.expired = true // the answer that is being checked is refused
		return
	}
	q.close()
	q.gate.recordFailure(nil, 0, state.Failure{
		Outcome: "timed_out", Message: state.Text(fmt.Sprintf("nobody approved within %s", q.gate.Approval.Timeout)),
	})
}
