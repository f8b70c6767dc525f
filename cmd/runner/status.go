package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/approval"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type statusOptions struct {
	prd    string
	all    bool
	failed bool
	phase  string
	json   bool
}

func newStatusCommand(env *cli.Environment) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status [PRD]",
		Short: "Show the state of a session and what to do next",
		Long: `Show the state of the session of a PRD and what to do next, whether or not a build
is running. Without a PRD, list all sessions. Status changes nothing and takes no
lock.

On a terminal, more workstreams than fit on the screen are folded: those that are done
are counted; what failed, runs or waits is always listed. --all lists everything.
"outdated" marks work that is done, although something that it was made from has failed
or runs again since; "runner plan --resume" tells what becomes of it.

For each gate that waits for a person it shows what is judged: the files that changed
since the work began, metrics beside those of the last complete session, and the
verdicts of the gates around it, also in the sessions of pipelines that it calls.`,
		Example: `  runner status PRD-009 --failed
  runner status PRD-009 --phase database`,
		Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = cli.FirstArgument(args)
			return runStatus(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.all, "all", false, "list every workstream, also if they don't fit on the screen")
	flags.BoolVar(&o.failed, "failed", false, "list only what failed")
	flags.StringVar(&o.phase, "phase", "", "list only the workstreams and gates of `PHASE`")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("json", "failed")
	cmd.MarkFlagsMutuallyExclusive("json", "phase")
	return cmd
}

func runStatus(ctx context.Context, env *cli.Environment, o statusOptions) error {
	if o.prd == "" {
		if o.failed || o.phase != "" {
			return advice.With(advice.Usagef("--failed and --phase choose from one session: name its PRD"), "`runner status` lists the sessions")
		}
		return statusOfAll(ctx, env, o.json)
	}
	store, snap, err := load.Session(env, o.prd)
	if err != nil {
		return err
	}
	seeAnswers(store, snap)
	st := load.Status(env, o.prd, snap)
	if st.Rollback != nil {
		if st.Finishes, err = change.PlannedFinish(ctx, env, store, o.prd); err != nil {
			fmt.Fprintf(env.Stderr, "Warning: cannot tell what finishing the rollback would do: %v\n", err)
		}
	}
	findTakenBack(ctx, env, store, snap, &st)
	seeCaller(env, store, snap, &st)
	addJudged(ctx, env, store, snap, &st)
	st.Called = calledWaiting(ctx, env, store, snap.State)
	var broken error
	if st.HandWritten {
		broken = handWrittenProblems(o.prd, snap.Document)
	}
	if o.json {
		return errors.Join(show.JSON(env.Stdout, st), broken)
	}
	shown := show.StatusOptions{Now: env.Now(), Failed: o.failed}
	if shown.Phase, err = phaseNamed(o.phase, st.Phases); err != nil {
		return err
	}
	if !o.all {
		shown.Rows, shown.Columns = env.Rows(env.Stdout), env.Width(env.Stdout)
	}
	return errors.Join(show.Status(env.Stdout, env.CommandLine, st, shown), broken)
}

// addJudged adds to the gates that wait what a person judges who answers them.
func addJudged(ctx context.Context, env *cli.Environment, store *checkpoint.Store, snap *checkpoint.Snapshot, s *info.SessionStatus) {
	if snap.State == nil {
		return
	}
	gates := make([]*state.Gate, len(s.Waiting))
	for i, q := range s.Waiting {
		gates[i] = snap.State.Gate(q.Gate)
	}
	s.AddJudged(approval.Reader{Env: env, Store: store, State: snap.State}.Find(ctx, gates...))
}

// calledWaiting finds what waits for a person in the sessions of pipelines that a session calls, and
// that they call. A session that can't be read is left out: its own status says why.
func calledWaiting(ctx context.Context, env *cli.Environment, store *checkpoint.Store, st *state.State) (called []info.CalledWaiting) {
	if st == nil {
		return nil
	}
	for w := range st.Records() {
		if w.WaitsFor == "" {
			continue
		}
		snap, err := store.Load(w.WaitsFor)
		if err != nil || snap.State == nil {
			continue
		}
		s := load.Status(env, w.WaitsFor, snap)
		if addJudged(ctx, env, store, snap, &s); len(s.Waiting) > 0 {
			called = append(called, info.CalledWaiting{PRD: s.PRD, Workstream: w.Name, Waiting: s.Waiting})
		}
		called = append(called, calledWaiting(ctx, env, store, snap.State)...)
	}
	return called
}

// phaseNamed returns the name of the phase that the user names, or whose number.
func phaseNamed(given string, phases []*state.Phase) (string, error) {
	names := make([]string, len(phases))
	for i, p := range phases {
		if names[i] = p.Name; given == p.Name {
			return given, nil
		}
	}
	if n, err := strconv.Atoi(given); err == nil && n > 0 && n <= len(names) {
		return names[n-1], nil
	}
	if given == "" {
		return "", nil
	}
	return "", advice.Usagef("there is no phase %q; there are %s", given, text.Enumerate(names))
}

// seeAnswers leaves out of the pause of a session the gates of called pipelines that have been
// answered since. The answers are on record in the sessions of those pipelines. A gate counts as
// waiting if its session can't be read.
func seeAnswers(store *checkpoint.Store, snap *checkpoint.Snapshot) {
	st := snap.State
	if st == nil || st.Pause == nil || len(st.Pause.Calls) == 0 {
		return
	}
	pause, now := *st.Pause, *st
	pause.Calls = nil
	for _, call := range st.Pause.Calls {
		called, err := store.Load(call.PRD)
		if len(call.Gates) > 0 && err == nil && called.State != nil {
			call.Gates = slices.DeleteFunc(slices.Clone(call.Gates), func(label string) bool {
				g := called.State.Gate(label)
				return g == nil || g.Status != state.Waiting
			})
			if len(call.Gates) == 0 {
				continue
			}
		}
		pause.Calls = append(pause.Calls, call)
	}
	if len(pause.Calls) == 0 {
		pause.Message = "what it waited for is answered"
	}
	now.Pause, snap.State = &pause, &now
}

// seeCaller makes the status of a called pipeline that is not complete, such as after a failure that
// is allowed, name the command that calls it again if its first caller is complete.
func seeCaller(env *cli.Environment, store *checkpoint.Store, snap *checkpoint.Snapshot, s *info.SessionStatus) {
	if snap.State == nil || snap.State.Status == state.StatusComplete {
		return
	}
	for st := snap.State; st.Caller != nil; {
		workstream := st.Caller.Workstream
		caller, err := store.Load(st.Caller.PRD)
		if err != nil || caller.State == nil {
			return // the status of the caller reports it
		}
		if st = caller.State; st.Caller == nil && st.Status == state.StatusComplete {
			s.CallAgain(env.CommandLine, workstream)
		}
	}
}

// findTakenBack finds rollbacks of other PRDs that took back artifacts of the session, and
// adds them to its status.
func findTakenBack(ctx context.Context, env *cli.Environment, store *checkpoint.Store, snap *checkpoint.Snapshot, s *info.SessionStatus) {
	if snap.State == nil || snap.Owner != nil {
		return
	}
	prds, err := store.Reader().Known() // includes PRDs that have only archived sessions
	if err == nil && len(prds) > 1 {
		err = load.WithWorkspace(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) error {
			takenBack, err := rollback.FindTakenBack(ctx, store, w, snap.State)
			s.AddTakenBack(env.CommandLine, takenBack)
			return err
		})
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "Warning: cannot tell whether rollbacks of other PRDs took back files of %s: %v\n", s.PRD, err)
	}
}

// handWrittenProblems lists the rules that a document written by hand breaks. A build
// checks the rules that depend on the pipeline.
func handWrittenProblems(prd string, d *document.File) error {
	err := d.CheckWritten(prd, nil)
	if err == nil {
		return nil
	}
	return advice.With(&advice.UsageError{Err: err}, fmt.Sprintf("correct %s.json; `runner build %s --fresh` starts without it", prd, prd))
}

func statusOfAll(ctx context.Context, env *cli.Environment, asJSON bool) error {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{})
	if err != nil {
		return err
	}
	prds, err := store.Reader().PRDs()
	if err != nil {
		return err
	}
	list := []info.SessionStatus{}
	var damaged error
	for _, prd := range prds {
		load.WarnUntrusted(env, store, prd)
		snap, err := store.Load(prd)
		if errors.Is(err, checkpoint.ErrNoSession) {
			continue // the session was removed after PRDs listed it
		}
		if err != nil {
			damaged = errors.Join(damaged, err)
			list = append(list, info.DamagedSessionStatus(env.CommandLine, prd, err))
			continue
		}
		seeAnswers(store, snap)
		st := load.Status(env, prd, snap)
		findTakenBack(ctx, env, store, snap, &st)
		seeCaller(env, store, snap, &st)
		list = append(list, st)
	}
	if asJSON {
		return errors.Join(damaged, show.JSON(env.Stdout, info.NewStatusTableReport(list)))
	}
	if len(list) == 0 {
		return sayNoSessions(env, store)
	}
	return errors.Join(damaged, show.StatusTable(env.Stdout, env.Now(), list))
}

// sayNoSessions tells the user that there is no current session, and names the archived
// ones.
func sayNoSessions(env *cli.Environment, store *checkpoint.Store) error {
	archived, err := store.Reader().Known()
	if err != nil {
		return err
	}
	message := "No sessions yet: " + load.HowToStartAny(env) + "."
	if len(archived) > 0 {
		message = fmt.Sprintf("No current sessions: `runner checkpoint list --all` shows the archived ones of %s, %s.", strings.Join(archived, ", "), load.HowToStartAny(env))
	}
	_, err = fmt.Fprintln(env.Stdout, env.Localize(message))
	return err
}
