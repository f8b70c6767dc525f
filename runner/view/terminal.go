package view

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// ErrNoAnswer says that the input ended before a question was answered. It is
// never taken for a yes.
var ErrNoAnswer = errors.New("no answer")

// Terminal asks a person. It implements runner.Asker. It is for one goroutine
// at a time.
type Terminal struct {
	out   io.Writer
	lines lines
	by    checkpoint.Actor
	color bool
	live  bool
}

// NewTerminal returns a Terminal that reads answers from in and writes
// questions to out, for the person that by names. Live says that out
// understands cursor movement.
func NewTerminal(in io.Reader, out io.Writer, by checkpoint.Actor, color, live bool) *Terminal {
	return &Terminal{out: out, lines: lines{in: bufio.NewReader(in)}, by: by, color: color, live: live}
}

// Choice is one of the answers that Choose offers.
type Choice struct {
	Key  string // what to type: "r"
	Word string // the whole word, which is accepted too: "resume"
}

// Choose asks until one of the choices is typed, and returns its key.
func (t *Terminal) Choose(ctx context.Context, question string, choices []Choice) (string, error) {
	for {
		answer, err := t.ask(ctx, question)
		if err != nil {
			return "", err
		}
		word, _, _ := strings.Cut(answer, " ")
		i := slices.IndexFunc(choices, func(c Choice) bool {
			return strings.EqualFold(word, c.Key) || strings.EqualFold(word, c.Word)
		})
		if i >= 0 {
			return choices[i].Key, nil
		}
		keys := make([]string, len(choices))
		for i, c := range choices {
			keys[i] = c.Key
		}
		t.say("Please type one of %s.\n", strings.Join(keys, ", "))
	}
}

// Confirm implements runner.Asker. Anything but a clear yes is a no.
func (t *Terminal) Confirm(ctx context.Context, question string) (bool, error) {
	answer, err := t.confirm(ctx, question+" [y/N]: ")
	return isYes(answer), err
}

// ConfirmYes is Confirm for a question that the return key alone answers with yes.
// The end of input is a no here, too.
func (t *Terminal) ConfirmYes(ctx context.Context, question string) (bool, error) {
	answer, err := t.confirm(ctx, question+" [Y/n]: ")
	return isYes(answer) || answer == "", err
}

// confirm returns what was typed, "no" at the end of input.
func (t *Terminal) confirm(ctx context.Context, question string) (string, error) {
	answer, err := t.ask(ctx, OneLine(question))
	switch {
	case errors.Is(err, ErrNoAnswer):
		return "no", nil
	case err != nil:
		return "no", err
	}
	return answer, nil
}

func isYes(answer string) bool {
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}

// Approve implements runner.Asker.
func (t *Terminal) Approve(ctx context.Context, q runner.Question) (runner.Answer, error) {
	later := runner.Answer{Verdict: runner.Later, By: t.by}
	t.introduce(q)
	if len(q.Approvers) > 0 && !slices.Contains(q.Approvers, t.by.User) {
		t.say("Only %s can answer; %s cannot.\n", OneLine(strings.Join(q.Approvers, " or ")), OneLine(t.by.User))
		return later, nil
	}
	yes := Choice{"a", "approve"}
	question := "(a)pprove, (r)eject, (l)ater: "
	if q.Review {
		yes = Choice{"c", "continue"}
		question = "(c)ontinue, (r)eject, (l)ater: "
	}
	key, err := t.Choose(ctx, question, []Choice{yes, {"r", "reject"}, {"l", "later"}})
	if errors.Is(err, ErrNoAnswer) {
		return later, nil
	}
	if err != nil {
		return later, err
	}
	switch key {
	case yes.Key:
		return runner.Answer{Verdict: runner.Approve, By: t.by}, nil
	case "r":
		return t.reject(ctx, later)
	}
	return later, nil
}

func (t *Terminal) introduce(q runner.Question) {
	p := page{color: t.color}
	what := "waits for approval"
	if q.Review {
		what = "passed; look at what it judged before the run goes on"
	}
	p.printf("\n%s %s %s\n", p.paint(yellow, "?"), p.paint(bold, q.Gate), what)
	if q.Message != "" {
		p.printf("  %s\n", q.Message)
	}
	t.say("%s", p.String())
}

func (t *Terminal) reject(ctx context.Context, later runner.Answer) (runner.Answer, error) {
	reason, err := t.ask(ctx, "Why (what it judged will run again): ")
	if errors.Is(err, ErrNoAnswer) {
		return later, nil
	}
	if err != nil {
		return later, err
	}
	return runner.Answer{Verdict: runner.Reject, Comment: reason, By: t.by}, nil
}

// Resolve implements runner.Asker. Without an answer the run fails, which
// leaves every file as it is.
func (t *Terminal) Resolve(ctx context.Context, conflicts []plan.Conflict) (plan.OnConflict, error) {
	p := page{color: t.color}
	p.printf("\n%s These artifacts were edited since they were made:\n", p.paint(yellow, "?"))
	for i, c := range conflicts {
		if i == listed {
			p.printf("  … and %d more\n", len(conflicts)-listed)
			break
		}
		p.printf("  %s (%s): %s → %s\n", c.Path, c.Workstream, ShortDigest(c.Recorded), found(c))
		writeDifference(&p, string(c.Difference))
	}
	p.printf("  (r)estore - put them back as they were; a checkpoint keeps the edits\n")
	p.printf("  (k)eep    - take them as they are now\n")
	p.printf("  (f)ail    - stop here and change nothing\n")
	t.say("%s", p.String())
	key, err := t.Choose(ctx, "Choice [r/k/f]: ", []Choice{{"r", "restore"}, {"k", "keep"}, {"f", "fail"}})
	switch {
	case errors.Is(err, ErrNoAnswer):
		return plan.ConflictFail, nil
	case err != nil:
		return plan.ConflictFail, err
	case key == "r":
		return plan.ConflictRestore, nil
	case key == "k":
		return plan.ConflictKeep, nil
	}
	return plan.ConflictFail, nil
}

// Unwritten implements runner.Asker. Without an answer the run pauses.
func (t *Terminal) Unwritten(ctx context.Context, problem string) (runner.OnCheckpointError, error) {
	p := page{color: t.color}
	p.printf("\n%s %s\n", p.paint(yellow, "!"), p.paint(bold, "CHECKPOINT CREATION FAILED"))
	p.printf("  %s\n", problem)
	p.printf("  (r)etry - try again until it succeeds\n")
	p.printf("  (s)kip  - go on without it: what fails later can't be rolled back to here\n")
	p.printf("  (p)ause - let what runs finish, and stop\n")
	t.say("%s", p.String())
	key, err := t.Choose(ctx, "Choice [r/s/p]: ", []Choice{{"r", "retry"}, {"s", "skip"}, {"p", "pause"}})
	switch {
	case errors.Is(err, ErrNoAnswer):
		return runner.CheckpointErrorPause, nil
	case err != nil:
		return runner.CheckpointErrorPause, err
	case key == "r":
		return runner.CheckpointErrorRetry, nil
	case key == "s":
		return runner.CheckpointErrorSkip, nil
	}
	return runner.CheckpointErrorPause, nil
}

// Say prints text to the person who is asked.
func (t *Terminal) Say(text string) { t.say("%s", Clean(text)) }

func (t *Terminal) say(format string, args ...any) {
	if t.live { // there may be a status line
		format = eraseLine + format
	}
	fmt.Fprintf(t.out, format, args...)
}

func (t *Terminal) ask(ctx context.Context, question string) (string, error) {
	t.say("%s", question)
	answer, err := t.lines.read(ctx)
	if err != nil {
		fmt.Fprintln(t.out)
		return "", err
	}
	return strings.TrimSpace(answer), nil
}

// lines reads lines in a way that can be given up. A read from a terminal
// can't be interrupted, so the line that a given-up question was waiting for
// is remembered as pending: it answers the next question only if it was typed
// after that was asked.
type lines struct {
	in      *bufio.Reader
	pending chan line
}

type line struct {
	text string
	err  error
}

func (l *lines) read(ctx context.Context) (string, error) {
	if l.pending != nil {
		select {
		case got := <-l.pending:
			l.pending = nil
			if got.err != nil {
				return "", l.noAnswer(got.err)
			}
		default:
		}
	}
	if l.pending == nil {
		l.pending = make(chan line, 1)
		go func(to chan<- line) {
			text, err := l.in.ReadString('\n')
			to <- line{text, err}
		}(l.pending)
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case got := <-l.pending:
		l.pending = nil
		if got.err != nil { // a line without its end was not sent off
			return "", l.noAnswer(got.err)
		}
		return got.text, nil
	}
}

func (l *lines) noAnswer(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrNoAnswer
	}
	// A terminal that hung up answers with an error of its own (EIO).
	return fmt.Errorf("%w: %w", ErrNoAnswer, err)
}
