package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/plan"
)

// version is set by a release build: -ldflags "-X main.version=1.2.3".
var version = ""

type versionOptions struct {
	json bool
}

func newVersionCommand(env *cli.Environment) *cobra.Command {
	var o versionOptions
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version and the supported format versions",
		Args:  cli.Arguments(0, 0),
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runVersion(cmd.Context(), env, o) }
	return cmd
}

func runVersion(_ context.Context, env *cli.Environment, o versionOptions) error {
	info := readBuildInfo()
	if o.json {
		return show.JSON(env.Stdout, info)
	}
	return show.Version(env.Stdout, info)
}

func readBuildInfo() info.BuildInfo {
	info := info.BuildInfo{
		FormatVersion: info.FormatVersion,
		Version:       version,
		Go:            runtime.Version(),
		Platform:      runtime.GOOS + "/" + runtime.GOARCH,
		Formats:       map[string]string{"state": state.FormatVersion, "plan": plan.FormatVersion, "output": info.FormatVersion},
	}
	build, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range build.Settings {
			switch s.Key {
			case "vcs.revision":
				info.Commit = s.Value
			case "vcs.modified":
				info.Modified = s.Value == "true"
			case "vcs.time":
				info.Time = s.Value
			}
		}
		if info.Version == "" {
			info.Version = build.Main.Version
		}
	}
	if info.Version == "" || info.Version == "(devel)" {
		info.Version = "devel"
	}
	return info
}
