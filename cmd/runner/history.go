package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type historyOptions struct {
	prd  string
	last int
	json bool
}

func newHistoryCommand(env *cli.Environment) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history PRD",
		Short: "List the sessions of a PRD, and what got slower",
		Long: fmt.Sprintf(`List the sessions of a PRD, the oldest first: the current one and the archived ones, as
long as retention keeps them, with their results, and what in each of them was slower
than in the sessions before.

TOOK is the time of the runs of a session together. A phase or a workstream is slower if
it took more than %d %% and more than %s longer than the median of the earlier sessions:
of the last %d of them that have a time, and at least %d. The time of a workstream is
that of its successful attempt; results that a session took over or from the cache do
not count. The time of a phase is that in which an attempt or a gate of it ran, without
the pauses between runs and for people; it counts if the session ran the whole phase.

"runner diff" compares two sessions.`, history.MinPercent, history.MinTime, history.MaxEarlier, history.MinEarlier),
		Example: `  runner history PRD-009
  runner history PRD-009 --json | jq '.sessions[-1].slower'`,
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			if o.last < 0 || o.last == 0 && cmd.Flags().Changed("last") {
				return advice.Usagef("--last takes a number from 1")
			}
			return runHistory(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVarP(&o.last, "last", "n", 0, "list only the last `N` sessions")
	flags.BoolVar(&o.json, "json", false, "print one JSON object, with all durations")
	return cmd
}

func runHistory(ctx context.Context, env *cli.Environment, o historyOptions) error {
	past, err := pastSessions(ctx, env, o.prd)
	if err != nil {
		return err
	}
	report := info.NewHistoryReport(env.CommandLine, env.Now(), o.prd, past)
	if o.last > 0 {
		report.Last(o.last)
	}
	if o.json {
		return show.JSON(env.Stdout, report)
	}
	return show.History(env.Stdout, report)
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
		if past[i].Times, err = timesOf(ctx, store, at); err != nil {
			return nil, err
		}
	}
	return past, nil
}

// timesOf reads from the journals of a session when something ran in it. A session that can't be read
// has none.
func timesOf(ctx context.Context, store *checkpoint.Store, at reader.StoredSession) (times history.Times, err error) {
	if at.State == nil {
		return times, nil
	}
	of := &reader.Record{SessionDir: disk.SessionDir{Dir: at.Dir, PRD: at.PRD, Place: at.Place}}
	note := func(c state.Commit) error {
		times.Commit(c)
		return nil
	}
	err = store.Reader().VisitRecord(ctx, of, reader.Visitor{Commit: note})
	return times, err
}
