package main

import (
	"context"
	_ "embed"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/load"
	"prdrunner/pipeline"
)

type completionOptions struct {
	shell  string
	root   *cobra.Command
	stdout io.Writer
}

func newCompletionCommand(env *cli.Environment) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for a shell",
		Long: `Print a script that completes commands, flags, PRD ids, checkpoints, and the names of
phases, workstreams and gates. That for bash needs no other package. To load it:

  bash        source <(runner completion bash)
  zsh         source <(runner completion zsh)
  fish        runner completion fish | source
  powershell  runner completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: shells,
		Args:      cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := completionOptions{shell: args[0], root: cmd.Root(), stdout: env.Stdout.Raw}
			return runCompletion(cmd.Context(), o)
		},
	}
}

// bashCompletion is the script for bash. The one of cobra needs the package bash-completion,
// and inserts the beginning that several completions share without quotes.
//
//go:embed templates/completion.bash
var bashCompletion string

func runCompletion(_ context.Context, o completionOptions) error {
	const descriptions = true
	switch o.shell {
	case "bash":
		_, err := io.WriteString(o.stdout, bashCompletion)
		return err
	case "zsh":
		return o.root.GenZshCompletion(o.stdout)
	case "fish":
		return o.root.GenFishCompletion(o.stdout, descriptions)
	case "powershell":
		return o.root.GenPowerShellCompletionWithDesc(o.stdout)
	default:
		return advice.Usagef("unknown shell %q: must be bash, zsh, fish or powershell", o.shell)
	}
}

// addCompletions adds completions to a command and its subcommands. The placeholders in
// the usage line tell what the arguments are.
func addCompletions(cmd *cobra.Command, env *cli.Environment) {
	if cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil {
		cmd.ValidArgsFunction = completeArguments(env)
	}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if words, ok := flag.Value.(*cli.Enum); ok {
			completeFlag(cmd, flag.Name, cobra.FixedCompletions(words.Allowed, cobra.ShellCompDirectiveNoFileComp))
		}
		switch flag.Name {
		case "from", "phase":
			completeFlag(cmd, flag.Name, completeNames(env, phaseNames))
		case "only", "repeat", "invalidate":
			completeFlag(cmd, flag.Name, completeNames(env, workstreamNames))
		case "to":
			if cmd.Name() == "reject" {
				completeFlag(cmd, flag.Name, completeNames(env, workstreamNames))
			}
		case "resume":
			if flag.Value.Type() == "string" {
				completeFlag(cmd, flag.Name, completeCheckpoints(env))
			}
		}
	})
	for _, child := range cmd.Commands() {
		addCompletions(child, env)
	}
}

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, complete))
}

// completeArguments completes the next argument according to its placeholder.
func completeArguments(env *cli.Environment) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		use, _, _ := strings.Cut(cmd.Use, " {") // flags of which one is needed
		placeholders := strings.Fields(use)[1:]
		if len(placeholders) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		next := placeholders[min(len(args), len(placeholders)-1)]
		repeated := strings.HasSuffix(next, "...")
		if len(args) >= len(placeholders) && !repeated {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		switch strings.Trim(strings.TrimSuffix(next, "..."), "[]") {
		case "PRD":
			return completePRDs(env, cmd), cobra.ShellCompDirectiveNoFileComp
		case "PRD|FILE":
			return completePRDs(env, cmd), cobra.ShellCompDirectiveDefault
		case "WORKSTREAM":
			return completeNames(env, workstreamNames)(cmd, args, typed)
		case "WORKSTREAM|GATE":
			return completeNames(env, stepNames)(cmd, args, typed)
		case "GATE":
			return completeWaiting(env)(cmd, args, typed)
		case "SESSION":
			return completeSessions(env)(cmd, args, typed)
		case "CHECKPOINT", "FROM", "TO":
			if cmd.HasParent() && cmd.Parent().Name() == "safety" {
				return completeSafetyCheckpoints(env)(cmd, args, typed)
			}
			return completeCheckpoints(env)(cmd, args, typed)
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// completePRDs returns the PRD ids that have a pipeline.
func completePRDs(env *cli.Environment, cmd *cobra.Command) []string {
	cfg := completionConfig(env, cmd)
	if cfg == nil {
		return nil
	}
	return load.KnownPRDs(env, cfg)
}

// completeNames completes names in the pipeline that the first argument or --file names.
func completeNames(env *cli.Environment, names func(*pipeline.Pipeline) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		cfg := completionConfig(env, cmd)
		if cfg == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ref := load.PipelineRef{PRD: cli.FirstArgument(args)}
		if flag := cmd.Flags().Lookup("file"); flag != nil {
			ref.File = flag.Value.String()
		}
		read, err := load.ReadPipeline(env, cfg, ref)
		if err != nil || read.Pipeline == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(read.Pipeline), cobra.ShellCompDirectiveNoFileComp
	}
}

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

// stepNames returns the names of the workstreams and the labels of the gates. The name of a block, which
// stands for its instances, is not among them: it would end what a shell completes before the brackets.
func stepNames(p *pipeline.Pipeline) []string { return append(workstreamNames(p), gateLabels(p)...) }

func gateLabels(p *pipeline.Pipeline) []string {
	var labels []string
	for _, phase := range p.Phases {
		for _, w := range phase.Workstreams {
			for _, gate := range w.Gates {
				labels = append(labels, gate.Label())
			}
		}
		for _, gate := range phase.Gates {
			labels = append(labels, gate.Label())
		}
	}
	return labels
}

// unquoteUsages takes the marks of placeholders out of the descriptions of flags, which a shell would
// show as they are.
func unquoteUsages(cmd *cobra.Command) {
	unquote := func(flag *pflag.Flag) { flag.Usage = strings.ReplaceAll(flag.Usage, "`", "") }
	cmd.PersistentFlags().VisitAll(unquote)
	cmd.Flags().VisitAll(unquote)
	for _, child := range cmd.Commands() {
		unquoteUsages(child)
	}
}

// completionConfig returns the configuration for a completion. It returns nil if the
// configuration is invalid, because a completion must not print diagnostics.
func completionConfig(env *cli.Environment, cmd *cobra.Command) *config.Config {
	if err := env.Begin(cmd); err != nil {
		return nil
	}
	cfg, err := env.LoadConfig()
	if err != nil {
		return nil
	}
	return cfg
}
