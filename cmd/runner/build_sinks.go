package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/hcl/v2"
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
	files []sinkFile
}

// sinkFile is the file of a sink that a flag names; "": none.
type sinkFile struct {
	kind sink.Kind
	name *string
}

// buildSink writes the run besides the screen: to a file, or to the agent of Buildkite.
type buildSink struct {
	view.View
	from string // what a warning names: the flag or the variable of the file, or the agent
}

func (o *sinkOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.ci = string(ci.Auto)
	var systems []string
	for _, s := range ci.Systems() {
		systems = append(systems, string(s))
	}
	flags.Var(cli.NewEnum(&o.ci, systems...), "ci", "write for the log of a CI system: "+words.OneOf(systems))
	for _, f := range []struct {
		kind  sink.Kind
		usage string
	}{
		{sink.Events, "write the events of the run to `FILE`, as --output json prints them"},
		{sink.JUnit, "write the steps and gates to `FILE` as test results (JUnit XML)"},
		{sink.SARIF, "write the errors that have a place in a file to `FILE` (SARIF)"},
		{sink.Summary, "write a summary of the run to `FILE` (Markdown)"},
		{sink.Result, "write status, session, checkpoint and paused_at to `FILE`, as NAME=value lines"},
	} {
		o.files = append(o.files, sinkFile{f.kind, flags.String(string(f.kind), "", f.usage)})
	}
}

// job returns the job of the CI system for whose log the run is shown.
func (o *sinkOptions) job(env *cli.Environment) ci.Job {
	// A build in a workstream must not hand out a result of the job: that of the outer run counts.
	if o.ci == string(ci.Auto) && env.Lookup("RUNNER_SESSION") != "" {
		return ci.Job{System: ci.None}
	}
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

// annotation returns the line that shows a mistake in the pipeline at its place, in the log of a CI
// system.
func annotation(m view.Markup, d *hcl.Diagnostic) string {
	as := view.Error
	if d.Severity == hcl.DiagWarning {
		as = view.Warning
	}
	f := state.Failure{Message: state.Text(d.Summary + "\n" + d.Detail)}
	if at := d.Subject; at != nil {
		f.File, f.Line, f.Column = state.Text(at.Filename), at.Start.Line, at.Start.Column
	}
	return m.Annotate(as, f)
}

// openSinks opens the files that the run is written to. It refuses a file that has another
// meaning. One that can't be written fails nothing: the user is told.
func (b *build) openSinks(ctx context.Context) error {
	b.questions = sync.OnceValue(func() []sink.Question { return b.askedQuestions(ctx) })
	taken := map[string]sink.Kind{}
	for _, f := range b.options.sinks.files {
		if *f.name == "" {
			continue
		}
		if *f.name == advice.StandardStream {
			return advice.With(advice.Usagef("--%s needs a file: standard output shows the run", f.kind), "`--output json` prints its events there")
		}
		path := withoutLinks(b.env.Path(*f.name))
		if other, ok := taken[path]; ok {
			return advice.With(advice.Usagef("--%s and --%s name the same file, %s", other, f.kind, *f.name), "give each a file of its own")
		}
		taken[path] = f.kind
		if err := refuseOwnFile(b.env, b.Setup, *f.name, "what --"+string(f.kind)+" asks for"); err != nil {
			return err
		}
		if err := b.openSink(f.kind, path, "--"+string(f.kind), false); err != nil {
			return err
		}
	}
	job := b.options.sinks.job(b.env)
	if job.Agent {
		b.openAgent()
	}
	return errors.Join(
		b.openSink(sink.Summary, job.Summary, ci.SummaryVariable, true),
		b.openSink(sink.Result, job.Result, ci.ResultVariable, true),
		b.openSink(sink.Exports, job.Exports, ci.ExportsVariable, true),
	)
}

// openSink opens a file that the run is written to. from is the flag or the variable that names it.
func (b *build) openSink(k sink.Kind, path, from string, appends bool) error {
	if path == "" {
		return nil
	}
	o := b.sinkOptions()
	o.Append = appends
	s, err := sink.Open(k, path, o)
	if foreign := (*sink.ForeignError)(nil); errors.As(err, &foreign) {
		hint := "name another file"
		if foreign.Is == "" {
			hint += ", or remove that one first"
		}
		return advice.With(advice.Usagef("%s: %v", from, err), hint)
	}
	if err != nil {
		fmt.Fprintf(b.env.Stderr, "Warning: %s: %v\n", from, err)
		return nil
	}
	b.sinks = append(b.sinks, buildSink{s, from})
	return nil
}

func (b *build) sinkOptions() sink.Options {
	logs := b.Store.Layout().LogsDir(b.Pipeline.ID)
	return sink.Options{
		Now: b.env.Now, Logs: view.Logs{Dir: logs, Name: b.env.Display(logs)}, State: b.state, Questions: b.questions, Below: b.options.sinks.job(b.env).Below, Stream: b.options.stream,
	}
}

// ownFiles returns the files in the workspace that this build itself reads or writes, besides
// the state directory.
func (b *build) ownFiles() []string {
	names := []string{b.options.plan}
	for _, f := range b.options.sinks.files {
		names = append(names, *f.name)
	}
	var own []string
	for _, name := range names {
		if in := b.env.InWorkspace(name); in != "" {
			own = append(own, in)
		}
	}
	return own
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
			fmt.Fprintf(b.env.Stderr, "Warning: %s: the run was not affected, but %v\n", s.from, err)
		}
	}
}
