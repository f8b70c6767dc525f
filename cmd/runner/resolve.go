package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/words"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

type resolveOptions struct {
	pipeline   load.PipelineRef
	workstream string
	done       bool
	rerun      bool
	outputs    []string
	message    string
}

func newResolveCommand(env *cli.Environment) *cobra.Command {
	var o resolveOptions
	cmd := &cobra.Command{
		Use:   "resolve PRD WORKSTREAM {--done|--rerun}",
		Short: "Say whether an uncertain workstream happened",
		Long: `Decide about a workstream with effect = "once" that is uncertain: Runner does not
know whether it happened, or knows that it happened in an earlier session. Runner
never runs such a workstream again by itself. Find out whether it happened, or
whether it should happen again, then use --done or --rerun.

With --done, Runner records the workstream as done with its current definition,
inputs, variables and upstream results. If these change, it asks again.

If the workstream had completed, and a rollback or a new name hid that, Runner
restores its artifacts, outputs and metrics. Otherwise its declared artifacts
must exist, and --output must give each output that another step needs, as
NAME=TEXT or metric.NAME=VALUE: what the workstream would have written to
RUNNER_OUTPUT.

Resolve reads the pipeline from the file that the session ran, or the one given
by -f, and takes variables in the same way as "runner build". If the file is gone
or a variable has no value, and neither -f nor a variable is given, Runner records
the workstream with what its last attempt was started from.`,
		Example: `  runner resolve PRD-009 WS3 --done -m "the mail went out"`,
		Args:    cli.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.pipeline.PRD, o.workstream = args[0], args[1]
			return runResolve(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.done, "done", false, "it happened: record it as done")
	flags.BoolVar(&o.rerun, "rerun", false, "it did not happen, or should happen again: run it")
	flags.StringArrayVar(&o.outputs, "output", nil, "with --done: an output of the workstream, as `NAME=TEXT`; may be repeated")
	flags.StringVarP(&o.message, "message", "m", "", "record `TEXT` with the decision")
	o.pipeline.AddFlags(cmd)
	cmd.MarkFlagsMutuallyExclusive("done", "rerun")
	cmd.MarkFlagsMutuallyExclusive("output", "rerun")
	cmd.MarkFlagsOneRequired("done", "rerun")
	return cmd
}

func runResolve(ctx context.Context, env *cli.Environment, o resolveOptions) error {
	prd := o.pipeline.PRD
	if err := runner.CheckGiven(o.outputs); err != nil {
		return advice.Usagef("--output: %w", err)
	}
	store, st, err := load.TrustedState(ctx, env, o.pipeline)
	if err != nil {
		return err
	}
	st = change.StateAfterFinish(ctx, store, st)
	resume := advice.ResumeSession(st, o.pipeline.VariableFlags(st.Sensitive))
	if err := checkUncertain(st, o.workstream, resume); err != nil {
		return err
	}
	r := resolving{
		env: env, store: store, pipeline: o.pipeline, resume: resume, outputs: o.outputs,
		request: checkpoint.Request{
			PRD: prd, Verb: checkpoint.VerbResolve, Workstream: o.workstream, Resolution: state.ResolvedRerun,
			Comment: state.Text(o.message), By: env.Actor(), At: env.Now(),
		},
	}
	if o.done {
		r.request.Resolution = state.ResolvedDone
	}
	alone := false
	err = (&change.Target{Env: env, Store: store, PRD: prd}).Ask(ctx, r.request, func(session *checkpoint.Session, _ *change.FinishedRollback) error {
		alone = true
		return r.record(ctx, session)
	})
	if err != nil {
		return fmt.Errorf("resolve %s: %w", o.workstream, err)
	}
	fmt.Fprintf(env.Stdout, "Resolved %s of %s as %s\n", o.workstream, prd, r.request.Resolution)
	if r.resultsRestored {
		fmt.Fprintln(env.Stdout, "Its earlier artifacts, outputs and metrics are on record again")
	}
	if alone {
		fmt.Fprintf(env.Stdout, "Next: %s\n", env.Command(resume))
	}
	return nil
}

// checkUncertain refuses a workstream that is not uncertain. resume is the command that
// resumes the session.
func checkUncertain(st *state.State, name, resume string) error {
	w := st.Workstream(name)
	if w == nil {
		var names []string
		for _, p := range st.Phases {
			for _, w := range p.Workstreams {
				names = append(names, w.Name)
			}
		}
		err := advice.Usagef("there is no workstream %q in %s", name, st.PRD)
		if near := words.Nearest(name, names); near != "" {
			return advice.With(err, fmt.Sprintf("did you mean %s?", text.ShellWord(near)))
		}
		return advice.With(err, fmt.Sprintf("`runner status %s` names its workstreams", st.PRD))
	}
	cutOff := w.Status == state.Running && w.Once // its runner was killed; a live owner refuses the request itself
	if w.Status == state.Uncertain || cutOff {
		return nil
	}
	hint := fmt.Sprintf("`runner %s` goes on with it", resume)
	switch {
	case w.Status == state.Skipped:
		hint = fmt.Sprintf("`runner plan%s` says why it is skipped", strings.TrimPrefix(resume, "build"))
	case w.Once && w.Done():
		hint = fmt.Sprintf("`runner %s --repeat %s` runs it again", resume, text.ShellWord(name))
	case w.Done():
		hint = fmt.Sprintf("`runner %s --invalidate %s` runs it again", resume, text.ShellWord(name))
	}
	return advice.With(advice.Usagef("%s is not uncertain: it is %s", name, w.Status), hint)
}

// resolving is a decision about an uncertain workstream that is to be recorded.
type resolving struct {
	env             *cli.Environment
	store           *checkpoint.Store
	resultsRestored bool     // the workstream's earlier results are on record again
	outputs         []string // the outputs that the user gives, as NAME=TEXT
	request         checkpoint.Request
	pipeline        load.PipelineRef // as the command line names the pipeline
	resume          string           // the command that resumes the session
}

// record records the decision in a session that has no owner.
func (r *resolving) record(ctx context.Context, session *checkpoint.Session) error {
	st := session.State()
	if st == nil {
		return fmt.Errorf("its session is gone: %w", checkpoint.ErrNoSession)
	}
	if err := checkUncertain(st, r.request.Workstream, r.resume); err != nil {
		return err
	}
	e := state.WorkstreamResolved{
		Workstream: r.request.Workstream, Resolution: r.request.Resolution, By: r.request.By, Reason: r.request.Comment,
	}
	if e.Resolution == state.ResolvedDone {
		adopted, err := r.adoptedWork(ctx, st)
		if advice.IsA[*runner.MissingArtifactError](err) {
			return advice.With(advice.Usagef("it can't count as done: %w", err),
				fmt.Sprintf("make the file, or `runner resolve %s %s --rerun` if it did not happen", st.PRD, text.ShellWord(e.Workstream)))
		}
		var lost *plan.MissingResultsError
		if errors.As(err, &lost) {
			return advice.With(advice.Usagef("it can't count as done: %w", err), r.giveHint(st, lost))
		}
		if err != nil {
			return err
		}
		e.Digest, e.Work, r.resultsRestored = adopted.Digest, adopted.Work, adopted.HasRecord
		if err := journal.Recordable(e); err != nil {
			return advice.Usagef("record the outputs: %w", err)
		}
	}
	session.Add(e)
	return session.Publish(ctx)
}

// giveHint returns the command that gives the outputs that are not on record.
func (r *resolving) giveHint(st *state.State, lost *plan.MissingResultsError) string {
	give := fmt.Sprintf("runner resolve %s %s --done%s", st.PRD, text.ShellWord(lost.Workstream), r.pipeline.VariableFlags(st.Sensitive))
	if r.pipeline.File != "" {
		give += " --file " + text.ShellWord(r.pipeline.File)
	}
	for _, output := range r.outputs {
		give += " --output " + text.ShellWord(output)
	}
	for _, l := range lost.Missing {
		give += fmt.Sprintf(" --output %s=TEXT", l.Name)
	}
	return fmt.Sprintf("`%s`, with what it was for TEXT", give)
}

// adoptedWork returns the digest from which the workstream counts as run, with its earlier
// results and the given outputs. The digest is that of the current pipeline and files. If
// the pipeline can't be evaluated, and the user gave neither a file nor variables, it is
// the digest with which the workstream's last attempt was started.
func (r *resolving) adoptedWork(ctx context.Context, st *state.State) (runner.Adopted, error) {
	cfg, err := r.env.LoadConfig()
	if err != nil {
		return runner.Adopted{}, err
	}
	if st.Caller != nil { // only the caller knows the values of its variables
		return runner.Adopt(ctx, runner.Options{Store: r.store}, st, r.request.Workstream, r.outputs)
	}
	ref := r.pipeline
	if ref.File == "" {
		ref.File = load.SessionFile(r.env, st)
	}
	p, err := load.EvaluatedPipeline(r.env, cfg, ref)
	last := "what its last attempt was started from"
	switch {
	case err != nil && (r.pipeline.File != "" || len(ref.Vars)+len(ref.VarFiles) > 0):
		return runner.Adopted{}, advice.With(&advice.UsageError{Err: err}, "without -f, --var and --var-file it counts as made from "+last)
	case err != nil:
		fmt.Fprintf(r.env.Stderr, "The pipeline cannot be evaluated now, so %s counts as made from %s: %v\n", r.request.Workstream, last, err)
		return runner.Adopt(ctx, runner.Options{Store: r.store}, st, r.request.Workstream, r.outputs)
	}
	setup, err := load.SetUpPipeline(ctx, r.env, cfg, p)
	if err != nil {
		return runner.Adopted{}, err
	}
	defer setup.Close()
	return runner.Adopt(ctx, setup.ReadOptions(r.env), st, r.request.Workstream, r.outputs)
}
