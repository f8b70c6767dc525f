package logs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

// printer prints logs. Several logs, one after the other, have a heading each; while logs are
// followed, and where only matching lines are printed, each line has the name of its log.
type printer struct {
	env     *cli.Environment
	store   *checkpoint.Store
	prd     string
	session string
	carried bool  // the session was imported, perhaps without its logs
	only    *step // the one that the user named; nil: several
	named   bool  // there is only one attempt, and the user named it
	raw     bool

	tail       int            // the number of lines from the end of each log; all: the whole log
	match      *regexp.Regexp // the lines to print; nil: all
	timestamps bool
	times      spans // only for timestamps and a selection by time

	following bool
	names     int      // columns of the names before the lines
	matched   bool     // a line was printed that matches
	empty     []string // logs in which nothing was printed
	page      *headed  // standard output
	now       func() time.Time
}

// all is the value of printer.tail for whole logs.
const all = -1

// prefixed reports whether each line begins with the name of its log.
func (p *printer) prefixed() bool {
	return !p.named && (p.following || p.match != nil)
}

// headed writes logs to standard output, each under a heading that is printed with its first line.
type headed struct {
	out     io.Writer
	last    string // the heading that was printed last
	midLine bool   // the last byte was no newline
}

// under returns a writer that prints below a heading, "" for none.
func (h *headed) under(heading string) io.Writer { return section{h, heading} }

type section struct {
	page    *headed
	heading string
}

// Write implements io.Writer.
func (s section) Write(b []byte) (int, error) {
	h := s.page
	if len(b) == 0 {
		return 0, nil
	}
	if s.heading != "" && s.heading != h.last {
		before := ""
		if h.midLine {
			before = "\n"
		}
		if h.last != "" {
			before += "\n"
		}
		if _, err := io.WriteString(h.out, before+s.heading+"\n"); err != nil {
			return 0, err
		}
		h.last = s.heading
	}
	h.midLine = b[len(b)-1] != '\n'
	return h.out.Write(b)
}

// printAll prints the logs of attempts, one after the other.
func (p *printer) printAll(attempts []selected) error {
	printed := false
	var absent []string
	for _, a := range attempts {
		f, err := p.openLog(a.step, a.attempt)
		if errors.Is(err, os.ErrNotExist) {
			switch {
			case a.attempt > a.attempts: // it has not begun, or is a gate without a process
			case p.printedNothing(a):
				p.empty, printed = append(p.empty, p.nameOf(a)), true
			default:
				absent = append(absent, fmt.Sprintf("attempt %d of %s%s", a.attempt, a.label, tookResult(a.step, a.attempt)))
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		printed = true
		if err := errors.Join(p.print(a, f), f.Close()); err != nil {
			return fmt.Errorf("print the log of %s: %w", a.label, err)
		}
	}
	if printed {
		return nil
	}
	return p.nothing(absent)
}

// print prints the log of an attempt from where --tail begins.
func (p *printer) print(a selected, log *os.File) error {
	info, err := log.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if size == 0 {
		p.empty = append(p.empty, p.nameOf(a))
		return nil
	}
	from, err := p.start(log, size)
	if err != nil {
		return err
	}
	to := p.writer(a, func() string { return "" })
	_, err = io.Copy(to, io.NewSectionReader(log, from, size-from))
	return errors.Join(err, to.Close())
}

// start returns the offset in a log from which it is printed.
func (p *printer) start(log io.ReaderAt, size int64) (int64, error) {
	if p.tail == all {
		return 0, nil
	}
	var match func([]byte) bool
	if p.match != nil {
		match = func(line []byte) bool { return matches(p.match, line) }
	}
	return tailStart(log, size, p.tail, match)
}

// nameOf names an attempt in front of its lines.
func (p *printer) nameOf(a selected) string {
	if a.attempt == 1 {
		return view.OneLine(a.label)
	}
	return fmt.Sprintf("%s (attempt %d)", view.OneLine(a.label), a.attempt)
}

// heading returns the line above the log of an attempt, "" for none.
func (p *printer) heading(a selected) string {
	if p.prefixed() || p.named && (p.following || !p.timestamps) {
		return ""
	}
	h := fmt.Sprintf("==> %s (attempt %d)", view.OneLine(a.label), a.attempt)
	if p.timestamps {
		h += ", " + p.times.of(a).String()
	}
	return h + " <=="
}

// timeLayout is how times in UTC are printed.
const timeLayout = "2006-01-02T15:04:05Z"

// String describes when an attempt ran.
func (s span) String() string {
	switch {
	case s.began.IsZero() && s.ended.IsZero():
		return "times not on record"
	case s.began.IsZero():
		return "ended " + s.ended.UTC().Format(timeLayout)
	case s.ended.IsZero():
		return "begun " + s.began.UTC().Format(timeLayout) + ", no end on record"
	}
	return fmt.Sprintf("%s to %s, %s", s.began.UTC().Format(timeLayout), s.ended.UTC().Format(timeLayout), view.Duration(s.ended.Sub(s.began)))
}

// writer returns the destination of one log: standard output, made harmless unless p.raw is set.
// stamp returns the time before a line, while logs are followed.
func (p *printer) writer(a selected, stamp func() string) logWriter {
	to := p.page.under(p.heading(a))
	inCI := !p.raw && p.env.Neutral != nil
	if inCI {
		to = view.Neutralizer{W: to, Change: p.env.Neutral}
	}
	if byLine := p.prefixed() || p.match != nil || p.timestamps && p.following; !byLine {
		if inCI { // what a line begins with decides
			l := &lines{out: to}
			return p.cleaned(l, l)
		}
		return p.cleaned(to, nil)
	}
	name := ""
	if p.prefixed() {
		name = fmt.Sprintf("%-*s | ", p.names, p.nameOf(a))
	}
	l := &lines{out: &noting{to, &p.matched}, match: p.match, prefix: func() string { return stamp() + name }}
	return p.cleaned(l, l)
}

// cleaned returns a writer that makes text harmless, unless p.raw is set. l is the writer to which
// it writes if that takes lines, else nil.
func (p *printer) cleaned(to io.Writer, l *lines) logWriter {
	if p.raw {
		return logWriter{to, nil, l}
	}
	c := view.NewCleaner(to)
	return logWriter{c, c, l}
}

// logWriter is the destination of a log.
type logWriter struct {
	io.Writer
	cleaner *view.Cleaner // nil: the text is printed as it is
	lines   *lines        // nil: the text is printed as it comes
}

// showBegun prints a line whose end has not come.
func (w logWriter) showBegun() error {
	if w.lines == nil {
		return nil
	}
	return w.lines.showBegun()
}

// Close implements io.Closer. It prints what the writers behind it have kept.
func (w logWriter) Close() error {
	var errs []error
	if w.cleaner != nil {
		errs = append(errs, w.cleaner.Close())
	}
	if w.lines != nil {
		errs = append(errs, w.lines.Close())
	}
	return errors.Join(errs...)
}

// noting is a writer that notes that something was written.
type noting struct {
	io.Writer
	written *bool
}

// Write implements io.Writer.
func (n *noting) Write(b []byte) (int, error) {
	*n.written = true
	return n.Writer.Write(b)
}

// openLog opens the log of an attempt, in the directory of this session or of an earlier
// one.
func (p *printer) openLog(s step, attempt int) (*os.File, error) {
	if c := s.cached; c != nil && attempt == s.attempts { // the log belongs to the run whose result the attempt took
		if attempt = c.Attempt; c.Session != p.session {
			return runner.OpenLog(p.store.Layout().HistoryLogPath(p.prd, c.Session, s.log, attempt))
		}
	}
	f, err := runner.OpenLog(p.store.Layout().LogPath(p.prd, s.log, attempt))
	for _, session := range s.sessions {
		if !errors.Is(err, os.ErrNotExist) {
			break
		}
		f, err = runner.OpenLog(p.store.Layout().HistoryLogPath(p.prd, session, s.log, attempt))
	}
	return f, err
}

// printedNothing reports whether an attempt has no log because it printed nothing. Runner
// removes such logs. It reports false if that is not certain: a session may be imported
// without logs, and the directories of earlier sessions are removed with time.
func (p *printer) printedNothing(a selected) bool {
	if p.carried {
		return false
	}
	layout := p.store.Layout()
	dirs := []string{layout.LogsDir(p.prd)}
	for _, session := range a.sessions {
		dirs = append(dirs, layout.HistoryLogsDir(p.prd, session))
	}
	if c := a.cached; c != nil && a.attempt == a.attempts && c.Session != p.session {
		dirs = append(dirs, layout.HistoryLogsDir(p.prd, c.Session))
	}
	return !slices.ContainsFunc(dirs, func(dir string) bool {
		_, err := os.Stat(dir)
		return err != nil
	})
}

// tookResult names the session whose result an attempt took from the cache, "" if the
// attempt ran.
func tookResult(s step, attempt int) string {
	if s.cached == nil || attempt != s.attempts {
		return ""
	}
	return ", which took the result of session " + state.ShortSession(s.cached.Session) + ","
}

// nothing returns the error that says why no log was printed. absent lists attempts that
// ran, but whose logs are not on this machine.
func (p *printer) nothing(absent []string) error {
	what, hint := "no workstream has begun", fmt.Sprintf("`runner status %s` shows its state", p.prd)
	switch {
	case len(absent) > 0:
		what = "the log of " + absent[0] + " is not here"
		if more := len(absent) - 1; more > 0 {
			what += fmt.Sprintf(", nor %d more", more)
		}
		hint = fmt.Sprintf("an imported session has logs only if it was exported with `runner checkpoint export %s --logs`; what printed nothing has none", p.prd)
		if p.only != nil && p.only.cached != nil {
			hint = "logs of a session that failed or was given up are under " + p.env.Display(filepath.Join(p.store.Dir(), "failed")) + ", as long as retention keeps them"
		}
	case p.only != nil && p.only.gate != nil && (p.only.gate.Message != "" || p.only.gate.By != nil):
		return p.approval(p.only.gate)
	case p.only != nil && p.only.gate != nil && p.only.attempts == 0 && p.only.gate.Status != state.Pending:
		what = fmt.Sprintf("%s has no log: it is judged without a process", p.only.label)
	case p.only != nil:
		what = fmt.Sprintf("%s has no such log: it was started %s", p.only.label, timesInWords(p.only.attempts))
	}
	return advice.With(advice.Usagef("%s", what), hint)
}

// approval shows an approval instead of a log: the question and the answer.
func (p *printer) approval(g *state.Gate) error {
	out := p.env.Stdout
	fmt.Fprintf(out, "%s is an approval: it runs nothing, and has no log.\n", g.Label)
	switch asked := view.Lines(string(g.Message)); len(asked) {
	case 0:
	case 1:
		fmt.Fprintf(out, "Asked: %s\n", asked[0])
	default:
		fmt.Fprintf(out, "Asked:\n  %s\n", strings.Join(asked, "\n  "))
	}
	answer, by := "", ""
	switch g.Status {
	case state.Passed:
		answer = "approved"
	case state.Waiting:
		answer = fmt.Sprintf("waits for an answer: `runner approve %s %s`", p.prd, text.ShellWord(g.Label))
	default:
		answer = string(g.Status)
	}
	if g.By != nil {
		by = " by " + g.By.User
		if g.By.Host != "" {
			by += " on " + g.By.Host
		}
		if g.At != nil {
			by += ", " + g.At.UTC().Format(time.RFC3339)
		}
	}
	fmt.Fprintf(out, "Answer: %s%s\n", p.env.Localize(answer), view.OneLine(by))
	if comment := string(g.Comment) + string(g.Reason); comment != "" {
		fmt.Fprintf(out, "Comment: %s\n", view.OneLine(comment))
	}
	return nil
}

func timesInWords(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
