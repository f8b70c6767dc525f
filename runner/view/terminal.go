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
		t.printf("Please type one of %s.\n", strings.Join(keys, ", "))
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

// lines reads lines, and lets a caller stop waiting. Where it is not known whether a line is there, a
// read cannot be interrupted, so that the line for an abandoned question stays pending. It
// answers the next question only if it was typed after that question.
type lines struct {
	in      *bufio.Reader
	pending chan line
}

type line struct {
	text string
	err  error
}

func (l *lines) readLine(ctx context.Context, ready func(ctx context.Context, again func()) error, again func()) (string, error) {
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
	if ready != nil && l.pending == nil && l.in.Buffered() == 0 { // while a read goes on, l.in belongs to it
		if err := ready(ctx, again); err != nil {
			return "", err
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
		if got.err != nil { // the user did not finish the line
			return "", l.noAnswer(got.err)
		}
		return got.text, nil
	}
}

func (l *lines) noAnswer(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrNoAnswer
	}
	// A terminal that hung up returns EIO.
	return fmt.Errorf("%w: %w", ErrNoAnswer, err)
}
