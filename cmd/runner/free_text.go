package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maskFreeText masks what a person writes for the record (-m TEXT), before the
// command sees it: as guarded does for files, with the sensitive values that the
// pipeline and the environment tell. Where these can't be known it says so.
func maskFreeText(env *environment, cmd *cobra.Command, args []string) error {
	var written []*pflag.Flag
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if placeholder, _ := pflag.UnquoteUsage(flag); placeholder == freeText && flag.Value.String() != "" {
			written = append(written, flag)
		}
	})
	if len(written) == 0 || len(args) == 0 {
		return nil
	}
	cfg, err := loadConfig(env)
	if err != nil || checkPRD(env, cfg, args[0]) != nil {
		return nil //nolint:nilerr // the command comes to the same, and says so as its own
	}
	store, err := openStore(env, cfg, args[0])
	if err != nil {
		return nil //nolint:nilerr // likewise
	}
	masker, err := knownSecrets(env, cfg, store, args[0])
	if err != nil {
		fmt.Fprintf(env.stderr, "Warning: the text is not searched for sensitive values, since what these are can't be known: %v\n", err)
		return nil
	}
	if masker == nil {
		return nil
	}
	for _, flag := range written {
		if err := flag.Value.Set(masker.String(flag.Value.String())); err != nil {
			return fmt.Errorf("mask the value of --%s: %w", flag.Name, err)
		}
	}
	return nil
}
