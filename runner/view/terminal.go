package view

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
)

// ErrNoAnswer says that the input ended before a question was answered. It never means yes.
var ErrNoAnswer = errors.New("no answer")

// Terminal asks the user. It implements runner.Asker. One goroutine at a time may use it.
type Terminal struct {
	out   io.Writer
	lines lines
	by    state.Actor
	color bool
	hold  func() (release func()) // takes what changes off the screen while a question is there

	// Guide shows what a gate judges that asks for an answer; nil: only its message is shown.
	Guide Guide

	// Discard forgets what was typed before a question was there, which can't be an answer to
	// it. nil: nothing can be forgotten.
	Discard func()
	// Ready waits until a line can be read without waiting, or ctx ends, so that a question that is given
	// up leaves nothing behind that reads. It calls again when this process has been stopped and has the terminal
	// again, on which the shell has written since. nil: reading a line waits, and can't be given up.
	Ready func(ctx context.Context, again func()) error

	introduction string // what is above the question that is open
}

// Guide shows the work that the question of a gate is about. It reads what is on record. If something
// is not, the text says so.
type Guide interface {
	// Facts returns what is judged, in a few lines.
	Facts(ctx context.Context, q runner.Question) Painted
	// Difference returns the differences of files since the work began.
	Difference(ctx context.Context, q runner.Question) Painted
	// Details returns all that is on record of the work, and the commands that show more.
	Details(ctx context.Context, q runner.Question) Painted
	// Later returns the command that gives the answer later.
	Later(q runner.Question) string
}

// NewTerminal returns a Terminal that reads answers from in and writes questions to out,
// for the user in by.
func NewTerminal(in io.Reader, out io.Writer, by state.Actor, color bool) *Terminal {
	return &Terminal{out: out, lines: lines{in: bufio.NewReader(in)}, by: by, color: color, hold: func() func() { return func() {} }}
}

// Share makes the terminal hold a view while it asks a question on the same screen. A view that is a Lender lends
// it the keyboard, too.
func (t *Terminal) Share(h Holder) {
	t.hold = h.Hold
	if l, ok := h.(Lender); ok {
		t.hold = l.Lend
	}
}

// Choice is an answer that Choose offers.
type Choice struct {
	Key  string // the letter to type: "r"
	Word string // the word to type instead: "resume"
}

// Choose asks until the user types one of the choices, and returns its key.
func (t *Terminal) Choose(ctx context.Context, question string, choices []Choice) (string, error) {
	defer t.hold()()
	for {
		answer, err := t.askLine(ctx, question)
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
		t.printf("Please type one of %s, and Enter.\n", strings.Join(keys, ", "))
	}
}

// Proceed implements runner.Asker. It shows how the text changed.
func (t *Terminal) Proceed(ctx context.Context, s plan.Stale) (bool, error) {
	defer t.hold()()
	p := Page{color: t.color}
	writeStale(&p, s)
	defer t.introduce(p.String())()
	return t.Confirm(ctx, "Continue?")
}

// Confirm asks a question. Any answer but a clear yes means no.
func (t *Terminal) Confirm(ctx context.Context, question string) (bool, error) {
	answer, err := t.confirm(ctx, question+" [y/N]: ")
	return isYes(answer), err
}

// ConfirmYes asks as Confirm does, except that an empty line means yes. The end of the
// input means no.
func (t *Terminal) ConfirmYes(ctx context.Context, question string) (bool, error) {
	answer, err := t.confirm(ctx, question+" [Y/n]: ")
	return isYes(answer) || answer == "", err
}

// confirm returns the typed line, or "no" at the end of the input.
func (t *Terminal) confirm(ctx context.Context, question string) (string, error) {
	defer t.hold()()
	answer, err := t.askLine(ctx, OneLine(question))
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

// Resolve implements runner.Asker. Without an answer the run fails, which changes no file.
func (t *Terminal) Resolve(ctx context.Context, undecided *runner.ConflictError) (plan.OnConflict, error) {
	defer t.interrupt()()
	p := Page{color: t.color}
	p.Printf("\n%s These artifacts were edited since they were made:\n", p.Paint(Yellow, "?"))
	for i, c := range undecided.Conflicts {
		if i == maxListed {
			p.Printf("  … and %d more\n", len(undecided.Conflicts)-maxListed)
			break
		}
		p.Printf("  %s (%s): %s → %s\n", c.Path, c.Workstream, ShortDigest(c.Recorded), conflictSummary(c))
		writeDifference(&p, string(c.Difference))
	}
	question, choices := "Choice [r/k/f]: ", []Choice{{"r", "restore"}, {"k", "keep"}, {"f", "fail"}}
	p.Printf("  (r)estore - put them back as they were; a checkpoint keeps the edits\n")
	if undecided.Rerun {
		p.Printf("              (they can't be kept: %s runs again, and would make %s anew)\n", undecided.Conflicts[0].Workstream, undecided.Conflicts[0].Path)
		question, choices = "Choice [r/f]: ", slices.Delete(choices, 1, 2)
	} else {
		p.Printf("  (k)eep    - take them as they are now\n")
	}
	p.Printf("  (f)ail    - stop here and change nothing\n")
	defer t.introduce(p.String())()
	key, err := t.Choose(ctx, question, choices)
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
func (t *Terminal) Unwritten(ctx context.Context, problem string) (record.OnFailure, error) {
	defer t.interrupt()()
	p := Page{color: t.color}
	p.Printf("\n%s %s\n", p.Paint(Yellow, "!"), p.Paint(Bold, "CHECKPOINT CREATION FAILED"))
	p.Printf("  %s\n", problem)
	p.Printf("  (r)etry - try again until it succeeds\n")
	p.Printf("  (s)kip  - continue without it: what fails later can't be rolled back to here\n")
	p.Printf("  (p)ause - let what runs finish, and stop\n")
	defer t.introduce(p.String())()
	key, err := t.Choose(ctx, "Choice [r/s/p]: ", []Choice{{"r", "retry"}, {"s", "skip"}, {"p", "pause"}})
	switch {
	case errors.Is(err, ErrNoAnswer):
		return record.Pause, nil
	case err != nil:
		return record.Pause, err
	case key == "r":
		return record.Retry, nil
	case key == "s":
		return record.Skip, nil
	}
	return record.Pause, nil
}

// Say prints text to the user.
func (t *Terminal) Say(text string) { t.printf("%s", Clean(text)) }

// interrupt holds the view for a question that comes up during a run, until the returned function
// is called.
func (t *Terminal) interrupt() (end func()) {
	end = t.hold()
	if t.Discard != nil {
		t.Discard()
	}
	return end
}

func (t *Terminal) printf(format string, args ...any) {
	fmt.Fprintf(t.out, format, args...)
}

func (t *Terminal) askLine(ctx context.Context, question string) (string, error) {
	t.printf("%s", question)
	again := func() { t.printf("\r%s%s", t.introduction, question) }
	answer, err := t.lines.readLine(ctx, t.Ready, again)
	if err != nil {
		fmt.Fprintln(t.out)
		return "", err
	}
	return strings.TrimSpace(answer), nil
}
