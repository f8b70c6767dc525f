package inspect

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
)

// History reads what the sessions of a PRD took, and what got slower.
func History(ctx context.Context, env *cli.Environment, prd string) (info.HistoryReport, error) {
	past, err := pastSessions(ctx, env, prd)
	if err != nil {
		return info.HistoryReport{}, err
	}
	return info.NewHistoryReport(env.CommandLine, env.Now(), prd, past), nil
}

// SessionDiff compares two sessions of a PRD. Each is named by the beginning of its id, by latest, or by
// latest~N.
func SessionDiff(ctx context.Context, env *cli.Environment, prd, from, to string) (r info.SessionDiffReport, err error) {
	past, err := pastSessions(ctx, env, prd)
	if err != nil {
		return r, err
	}
	a, err := findSession(prd, past, from)
	if err != nil {
		return r, err
	}
	b, err := findSession(prd, past, to)
	if err != nil {
		return r, err
	}
	h := info.NewHistoryReport(env.CommandLine, env.Now(), prd, past)
	return info.NewSessionDiffReport(h, h.Sessions[a], h.Sessions[b], past[a].State, past[b].State), nil
}

// pastSessions returns all sessions of a PRD, the oldest first. Without one it returns an error.
func pastSessions(ctx context.Context, env *cli.Environment, prd string) ([]info.PastSession, error) {
	store, err := load.OpenAnyStore(env, prd)
	if err != nil {
		return nil, err
	}
	sessions, err := store.Reader().Sessions(prd)
	if err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		return nil, load.NoSession(env, store, prd)
	}
	owner, err := store.Owner(prd)
	if err != nil {
		return nil, err
	}
	past := make([]info.PastSession, len(sessions))
	for i, at := range sessions {
		owned := owner != nil && at.Place == disk.PlaceCurrent
		if !owned && at.State != nil {
			at.State = at.State.CutOff()
		}
		past[i] = info.PastSession{StoredSession: at, Owned: owned}
		if past[i].Timeline, err = timelineOf(ctx, store, at); err != nil {
			return nil, err
		}
	}
	return past, nil
}

// timelineOf reads from the journals of a session when something ran in it. A session that can't be read
// has none.
func timelineOf(ctx context.Context, store *checkpoint.Store, at reader.StoredSession) (t history.Timeline, err error) {
	if at.State == nil {
		return t, nil
	}
	of := &reader.Record{SessionDir: disk.SessionDir{Dir: at.Dir, PRD: at.PRD, Place: at.Place}}
	note := func(c state.Commit) error {
		t.Commit(c)
		return nil
	}
	err = store.Reader().VisitRecord(ctx, of, reader.Visitor{Commit: note})
	return t, err
}

// findSession returns the index of the session that a reference names.
func findSession(prd string, sessions []info.PastSession, ref string) (int, error) {
	hint := fmt.Sprintf("`runner history %s` lists the sessions", prd)
	if ago, is := sessionsAgo(ref); is {
		i := len(sessions) - 1 - ago
		if i < 0 {
			return 0, advice.With(advice.Usagef("%s has no session %s: there are %d", prd, ref, len(sessions)), hint)
		}
		return i, readable(sessions[i].StoredSession)
	}
	found, ids := -1, map[string]bool{}
	for i, s := range sessions {
		if s.State != nil && ref != "" && strings.HasPrefix(s.State.Session, ref) {
			found, ids[s.State.Session] = i, true
		}
	}
	switch len(ids) {
	case 0:
		return 0, advice.With(advice.Usagef("%s has no session %q", prd, ref), hint)
	case 1:
		return found, nil
	}
	return 0, advice.With(advice.Usagef("%d sessions of %s begin with %q", len(ids), prd, ref), hint)
}

// sessionsAgo returns N for latest~N, and 0 for latest.
func sessionsAgo(ref string) (n int, is bool) {
	rest, is := strings.CutPrefix(ref, "latest")
	if !is || rest == "" {
		return 0, is
	}
	digits, is := strings.CutPrefix(rest, "~")
	n, err := strconv.Atoi(digits)
	return n, is && err == nil && n >= 0
}

func readable(at reader.StoredSession) error {
	if at.State == nil {
		return fmt.Errorf("read a session of %s: %w", at.PRD, at.Err)
	}
	return nil
}
