package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/load"
	"prdrunner/runner"
	"prdrunner/runner/report"
	"prdrunner/runner/view"
)

type callOptions struct {
	file        string
	prd         string
	caller      state.Caller
	noCache     bool
	raiseBudget bool
}

// newCallCommand returns the command with which a run of a pipeline runs another pipeline that
// it calls. People have no use for it, so that it is hidden.
func newCallCommand(env *cli.Environment) *cobra.Command {
	var o callOptions
	var file string
	cmd := &cobra.Command{
		Use:    "call FILE",
		Short:  "Run a pipeline that another one calls",
		Hidden: true,
		Args:   cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file, o.caller.File = args[0], state.Text(file)
			return runCall(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.prd, "as", "", "the `ID` of its session")
	flags.StringVar(&o.caller.PRD, "prd", "", "the id of the calling session")
	flags.StringVar(&o.caller.Session, "session", "", "the calling session")
	flags.StringVar(&o.caller.Workstream, "workstream", "", "the calling workstream")
	flags.StringVar(&o.caller.Call, "id", "", "the id of the call")
	flags.StringVar(&o.caller.Root, "root", "", "the PRD that people build")
	flags.StringVar(&file, "root-file", "", "the file of its pipeline")
	flags.BoolVar(&o.noCache, "no-cache", false, "use no cached results")
	flags.BoolVar(&o.raiseBudget, "raise-budget", false, "let budgets that are used up count anew")
	addRunFlags(cmd)
	return cmd
}

// callCommand returns the function that makes the command line of a call. It repeats the
// choices of this run.
func callCommand(env *cli.Environment, cfg *config.Config) func(runner.Call) []string {
	return func(c runner.Call) []string {
		program, err := env.Executable()
		if err != nil {
			program = "runner" // the failure to start it says more
		}
		argv := []string{
			program, "call", "-C", ".", "--output", "plain", "--no-color", "--as", c.PRD,
			"--prd", c.Caller.PRD, "--session", c.Caller.Session, "--workstream", c.Caller.Workstream, "--id", c.Caller.Call,
			"--root", c.Caller.Root, "--root-file", string(c.Caller.File), "--no-cache=" + strconv.FormatBool(c.NoCache), "--raise-budget=" + strconv.FormatBool(c.RaiseBudget),
			"--parallel", strconv.Itoa(c.Parallel), "--keep-going=" + strconv.FormatBool(cfg.KeepGoing),
			"--pause-at-gates=" + strconv.FormatBool(cfg.PauseAtGates), "--on-stale", string(cfg.OnStale),
		}
		if cfg.OnConflict != "" {
			argv = append(argv, "--on-conflict", string(cfg.OnConflict))
		}
		if env.ConfigFlag != "" {
			argv = append(argv, "--config", env.ConfigFlag)
		}
		return append(argv, "--", c.File)
	}
}

// runCall runs a called pipeline: it continues the session of the same call, or begins a new
// one. When the session is complete, it writes the outputs of the pipeline for the caller.
func runCall(ctx context.Context, env *cli.Environment, o callOptions) error {
	dir := env.Lookup("RUNNER_STATE_DIR")
	if o.prd == "" || o.caller.Call == "" || dir == "" {
		return advice.With(advice.Usagef("this command runs a pipeline that another one calls, and only Runner itself can use it"),
			fmt.Sprintf("`runner build -f %s` runs the pipeline by itself", o.file))
	}
	collectForBuild()
	env.Callers = append(strings.Fields(env.Lookup(runner.CallersVariable)), o.caller.Session)
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	cfg = load.CalledConfig(cfg)
	setup, err := load.SetUpCalled(ctx, env, cfg, dir, load.PipelineRef{PRD: o.prd, File: o.file}, o.caller)
	if err != nil {
		return err
	}
	defer setup.Close()
	b := &build{env: env, cfg: cfg, Setup: setup, caller: &o.caller, options: buildOptions{raiseBudget: o.raiseBudget}}
	s := b.newStarter()
	s.Call = o.caller.Call
	decided, snap, err := s.Begin(ctx, b.Pipeline)
	if err != nil {
		return err
	}
	st := snap.State
	if !decided.NothingToDo {
		if decided.Fresh {
			if err := s.Finished.RefuseToLeave(env); err != nil {
				return err
			}
		}
		decided.NoCache = o.noCache
		b.start = decided
		session, err := s.LockDecided(ctx, decided, snap)
		if err != nil {
			return err
		}
		if err := b.run(ctx, session); err != nil {
			return err
		}
		st = session.State()
	}
	return writeCallOutputs(b, st, env.Lookup("RUNNER_OUTPUT"))
}

// views returns the views of a run: the one that shows it, which for a called pipeline also
// reports to the caller, and the sinks.
func (b *build) views(shown view.View, session *checkpoint.Session) []runner.View {
	var first runner.View = advised{shown, b, session}
	if path := b.env.Lookup(reportVariable); b.caller != nil && path != "" {
		first = spending{first, b.env, path}
	}
	all := []runner.View{first}
	for _, s := range b.sinks {
		all = append(all, advised{s, b, session})
	}
	if b.tracer != nil {
		all = append(all, b.tracer)
	}
	return all
}

// spending is a view that also reports to the caller what the workstreams of a called pipeline
// report as spent, so that it counts in the budgets of the caller.
type spending struct {
	runner.View
	env  *cli.Environment
	path string // of the caller's reports
}

// Commit implements runner.View.
func (v spending) Commit(c state.Commit) {
	v.View.Commit(c)
	for _, e := range c.Events {
		received, _ := e.(state.ReportsReceived)
		for _, r := range received.Reports {
			if r.Type != ledger.TypeMetric || !ledger.CountsSpending(r.Name) {
				continue
			}
			if err := report.Append(v.path, r); err != nil {
				v.env.Logger().Warn("the budgets of the caller do not count what was spent", "error", err)
			}
		}
	}
}

// writeCallOutputs writes the outputs of a called pipeline into a file, in the form of
// RUNNER_OUTPUT.
func writeCallOutputs(b *build, st *state.State, path string) error {
	outputs, err := runner.CalledOutputs(b.Pipeline, st)
	if err != nil || len(outputs) == 0 || path == "" {
		return err
	}
	mark := "END-" + uuid.NewString()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		fmt.Fprintf(&text, "%s<<%s\n%s\n%s\n", name, mark, outputs[name], mark)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("write the outputs for %s: %w", b.caller.Workstream, err)
	}
	return nil
}
