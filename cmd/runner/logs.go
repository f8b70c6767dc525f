package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/words"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

type logsOptions struct {
	prd     string
	step    string
	attempt int
	follow  bool
	raw     bool
}

func newLogsCommand(env *cli.Environment) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs PRD [WORKSTREAM]",
		Short: "Print the output of workstreams, gates, services and hooks",
		Long: `Print the output of the last attempt of a workstream or gate; without a name, of all
of them in the order of the pipeline. service.NAME is the output of a service, and
hook.failed.1 that of the first hook for the event failed. If an attempt took the
result of an earlier run from the cache, print the output of that run. On a
terminal, control characters are made harmless, unless --raw is given.`,
		Example: `  runner logs PRD-009 WS3 --attempt 1
  runner logs PRD-009 'lint (WS3)'
  runner logs PRD-009 -f`,
		Args: cli.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.step = args[0], cli.FirstArgument(args[1:])
			return runLogs(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&o.attempt, "attempt", 0, "print attempt `N` instead of the last one")
	flags.BoolVarP(&o.follow, "follow", "f", false, "keep printing new output until the session stops running")
	flags.BoolVar(&o.raw, "raw", false, "print every byte unchanged, even on a terminal")
	return cmd
}

func runLogs(ctx context.Context, env *cli.Environment, o logsOptions) error {
	env.Signals.ResumeWith("") // an interrupted logs command leaves nothing to do
	store, st, err := load.State(env, o.prd)
	if err != nil {
		return err
	}
	if o.attempt < 0 || o.attempt > 0 && o.step == "" {
		return advice.Usagef("--attempt takes a number from 1 and a workstream")
	}
	hooks, err := loggedHooks(store, o.prd)
	if err != nil {
		return err
	}
	steps, err := loggedSteps(st, hooks, o.step)
	if err != nil {
		return err
	}
	p := &logPrinter{env: env, store: store, prd: o.prd, session: st.Session, named: o.step != "" && len(steps) == 1, raw: o.raw || !env.IsTerminal(env.Stdout)}
	if o.follow {
		return p.follow(ctx, st, steps, o.attempt)
	}
	return p.printAll(steps, o.attempt)
}

// loggedStep is a workstream, a gate, a service or a hook, with the name of its log.
type loggedStep struct {
	label    string // for people
	log      string
	attempts int           // 0: the step has not begun
	gate     *state.Gate   // nil for a workstream
	sessions []string      // earlier sessions whose directories may hold the logs of attempts
	cached   *state.Cached // the run whose result the last attempt took from the cache; nil if the attempt ran
}

// loggedSteps returns the steps that have a log, in the order of the pipeline, services and
// hooks last: all steps, or those that the user named.
func loggedSteps(st *state.State, hooks []loggedStep, name string) ([]loggedStep, error) {
	var all []loggedStep
	addGates := func(owner string, list []*state.Gate) {
		for _, g := range list {
			bare, _, _ := strings.Cut(g.Label, " (")
			all = append(all, loggedStep{g.Label, owner + "." + bare, g.Attempts, g, earlierSessions(st, g.Session), nil})
		}
	}
	if r := st.Review; r != nil && r.Runs > 0 && st.Workstream("review") == nil {
		all = append(all, loggedStep{"review", runner.ReviewLog, r.Runs, nil, nil, nil})
	}
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			all = append(all, loggedStep{w.Name, w.Name, w.Attempts, nil, earlierSessions(st, w.Session), w.Cached})
			addGates(w.Name, w.Gates)
		}
		addGates(p.Name, p.Gates)
	}
	for _, s := range st.Services {
		all = append(all, loggedStep{disk.ServiceLog(s.Name), disk.ServiceLog(s.Name), s.Attempt, nil, nil, nil})
	}
	all = append(all, hooks...)
	if name == "" {
		return all, nil
	}
	i := slices.IndexFunc(all, func(s loggedStep) bool { return s.label == name })
	if i >= 0 {
		return all[i : i+1], nil
	}
	var named []loggedStep // gates that share a bare name
	for _, s := range all {
		if bare, _, _ := strings.Cut(s.label, " ("); s.gate != nil && bare == name {
			named = append(named, s)
		}
	}
	if len(named) == 0 {
		labels := make([]string, len(all))
		for i, s := range all {
			labels[i] = s.label
		}
		err := advice.Usagef("there is no log of %q in %s: it is no workstream or gate, nor a service or hook that has run", name, st.PRD)
		if near := words.Nearest(name, labels); near != "" {
			return nil, advice.With(err, fmt.Sprintf("did you mean %s?", text.ShellWord(near)))
		}
		return nil, err
	}
	return named, nil
}

// loggedHooks returns the hooks that have run. The state of a session does not have them: how
// often a hook has run is known by its logs.
func loggedHooks(store *checkpoint.Store, prd string) ([]loggedStep, error) {
	entries, err := os.ReadDir(store.Layout().LogsDir(prd))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("look for the logs of hooks: %w", err)
	}
	attempts := map[string]int{}
	pattern := regexp.MustCompile(`^(hook\.[a-z]+\.\d+)\.(\d+)\.log$`)
	for _, e := range entries {
		if parts := pattern.FindStringSubmatch(e.Name()); parts != nil {
			n, _ := strconv.Atoi(parts[2]) // a number that is too large is none of Runner's
			attempts[parts[1]] = max(attempts[parts[1]], n)
		}
	}
	var hooks []loggedStep
	for _, name := range slices.Sorted(maps.Keys(attempts)) {
		hooks = append(hooks, loggedStep{label: name, log: name, attempts: attempts[name]})
	}
	return hooks, nil
}

// earlierSessions returns the sessions from which a record may come: the one that it
// names, and the one from which the session began.
func earlierSessions(st *state.State, named string) []string {
	var ids []string
	if named != "" {
		ids = append(ids, named)
	}
	if st.BeganFrom != nil && st.BeganFrom.Session != named {
		ids = append(ids, st.BeganFrom.Session)
	}
	return ids
}

// openLog opens the log of an attempt, in the directory of this session or of an earlier
// one.
func (p *logPrinter) openLog(s loggedStep, attempt int) (*os.File, error) {
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

// logPrinter prints logs. If there are several, it prints a header before each.
type logPrinter struct {
	env     *cli.Environment
	store   *checkpoint.Store
	prd     string
	session string
	named   bool
	raw     bool
	last    string // the header of the log that was printed last
}

func (p *logPrinter) printAll(steps []loggedStep, attempt int) error {
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

// tookResult names the session whose result an attempt took from the cache, "" if the
// attempt ran.
func tookResult(s loggedStep, attempt int) string {
	if s.cached == nil || attempt != s.attempts {
		return ""
	}
	return ", which took the result of session " + state.ShortSession(s.cached.Session) + ","
}

// nothing returns the error that says why no log was printed. absent lists attempts that
// ran, but whose logs are not on this machine.
func (p *logPrinter) nothing(steps []loggedStep, absent []string) error {
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
func (p *logPrinter) approval(g *state.Gate) error {
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
func (p *logPrinter) writer() io.Writer {
	if p.raw {
		return p.env.Stdout.Raw
	}
	return view.NewCleaner(p.env.Stdout.Raw)
}

// copyLog prints a log, or the output that was added to it, after its header.
func (p *logPrinter) copyLog(label string, attempt int, to io.Writer, from io.Reader) error {
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
