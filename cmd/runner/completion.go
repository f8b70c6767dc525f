package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
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
