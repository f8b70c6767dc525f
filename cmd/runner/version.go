package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// version is set by a release build: -ldflags "-X main.version=1.2.3".
var version = ""

type versionOptions struct {
	json   bool
	stdout io.Writer
}

// buildInfo describes this build of Runner.
type buildInfo struct {
	FormatVersion string            `json:"format_version"`
	Version       string            `json:"version"`
	Commit        string            `json:"commit,omitempty"`
	Modified      bool              `json:"modified,omitempty"`
	Time          string            `json:"time,omitempty"`
	Go            string            `json:"go"`
	Platform      string            `json:"platform"`
	Formats       map[string]string `json:"formats"` // versions of the formats that this version reads and writes
}

func newVersionCommand(env *environment) *cobra.Command {
	o := versionOptions{stdout: env.stdout}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version and the supported format versions",
		Args:  arguments(0, 0),
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runVersion(cmd.Context(), o) }
	return cmd
}

func runVersion(_ context.Context, o versionOptions) error {
	info := readBuildInfo()
	if o.json {
		return writeJSON(o.stdout, info)
	}
	fmt.Fprintf(o.stdout, "runner %s\n", info.Version)
	if info.Commit != "" {
		note := ""
		if info.Modified {
			note = ", modified"
		}
		fmt.Fprintf(o.stdout, "commit %s (%s%s)\n", info.Commit, info.Time, note)
	}
	fmt.Fprintf(o.stdout, "%s %s\n", info.Go, info.Platform)
	fmt.Fprintf(o.stdout, "formats: state %s, plan %s, output %s\n", info.Formats["state"], info.Formats["plan"], info.Formats["output"])
	return nil
}

// versionString returns the version for journals and messages.
func versionString() string { return readBuildInfo().Version }

func readBuildInfo() buildInfo {
	info := buildInfo{
		FormatVersion: outputFormat,
		Version:       version,
		Go:            runtime.Version(),
		Platform:      runtime.GOOS + "/" + runtime.GOARCH,
		Formats:       map[string]string{"state": state.FormatVersion, "plan": plan.FormatVersion, "output": outputFormat},
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
