package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/approval"
	"prdrunner/cmd/runner/begin"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/checkpoints"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/safety"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/process"
	"prdrunner/runner/sink"
	"prdrunner/runner/trace"
	"prdrunner/runner/view"
)

type buildOptions struct {
	pipeline    load.PipelineRef
	selection   plan.Selection
	resume      string
	fresh       bool
	plan        string
	yes         bool
	dryRun      bool
	verbose     bool
	stream      bool
	raiseBudget bool
	sinks       sinkOptions
	heartbeat   time.Duration
}

func newBuildCommand(env *cli.Environment) *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:   "build [PRD|FILE]",
		Short: "Run a pipeline, or resume it",
		Long: `Run the pipeline of a PRD. Runner records every step before it shows it as done,
so a later build with --resume continues from exactly what is recorded.

If the PRD has an unfinished session, use --resume or --fresh. On a terminal,
build asks which.

After a complete session, --resume begins a new session that takes over its
results, and runs what has changed and what depends on that. If nothing has
changed, it exits 6. A build without --resume runs everything again, except for
workstreams with a cached result ("cache" in pipeline/SPEC.md).

A workstream that must happen only once, and has happened in any session of the
PRD, never runs again by itself. A build pauses there, even with --fresh and
--yes. "runner resolve" records it as done; --repeat WORKSTREAM runs it again.

--resume=auto is for CI: it starts a session, resumes one, or exits 0 if there
is nothing to do. --resume=CHECKPOINT first rolls back to CHECKPOINT, as
"runner checkpoint rollback" does.

--only WORKSTREAM runs that workstream, even if it is done, and what it needs:
the earlier phases and the workstreams that it depends on. It continues the
session as --resume=auto does, so you can repeat the command. If the workstream
passes, the command exits 0 and leaves the session paused; --resume continues
with the rest.

While the run is shown live on a terminal, p pauses at the next boundary, the arrows
or j and k select a row, l prints the end of its log, and ? shows the keys and what
waits for what. Not on Windows.`,
		Example: `  runner build PRD-009
  runner build PRD-009 --resume
  runner build PRD-009 --resume --invalidate WS2
  runner build PRD-009 --only lint`,
		Args: resumeArguments(&o.resume),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = withoutAuto(&o.resume, args)
			o.pipeline.SetName(env, cli.FirstArgument(args))
			if err := refuseChoicesWithPlan(cmd, o); err != nil {
				return err
			}
			if o.stream && env.Options.Output == string(view.Quiet) {
				return advice.With(advice.Usagef("--stream shows what workstreams print, and --output quiet only failures"), "leave one of them out; `runner logs PRD -f` follows a run elsewhere")
			}
			if !o.fresh {
				resumeForOnly(&o.resume, o.selection)
			}
			return runBuild(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.pipeline.AddFlags(cmd)
	o.pipeline.AddStrictFlag(cmd)
	addResumeFlag(cmd, &o.resume)
	flags.BoolVar(&o.fresh, "fresh", false, "start over, without cached results; an unfinished session is archived under failed/")
	addSelectionFlags(cmd, &o.selection)
	flags.BoolVar(&o.raiseBudget, "raise-budget", false, "let budgets that are used up count anew, from what is spent so far")
	flags.StringVar(&o.plan, "plan", "", "do exactly what the plan in `FILE` says; refuse if anything has changed since it was written")
	addRunFlags(cmd)
	o.sinks.addFlags(cmd)
	flags.BoolVar(&o.yes, "yes", false, "do not ask for confirmation; never approves a gate")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the plan, and change nothing")
	flags.DurationVar(&o.heartbeat, "heartbeat", 30*time.Second, "without a terminal, say what goes on after so long without output; 0: never")
	flags.BoolVar(&o.stream, "stream", false, "show what workstreams and gates print, while they run; with --events and --output json: as events of the kind run.output")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "also show starts, every checkpoint, and what workstreams and gates print")
	cmd.MarkFlagsMutuallyExclusive("resume", "fresh")
	return cmd
}

// runBuild loads the pipeline and runs its build. If a newer version of Runner wrote the
// session, and the user wants a new one, runBuild first moves the session aside.
func runBuild(ctx context.Context, env *cli.Environment, o buildOptions) error {
	if o.dryRun {
		return runPlan(ctx, env, planOptions{pipeline: o.pipeline, selection: o.selection, resume: o.resume, noCache: o.fresh, json: env.Options.Output == string(view.JSON)})
	}
	collectForBuild()
	env.Neutral = nil // --ci chooses the system
	env.Stderr.Neutralize(nil)
	if m := o.sinks.job(env).Markup(env.Now); m != nil {
		env.Neutral = m.Neutral
		env.Stderr.Neutralize(m.Neutral)
		env.Annotate = func(d *hcl.Diagnostic) string { return annotation(m, d) }
	}
	if env.TypedIn != "" {
		fmt.Fprintf(env.Stderr, "The workspace is %s\n", env.Workdir)
	}
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	setup, err := load.SetUp(ctx, env, cfg, o.pipeline)
	if err != nil {
		return err
	}
	defer setup.Close()
	err = runBuildWith(ctx, env, cfg, setup, o)
	var newer *state.VersionError
	if !errors.As(err, &newer) || !setup.Store.Layout().IsOfSession(setup.Pipeline.ID, newer.Path) {
		return err
	}
	if !o.fresh {
		return advice.With(err, fmt.Sprintf("`runner build %s --fresh` sets it aside as it is, and starts over", setup.Pipeline.ID))
	}
	if err := change.SetNewerAside(ctx, env, setup.Store, setup.Pipeline.ID, "build --fresh", ""); err != nil {
		return err
	}
	return runBuildWith(ctx, env, cfg, setup, o)
}

// runBuildWith runs the build of a pipeline that is set up: it decides how the build
// begins, locks the session, and runs the engine.
func runBuildWith(ctx context.Context, env *cli.Environment, cfg *config.Config, setup *load.Setup, o buildOptions) error {
	p := setup.Pipeline
	saved, err := readPlan(env, o.plan, p.ID)
	if err != nil {
		return err
	}
	if err := refuseOwnFile(env, setup, o.plan, "a plan"); err != nil {
		return err
	}
	b := &build{env: env, cfg: cfg, Setup: setup, person: env.Terminal(), saved: saved, options: o, requests: make(chan runner.UserRequest, 1)}
	if err := b.openSinks(ctx); err != nil {
		return err
	}
	s := b.newStarter()
	decided, snap, err := s.Begin(ctx, p)
	if err != nil {
		return err
	}
	if decided.NothingToDo {
		b.writeIdle(decided.Idle, snap.State)
		return nil
	}
	if decided.Fresh || cfg.Policy().OnComplete != checkpoint.KeepOnComplete { // the build removes or archives the checkpoints of the session
		if err := s.Finished.RefuseToLeave(env); err != nil {
			return err
		}
	}
	b.start = decided
	session, err := s.LockDecided(ctx, decided, snap)
	if err != nil {
		return err
	}
	return b.run(ctx, session)
}

// build holds everything that the engine needs for one run.
type build struct {
	*load.Setup
	env      *cli.Environment
	cfg      *config.Config
	person   *view.Terminal // nil: there is no terminal to ask at
	start    begin.Start
	saved    *plan.Plan // the plan of --plan, nil without it
	options  buildOptions
	caller   *state.Caller           // the workstream that calls the pipeline; nil: none
	requests chan runner.UserRequest // what the user asks the run for with keys
	sinks    []buildSink             // what the run is written to, besides the screen
	tracer   *trace.Tracer           // nil: the run is not traced
	session  *checkpoint.Session     // nil before it is locked
	complete *state.State            // of a session in which nothing is to be done; nil: something is

	questions func() []sink.Question // what the gates ask that wait at the end of the run
}

// newStarter returns what decides how this build begins.
func (b *build) newStarter() *begin.Starter {
	s := &begin.Starter{
		Target: change.Target{Env: b.env, Store: b.Store, PRD: b.Pipeline.ID, Files: b.Files},
		Config: b.cfg, Person: b.person, Resume: b.options.resume, Fresh: b.options.fresh, Yes: b.options.yes, Saved: b.saved,
		Selection: b.options.selection, VariableFlags: b.VariableFlags, Command: b.Command,
		ReadOnlyOptions: func() runner.Options {
			o := b.ReadOptions(b.env)
			o.Caller = b.caller
			return o
		},
		StateOfDocument: func(d *document.File) (*state.State, error) {
			if err := b.CheckDocument(b.env, d); err != nil {
				return nil, err
			}
			return runner.FromDocument(b.Pipeline, d, b.env.Now())
		},
		RunHooks: b.runDueHooks,
	}
	if b.saved != nil && b.saved.Session != "" && s.Resume == "" {
		s.Resume = begin.ResumeCurrent // the plan continues a session
	}
	s.RollBack = func(ctx context.Context) error {
		return checkpoints.RollBack(ctx, &s.Target, s.Person, checkpoints.RollbackOptions{
			To: s.Resume, Reason: "build --resume=" + s.Resume, Yes: s.Yes, VariableFlags: s.VariableFlags,
			RepeatCommand: func(id string) string { return "build " + s.PRD + " --resume=" + id + s.VariableFlags },
		})
	}
	return s
}

// run runs the engine, applies retention and closes the session. It records in the audit
// log how the build ended.
func (b *build) run(ctx context.Context, session *checkpoint.Session) error {
	b.session = session
	ending, err := b.runEngine(ctx, session)
	if err == nil && !ending.Unwritten {
		if err = b.applyRetention(ctx, session); errors.Is(err, context.Canceled) {
			err = nil // the run itself has ended; the next run removes what retention no longer keeps
		}
	}
	load.SaveCache(b.env, b.Files)
	closed := session.Close()
	if ending.Unwritten && advice.IsA[*checkpoint.DerivedError](closed) {
		closed = nil // the run reported it, and acted as the configuration says
	}
	if advice.IsA[*checkpoint.PoisonedError](err) && advice.IsA[*checkpoint.PoisonedError](closed) {
		closed = nil // the journal failed, which ended the build; Close fails for the same reason
	}
	err = errors.Join(err, closed)
	b.audit(session.State(), ending, err)
	b.closeTracer(ctx)
	if err != nil {
		return begin.Explain(b.env, session.State(), b.Pipeline.ID, b.Command, err)
	}
	if ending.Done() {
		return nil
	}
	return &endedError{status: ending.Status, signal: ending.Signal}
}

// runEngine runs the engine, and shows the run.
func (b *build) runEngine(ctx context.Context, session *checkpoint.Session) (ending runner.Ending, err error) {
	ctx, x, err := b.beginExecution(ctx)
	if err != nil {
		return ending, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	b.openTracer()
	shown, restore := b.newView()
	defer restore()
	defer b.share(shown)()
	defer shown.Close()
	o := load.EngineOptions(b.env, b.cfg, b.Pipeline, b.Store, b.Files)
	o.Session, o.Executor, o.Views, o.Mask, o.Interrupts = session, x.executor, b.views(shown, session), b.Masker.String, x.interrupts
	o.Hide, o.Requests = b.Hide, b.requests
	if b.tracer != nil {
		o.Tracer = b.tracer
	}
	o.Fresh, o.Imported, o.Predecessor, o.Saved, o.Select = b.start.Fresh, b.start.Imported, b.start.Predecessor, b.saved, b.options.selection
	o.Next = b.next
	o.Caller, o.CallCommand = b.caller, callCommand(b.env, b.cfg)
	o.NoCache, o.RaiseBudget = b.start.NoCache, b.options.raiseBudget
	o.OwnFiles, o.SimilarProgram = b.ownFiles(), x.executor.Similar
	if b.person != nil && b.env.Options.Output != string(view.JSON) {
		b.person.Guide = approval.Guide{Reader: approval.Reader{Env: b.env, Store: b.Store}, PRD: b.Pipeline.ID, Mask: b.Masker.String}
		o.Asker = b.person
	}
	ending, err = runner.Build(ctx, o)
	b.closeSinks()
	if lost := shown.Err(); lost != nil && !cli.ReaderGone(lost) {
		b.env.Logger().Warn("the output could not be shown to its end; the run was not affected", "error", lost)
	}
	return ending, err
}

// execution is what a run of the engine gets of this process: an executor for processes,
// and the names of the signals that ask this process to end.
type execution struct {
	executor   *process.Executor
	interrupts <-chan string
	release    func() // takes the signals back
}

// beginExecution returns the execution for a run of the engine, which acts on both
// signals. The second also cancels the returned context, for work before the engine's
// loop, such as reading many files. The caller closes the execution.
func (b *build) beginExecution(ctx context.Context) (context.Context, *execution, error) {
	executor, err := process.New(process.Options{
		Mask: b.Masker.Writer, BaseEnv: b.env.ChildEnvironment(), Now: b.env.Now, Logger: b.env.Logger().Named("process"),
	})
	if err != nil {
		return ctx, nil, err
	}
	makeRoomToWait(b.cfg.Parallel)
	x := &execution{executor: executor}
	ctx, x.interrupts, x.release = b.env.Signals.HandOver(ctx)
	if err := ctx.Err(); err != nil { // a signal came earlier
		return ctx, nil, errors.Join(err, x.Close())
	}
	return ctx, x, nil
}

// Close takes the signals back, and ends processes that are still running.
func (x *execution) Close() error {
	x.release()
	return x.executor.Close()
}

// audit records in the audit log how the build ended, and warns if it can't.
func (b *build) audit(st *state.State, ending runner.Ending, err error) {
	record := checkpoint.AuditRecord{By: b.env.Actor(), What: "build", PRD: b.Pipeline.ID, Args: b.arguments(), Result: string(ending.Status)}
	if st != nil {
		record.Session = st.Session
		if st.Error != nil {
			record.Reason = state.Text(view.Summary(*st.Error))
		}
	}
	switch {
	case ending.Unwritten && ending.Pause != nil:
		record.Error = ending.Pause.Message
	case ending.Signal != "":
		record.Because("interrupted by " + ending.Signal)
	case ending.Pause != nil:
		record.Because(view.Waits(*ending.Pause))
	}
	if err != nil {
		record.Result, record.Error = "failed", state.Text(b.Masker.String(err.Error()))
	}
	if audited := b.Store.Audit(record); audited != nil {
		b.env.Logger().Warn("the audit log could not be written", "error", audited)
	}
}

// arguments returns the arguments of the command line, with sensitive values masked.
func (b *build) arguments() []state.Text {
	out := make([]state.Text, len(b.env.Args))
	for i, arg := range b.env.Args {
		out[i] = state.Text(b.Masker.String(arg))
	}
	return out
}

// applyRetention applies retention after a run, and tells the user which checkpoints were
// removed, spared and archived.
func (b *build) applyRetention(ctx context.Context, session *checkpoint.Session) error {
	t, err := prune.Tidy(ctx, session, b.Files)
	for _, warning := range t.Warnings {
		fmt.Fprintln(b.env.Stderr, "Warning:", warning)
	}
	if err == nil {
		show.Retention(b.env.Stderr, &t.Pruned)
	}
	for _, kept := range t.Spared {
		fmt.Fprintf(b.env.Stderr, "Kept, although the session is complete: %s (%s); `%s` goes back to it\n",
			kept.ID, view.OneLine(kept.Why), b.env.Command("checkpoint rollback "+b.Pipeline.ID+" "+kept.ID))
	}
	if t.Archived != "" {
		fmt.Fprintf(b.env.Stderr, "Archived under %s\n", b.env.Display(t.Archived))
	}
	if err != nil {
		return err
	}
	return safety.Expire(ctx, b.env, session, b.Files)
}

// advised is a view that adds to the end of a run the commands to type next. The engine
// can't: it knows no command line.
type advised struct {
	view.View
	build   *build
	session *checkpoint.Session
}

// End implements runner.View.
func (a advised) End(e runner.Ending) {
	if st := a.session.State(); st != nil {
		env := a.build.env
		e.Next = a.build.next(st)
		if a.isRemoved(e, st.PRD) {
			e.Next = []state.Text{state.Text(env.Command("build " + st.PRD))}
		}
	}
	a.View.End(e)
}

// next returns the command lines that the user can type next for a session in this state.
func (b *build) next(st *state.State) []state.Text {
	s := info.NewSessionStatus(b.env.CommandLine, b.env.Now(), st.PRD, &checkpoint.Snapshot{Current: reader.Current{State: st}})
	return s.NextWith(b.env.CommandLine, b.env.Now(), b.VariableFlags)
}

// isRemoved reports whether a run stopped because its state was removed. Nothing can be
// resumed then.
func (a advised) isRemoved(e runner.Ending, prd string) bool {
	if e.Status != state.StatusInProgress {
		return false
	}
	_, err := a.build.Store.Load(prd)
	return errors.Is(err, checkpoint.ErrNoSession)
}

// share makes what else is written on the terminal leave out what the view of the run changes there,
// until the returned function is called.
func (b *build) share(shown view.View) (end func()) {
	h, ok := shown.(view.Holder)
	if !ok {
		return func() {}
	}
	if b.person != nil {
		b.person.Share(h)
	}
	if !b.env.IsTerminal(b.env.Stderr) {
		return func() {}
	}
	return b.env.Stderr.Share(h)
}

// streams reports whether the view shows what the steps print.
func (b *build) streams() bool {
	return b.options.stream || b.options.verbose && b.env.Options.Output != string(view.JSON)
}

// heartbeat returns after how long without output the view says what goes on; 0: never. At a
// terminal people see that by themselves, and may be typing.
func (b *build) heartbeat() time.Duration {
	if b.person != nil || b.env.IsTerminal(b.env.Stdout) {
		return 0
	}
	return b.options.heartbeat
}

// newView returns the view of the run. The caller calls restore when it is closed.
func (b *build) newView() (shown view.View, restore func()) {
	logs := b.Store.Layout().LogsDir(b.Pipeline.ID)
	mode, screen := view.Mode(b.env.Options.Output), cli.LiveTerminal{Close: func() {}}
	if mode == view.Auto {
		screen = b.env.LiveTerminal(b.env.Stdout)
	}
	return view.New(mode, view.Options{
		Out:       b.env.Stdout.Raw,
		Logs:      view.Logs{Dir: logs, Name: b.env.Display(logs)},
		Now:       b.env.Now,
		Color:     b.env.Color(b.env.Stdout),
		Size:      screen.Size,
		Control:   screen.Control,
		Pause:     b.askToPause,
		Verbose:   b.options.verbose,
		Stream:    b.streams(),
		Heartbeat: b.heartbeat(),
		Typical:   load.TypicalTimes(b.Store, b.Pipeline.ID),
		Markup:    b.markup(),
	}), screen.Close
}

// askToPause asks the run to pause at the next boundary, as the command pause does. The user has pressed a key.
func (b *build) askToPause() {
	request := checkpoint.Request{PRD: b.Pipeline.ID, Verb: checkpoint.VerbPause, By: b.env.Actor(), At: b.env.Now()}
	select {
	case b.requests <- runner.UserRequest{Request: request, Reply: func(refusal error) { b.auditRequest(request, refusal) }}:
	default: // an earlier key has asked
	}
}

// auditRequest records in the audit log what became of a request of the user: refusal is nil if it was carried
// out.
func (b *build) auditRequest(request checkpoint.Request, refusal error) {
	record := checkpoint.AuditRecord{By: request.By, What: string(request.Verb), PRD: request.PRD, Result: "ok"}
	if refusal != nil {
		record.Result, record.Error = "failed", state.Text(refusal.Error())
	}
	if err := b.Store.Audit(record); err != nil {
		b.env.Logger().Warn("the audit log could not be written", "error", err)
	}
}
