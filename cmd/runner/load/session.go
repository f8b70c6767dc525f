package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/process"
)

// WarnUntrusted warns that git tracks the state that a command shows, and that nothing
// runs until the user decides.
func WarnUntrusted(env *cli.Environment, store *checkpoint.Store, prd string) {
	untrusted, err := store.Untrusted(context.Background(), prd)
	switch {
	case err != nil:
		fmt.Fprintf(env.Stderr, "Warning: cannot tell whether git tracks the state of %s: %v\n", prd, err)
	case untrusted != nil:
		fmt.Fprintf(env.Stderr, "Warning: %s\nNothing runs until you decide: %s\n", env.Localize(untrusted.Error()), env.Localize(advice.Untrusted(untrusted)))
	}
}

// OpenAnyStore opens the store of a PRD, or the store of all PRDs if prd is "".
func OpenAnyStore(env *cli.Environment, prd string) (*checkpoint.Store, error) {
	cfg, err := env.LoadConfig()
	if err != nil {
		return nil, err
	}
	store, err := OpenStore(env, cfg, PipelineRef{PRD: prd})
	if err == nil && prd != "" {
		err = CheckPRD(env, cfg, prd)
	}
	return store, err
}

// NamedOrOnlyState opens a session like State. If prd is "", it opens the session of the
// only PRD that has one.
func NamedOrOnlyState(env *cli.Environment, prd string) (*checkpoint.Store, *state.State, error) {
	if prd != "" {
		return State(env, prd)
	}
	store, err := OpenAnyStore(env, "")
	if err != nil {
		return nil, nil, err
	}
	if prd, err = onlyPRD(env, store); err != nil {
		return nil, nil, err
	}
	return State(env, prd)
}

func onlyPRD(env *cli.Environment, store *checkpoint.Store) (string, error) {
	prds, err := store.Reader().PRDs()
	if err != nil {
		return "", err
	}
	switch len(prds) {
	case 0:
		return "", NoSessions(env)
	case 1:
		return prds[0], nil
	}
	return "", advice.With(advice.Usagef("there are several sessions; name one"), strings.Join(prds, ", "))
}

// NoSessions returns the error of a state directory without sessions.
func NoSessions(env *cli.Environment) error {
	return advice.With(advice.Usagef("there are no sessions"), HowToStartAny(env))
}

// lastArchived returns the newest archived session of a PRD, or nil.
func lastArchived(store *checkpoint.Store, prd string) (*reader.StoredSession, error) {
	sessions, err := store.Reader().Sessions(prd)
	if err != nil {
		return nil, err
	}
	for _, at := range slices.Backward(sessions) {
		if at.Place != disk.PlaceCurrent {
			return &at, nil
		}
	}
	return nil, nil
}

// LastComplete returns the newest archived session of a PRD if it is complete, otherwise
// nil.
func LastComplete(store *checkpoint.Store, prd string) (*state.State, error) {
	last, err := lastArchived(store, prd)
	if err != nil || last == nil || last.Place != disk.PlaceHistory {
		return nil, err
	}
	return last.State, nil
}

// Session opens the state of a PRD and reads its session, without a lock. With a
// *checkpoint.DamagedError it returns the store too, so that the caller can set the
// damaged state aside. It warns the user if the state is untrusted.
func Session(env *cli.Environment, prd string) (*checkpoint.Store, *checkpoint.Snapshot, error) {
	store, snap, err := readStored(env, PipelineRef{PRD: prd})
	if store != nil {
		WarnUntrusted(env, store, prd)
	}
	return store, snap, err
}

// readStored does the work of Session, without the warning about untrusted state.
func readStored(env *cli.Environment, ref PipelineRef) (*checkpoint.Store, *checkpoint.Snapshot, error) {
	prd := ref.PRD
	cfg, err := env.LoadConfig()
	if err != nil {
		return nil, nil, err
	}
	store, err := OpenStore(env, cfg, ref)
	if err != nil {
		return nil, nil, err
	}
	if err := CheckPRD(env, cfg, prd); err != nil {
		return nil, nil, err
	}
	snap, err := store.Load(prd)
	if errors.Is(err, checkpoint.ErrNoSession) {
		return nil, nil, NoSession(env, store, prd)
	}
	return store, snap, err
}

// State opens a session like Session, for commands that need a session that Runner
// made. A document written by hand is an error.
func State(env *cli.Environment, prd string) (*checkpoint.Store, *state.State, error) {
	store, snap, err := Session(env, prd)
	if err != nil {
		return nil, nil, err
	}
	return ownState(env, prd, store, snap)
}

// OwnState reads the session of a PRD like State. If this process belongs to that session,
// OwnState finds it in any directory, as reports do.
func OwnState(env *cli.Environment, prd string) (*state.State, error) {
	if dir := env.Lookup("RUNNER_STATE_DIR"); dir != "" && env.Lookup("RUNNER_PRD") == prd {
		cfg, err := env.LoadConfig()
		if err != nil {
			return nil, err
		}
		store, err := openStateDir(env, cfg, env.Path(dir), PipelineRef{}, nil)
		if err != nil {
			return nil, err
		}
		snap, err := store.Load(prd)
		if err == nil {
			WarnUntrusted(env, store, prd)
			_, st, err := ownState(env, prd, store, snap)
			return st, err
		}
		if !errors.Is(err, checkpoint.ErrNoSession) {
			return nil, err
		}
	}
	_, st, err := State(env, prd)
	return st, err
}

// TrustedState opens the session of the PRD that ref names like State, for commands that
// change the session. Untrusted state is an error.
func TrustedState(ctx context.Context, env *cli.Environment, ref PipelineRef) (*checkpoint.Store, *state.State, error) {
	store, snap, err := readStored(env, ref)
	if store != nil {
		untrusted, lookErr := store.Untrusted(ctx, ref.PRD)
		switch {
		case lookErr != nil:
			err = errors.Join(lookErr, err)
		case untrusted != nil:
			err = untrusted
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return ownState(env, ref.PRD, store, snap)
}

// ownState returns the state of a session, and tells the user about an import or a
// rollback that was cut short. A document written by hand has no state.
func ownState(env *cli.Environment, prd string, store *checkpoint.Store, snap *checkpoint.Snapshot) (*checkpoint.Store, *state.State, error) {
	if snap.State == nil {
		return nil, nil, advice.HandWritten(prd)
	}
	if p := snap.Import; p != nil && snap.Owner == nil {
		fmt.Fprintf(env.Stderr, "Import %s\n", info.InterruptedImport(env.CommandLine, p))
	}
	if r := snap.State.Rollback; r != nil && snap.Owner == nil {
		fmt.Fprintf(env.Stderr, "Rollback %s\n", info.InterruptedRollback(r))
	}
	return store, snap.State, nil
}

// NoSession returns the error of a PRD without a session. Its hint names an import that
// was cut short, an archived session, a session of another issue, or the PRDs that have
// sessions.
func NoSession(env *cli.Environment, store *checkpoint.Store, prd string) error {
	hint := howToStart(env, prd)
	if p, err := store.Layout().InterruptedImport(prd); err == nil && p != nil {
		hint = fmt.Sprintf("one was being imported, which was cut short: %s finishes it", advice.ImportAgain(p))
	} else if last, err := lastArchived(store, prd); err == nil && last != nil {
		hint = fmt.Sprintf("the last one is archived in %s; `runner checkpoint list %s --all` shows it", env.Display(last.Dir), prd)
		if last.Place == disk.PlaceHistory && last.State != nil {
			hint += fmt.Sprintf(", `runner %s` begins from it", advice.ResumeCommand(prd, string(last.State.Pipeline.Path)))
		}
	} else if elsewhere := OfOtherIssues(env, store, prd); elsewhere != "" {
		hint = InOtherIssue(elsewhere)
	} else if prds, err := store.Reader().PRDs(); err == nil && len(prds) > 0 {
		hint = "there are sessions of " + strings.Join(prds, ", ")
	}
	return advice.With(advice.Usagef("there is no session of %s", prd), hint)
}

// InOtherIssue returns the hint about a session in the state directories of other issues.
func InOtherIssue(elsewhere string) string {
	return fmt.Sprintf("there is one in %s, the state directory of another issue; to go on with it, put that number back into the issue block of the pipeline", elsewhere)
}

// Status returns the status of a session, with the processes that outlived its
// runner if that was killed.
func Status(env *cli.Environment, prd string, snap *checkpoint.Snapshot) info.SessionStatus {
	s := info.NewSessionStatus(env.CommandLine, env.Now(), prd, snap)
	if s.Killed {
		for _, p := range process.Alive(s.Session, snap.Logs) {
			s.Alive = append(s.Alive, info.AliveProcess{PID: p.PID, Workstream: p.Task})
		}
	}
	return s
}
