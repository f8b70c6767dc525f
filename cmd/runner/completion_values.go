package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/runner/view"
)

// completeCheckpoints completes the checkpoints of the session of the PRD that the first
// argument names, the newest first. Without an argument it is that of the only session.
func completeCheckpoints(env *cli.Environment) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		cfg := completionConfig(env, cmd)
		if cfg == nil {
			return nil, directive
		}
		prd := strings.TrimSuffix(cli.FirstArgument(args), ".hcl")
		store, err := load.OpenStore(env, cfg, load.PipelineRef{PRD: prd})
		if err != nil {
			return nil, directive
		}
		if prd == "" {
			prds, err := store.Reader().PRDs()
			if err != nil || len(prds) != 1 {
				return nil, directive
			}
			prd = prds[0]
		}
		refs, err := store.Checkpoints(prd)
		if err != nil {
			return nil, directive
		}
		var words []string
		for _, ref := range slices.Backward(refs) {
			note := string(ref.Trigger)
			if ref.StepName != "" {
				note += ", after " + view.OneLine(ref.StepName)
			}
			if !ref.Valid {
				note += ", invalid"
			}
			words = append(words, cobra.CompletionWithDesc(ref.ID, note))
		}
		return words, directive
	}
}

// completeSafetyCheckpoints completes the safety checkpoints.
func completeSafetyCheckpoints(env *cli.Environment) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		cfg := completionConfig(env, cmd)
		if cfg == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var ref load.PipelineRef
		if flag := cmd.Flags().Lookup("prd"); flag != nil {
			ref.PRD = flag.Value.String()
		}
		store, err := load.OpenStore(env, cfg, ref)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _, err := store.Safety().List()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []string
		for _, c := range all {
			words = append(words, cobra.CompletionWithDesc(c.ID, view.OneLine(c.Summary())))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}
