package logs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

// printer prints logs. If there are several, it prints a header before each.
type printer struct {
	env     *cli.Environment
	store   *checkpoint.Store
	prd     string
	session string
	named   bool
	raw     bool
	last    string // the header of the log that was printed last
}

func (p *printer) printAll(steps []step, attempt int) error {
	printed := false
	var absent []string
	for _, s := range steps {
		n := attempt
		if n == 0 {
			n = s.attempts
		}
		if n == 0 {
			continue
		}
		f, err := p.openLog(s, n)
		if errors.Is(err, os.ErrNotExist) {
			if s.gate == nil && n <= s.attempts { // a gate may have no process: a condition, a metric, an approval
				absent = append(absent, fmt.Sprintf("attempt %d of %s%s", n, s.label, tookResult(s, n)))
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		printed = true
		if err := errors.Join(p.copyLog(s.label, n, p.writer(), f), f.Close()); err != nil {
			return fmt.Errorf("print the log of %s: %w", s.label, err)
		}
	}
	if printed {
		return nil
	}
	return p.nothing(steps, absent)
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
func (p *printer) nothing(steps []step, absent []string) error {
	what, hint := "no workstream has begun", fmt.Sprintf("`runner status %s` shows its state", p.prd)
	switch {
	case len(absent) > 0:
		what = "the log of " + absent[0] + " is not here"
		if more := len(absent) - 1; more > 0 {
			what += fmt.Sprintf(", nor %d more", more)
		}
		hint = fmt.Sprintf("an imported session has logs only if it was exported with `runner checkpoint export %s --logs`", p.prd)
		if len(steps) == 1 && steps[0].cached != nil {
			hint = "logs of a session that failed or was given up are under " + p.env.Display(filepath.Join(p.store.Dir(), "failed")) + ", as long as retention keeps them"
		}
	case p.named && steps[0].gate != nil && (steps[0].gate.Message != "" || steps[0].gate.By != nil):
		return p.approval(steps[0].gate)
	case p.named && steps[0].gate != nil && steps[0].attempts == 0 && steps[0].gate.Status != state.Pending:
		what = fmt.Sprintf("%s has no log: it is judged without a process", steps[0].label)
	case p.named:
		what = fmt.Sprintf("%s has no such log: it was started %s", steps[0].label, timesInWords(steps[0].attempts))
	}
	return advice.With(advice.Usagef("%s", what), hint)
}

// approval shows an approval instead of a log: the question and the answer.
func (p *printer) approval(g *state.Gate) error {
	out := p.env.Stdout
	fmt.Fprintf(out, "%s is an approval: it runs nothing, and has no log.\n", g.Label)
	if g.Message != "" {
		fmt.Fprintf(out, "Asked: %s\n", view.OneLine(string(g.Message)))
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

// writer returns the destination of one log: standard output, made harmless unless p.raw
// is set.
func (p *printer) writer() io.Writer {
	if p.raw {
		return p.env.Stdout.Raw
	}
	return view.NewCleaner(p.env.Stdout.Raw)
}

// copyLog prints a log, or the output that was added to it, after its header.
func (p *printer) copyLog(label string, attempt int, to io.Writer, from io.Reader) error {
	out := p.env.Stdout
	if header := fmt.Sprintf("==> %s (attempt %d) <==", view.OneLine(label), attempt); !p.named && header != p.last {
		if p.last != "" {
			fmt.Fprintln(out)
		}
		if _, err := fmt.Fprintln(out, header); err != nil {
			return err
		}
		p.last = header
	}
	_, err := io.Copy(to, from)
	return err
}
