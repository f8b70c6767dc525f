package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/runner"
	"prdrunner/runner/process"
	"prdrunner/runner/sink"
)

// agentProgram is the command of Buildkite's agent.
const agentProgram = "buildkite-agent"

// agentTimeout is how long the agent of Buildkite may take for the summary, and again for the
// result. Buildkite kills an interrupted job after 10 s.
const agentTimeout = 4 * time.Second

// noPause stands for paused_at without a pause, since Buildkite keeps no empty value.
const noPause = "none"

// agent hands a run to Buildkite: a summary, which it shows above the log of the build, and the
// result as meta-data, which later steps read.
type agent struct {
	command *process.Commander
	dir     string
	prd     string
}

// openAgent has the agent of Buildkite told of the run. Without the program, as in a
// container that does not have it, nothing is told.
func (b *build) openAgent() {
	a := agent{process.NewCommander(b.env.ChildEnvironment()), b.env.Workdir, b.Pipeline.ID}
	b.sinks = append(b.sinks,
		buildSink{sink.Hand(sink.Summary, b.sinkOptions(), a.annotate), agentProgram + " annotate"},
		buildSink{sink.Hand(sink.Result, b.sinkOptions(), a.keep), agentProgram + " meta-data"},
	)
}

// annotate shows the summary. The one of a later run of the same PRD takes its place.
func (a agent) annotate(e runner.Ending, summary []byte) error {
	style := "warning"
	switch {
	case e.Status == state.StatusFailed:
		style = "error"
	case e.Done() && len(e.Allowed) == 0:
		style = "success"
	}
	ctx, cancel := context.WithTimeout(context.Background(), agentTimeout)
	defer cancel()
	return a.run(ctx, "annotation", bytes.NewReader(summary), "annotate", "--style", style, "--context", "runner-"+a.prd)
}

// keep sets the meta-data runner:PRD-001:status and so on.
func (a agent) keep(_ runner.Ending, result []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), agentTimeout)
	defer cancel()
	for line := range strings.Lines(string(result)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if value == "" {
			value = noPause
		}
		if err := a.run(ctx, "meta-data", strings.NewReader(value), "meta-data", "set", "runner:"+a.prd+":"+name); err != nil {
			return err
		}
	}
	return nil
}

// run runs the agent without a shell. Texts are on its standard input, where none can be
// taken for a flag.
func (a agent) run(ctx context.Context, what string, stdin io.Reader, args ...string) error {
	err := a.command.Run(ctx, git.Command{Args: append([]string{agentProgram}, args...), Dir: a.dir, Stdin: stdin})
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("hand Buildkite the %s: %w", what, err)
	}
	return nil
}
