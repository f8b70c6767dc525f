package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prdrunner/cmd/runner/advice"
)

// freeText is the placeholder of flags in which the user writes text. The text may be
// empty.
const freeText = "TEXT"

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
		if placeholder, _ := pflag.UnquoteUsage(flag); placeholder != freeText && emptyValue(flag.Value) {
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
