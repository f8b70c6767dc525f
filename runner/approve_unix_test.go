//go:build unix

package runner_test

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// TestApprovalOfWhatCannotBeRead adds a named pipe to the files that an approval covers.
// Runner refuses the approval and keeps the question open. When the pipe is removed,
// Runner accepts the same approval.
func TestApprovalOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" { script = "echo A >> ran" }
  gate "sign-off" {
    inputs = ["in/*"]
    approval { message = "Ship?" }
  }
}
`)
	b.write("in/a.txt", "1")
	request := checkpoint.Request{PRD: "PRD-001", Verb: checkpoint.VerbApprove, Gate: "sign-off (one)", By: state.Actor{User: "ann"}}
	alone := func(*checkpoint.Session) error { return errors.New("no build is running") }
	answers := make(chan error, 2)
	asked := onEvent(func(e state.Event) bool { return e.Kind() == state.KindGateAsked }, func() {
		if err := syscall.Mkfifo(b.path("in/f"), 0o600); err != nil {
			t.Error(err)
		}
		go func() {
			answers <- b.store.Ask(context.Background(), request, alone)
			b.remove("in/f")
			answers <- b.store.Ask(context.Background(), request, alone)
		}()
	})
	b.must(state.StatusComplete, asked, func(o *runner.Options) { o.Asker = silent{asked: func() {}} })
	var refused *checkpoint.RefusedError
	if err := <-answers; !errors.As(err, &refused) {
		t.Errorf("the first answer: %v, want a refusal", err)
	}
	if err := <-answers; err != nil {
		t.Errorf("the second answer: %v", err)
	}
}
