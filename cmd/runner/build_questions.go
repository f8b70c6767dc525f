package main

import (
	"context"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/approval"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/sink"
)

// askedQuestions returns what the gates of the session ask that wait for a person, with what a person
// judges who answers.
func (b *build) askedQuestions(ctx context.Context) []sink.Question {
	st := b.state()
	if st == nil {
		return nil
	}
	var gates []*state.Gate
	for g := range st.Gates() {
		if info.Awaits(g) {
			gates = append(gates, g)
		}
	}
	questions := make([]sink.Question, len(gates))
	for i, judged := range (approval.Reader{Env: b.env, Store: b.Store, State: st}).Find(ctx, gates...) {
		questions[i] = b.askedQuestion(gates[i], judged)
	}
	return questions
}

func (b *build) askedQuestion(g *state.Gate, judged *info.Judged) sink.Question {
	q := sink.Question{Gate: g.Label, Message: state.Text(b.Masker.String(string(g.Message))), More: string(judged.Files.Difference)}
	for _, line := range judged.Lines() {
		q.Facts = append(q.Facts, b.Masker.String(line))
	}
	for _, line := range judged.Files.Lines() {
		q.Files = append(q.Files, b.Masker.String(line))
	}
	if g.ExpiresAt == nil || g.ExpiresAt.After(b.env.Now()) {
		prd := b.Pipeline.ID
		q.Answers = []string{b.env.Command(info.ApproveCommand(prd, g.Label, g.Asks)), b.env.Command(info.RejectCommand(prd, g.Label))}
	}
	return q
}
