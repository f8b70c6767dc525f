package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// freeText is the placeholder of flags that a person writes something in,
// which may be nothing.
const freeText = "TEXT"

// refuseEmpty refuses arguments, and values of flags, that are there and empty.
// They are what a script makes of a variable that is not set: taken as if they
// were not there, they would mean another PRD, all of them, or a new session.
func refuseEmpty(cmd *cobra.Command, args []string) error {
	switch cmd.Name() {
	case cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return nil // what has been typed so far is empty at first
	}
	hint := "is a variable of the shell not set? usage: " + cmd.UseLine()
	if slices.Contains(args, "") {
		return withHint(usageErrorf("an argument is empty"), hint)
	}
	var empty string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if placeholder, _ := pflag.UnquoteUsage(flag); placeholder != freeText && emptyValue(flag.Value) {
			empty = flag.Name
		}
	})
	if empty != "" {
		return withHint(usageErrorf("the value of --%s is empty", empty), hint)
	}
	return nil
}

// emptyValue reports whether a value, or one of several, is empty.
func emptyValue(v pflag.Value) bool {
	if several, ok := v.(pflag.SliceValue); ok {
		return slices.Contains(several.GetSlice(), "")
	}
	return v.String() == ""
}
