package view

import (
	"context"
	"errors"
	"slices"
	"strings"

	"prdrunner/runner"
)

// The keys of the answers to the question of a gate.
const (
	keyYes        = "y"
	keyNo         = "n"
	keyDifference = "d"
	keyView       = "v"
	keyLater      = "l"
)

// Approve implements runner.Asker.
func (t *Terminal) Approve(ctx context.Context, q runner.Question) (runner.Answer, error) {
	var facts Painted
	if t.Guide != nil { // before the screen is held, since it reads files
		facts = t.Guide.Facts(ctx, q)
	}
	defer t.interrupt()()
	later := runner.Answer{Verdict: runner.Later, By: t.by}
	defer t.introduce(t.introductionOf(q, facts))()
	if len(q.Approvers) > 0 && !slices.Contains(q.Approvers, t.by.User) {
		t.printf("Only %s can answer; %s cannot.\n", OneLine(strings.Join(q.Approvers, " or ")), OneLine(t.by.User))
		t.sayLater(q)
		return later, nil
	}
	answer, err := t.answer(ctx, q, later)
	if err == nil && answer.Verdict == runner.Later {
		t.sayLater(q)
	}
	return answer, err
}

// answer asks until the user gives, refuses or postpones an answer, and shows meanwhile what the user
// wants to see.
func (t *Terminal) answer(ctx context.Context, q runner.Question, later runner.Answer) (runner.Answer, error) {
	question := "(y)es, (n)o, (l)ater: "
	choices := []Choice{{keyYes, "yes"}, {keyNo, "no"}, {keyLater, "later"}}
	if t.Guide != nil {
		question = "(y)es, (n)o, (d)ifference, (v)iew details, (l)ater: "
		choices = []Choice{{keyYes, "yes"}, {keyNo, "no"}, {keyDifference, "difference"}, {keyView, "view"}, {keyLater, "later"}}
	}
	for {
		key, err := t.Choose(ctx, question, choices)
		switch {
		case errors.Is(err, ErrNoAnswer):
			return later, nil
		case err != nil:
			return later, err
		}
		switch key {
		case keyYes:
			return t.approve(ctx, q, later)
		case keyNo:
			return t.reject(ctx, later)
		case keyDifference:
			t.printf("%s\n", t.Guide.Difference(ctx, q))
		case keyView:
			t.printf("%s\n", t.Guide.Details(ctx, q))
		default:
			return later, nil
		}
	}
}

// introduce prints what a question is about, and remembers it until the returned function is called, to show it again
// with the question.
func (t *Terminal) introduce(text string) (end func()) {
	t.printf("%s", text)
	t.introduction = text
	return func() { t.introduction = "" }
}

func (t *Terminal) introductionOf(q runner.Question, facts Painted) string {
	p := Page{color: t.color}
	what := "waits for approval"
	if q.Review {
		what = "passed; look at what it judged before the run continues"
	}
	p.Printf("\n%s %s %s\n", p.Paint(Yellow, "?"), p.Paint(Bold, q.Gate), what)
	p.Paragraph("  ", q.Message)
	p.Printf("%s", facts)
	return p.String()
}

// sayLater says how a question is answered that stays open.
func (t *Terminal) sayLater(q runner.Question) {
	if t.Guide != nil {
		t.printf("To answer later: %s\n", OneLine(t.Guide.Later(q)))
	}
}

func (t *Terminal) approve(ctx context.Context, q runner.Question, later runner.Answer) (runner.Answer, error) {
	inputs, err := t.askInputs(ctx, q.Inputs)
	switch {
	case errors.Is(err, ErrNoAnswer):
		return later, nil
	case err != nil:
		return later, err
	case len(inputs) == 0:
		inputs = nil
	}
	return runner.Answer{Verdict: runner.Approve, Inputs: inputs, By: t.by}, nil
}

func (t *Terminal) reject(ctx context.Context, later runner.Answer) (runner.Answer, error) {
	reason, err := t.askLine(ctx, "Why not (what it judged will run again; the reason may be empty): ")
	if errors.Is(err, ErrNoAnswer) {
		return later, nil
	}
	if err != nil {
		return later, err
	}
	return runner.Answer{Verdict: runner.Reject, Comment: reason, By: t.by}, nil
}
