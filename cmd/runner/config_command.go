package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/config"
)

type configOptions struct {
	json     bool
	defaults bool
	env      *environment
	stdout   io.Writer
}

func newConfigCommand(env *environment) *cobra.Command {
	o := configOptions{env: env, stdout: env.stdout}
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
		Args: arguments(0, 0),
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&o.defaults, "defaults", false, "show every key with its default and its purpose; read no configuration")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runConfig(cmd.Context(), o) }
	return cmd
}

// configOutput is what `runner config --json` prints.
type configOutput struct {
	FormatVersion string           `json:"format_version"`
	Settings      []config.Setting `json:"settings"`
}

func runConfig(_ context.Context, o configOptions) error {
	if o.defaults {
		return showDefaults(o)
	}
	cfg, err := loadConfig(o.env)
	if err != nil {
		return err
	}
	return showSettings(o, cfg.Settings(), func(s config.Setting) string { return string(s.Source) })
}

func showDefaults(o configOptions) error {
	help := make(map[string]string)
	var settings []config.Setting
	for _, k := range config.Keys() {
		help[k.Name] = k.Help
		settings = append(settings, config.Setting{Key: k.Name, Value: k.Default, Source: "default"})
	}
	return showSettings(o, settings, func(s config.Setting) string { return help[s.Key] })
}

func showSettings(o configOptions, settings []config.Setting, note func(config.Setting) string) error {
	if o.json {
		out := configOutput{FormatVersion: outputFormat}
		for _, s := range settings {
			switch v := s.Value.(type) {
			case time.Duration:
				s.Value = v.String()
			case string:
				s.Value = state.Text(v)
			case []string:
				s.Value = state.Texts(v)
			}
			out.Settings = append(out.Settings, s)
		}
		return writeJSON(o.stdout, out)
	}
	table := tabwriter.NewWriter(o.stdout, 0, 8, 2, ' ', 0)
	for _, s := range settings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Key, showValue(s.Value), note(s))
	}
	return table.Flush()
}

func showValue(value any) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case string:
		return fmt.Sprintf("%q", v)
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}
