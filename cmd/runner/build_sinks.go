package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/ci"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/words"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/sink"
	"prdrunner/runner/view"
)

// sinkOptions say what a run is written to, besides the screen.
type sinkOptions struct {
	ci    string
	files map[sink.Kind]*string
}

func (o *sinkOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.ci = string(ci.Auto)
	var systems []string
	for _, s := range ci.Systems() {
		systems = append(systems, string(s))
	}
	flags.Var(cli.NewEnum(&o.ci, systems...), "ci", "write for the log of a CI system: "+words.OneOf(systems))
	o.files = map[sink.Kind]*string{}
	for _, f := range []struct {
		kind  sink.Kind
		usage string
	}{
		{sink.JUnit, "write the steps and gates to `FILE` as test results (JUnit XML)"},
		{sink.SARIF, "write the errors that have a place in a file to `FILE` (SARIF)"},
		{sink.Summary, "write a summary of the run to `FILE` (Markdown)"},
		{sink.Result, "write status, session, checkpoint and paused_at to `FILE`, as NAME=value lines"},
		{sink.Events, "write the events of the run to `FILE`, as --output json prints them"},
	} {
		o.files[f.kind] = flags.String(string(f.kind), "", f.usage)
	}
}

// job returns the job of the CI system for whose log the run is shown.
func (o *sinkOptions) job(env *cli.Environment) ci.Job {
	return ci.Detect(ci.System(o.ci), env.Workdir, env.Lookup)
}

// markup returns what the log of the run has besides plain text. That of a called pipeline
// belongs to its caller, and has nothing.
func (b *build) markup() view.Markup {
	if b.caller != nil {
		return nil
	}
	return b.options.sinks.job(b.env).Markup(b.env.Now)
}

// openSinks opens the files that the run is written to. One that can't be written fails
// nothing: the user is told.
func (b *build) openSinks() error {
	job := b.options.sinks.job(b.env)
	add := func(k sink.Kind, path string, appends bool) error {
		if path == "" {
			return nil
		}
		logs := b.Store.Layout().LogsDir(b.Pipeline.ID)
		s, err := sink.Open(k, path, sink.Options{Now: b.env.Now, Logs: view.Logs{Dir: logs, Name: b.env.Display(logs)}, State: b.state, Below: job.Below, Append: appends})
		if foreign := (*sink.ForeignError)(nil); errors.As(err, &foreign) {
			return advice.With(advice.Usagef("--%s: %v", k, err), "name another file, or remove that one first")
		}
		if err != nil {
			fmt.Fprintf(b.env.Stderr, "Warning: --%s: %v\n", k, err)
			return nil
		}
		b.sinks = append(b.sinks, s)
		return nil
	}
	for _, k := range []sink.Kind{sink.Events, sink.JUnit, sink.SARIF, sink.Summary, sink.Result} {
		path := *b.options.sinks.files[k]
		if path != "" {
			path = b.env.Path(path)
		}
		if err := add(k, path, false); err != nil {
			return err
		}
	}
	return errors.Join(add(sink.Summary, job.Summary, true), add(sink.Result, job.Result, true))
}

// state returns the state of the session, nil before there is one.
func (b *build) state() *state.State {
	if b.session == nil {
		return b.complete
	}
	return b.session.State()
}

// writeIdle writes to the sinks that a session is complete, and nothing is to be done.
func (b *build) writeIdle(idle *plan.Plan, st *state.State) {
	if idle == nil || st == nil {
		return
	}
	b.complete = st
	for _, s := range b.sinks {
		s.Begin(runner.Beginning{PRD: st.PRD, Title: string(st.Title), Session: st.Session, Resumed: true, Plan: idle})
		s.End(runner.Ending{Status: st.Status})
	}
	b.closeSinks()
}

// closeSinks ends the sinks, and tells what could not be written.
func (b *build) closeSinks() {
	for _, s := range b.sinks {
		s.Close()
		if err := s.Err(); err != nil {
			fmt.Fprintf(b.env.Stderr, "Warning: the run was not affected, but %v\n", err)
		}
	}
}
