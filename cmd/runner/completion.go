package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"prdrunner/pipeline"
)

type completionOptions struct {
	shell  string
	root   *cobra.Command
	stdout io.Writer
}

func newCompletionCommand(env *environment) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes commands, PRD ids and names",
		Long: `Print a script that completes commands, flags, PRD ids and the names of phases
and workstreams. Load it like this:

  bash        source <(runner completion bash)
  zsh         source <(runner completion zsh)
  fish        runner completion fish | source
  powershell  runner completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: shells,
		Args:      arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := completionOptions{shell: args[0], root: cmd.Root(), stdout: env.stdout}
			return runCompletion(cmd.Context(), o)
		},
	}
}

func runCompletion(_ context.Context, o completionOptions) error {
	const descriptions = true
	switch o.shell {
	case "bash":
		return o.root.GenBashCompletionV2(o.stdout, descriptions)
	case "zsh":
		return o.root.GenZshCompletion(o.stdout)
	case "fish":
		return o.root.GenFishCompletion(o.stdout, descriptions)
	case "powershell":
		return o.root.GenPowerShellCompletionWithDesc(o.stdout)
	default:
		return usageErrorf("unknown shell %q: must be bash, zsh, fish or powershell", o.shell)
	}
}

// completePRDs completes the ids that have a pipeline as first argument.
func completePRDs(env *environment) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		cfg := completionConfig(env, cmd)
		if cfg == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return knownPRDs(env, cfg), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNames completes the names of phases or workstreams of the PRD that
// is the first argument.
func completeNames(env *environment, ref *pipelineRef, names func(*pipeline.Pipeline) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		cfg := completionConfig(env, cmd)
		if cfg == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		meant := *ref
		if len(args) > 0 {
			meant.prd = args[0]
		}
		read, err := readPipeline(env, cfg, meant)
		if err != nil || read.pipeline == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(read.pipeline), cobra.ShellCompDirectiveNoFileComp
	}
}

// phaseNames and workstreamNames are what completeNames offers.
func phaseNames(p *pipeline.Pipeline) []string {
	var names []string
	for _, phase := range p.Phases {
		names = append(names, phase.Name)
	}
	return names
}

func workstreamNames(p *pipeline.Pipeline) []string {
	var names []string
	for _, phase := range p.Phases {
		for _, w := range phase.Workstreams {
			names = append(names, w.Name)
		}
	}
	return names
}

// completionConfig is the configuration for a completion, nil where it is
// invalid: a shell that completes is no place for diagnostics.
func completionConfig(env *environment, cmd *cobra.Command) *config {
	if err := env.begin(cmd.Flags()); err != nil {
		return nil
	}
	cfg, err := loadConfig(env)
	if err != nil {
		return nil
	}
	return cfg
}

// completeFlag registers the completion of a flag's value.
func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, complete))
}

// completeWords completes a flag that takes one of a few words.
func completeWords(cmd *cobra.Command, flag string, words []string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}
