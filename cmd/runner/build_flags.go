package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/begin"
	"prdrunner/cmd/runner/cli"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// resumeArguments checks the arguments of a command with --resume. A word that follows
// --resume after a space is an argument, not a value of the flag.
func resumeArguments(resume *string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		named := *resume
		args = withoutAuto(&named, args)
		if len(args) == 2 && named == begin.ResumeCurrent {
			return advice.With(advice.Usagef("unexpected argument %q", args[1]),
				fmt.Sprintf("to go back to that checkpoint first: `runner %s %s --resume=%s`", cmd.Name(), args[0], text.ShellWord(args[1])))
		}
		return cli.Arguments(0, 1)(cmd, args)
	}
}

// resumeForOnly makes a command with --only continue the session, as --resume=auto does,
// unless --resume is given. So the user can repeat the command.
func resumeForOnly(resume *string, s plan.Selection) {
	if len(s.Only) > 0 && *resume == "" {
		*resume = begin.ResumeAuto
	}
}

// withoutAuto treats "--resume auto" as --resume=auto, and returns the arguments without
// "auto". No PRD has that id.
func withoutAuto(resume *string, args []string) []string {
	i := slices.Index(args, begin.ResumeAuto)
	if *resume != begin.ResumeCurrent || i < 0 {
		return args
	}
	*resume = begin.ResumeAuto
	return slices.Delete(slices.Clone(args), i, i+1)
}

// refuseChoicesWithPlan refuses flags that make a choice which the plan of --plan has
// already made: the build does exactly what the plan says.
func refuseChoicesWithPlan(cmd *cobra.Command, o buildOptions) error {
	if o.plan == "" {
		return nil
	}
	var given []string
	for _, name := range []string{"fresh", "from", "only", "repeat", "invalidate", "on-conflict", "dry-run"} {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if begin.NamesCheckpoint(o.resume) {
		given = append(given, "--resume="+o.resume)
	}
	if len(given) == 0 {
		return nil
	}
	return advice.With(advice.Usagef("--plan does exactly what the plan in %s says, and can't be given together with %s", o.plan, strings.Join(given, ", ")),
		fmt.Sprintf("`runner plan %s` takes the choices, and writes another plan with -o", text.ShellWord(cmp.Or(o.pipeline.PRD, "PRD"))))
}

// addResumeFlag adds --resume, which takes no value, auto, or a checkpoint.
func addResumeFlag(cmd *cobra.Command, resume *string) {
	cmd.Flags().StringVar(resume, "resume", "", "resume the session; auto: start, resume, or succeed if there is nothing to do; `CHECKPOINT`: roll back to it first")
	cmd.Flags().Lookup("resume").NoOptDefVal = begin.ResumeCurrent
}

func addSelectionFlags(cmd *cobra.Command, s *plan.Selection) {
	flags := cmd.Flags()
	flags.StringVar(&s.From, "from", "", "run `PHASE` and all later phases again")
	flags.StringArrayVar(&s.Only, "only", nil, "run only `WORKSTREAM`, even if it is done, and what it needs; continues the session, if there is one; may be repeated")
	flags.StringArrayVar(&s.Repeat, "repeat", nil, "run `WORKSTREAM` again, although it must happen only once and has happened, or may have; may be repeated")
	flags.StringArrayVar(&s.Invalidate, "invalidate", nil, "run `WORKSTREAM`, or one instance ('ws[\"key\"]'), and everything that depends on it again; may be repeated")
}

// addRunFlags adds the flags that set keys of the configuration. LoadConfig reads their
// values from the flag set, so they are not stored here.
func addRunFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Int("parallel", 0, "run at most this many processes at once (default: the number of CPUs)")
	flags.Bool("keep-going", false, "after a failure, continue with what does not depend on it")
	flags.Bool("pause-at-gates", false, "pause for review after every gate")
	onConflict, onStale := "", ""
	flags.Var(cli.NewEnum(&onConflict, string(plan.ConflictAsk), string(plan.ConflictRestore), string(plan.ConflictKeep), string(plan.ConflictFail)),
		"on-conflict", "what to do with edited artifacts: ask, restore, keep or fail")
	flags.Var(cli.NewEnum(&onStale, string(runner.StaleAsk), string(runner.StaleProceed), string(runner.StaleFail)),
		"on-stale", "what to do if the document or the issue of the pipeline changed or the session's git branch is gone: ask, proceed or fail")
}
