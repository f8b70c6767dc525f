package main

import (
	"context"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

type configOptions struct {
	json     bool
	defaults bool
}

func newConfigCommand(env *cli.Environment) *cobra.Command {
	var o configOptions
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show every setting, its value and its source",
		Long: `Show every setting, its value and where the value comes from.

Runner takes each setting from the first of these that has it:
  1. a flag
  2. an environment variable, such as PRDRUNNER_PARALLEL for parallel or
     PRDRUNNER_CHECKPOINT_RETENTION_MANUAL for checkpoint.retention.manual
  3. runner.yaml, runner.toml or runner.json in the workspace, or the file that
     --config names
  4. runner/config.yaml, .toml or .json in the user's configuration directory
  5. the default`,
		Args: cli.Arguments(0, 0),
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&o.defaults, "defaults", false, "show every key with its default and its purpose; read no configuration")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runConfig(cmd.Context(), env, o) }
	return cmd
}

func runConfig(_ context.Context, env *cli.Environment, o configOptions) error {
	if o.defaults {
		return showDefaults(env, o)
	}
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	return showSettings(env, o, cfg.Settings(), func(s config.Setting) string { return string(s.Source) })
}

func showDefaults(env *cli.Environment, o configOptions) error {
	help := make(map[string]string)
	var settings []config.Setting
	for _, k := range config.Keys() {
		help[k.Name] = k.Help
		settings = append(settings, config.Setting{Key: k.Name, Value: k.Default, Source: "default"})
	}
	return showSettings(env, o, settings, func(s config.Setting) string { return help[s.Key] })
}

func showSettings(env *cli.Environment, o configOptions, settings []config.Setting, note func(config.Setting) string) error {
	if o.json {
		return show.JSON(env.Stdout, info.NewSettingsReport(settings))
	}
	return show.Settings(env.Stdout, settings, note)
}
