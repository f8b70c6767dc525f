package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/approval"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
)

// Status reads the status of the session of a PRD: with what a person judges who answers a gate that
// waits, and what waits in the sessions of pipelines that it calls. broken names the rules that a document
// written by hand breaks; the status is there nevertheless.
func Status(ctx context.Context, env *cli.Environment, prd string) (s info.SessionStatus, broken, err error) {
	_, snap, s, err := readStatus(ctx, env, prd)
	if err == nil && s.HandWritten {
		broken = handWrittenProblems(prd, snap.Document)
	}
	return s, broken, err
}

// readStatus does the work of Status. It returns also what it has read.
func readStatus(ctx context.Context, env *cli.Environment, prd string) (*checkpoint.Store, *checkpoint.Snapshot, info.SessionStatus, error) {
	store, snap, err := load.Session(env, prd)
	if err != nil {
		return nil, nil, info.SessionStatus{}, err
	}
	s := statusOf(ctx, env, store, prd, snap)
	if s.Rollback != nil {
		if s.Finishes, err = change.PlannedFinish(ctx, env, store, prd); err != nil {
			fmt.Fprintf(env.Stderr, "Warning: cannot tell what finishing the rollback would do: %v\n", err)
		}
	}
	addJudged(ctx, env, store, snap, &s)
	s.Called = calledWaiting(ctx, env, store, snap.State)
	return store, snap, s, nil
}

// StatusIfAny reads the status of the session of a PRD, nil if it has none.
func StatusIfAny(ctx context.Context, env *cli.Environment, cfg *config.Config, ref load.PipelineRef, prd string) (*info.SessionStatus, error) {
	store, err := load.OpenStore(env, cfg, ref)
	if err != nil {
		return nil, err
	}
	snap, err := store.Load(prd)
	if errors.Is(err, checkpoint.ErrNoSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := statusOf(ctx, env, store, prd, snap)
	return &s, nil
}

// Statuses reads the status of the session of every PRD. damaged has the errors of those that can't be
// read; their statuses say so, too.
func Statuses(ctx context.Context, env *cli.Environment, store *checkpoint.Store) (list []info.SessionStatus, damaged, err error) {
	prds, err := store.Reader().PRDs()
	if err != nil {
		return nil, nil, err
	}
	list = []info.SessionStatus{}
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
		list = append(list, statusOf(ctx, env, store, prd, snap))
	}
	return list, damaged, nil
}

// statusOf returns the status of a session, with what the sessions of other PRDs say about it.
func statusOf(ctx context.Context, env *cli.Environment, store *checkpoint.Store, prd string, snap *checkpoint.Snapshot) info.SessionStatus {
	seeAnswers(store, snap)
	s := load.Status(env, prd, snap)
	findTakenBack(ctx, env, store, snap, &s)
	seeCaller(env, store, snap, &s)
	return s
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
