package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/ci"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
)

// neutralizeForCI has what a command prints contain no command for the CI system that runs
// Runner: texts from workstreams must not steer it. A file that standard output is redirected
// to gets what the command prints unchanged, and so do programs that read a single value, or
// what a command prints of a pipeline or of Runner itself.
func neutralizeForCI(env *cli.Environment, cmd *cobra.Command) {
	if env.Lookup("RUNNER_SESSION") != "" { // Runner reads the output, as that of a workstream or of a hook
		return
	}
	m := ci.Detect(ci.Auto, env.Workdir, env.Lookup).Markup(env.Now)
	if m == nil {
		return
	}
	env.Stderr.Neutralize(m.Neutral)
	if isFile(env.Stdout) || strings.HasPrefix(cmd.CommandPath(), "runner report ") || slices.Contains([]string{"completion", "config", "explain", "fmt", "get", "graph", "help", "init", "man", "version"}, cmd.Name()) {
		return
	}
	env.Neutral = m.Neutral
	env.Stdout.Neutralize(m.Neutral)
}

// isFile reports whether a stream is a regular file.
func isFile(s *show.Screen) bool {
	f, ok := s.Raw.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}
