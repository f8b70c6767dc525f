package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/cmd/runner/words"
	"prdrunner/runner/view"
)

type outputsOptions struct {
	prd        string
	workstream string
	name       string
	json       bool
}

func newOutputsCommand(env *cli.Environment) *cobra.Command {
	var o outputsOptions
	cmd := &cobra.Command{
		Use:   "outputs PRD [WORKSTREAM] [NAME]",
		Short: "Print what workstreams handed to others",
		Long: `Print the outputs and metrics of workstreams as they are on record: of all of them, or
of one. The name of a workstream with for_each stands for all its instances. Only
the results of workstreams that have succeeded are shown. A value that is sensitive, or
has a sensitive part, is not stored as it was, so it can't be shown.

With NAME, print one value as it is and nothing else, for scripts; only a terminal
gets a line break after it. metric.NAME is a metric.`,
		Example: `  runner outputs PRD-009
  version="$(runner outputs PRD-009 version number)"
  runner outputs PRD-009 tests metric.coverage
  runner outputs PRD-009 'service["player"]' --json`,
		Args: cli.Arguments(1, 3),
		RunE: func(_ *cobra.Command, args []string) error {
			o.prd = args[0]
			if len(args) > 1 {
				o.workstream = args[1]
			}
			if len(args) > 2 {
				o.name = args[2]
			}
			return runOutputs(env, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object, with the type of each value")
	return cmd
}

func runOutputs(env *cli.Environment, o outputsOptions) error {
	store, st, err := load.State(env, o.prd)
	if err != nil {
		return err
	}
	if owner, err := store.Owner(o.prd); err != nil {
		return err
	} else if owner == nil {
		st = st.CutOff()
	}
	if err := checkWorkstream(st, o.workstream); err != nil {
		return err
	}
	report := info.NewOutputsReport(st, func(name string) bool {
		return o.workstream == "" || name == o.workstream || view.Block(name) == o.workstream && st.Workstream(o.workstream) == nil
	})
	switch {
	case o.name != "":
		return printOutput(env, st, report, o)
	case o.json:
		return show.JSON(env.Stdout, report)
	case len(report.Workstreams) == 0:
		fmt.Fprintf(env.Stderr, "No outputs: %s\n", whyNoOutputs(st, o.workstream))
		return nil
	}
	return show.Outputs(env.Stdout, report)
}

// checkWorkstream refuses the name of a workstream that the session does not have. "" is none.
func checkWorkstream(st *state.State, named string) error {
	if named == "" || st.Workstream(named) != nil {
		return nil
	}
	var names []string
	for w := range st.Records() {
		if view.Block(w.Name) == named {
			return nil
		}
		names = append(names, w.Name)
	}
	err := advice.Usagef("%s has no workstream %q", st.PRD, named)
	if near := words.Nearest(named, names); near != "" {
		return advice.With(err, fmt.Sprintf("did you mean %s?", text.ShellWord(near)))
	}
	return advice.With(err, fmt.Sprintf("`runner status %s` lists them", st.PRD))
}

// whyNoOutputs says why there are none of a workstream, or of all for "".
func whyNoOutputs(st *state.State, named string) string {
	w := st.Workstream(named)
	switch {
	case w == nil:
		return "no workstream that has succeeded has set any"
	case w.Phase() == nil:
		return "the pipeline no longer has " + w.Name + ", and only what it has is shown"
	case w.Status != state.Completed && w.Status != state.Succeeded:
		return fmt.Sprintf("%s is %s; only what has succeeded has outputs", w.Name, w.Status)
	}
	return w.Name + " has set none"
}

// printOutput prints one value.
func printOutput(env *cli.Environment, st *state.State, report info.OutputsReport, o outputsOptions) error {
	if len(report.Workstreams) > 1 {
		return advice.With(advice.Usagef("%s has %d instances with outputs", o.workstream, len(report.Workstreams)),
			"name one, such as "+text.ShellWord(report.Workstreams[0].Name))
	}
	if len(report.Workstreams) == 0 {
		return advice.With(advice.Usagef("there is no output %s: %s", o.name, whyNoOutputs(st, o.workstream)), fmt.Sprintf("`runner status %s` shows what it needs", st.PRD))
	}
	of := report.Workstreams[0]
	v, has := of.Value(o.name)
	switch {
	case !has:
		err := advice.Usagef("%s has no output %s", of.Name, o.name)
		if near := words.Nearest(o.name, of.Names()); near != "" {
			return advice.With(err, fmt.Sprintf("did you mean %s?", near))
		}
		return advice.With(err, "it has "+strings.Join(of.Names(), ", "))
	case v.Sensitive:
		return advice.With(advice.Usagef("the output %s of %s is sensitive, or has a sensitive part: its value is not stored as it was", o.name, of.Name), "only the processes of the run that made it could use it")
	case o.json:
		return show.JSON(env.Stdout, info.OutputReport{FormatVersion: info.FormatVersion, OutputValue: v})
	}
	end := ""
	if env.IsTerminal(env.Stdout) {
		end = "\n"
	}
	_, err := io.WriteString(env.BytesOut(), v.String()+end)
	return err
}
