package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/runner/view"
)

// completeFromStore completes words of the state of the PRD that the first argument names; prd is "" if
// it names none. The words keep their order.
func completeFromStore(env *cli.Environment, words func(store *checkpoint.Store, prd string) []string) cobra.CompletionFunc {
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
		return words(store, prd), directive
	}
}

// completeWaiting completes the gates that wait for a person.
func completeWaiting(env *cli.Environment) cobra.CompletionFunc {
	return completeFromStore(env, func(store *checkpoint.Store, prd string) (words []string) {
		snap, err := store.Load(prd)
		if err != nil || snap.State == nil {
			return nil
		}
		for g := range snap.State.Gates() {
			if info.Awaits(g) {
				words = append(words, cobra.CompletionWithDesc(g.Label, view.FirstLine(string(g.Message))))
			}
		}
		return words
	})
}

// completeSessions completes the sessions of a PRD, the newest first.
func completeSessions(env *cli.Environment) cobra.CompletionFunc {
	return completeFromStore(env, func(store *checkpoint.Store, prd string) []string {
		sessions, err := store.Reader().Sessions(prd)
		if err != nil {
			return nil
		}
		words := []string{"latest"}
		for _, s := range slices.Backward(sessions) {
			if s.State != nil {
				words = append(words, cobra.CompletionWithDesc(state.ShortSession(s.State.Session), fmt.Sprintf("%s, begun %s", s.State.Status, s.State.CreatedAt.UTC().Format(time.DateTime))))
			}
		}
		return words
	})
}

// completeCheckpoints completes the checkpoints of the session of the PRD that the first
// argument names, the newest first. Without an argument it is that of the only session.
func completeCheckpoints(env *cli.Environment) cobra.CompletionFunc {
	return completeFromStore(env, func(store *checkpoint.Store, prd string) []string {
		if prd == "" {
			prds, err := store.Reader().PRDs()
			if err != nil || len(prds) != 1 {
				return nil
			}
			prd = prds[0]
		}
		refs, err := store.Checkpoints(prd)
		if err != nil {
			return nil
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
		return words
	})
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
