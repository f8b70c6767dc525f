package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/reader"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

type diffOptions struct {
	prd      string
	from, to string
	json     bool
}

func newDiffCommand(env *cli.Environment) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff PRD [SESSION] [SESSION]",
		Short: "Compare two sessions",
		Long: fmt.Sprintf(`Show how two sessions of a PRD differ: results, what they did with workstreams,
durations, metrics, outputs and artifacts. SESSION is the beginning of an id as
"runner history" lists it, "latest", or "latest~N" for the N-th session before. Without
the second one, compare with the latest session; without both, compare the latest one
with the one before.

Durations are those that "runner history" compares; only those are shown that differ by
more than %d %% and more than %s. --json has all. "runner checkpoint diff" compares two
points of one session, with their files.`, history.MinPercent, history.MinTime),
		Example: `  runner diff PRD-009
  runner diff PRD-009 latest~3 latest
  runner diff PRD-009 7ff7286d --json`,
		Args: cli.Arguments(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.from, o.to = args[0], "latest~1", "latest"
			if len(args) > 1 {
				o.from = args[1]
			}
			if len(args) > 2 {
				o.to = args[2]
			}
			return runDiff(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object, with all durations")
	return cmd
}

func runDiff(ctx context.Context, env *cli.Environment, o diffOptions) error {
	past, err := pastSessions(ctx, env, o.prd)
	if err != nil {
		return err
	}
	from, err := findSession(o.prd, past, o.from)
	if err != nil {
		return err
	}
	to, err := findSession(o.prd, past, o.to)
	if err != nil {
		return err
	}
	h := info.NewHistoryReport(env.CommandLine, env.Now(), o.prd, past)
	report := info.NewSessionDiffReport(h, h.Sessions[from], h.Sessions[to], past[from].State, past[to].State)
	if o.json {
		return show.JSON(env.Stdout, report)
	}
	return show.SessionDiff(env.Stdout, report)
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
