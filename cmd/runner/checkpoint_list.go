package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/runner/view"
)

type checkpointListOptions struct {
	prd  string
	json bool
}

// checkpointList is what `checkpoint list --json` prints, oldest first.
type checkpointList struct {
	FormatVersion string           `json:"format_version"`
	PRD           string           `json:"prd"`
	Session       string           `json:"session"`
	Checkpoints   []checkpointItem `json:"checkpoints"`
}

// checkpointItem is a checkpoint in a list.
type checkpointItem struct {
	*checkpoint.CheckpointRef
	Current bool `json:"current"` // the newest valid one
}

func newCheckpointListCommand(env *environment) *cobra.Command {
	var o checkpointListOptions
	cmd := &cobra.Command{
		Use:   "list [PRD]",
		Short: "List the checkpoints of a session",
		Long: `List shows the checkpoints of a session, oldest first. PRD may be left out where
there is only one.`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = first(args)
			return runCheckpointList(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runCheckpointList(_ context.Context, env *environment, o checkpointListOptions) error {
	_, st, err := openSession(env, o.prd)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(env.stdout, newCheckpointList(st))
	}
	return writeCheckpoints(env.stdout, st)
}

// openSession is loadState; without a PRD named, of the only one that there is.
func openSession(env *environment, prd string) (*checkpoint.Store, *checkpoint.State, error) {
	if prd != "" {
		return loadState(env, prd)
	}
	cfg, err := loadConfig(env)
	if err != nil {
		return nil, nil, err
	}
	store, err := openStore(env, cfg, "")
	if err != nil {
		return nil, nil, err
	}
	if prd, err = onlyPRD(store); err != nil {
		return nil, nil, err
	}
	return loadState(env, prd)
}

func onlyPRD(store *checkpoint.Store) (string, error) {
	prds, err := store.PRDs()
	if err != nil {
		return "", err
	}
	switch len(prds) {
	case 0:
		return "", withHint(usageErrorf("there are no sessions"), "`runner build PRD` starts one")
	case 1:
		return prds[0], nil
	}
	return "", withHint(usageErrorf("there are several sessions; name one"), strings.Join(prds, ", "))
}

func newCheckpointList(st *checkpoint.State) checkpointList {
	list := checkpointList{FormatVersion: outputFormat, PRD: st.PRD, Session: st.Session, Checkpoints: []checkpointItem{}}
	current := st.CurrentCheckpoint()
	for _, ref := range st.Checkpoints {
		list.Checkpoints = append(list.Checkpoints, checkpointItem{ref, ref == current})
	}
	return list
}

const rule = "================================================="

func writeCheckpoints(w io.Writer, st *checkpoint.State) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nCHECKPOINTS - Session: %s\n%s\n", rule, st.Session, rule)
	fmt.Fprintf(&b, "Topic: %s\nCreated: %s\n\n", view.OneLine(view.Named(st.PRD, st.Title)), st.CreatedAt.UTC().Format(time.DateTime))
	if len(st.Checkpoints) == 0 {
		b.WriteString("There are none: checkpoints are switched off, or none was due yet.\n")
	} else if err := writeCheckpointTable(&b, st); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\nCommands:\n  runner checkpoint show %s CHECKPOINT   show details\n%s\n", st.PRD, rule)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeCheckpointTable(w io.Writer, st *checkpoint.State) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "#\tCHECKPOINT ID\tSTEP\tTRIGGER\tTIMESTAMP\tSTATUS")
	current := st.CurrentCheckpoint()
	for i, c := range st.Checkpoints {
		status := "✓"
		switch {
		case c == current:
			status = "← curr"
		case !c.Valid:
			status = "✗"
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%s\n", i+1, c.ID, step(c), c.Trigger, c.CreatedAt.UTC().Format(time.DateTime), status)
	}
	return tw.Flush()
}

// step is the step of a checkpoint with its name.
func step(c *checkpoint.CheckpointRef) string {
	if c.StepName == "" {
		return fmt.Sprint(c.Step)
	}
	return fmt.Sprintf("%d - %s", c.Step, view.OneLine(c.StepName))
}
