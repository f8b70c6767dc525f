// Package watch is the command `runner watch`: it shows the run of another process as the build itself
// shows it, from what the journal records. [NewCommand] returns it; begin there.
//
// What of a journal belongs to which run, and what the views of package view need to know of it, belongs
// here (runs.go). How a run is shown does not: prdrunner/runner/view does that.
package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/runner/view"
)

// EndedError reports that the run that was watched did not complete. The view has shown how it ended.
type EndedError struct{ Status state.Status }

func (e *EndedError) Error() string { return "the run ended " + string(e.Status) }

type options struct {
	prd       string
	all       bool
	verbose   bool
	heartbeat time.Duration
}

// NewCommand returns the command.
func NewCommand(env *cli.Environment) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "watch PRD",
		Short: "Show the run of another process until it ends",
		Long: `Show a run that another process carries out, as its own build shows it: live on a
terminal, otherwise a line for each thing that happens. What was done before is said
in one line. --all shows all of it, and the earlier runs of the session. What waits
for what, and how long the run still takes, is shown if the files of the pipeline are
as the run read them.

watch ends when the run ends, also when it pauses or fails; it does not wait for the
next one. If no run is on, it shows the last one and how it ended. Watch changes
nothing and takes no lock: Ctrl+C ends only the watching.

On a terminal, the arrows or j and k select a row, l prints the end of its log, and ?
shows the keys. Not on Windows.

The exit code is that of the result: 0 complete, 1 failed or killed, 3 paused or
interrupted. 130 says that you ended the watching.`,
		Example: `  runner watch PRD-009
  runner watch PRD-009 --output json | jq -r .kind
  runner watch PRD-009 && ./announce.sh`,
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			return run(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.all, "all", false, "show everything since the session began")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "also show starts and every checkpoint")
	flags.DurationVar(&o.heartbeat, "heartbeat", 30*time.Second, "without a terminal, say what goes on after so long without output; 0: never")
	return cmd
}

// watcher shows a session.
type watcher struct {
	env   *cli.Environment
	store *checkpoint.Store
	o     options
	runs  *runs

	carried bool // the session was imported, perhaps without its logs
}

func run(ctx context.Context, env *cli.Environment, o options) error {
	env.Signals.ResumeWith("") // who stops watching leaves nothing to do
	store, st, err := load.State(env, o.prd)
	if err != nil {
		return err
	}
	owner, err := store.Owner(o.prd)
	if err != nil {
		return err
	}
	w := &watcher{env: env, store: store, o: o, runs: newRuns(), carried: load.WasImported(env, store, st)}
	if _, err := store.Reader().Replay(o.prd, w.runs.commit); err != nil {
		return err
	}
	if w.runs.state() == nil {
		w.runs.begin(st) // only a rescue copy has it
	}
	on := owner != nil && w.runs.state().RunningAt != nil
	if on {
		fmt.Fprintln(env.Stderr, w.runs.last().describe(env.Now(), owner.PID, owner.Host))
	}
	if o.all {
		w.showEarlier()
	}
	return w.showLast(ctx, on)
}

// showEarlier shows the runs before the last one.
func (w *watcher) showEarlier() {
	for _, r := range w.runs.all[:len(w.runs.all)-1] {
		v := w.newView(view.Options{})
		r.show(v, w.planned())
		v.End(r.ending(r.ended))
		v.Close()
	}
}

// showLast shows the last run, and follows it if it is on.
func (w *watcher) showLast(ctx context.Context, on bool) error {
	r := w.runs.last()
	var o view.Options
	if on && !w.o.all {
		o.Past = w.runs.state().Seq
	}
	if on {
		screen := w.env.LiveTerminal(w.env.Stdout)
		defer screen.Close()
		o.Size, o.Control, o.Heartbeat = screen.Size, screen.Control, w.heartbeat()
		if w.planned() && r.shown.Parallel > 0 {
			o.Typical = load.TypicalTimes(w.store, w.o.prd)
			load.AddPipeline(w.env, w.runs.state(), r.given, &r.shown)
		}
	}
	v := w.newView(o)
	defer v.Close()
	r.show(v, w.planned())
	if err := w.follow(ctx, v); err != nil {
		return err
	}
	return w.end(v)
}

// follow shows the commits of the run that are added, until it has ended or ctx ends.
func (w *watcher) follow(ctx context.Context, v view.View) error {
	seq := w.runs.state().Seq
	for c, err := range w.store.Follow(ctx, w.o.prd, seq+1) {
		if err != nil {
			return w.interrupted(ctx, err)
		}
		if w.runs.last().over && beginsRun(c) {
			return nil // another run goes on, which is not watched
		}
		if err := w.runs.commit(c); err != nil {
			return err
		}
		v.Commit(c)
		if err := v.Err(); err != nil {
			return err
		}
	}
	return w.interrupted(ctx, nil)
}

// interrupted returns the error of a watch that a signal ended, otherwise err.
func (w *watcher) interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("only the watching has ended, the run goes on: %w", ctx.Err())
}

// end shows how the last run ended that was watched, and returns its result.
func (w *watcher) end(v view.View) error {
	snap, err := w.store.Load(w.o.prd)
	if err != nil && !errors.Is(err, checkpoint.ErrNoSession) {
		return err
	}
	r, now := w.runs.last(), w.runs.state()
	if err != nil || snap.State == nil || snap.State.Session != now.Session || snap.State.Seq < now.Seq {
		snap = &checkpoint.Snapshot{Current: reader.Current{State: now}} // archived or replaced meanwhile
	}
	killed := !r.over && snap.State.WasKilled() && snap.Owner == nil
	if killed {
		v.Warn("the runner " + view.WasKilled)
	}
	st := snap.State
	if r.over {
		st = now // the next run may have changed the session since
	}
	e := r.ending(st)
	e.Killed = killed
	e.Next = info.NewSessionStatus(w.env.CommandLine, w.env.Now(), w.o.prd, snap).Next
	v.End(e)
	if e.Done() || v.Err() != nil {
		return v.Err()
	}
	return &EndedError{e.Status}
}

// planned reports whether the view needs the steps of a run to name and count them. A program that
// reads events gets no plan: which one the build made, no journal records.
func (w *watcher) planned() bool { return view.Mode(w.env.Options.Output) != view.JSON }

// heartbeat returns after how long without output the view says what goes on; 0: never.
func (w *watcher) heartbeat() time.Duration {
	if w.env.IsTerminal(w.env.Stdout) {
		return 0
	}
	return w.o.heartbeat
}

// newView returns a view. o has what differs between runs.
func (w *watcher) newView(o view.Options) view.View {
	logs := w.store.Layout().LogsDir(w.o.prd)
	o.Out, o.Now, o.Color, o.Verbose = w.env.Stdout.Raw, w.env.Now, w.env.Color(w.env.Stdout), w.o.verbose
	o.Neutral = w.env.Neutral
	o.Logs = view.Logs{Dir: logs, Name: w.env.Display(logs), Carried: w.carried}
	return view.New(view.Mode(w.env.Options.Output), o)
}
