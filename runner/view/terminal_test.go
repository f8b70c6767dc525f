package view_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
)

func terminal(in io.Reader, out io.Writer) *view.Terminal {
	return view.NewTerminal(in, out, state.Actor{User: "alice"}, false)
}

func TestApprove(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in  string
		question  runner.Question
		want      runner.Verdict
		comment   string
		mustShow  string
		mustShow2 string
	}{
		{"approve", "y\n", runner.Question{Gate: "sign-off (services)", Message: "Ship it?"}, runner.Approve, "", "sign-off (services)", "Ship it?"},
		{"whole word", "Yes\n", runner.Question{Gate: "g"}, runner.Approve, "", "(y)es, (n)o, (l)ater: ", ""},
		{"reject", "n\nnot yet\n", runner.Question{Gate: "g"}, runner.Reject, "not yet", "", ""},
		{"reject without a reason", "n\n\n", runner.Question{Gate: "g"}, runner.Reject, "", "the reason may be empty", ""},
		{"reject without an end", "no\nnot", runner.Question{Gate: "g"}, runner.Later, "", "", ""},
		{"later", "l\n", runner.Question{Gate: "g"}, runner.Later, "", "", ""},
		{"asked again", "\nsure\nd\ny\n", runner.Question{Gate: "g"}, runner.Approve, "", "Please type one of y, n, l, and Enter.\n(y)es, (n)o, (l)ater: Please type one of y, n, l, and Enter.\n", ""},
		{"end of input", "", runner.Question{Gate: "g"}, runner.Later, "", "", ""},
		{"line never sent off", "y", runner.Question{Gate: "g"}, runner.Later, "", "", ""},
		{"not an approver", "y\n", runner.Question{Gate: "g", Approvers: []string{"bob"}}, runner.Later, "", "Only bob can answer; alice cannot.", ""},
		{"an approver", "y\n", runner.Question{Gate: "g", Approvers: []string{"bob", "alice"}}, runner.Approve, "", "", ""},
		{"review", "y\n", runner.Question{Gate: "g", Review: true}, runner.Approve, "", "(y)es", "passed"},
		{"long message", "l\n", runner.Question{Gate: "g", Message: "Ship it?\n\x1b[2JTo all.\n"}, runner.Later, "", "? g waits for approval\n  Ship it?\n  To all.\n(y)es", ""},
		{"hostile message", "l\n", runner.Question{Gate: "g", Message: "\x1b[2Jx"}, runner.Later, "", "  x\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			got, err := terminal(strings.NewReader(tt.in), &out).Approve(t.Context(), tt.question)
			if err != nil {
				t.Fatal(err)
			}
			if got.Verdict != tt.want || got.Comment != tt.comment || got.By.User != "alice" {
				t.Errorf("answer %+v, want %s %q", got, tt.want, tt.comment)
			}
			if !strings.Contains(out.String(), tt.mustShow) || !strings.Contains(out.String(), tt.mustShow2) {
				t.Errorf("shown:\n%s\nwant in it: %q, %q", out.String(), tt.mustShow, tt.mustShow2)
			}
		})
	}
}

// guide stands for what a session has on record. It implements view.Guide.
type guide struct{}

func (guide) Facts(context.Context, runner.Question) view.Painted      { return "the facts\n" }
func (guide) Difference(context.Context, runner.Question) view.Painted { return "the difference\n" }
func (guide) Details(context.Context, runner.Question) view.Painted    { return "the details\n" }
func (guide) Later(q runner.Question) string                           { return "runner approve PRD-001 " + q.Gate }

// TestApproveWithGuide: what is judged is shown with the question, and more of it as often as the user
// wants; looking is no answer.
func TestApproveWithGuide(t *testing.T) {
	t.Parallel()
	const asks = "(y)es, (n)o, (d)ifference, (v)iew details, (l)ater: "
	for _, tt := range []struct {
		name, in string
		want     runner.Verdict
		shown    []string // in this order
	}{
		{"look, and approve", "d\nv\nd\nyes\n", runner.Approve, []string{"Ship it?", "the facts", asks, "the difference", asks, "the details", asks, "the difference", asks}},
		{"look, and go away", "view\n", runner.Later, []string{"the facts", asks, "the details", asks, "To answer later: runner approve PRD-001 g"}},
		{"later", "l\n", runner.Later, []string{"the facts", asks, "To answer later: runner approve PRD-001 g"}},
		{"reject", "difference\nn\nugly\n", runner.Reject, []string{"the facts", "the difference", asks, "Why not"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			term := terminal(strings.NewReader(tt.in), &out)
			term.Guide = guide{}
			got, err := term.Approve(t.Context(), runner.Question{Gate: "g", Message: "Ship it?"})
			if err != nil || got.Verdict != tt.want {
				t.Fatalf("%+v, %v, want %s", got, err, tt.want)
			}
			rest := out.String()
			for _, text := range tt.shown {
				_, after, found := strings.Cut(rest, text)
				if !found {
					t.Fatalf("%q is not shown, or too early:\n%s", text, out.String())
				}
				rest = after
			}
		})
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "": false, "y": false, "maybe\n": false} {
		got, err := terminal(strings.NewReader(in), io.Discard).Confirm(t.Context(), "Start over?")
		if err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", in, got, err, want)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	conflicts := []plan.Conflict{{Path: "gen/a.go", Workstream: "WS1", Recorded: "sha256:11111111111111", Found: ""}}
	for in, want := range map[string]plan.OnConflict{
		"r\n": plan.ConflictRestore, "keep\n": plan.ConflictKeep, "f\n": plan.ConflictFail, "": plan.ConflictFail, "x\nk\n": plan.ConflictKeep,
	} {
		var out bytes.Buffer
		got, err := terminal(strings.NewReader(in), &out).Resolve(t.Context(), &runner.ConflictError{Conflicts: conflicts})
		if err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", in, got, err, want)
		}
		if !strings.Contains(out.String(), "gen/a.go (WS1): 111111111111 → missing") {
			t.Errorf("the conflict is not shown:\n%s", out.String())
		}
	}
}

// TestResolveWhatRunsAgain: edits that can't be kept are not offered to be kept.
func TestResolveWhatRunsAgain(t *testing.T) {
	t.Parallel()
	undecided := &runner.ConflictError{Conflicts: []plan.Conflict{{Path: "gen/a.go", Workstream: "WS1"}}, Rerun: true}
	for in, want := range map[string]plan.OnConflict{"k\n": plan.ConflictFail, "k\nr\n": plan.ConflictRestore, "f\n": plan.ConflictFail} {
		var out bytes.Buffer
		got, err := terminal(strings.NewReader(in), &out).Resolve(t.Context(), undecided)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", in, got, err, want)
		}
		if text := out.String(); strings.Contains(text, "(k)eep") || !strings.Contains(text, "WS1 runs again, and would make gen/a.go anew") {
			t.Errorf("it does not say why the edits can't be kept:\n%s", text)
		}
	}
}

// reader blocks like a terminal: it tells when somebody waits for it.
type reader struct {
	*io.PipeReader
	asked chan struct{}
}

func (r reader) Read(b []byte) (int, error) {
	r.asked <- struct{}{}
	return r.PipeReader.Read(b)
}

// TestAnswerToAnEarlierQuestion gives a question up, and types the answer to
// it before the next one is asked: it must not count for that.
func TestAnswerToAnEarlierQuestion(t *testing.T) {
	t.Parallel()
	pr, pw := io.Pipe()
	defer pw.Close()
	in := reader{pr, make(chan struct{}, 8)}
	term := terminal(in, io.Discard)
	waits := 0
	term.Ready = func(context.Context, func()) error { waits++; return nil } // it can't wait
	gone := errors.New("answered from beside")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-in.asked
		cancel(gone)
	}()
	if _, err := term.Approve(ctx, runner.Question{Gate: "first"}); !errors.Is(err, gone) {
		t.Fatalf("the question was not given up: %v", err)
	}
	over, end := context.WithCancelCause(t.Context())
	end(gone)
	if _, err := term.Confirm(over, "And now?"); !errors.Is(err, gone) || waits != 1 {
		t.Errorf("while a read goes on: %v, and Ready is called %d times", err, waits)
	}
	// The read is still waiting; what is typed now was meant for the first.
	if _, err := io.WriteString(pw, "y\n"); err != nil {
		t.Fatal(err)
	}
	view.AwaitTyped(term)
	go func() {
		<-in.asked
		_, _ = io.WriteString(pw, "n\n")
	}()
	yes, err := term.Confirm(t.Context(), "Delete everything?")
	if err != nil || yes {
		t.Errorf("Confirm = %v, %v: took the answer to an earlier question", yes, err)
	}
}
