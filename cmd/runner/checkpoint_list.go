package main

import (
	"context"
	"fmt"
	"io"
	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

type checkpointListOptions struct {
	prd   string
	all   bool
	label string
	json  bool
}

// checkpointList is what `checkpoint list --json` prints.
type checkpointList struct {
	FormatVersion string                 `json:"format_version"`
	PRD           string                 `json:"prd,omitempty"`     // "" if the list has several
	Session       string                 `json:"session,omitempty"` // "" if the list has several
	Checkpoints   []checkpointItem       `json:"checkpoints"`       // by session, oldest first
	Rollbacks     []state.RollbackRecord `json:"rollback_history"`
	Sessions      []sessionItem          `json:"sessions"`
}

// checkpointItem is a checkpoint in a list.
type checkpointItem struct {
	*state.CheckpointRef
	PRD     string `json:"prd"`
	Session string `json:"session"`
	Current bool   `json:"current"` // it is the session's current checkpoint
}

// sessionItem is a session in a list.
type sessionItem struct {
	PRD       string       `json:"prd"`
	Session   string       `json:"session,omitempty"`
	Place     disk.Place   `json:"place"`
	Path      state.Text   `json:"path"`
	Title     string       `json:"title,omitempty"`
	Type      string       `json:"type,omitempty"`
	Status    state.Status `json:"status,omitempty"`
	CreatedAt time.Time    `json:"created_at,omitzero"`
	Current   string       `json:"current_checkpoint,omitempty"`
	Damaged   state.Text   `json:"damaged,omitempty"` // why the session can't be read
}

func newCheckpointListCommand(env *environment) *cobra.Command {
	var o checkpointListOptions
	cmd := &cobra.Command{
		Use:   "list [PRD]",
		Short: "List the checkpoints of a session",
		Long: `List the checkpoints of a session, oldest first. STATUS marks the current
checkpoint, and those that are pinned, damaged or discarded by a rollback. PRD can
be omitted if there is only one.

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
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = first(args)
			return runCheckpointList(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.all, "all", false, "also list archived sessions; without a PRD, those of every PRD")
	flags.StringVar(&o.label, "type", "", "list only sessions of pipelines whose type is `LABEL`")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runCheckpointList(_ context.Context, env *environment, o checkpointListOptions) error {
	sessions, err := listedSessions(env, o)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(env.stdout, newCheckpointList(env, sessions))
	}
	if len(sessions) == 0 {
		_, err := fmt.Fprintf(env.stdout, "There is no session of a pipeline whose type is %q\n", o.label)
		return err
	}
	return showCheckpoints(env, sessions)
}

// showCheckpoints formats the checkpoints of all sessions in parallel, and then writes
// them in order.
func showCheckpoints(env *environment, sessions []reader.StoredSession) error {
	shown := make([]strings.Builder, len(sessions))
	var all sync.WaitGroup
	for i, at := range sessions {
		all.Go(func() {
			if i > 0 {
				shown[i].WriteString("\n")
			}
			writeCheckpoints(&shown[i], env, at)
		})
	}
	all.Wait()
	for i := range shown {
		if _, err := io.WriteString(env.stdout, shown[i].String()); err != nil {
			return err
		}
	}
	return nil
}

// listedSessions returns the sessions that the user asked for.
func listedSessions(env *environment, o checkpointListOptions) ([]reader.StoredSession, error) {
	if !o.all && (o.prd != "" || o.label == "") {
		store, st, err := openSession(env, o.prd)
		if err != nil {
			return nil, err
		}
		at := reader.StoredSession{PRD: st.PRD, Place: disk.PlaceCurrent, Dir: store.Dir(), State: st}
		return ofType([]reader.StoredSession{at}, o.label), nil
	}
	store, err := openAnyStore(env, o.prd)
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
		return nil, noSession(env, store, o.prd)
	}
	if len(sessions) == 0 {
		return nil, noSessions(env)
	}
	return ofType(sessions, o.label), nil
}

// openAnyStore opens the store of a PRD, or the store of all PRDs if prd is "".
func openAnyStore(env *environment, prd string) (*checkpoint.Store, error) {
	cfg, err := loadConfig(env)
	if err != nil {
		return nil, err
	}
	store, err := openStore(env, cfg, prd)
	if err == nil && prd != "" {
		err = checkPRD(env, cfg, prd)
	}
	return store, err
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

// openSession opens a session like loadState. If prd is "", it opens the session of the
// only PRD that has one.
func openSession(env *environment, prd string) (*checkpoint.Store, *state.State, error) {
	if prd != "" {
		return loadState(env, prd)
	}
	store, err := openAnyStore(env, "")
	if err != nil {
		return nil, nil, err
	}
	if prd, err = onlyPRD(env, store); err != nil {
		return nil, nil, err
	}
	return loadState(env, prd)
}

func onlyPRD(env *environment, store *checkpoint.Store) (string, error) {
	prds, err := store.Reader().PRDs()
	if err != nil {
		return "", err
	}
	switch len(prds) {
	case 0:
		return "", noSessions(env)
	case 1:
		return prds[0], nil
	}
	return "", advice.With(advice.Usagef("there are several sessions; name one"), strings.Join(prds, ", "))
}

func noSessions(env *environment) error {
	return advice.With(advice.Usagef("there are no sessions"), howToStartAny(env))
}

func newCheckpointList(env *environment, sessions []reader.StoredSession) checkpointList {
	list := checkpointList{
		FormatVersion: outputFormat,
		Checkpoints:   []checkpointItem{}, Rollbacks: []state.RollbackRecord{}, Sessions: []sessionItem{},
	}
	for i, at := range sessions {
		item := sessionItem{PRD: at.PRD, Place: at.Place, Path: state.Text(env.Display(at.Dir))}
		if i == 0 || list.PRD == at.PRD {
			list.PRD = at.PRD
		} else {
			list.PRD = ""
		}
		if at.State == nil {
			item.Damaged = state.Text(env.Localize(at.Err.Error()))
			list.Sessions = append(list.Sessions, item)
			continue
		}
		st := at.State
		item.Session, item.Title, item.Type, item.Status, item.CreatedAt = st.Session, st.Title, st.Type, st.Status, st.CreatedAt
		list.Rollbacks = append(list.Rollbacks, st.Rollbacks...)
		for _, ref := range st.Checkpoints {
			if ref.ID == st.Current {
				item.Current = ref.ID
			}
			list.Checkpoints = append(list.Checkpoints, checkpointItem{ref, at.PRD, st.Session, ref.ID == st.Current})
		}
		list.Sessions = append(list.Sessions, item)
	}
	if len(list.Sessions) == 1 {
		list.Session = list.Sessions[0].Session
	}
	return list
}
