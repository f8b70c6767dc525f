package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
)

// maskFreeText masks sensitive values in text that the user writes for the record (-m
// TEXT), before the command sees it. Like load.GuardedWorkspace for files, it knows the
// values that the pipeline, the environment and the command's own flags give. It refuses
// the text if some values can't be known, because the text might hold one, unless they are
// values that the caller of the pipeline passes.
func maskFreeText(env *cli.Environment, cmd *cobra.Command, args []string) error {
	var written []*pflag.Flag
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if cli.HoldsText(flag) && flag.Value.String() != "" {
			written = append(written, flag)
		}
	})
	if len(written) == 0 || len(args) == 0 {
		return nil
	}
	cfg, err := env.LoadConfig()
	if err != nil || load.CheckPRD(env, cfg, args[0]) != nil {
		return nil //nolint:nilerr // the command meets the same error, and reports it
	}
	ref := load.PipelineOf(args[0], cmd.Flags())
	store, err := load.OpenStore(env, cfg, ref)
	if err != nil {
		return nil //nolint:nilerr // the command meets the same error, and reports it
	}
	masker, err := load.KnownSecrets(env, cfg, store, ref)
	if advice.IsA[*load.UnknownSecretsError](err) {
		// A calling pipeline may get such values from a program. Then the user does not know them.
		if caller := callerOf(store, ref.PRD); caller != "" {
			env.Warn(fmt.Errorf("the text is recorded as it is, and not searched for the sensitive values that %s passes: they are not known here", caller))
			return nil
		}
	}
	if err != nil {
		return refuseText(env, cmd, args, written[0].Name, err)
	}
	if masker == nil {
		return nil
	}
	for _, flag := range written {
		if err := maskFlag(flag.Value, masker.String); err != nil {
			return fmt.Errorf("mask the value of --%s: %w", flag.Name, err)
		}
	}
	return nil
}

// callerOf returns the id of the session that calls the pipeline of a session, "" if none does.
func callerOf(store *checkpoint.Store, prd string) string {
	snap, err := store.Load(prd)
	if err != nil || snap.State == nil || snap.State.Caller == nil {
		return ""
	}
	return snap.State.Caller.PRD
}

func maskFlag(v pflag.Value, mask func(string) string) error {
	several, ok := v.(pflag.SliceValue)
	if !ok {
		return v.Set(mask(v.String()))
	}
	texts := several.GetSlice()
	for i := range texts {
		texts[i] = mask(texts[i])
	}
	return several.Replace(texts)
}

// refuseText returns the error for text that may hold a sensitive value, which must not be
// recorded.
func refuseText(env *cli.Environment, cmd *cobra.Command, args []string, flag string, err error) error {
	refused := advice.Usagef("the text of --%s may contain a sensitive value, which must not be recorded: %w", flag, err)
	without := fmt.Sprintf("`%s` does it without the text", env.Command(cli.WithoutText(cmd, args)))
	var unknown *load.UnknownSecretsError
	switch {
	case errors.As(err, &unknown) && unknown.File != "":
		return advice.With(refused, fmt.Sprintf("put the pipeline back at %s, or: %s", text.ShellWord(unknown.File), without))
	case errors.As(err, &unknown) && unknown.Variable() != "":
		return advice.With(refused, fmt.Sprintf("where a value is missing, set PRDRUNNER_VAR_%s to what the build was given; %s", unknown.Variable(), without))
	}
	return advice.With(refused, without)
}

// refuseEmpty refuses empty arguments and empty values of flags. A script produces them
// from a variable that is not set. If Runner ignored them, the command would mean another
// PRD, all PRDs, or a new session.
func refuseEmpty(cmd *cobra.Command, args []string) error {
	switch cmd.Name() {
	case cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return nil // the word to complete is empty at first
	}
	hint := "is a variable of the shell not set? usage: " + cmd.UseLine()
	if slices.Contains(args, "") {
		return advice.With(advice.Usagef("an argument is empty"), hint)
	}
	var empty string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if placeholder, _ := pflag.UnquoteUsage(flag); placeholder != cli.FreeText && emptyValue(flag.Value) {
			empty = flag.Name
		}
	})
	if empty != "" {
		return advice.With(advice.Usagef("the value of --%s is empty", empty), hint)
	}
	return nil
}

// emptyValue reports whether a value, or an element of a list, is empty.
func emptyValue(v pflag.Value) bool {
	if several, ok := v.(pflag.SliceValue); ok {
		return slices.Contains(several.GetSlice(), "")
	}
	return v.String() == ""
}
