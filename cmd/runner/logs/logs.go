// Package logs is the command `runner logs`: it finds the logs of a session and prints
// them. [NewCommand] returns it; begin there.
//
// Which steps have a log and where it is belongs here, and so does following logs that
// grow. Writing them does not: prdrunner/runner/process does that. steps.go finds the steps, select.go
// chooses attempts, print.go prints logs that are there, and follow.go those that grow.
package logs

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/runner/view"
)

// ErrNoMatch reports that no line matches --grep. The user needs no message but the exit code.
var ErrNoMatch = errors.New("no line matches")

type options struct {
	prd        string
	step       string
	attempt    int
	follow     bool
	raw        bool
	failed     bool
	since      string
	tail       int
	tailed     bool // --tail was given
	grep       string
	timestamps bool
}

// NewCommand returns the command.
func NewCommand(env *cli.Environment) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "logs PRD [WORKSTREAM|GATE]",
		Short: "Print the output of workstreams, gates, services and hooks",
		Long: `Print the output of the last attempt of a workstream or gate; without a name, of all
of them in the order of the pipeline. The name of a workstream with for_each stands
for all its instances. service.NAME is the output of a service, and hook.failed.1
that of the first hook for the event failed. If an attempt took the result of an
earlier run from the cache, print the output of that run. On a terminal, control
characters are made harmless, and so are, in the log of a CI system, lines that it would
take for commands, unless --raw is given or the output goes to a file.

An attempt that prints nothing leaves no log; it is named as having no output.

--follow also prints what is added while the session runs, and the attempts that
begin; each line has the name of its log, unless you name one. It ends when the run
ends, and says on standard error how. Ctrl+C ends only the following.

--grep prints the lines that match a regular expression (RE2), each with the name of
its log, unless you name one. Colours in a line don't count. Like grep, it exits 1 if
no line matches.

Logs are bytes as processes wrote them: no line has a time on record, only each
attempt has. So --since prints whole attempts, not only the last ones: those that
run, and those that ended at the time or later. Where an end is not on record, as for
hooks, the time counts at which the log was last written. --timestamps puts the times
of the attempt into a heading. With --follow it puts before each line when Runner
read it, and a dash if the line was there before.`,
		Example: `  runner logs PRD-009 WS3 --attempt 1
  runner logs PRD-009 'lint (WS3)'
  runner logs PRD-009 --failed --tail 50
  runner logs PRD-009 -f
  runner logs PRD-009 --grep '(?i)warning' --since 1h`,
		Args: cli.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.step, o.tailed = args[0], cli.FirstArgument(args[1:]), cmd.Flags().Changed("tail")
			return run(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&o.attempt, "attempt", 0, "print attempt `N` instead of the last one")
	flags.BoolVar(&o.failed, "failed", false, "print only the logs of what failed")
	flags.BoolVarP(&o.follow, "follow", "f", false, "keep printing new output until the session stops running")
	flags.IntVarP(&o.tail, "tail", "n", 0, "print only the last `N` lines of each log; with --grep, the last N that match")
	flags.StringVar(&o.grep, "grep", "", "print only lines that match the regular expression `REGEXP`")
	flags.StringVar(&o.since, "since", "", "print the attempts that ended since `TIME` or run, such as 5m, 2026-01-31 or 2026-01-31T15:04:05 (UTC)")
	flags.BoolVarP(&o.timestamps, "timestamps", "t", false, "print the times of attempts, and while following when each line was read")
	flags.BoolVar(&o.raw, "raw", false, "print every byte unchanged, even on a terminal and in the log of a CI system")
	cmd.MarkFlagsMutuallyExclusive("failed", "follow")
	cmd.MarkFlagsMutuallyExclusive("failed", "attempt")
	cmd.MarkFlagsMutuallyExclusive("failed", "since")
	cmd.MarkFlagsMutuallyExclusive("attempt", "since")
	return cmd
}

func run(ctx context.Context, env *cli.Environment, o options) error {
	env.Signals.ResumeWith("") // an interrupted logs command leaves nothing to do
	p, err := newPrinter(env, o)
	if err != nil {
		return err
	}
	store, st, err := load.State(env, o.prd)
	if err != nil {
		return err
	}
	p.store, p.session = store, st.Session
	p.carried = load.WasImported(env, store, st)
	hooks, err := findHooks(store, o.prd)
	if err != nil {
		return err
	}
	steps, err := findSteps(st, hooks, o.step)
	if begins := o.follow && mayBegin(store, st); err != nil && !begins {
		return err
	}
	if o.step != "" && len(steps) == 1 {
		p.only = &steps[0]
	}
	attempts, err := p.choose(env, st, steps, o)
	if err != nil {
		return err
	}
	p.named = p.only != nil && len(attempts) <= 1
	for _, s := range steps {
		p.names = min(max(p.names, len(view.OneLine(s.label))), maxNames)
	}
	switch {
	case o.follow:
		err = p.followAll(ctx, st, attempts, o)
	case len(attempts) > 0 || !o.failed && o.since == "": // otherwise choose has said that there are none
		err = p.printAll(attempts)
	}
	switch {
	case err != nil:
		return err
	case p.match == nil:
		p.sayEmpty()
	case !p.matched:
		return ErrNoMatch
	}
	return nil
}

// maxNames bounds the columns for names before lines. Longer names have their own width.
const maxNames = 24

// newPrinter checks the flags, and returns a printer without a session.
func newPrinter(env *cli.Environment, o options) (*printer, error) {
	p := &printer{
		env: env, prd: o.prd, raw: o.raw || !env.IsTerminal(env.Stdout) && env.Neutral == nil, tail: all, timestamps: o.timestamps, following: o.follow,
		page: &headed{out: env.Stdout.Raw}, now: env.Now,
	}
	if o.attempt < 0 || o.attempt > 0 && o.step == "" {
		return nil, advice.Usagef("--attempt takes a number from 1 and a workstream")
	}
	if o.tailed {
		if p.tail = o.tail; o.tail < 0 {
			return nil, advice.Usagef("--tail takes a number of lines, not %d", o.tail)
		}
	}
	if o.grep != "" {
		re, err := regexp.Compile(o.grep)
		if err != nil {
			return nil, advice.With(advice.Usagef("--grep: %w", err), "the syntax is that of RE2: https://golang.org/s/re2syntax")
		}
		p.match = re
	}
	return p, nil
}

// mayBegin reports whether a step that is unknown now may begin: an instance, a service or a hook.
func mayBegin(store *checkpoint.Store, st *state.State) bool {
	owner, err := store.Owner(st.PRD)
	return err == nil && owner != nil
}

// choose returns the attempts whose logs are printed.
func (p *printer) choose(env *cli.Environment, st *state.State, steps []step, o options) (attempts []selected, err error) {
	if p.times = (spans{}); o.since != "" || o.timestamps {
		if p.times, err = recordedSpans(p.store, p.prd); err != nil {
			return nil, err
		}
	}
	switch {
	case o.failed:
		attempts, without := failedAttempts(steps, failures(st))
		switch {
		case len(attempts) == 0 && o.step != "":
			fmt.Fprintf(env.Stderr, "%s has not failed, or has no log of that.\n", o.step)
		case len(attempts)+len(without) == 0:
			fmt.Fprintf(env.Stderr, "Nothing has failed in %s.\n", p.prd)
		}
		for _, f := range without {
			if o.step == "" {
				fmt.Fprintf(env.Stderr, "%s (it has no log)\n", view.Summary(f))
			}
		}
		return attempts, nil
	case o.since != "":
		at, err := parseSince(o.since, env.Now())
		if err != nil {
			return nil, err
		}
		attempts, err = p.since(steps, p.times, at)
		if err == nil && len(attempts) == 0 && !o.follow {
			fmt.Fprintf(env.Stderr, "No attempt runs or has ended since %s.\n", at.UTC().Format(timeLayout))
		}
		return attempts, err
	}
	return lastAttempts(steps, o.attempt), nil
}

// followAll follows the logs of a session, and says at the end how the run ended.
func (p *printer) followAll(ctx context.Context, st *state.State, attempts []selected, o options) error {
	on, err := p.isOn()
	if err != nil {
		return err
	}
	wanted := func(s step) bool { return o.attempt == 0 && (o.step == "" || s.isNamed(o.step)) }
	if err := p.follow(ctx, st.Seq, attempts, wanted); err != nil {
		return err
	}
	return p.sayEnd(on)
}

// sayEmpty names the logs that hold nothing. The absence of output is not a mistake of Runner.
func (p *printer) sayEmpty() {
	const most = 5
	names := slices.Compact(slices.Clone(p.empty))
	if len(names) == 0 {
		return
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	fmt.Fprintf(p.env.Stderr, "No output: %s%s\n", strings.Join(names, ", "), more)
}
