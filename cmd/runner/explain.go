package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/explain"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
	"prdrunner/cmd/runner/words"
	"prdrunner/pipeline/diagnostics"
)

type explainOptions struct {
	name string
	json bool
}

func newExplainCommand(env *cli.Environment) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain [WORD|CODE|EXIT-CODE]...",
		Short: "Explain a mistake, an exit code, or a word that Runner prints",
		Long: `Explain what a word means that Runner prints, what leads to it, and what to do:

  - the code in brackets behind a mistake in a pipeline, or its whole summary;
  - an exit code, such as 3 or exit 3;
  - a decision of a plan, such as rerun or blocked;
  - a status, such as uncertain or killed;
  - a word of the screens, such as boundary, attempts or waiting;
  - the outcome of an attempt, such as timed_out;
  - the trigger of a checkpoint, such as pre_rollback.

Several words need no quotes: runner explain waits for approval.
Without an argument, list all of them.`,
		Example: `  runner explain invalid-duration
  runner explain exit 5
  runner explain waiting
  runner explain rerun`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = strings.Join(args, " ")
			return runExplain(cmd.Context(), env, o)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			sections, err := explain.Sections()
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return explain.Names(sections), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object; the texts are Markdown")
	return cmd
}

func runExplain(_ context.Context, env *cli.Environment, o explainOptions) error {
	sections, err := explain.Sections()
	if err != nil {
		return err
	}
	width := env.Width(env.Stdout)
	if o.name == "" {
		if o.json {
			var all []explain.Topic
			for _, s := range sections {
				all = append(all, s.Topics...)
			}
			return show.JSON(env.Stdout, info.NewExplanationReport(all))
		}
		return show.Explanations(env.Stdout, sections, width)
	}
	name, topics := find(sections, o.name)
	if len(topics) == 0 {
		return unexplained(o.name, explain.Names(sections))
	}
	if o.json {
		return show.JSON(env.Stdout, info.NewExplanationReport(topics))
	}
	return show.Explanation(env.Stdout, name, topics, width)
}

// find returns the topics about what the user typed, and the name under which they are known. An exit code
// may be called one: exit 3, exit code 3 or exit-code-3.
func find(sections []explain.Section, typed string) (name string, topics []explain.Topic) {
	name = diagnostics.Code(typed)
	if code := regexp.MustCompile(`^exit-(?:code-)?(\d+)$`).FindStringSubmatch(name); code != nil {
		name = code[1]
	}
	if topics = explain.Find(sections, name); len(topics) == 0 {
		name = strings.ReplaceAll(name, "-", "_")
		topics = explain.Find(sections, name)
	}
	return name, topics
}

// unexplained returns the error for a name that has no explanation.
func unexplained(name string, known []string) error {
	hint := "`runner explain` lists what can be explained"
	if near := words.Nearest(diagnostics.Code(name), known); near != "" {
		hint = fmt.Sprintf("did you mean `runner explain %s`? %s", near, hint)
	}
	return advice.With(advice.Usagef("nothing is known about %q", name), hint)
}
