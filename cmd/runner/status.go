package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/inspect"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type statusOptions struct {
	prd    string
	all    bool
	failed bool
	phase  string
	json   bool
}

func newStatusCommand(env *cli.Environment) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status [PRD]",
		Short: "Show the state of a session and what to do next",
		Long: `Show the state of the session of a PRD and what to do next, whether or not a build
is running. Without a PRD, list all sessions. Status changes nothing and takes no
lock.

On a terminal, more workstreams than fit on the screen are folded: those that are done
are counted; what failed, runs or waits is always listed. --all lists everything.
"outdated" marks work that is done, although something that it was made from has failed
or runs again since; "runner plan --resume" tells what becomes of it.

For each gate that waits for a person it shows what is judged: the files that changed
since the work began, metrics beside those of the last complete session, and the
verdicts of the gates around it, also in the sessions of pipelines that it calls.`,
		Example: `  runner status PRD-009 --failed
  runner status PRD-009 --phase database`,
		Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = cli.FirstArgument(args)
			return runStatus(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.all, "all", false, "list every workstream, also if they don't fit on the screen")
	flags.BoolVar(&o.failed, "failed", false, "list only what failed")
	flags.StringVar(&o.phase, "phase", "", "list only the workstreams and gates of `PHASE`")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("json", "failed")
	cmd.MarkFlagsMutuallyExclusive("json", "phase")
	return cmd
}

func runStatus(ctx context.Context, env *cli.Environment, o statusOptions) error {
	if o.prd == "" {
		if o.failed || o.phase != "" {
			return advice.With(advice.Usagef("--failed and --phase choose from one session: name its PRD"), "`runner status` lists the sessions")
		}
		return statusOfAll(ctx, env, o.json)
	}
	s, broken, err := inspect.Status(ctx, env, o.prd)
	if err != nil {
		return err
	}
	if o.json {
		return errors.Join(show.JSON(env.Stdout, s), broken)
	}
	shown := show.StatusOptions{Now: env.Now(), Failed: o.failed}
	if shown.Phase, err = phaseNamed(o.phase, s.Phases); err != nil {
		return err
	}
	if !o.all {
		shown.Rows, shown.Columns = env.Rows(env.Stdout), env.Width(env.Stdout)
	}
	return errors.Join(show.Status(env.Stdout, env.CommandLine, s, shown), broken)
}

// phaseNamed returns the name of the phase that the user names, or whose number.
func phaseNamed(given string, phases []*state.Phase) (string, error) {
	names := make([]string, len(phases))
	for i, p := range phases {
		if names[i] = p.Name; given == p.Name {
			return given, nil
		}
	}
	if n, err := strconv.Atoi(given); err == nil && n > 0 && n <= len(names) {
		return names[n-1], nil
	}
	if given == "" {
		return "", nil
	}
	return "", advice.Usagef("there is no phase %q; there are %s", given, text.Enumerate(names))
}

func statusOfAll(ctx context.Context, env *cli.Environment, asJSON bool) error {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{})
	if err != nil {
		return err
	}
	list, damaged, err := inspect.Statuses(ctx, env, store)
	if err != nil {
		return err
	}
	if asJSON {
		return errors.Join(damaged, show.JSON(env.Stdout, info.NewStatusTableReport(list)))
	}
	if len(list) == 0 {
		return sayNoSessions(env, store)
	}
	return errors.Join(damaged, show.StatusTable(env.Stdout, env.Now(), list))
}

// sayNoSessions tells the user that there is no current session, and names the archived
// ones.
func sayNoSessions(env *cli.Environment, store *checkpoint.Store) error {
	archived, err := store.Reader().Known()
	if err != nil {
		return err
	}
	message := "No sessions yet: " + load.HowToStartAny(env) + "."
	if len(archived) > 0 {
		message = fmt.Sprintf("No current sessions: `runner checkpoint list --all` shows the archived ones of %s, %s.", strings.Join(archived, ", "), load.HowToStartAny(env))
	}
	_, err = fmt.Fprintln(env.Stdout, env.Localize(message))
	return err
}
