package checkpoints

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type listOptions struct {
	prd   string
	all   bool
	label string
	json  bool
}

func newListCommand(env *cli.Environment) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list [PRD]",
		Short: "List the checkpoints of a session",
		Long: `List the checkpoints of a session, oldest first. STATUS marks the current
checkpoint, those that are pinned or discarded by a rollback, and those that
"runner checkpoint validate --mark" recorded as damaged: list does not read the
files itself. PRD can be omitted if there is only one. On a terminal, more checkpoints
than fit on the screen are counted, the older ones first; --all lists them.

NAME is what other commands accept in place of the id; they also accept the
beginning of the id. latest~0 is the same as latest. Checkpoints of archived
sessions have no names: to use one, export the session with "runner checkpoint
export --session" and import it with "runner checkpoint import --replace".

"files 2 behind" means that two workstreams completed after the files were last
captured. A rollback to such a checkpoint takes the state back to that capture,
unless the recorded artifacts are all that these workstreams changed. "runner
checkpoint show" tells which.`,
		Example: `  runner checkpoint list PRD-009 --all
  runner checkpoint list --type implement`,
		Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = cli.FirstArgument(args)
			return runList(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.all, "all", false, "list all checkpoints, and archived sessions; without a PRD, those of every PRD")
	flags.StringVar(&o.label, "type", "", "list only sessions of pipelines whose type is `LABEL`")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runList(_ context.Context, env *cli.Environment, o listOptions) error {
	sessions, err := listedSessions(env, o)
	if err != nil {
		return err
	}
	if o.json {
		return show.JSON(env.Stdout, info.NewListReport(env.CommandLine, sessions))
	}
	if len(sessions) == 0 {
		_, err := fmt.Fprintf(env.Stdout, "There is no session of a pipeline whose type is %q\n", o.label)
		return err
	}
	to := show.ListOptions{Now: env.Now(), Commands: env.IsTerminal(env.Stdout)}
	if !o.all {
		to.Rows = env.Rows(env.Stdout)
	}
	return show.Checkpoints(env.Stdout, env.CommandLine, sessions, to)
}

// listedSessions returns the sessions that the user asked for.
func listedSessions(env *cli.Environment, o listOptions) ([]reader.StoredSession, error) {
	if !o.all && (o.prd != "" || o.label == "") {
		store, st, err := load.NamedOrOnlyState(env, o.prd)
		if err != nil {
			return nil, err
		}
		at := reader.StoredSession{PRD: st.PRD, Place: disk.PlaceCurrent, Dir: store.Dir(), State: st}
		return ofType([]reader.StoredSession{at}, o.label), nil
	}
	store, err := load.OpenAnyStore(env, o.prd)
	if err != nil {
		return nil, err
	}
	sessions, err := store.Reader().Sessions(o.prd)
	if err != nil {
		return nil, err
	}
	if !o.all {
		sessions = slices.DeleteFunc(sessions, func(at reader.StoredSession) bool { return at.Place != disk.PlaceCurrent })
	}
	if len(sessions) == 0 && o.prd != "" {
		return nil, load.NoSession(env, store, o.prd)
	}
	if len(sessions) == 0 {
		return nil, load.NoSessions(env)
	}
	return ofType(sessions, o.label), nil
}

// ofType keeps the sessions whose pipeline has the type label. A session that can't be
// read has no type.
func ofType(sessions []reader.StoredSession, label string) []reader.StoredSession {
	if label == "" {
		return sessions
	}
	return slices.DeleteFunc(sessions, func(at reader.StoredSession) bool {
		return at.State == nil || at.State.Type != label
	})
}
