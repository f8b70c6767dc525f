package main

import (
	"context"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/config"

	"github.com/spf13/cobra"
)

type checkpointShowOptions struct {
	prd       string
	reference string
	json      bool
}

// shownCheckpoint is what `checkpoint show --json` prints: the checkpoint's file, and what
// the journal and the check say about it.
type shownCheckpoint struct {
	*disk.CheckpointFile
	Current       bool           `json:"current"`
	Valid         bool           `json:"valid"`
	Pinned        bool           `json:"pinned"`
	InvalidatedBy string         `json:"invalidated_by,omitempty"`
	Damage        *state.Damage  `json:"damage,omitempty"`
	Capture       *state.Capture `json:"capture,omitempty"`
	notCaptured
	Earlier     *earlierState `json:"earlier_state,omitempty"`      // the state that a rollback restores instead
	EarlierGone *earlierGone  `json:"earlier_state_gone,omitempty"` // why a rollback is refused
	Validation  checkedParts  `json:"validation"`
}

// earlierGone is the state that a rollback would restore, if it were not gone.
type earlierGone struct {
	Seq     uint64     `json:"seq"`
	Reason  state.Text `json:"reason"`
	Error   state.Text `json:"error"`
	Nearest string     `json:"nearest_checkpoint,omitempty"` // the nearest earlier checkpoint that a rollback can restore
}

func newEarlierGone(e *rollback.EarlierGoneError) *earlierGone {
	if e == nil {
		return nil
	}
	return &earlierGone{Seq: e.Seq, Reason: state.Text(e.Reason), Error: state.Text(e.Error()), Nearest: e.Nearest}
}

func newCheckpointShowCommand(env *environment) *cobra.Command {
	o := checkpointShowOptions{reference: "latest"}
	cmd := &cobra.Command{
		Use:   "show PRD [CHECKPOINT]",
		Short: "Show the contents of a checkpoint",
		Long: `Show what a checkpoint contains, and whether it is intact. Without CHECKPOINT, show
the latest one. If the checkpoint is damaged, show what the journal has of it, and
exit 5. "runner checkpoint --help" says how to name a checkpoint.`,
		Example: `  runner checkpoint show PRD-009 latest~1`,
		Args:    arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			if len(args) > 1 {
				o.reference = args[1]
			}
			return runCheckpointShow(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runCheckpointShow(ctx context.Context, env *environment, o checkpointShowOptions) error {
	store, st, err := openSession(env, o.prd)
	if err != nil {
		return err
	}
	return withFiles(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) error {
		found, err := rollback.Inspect(ctx, store, w, st.PRD, o.reference)
		if err != nil {
			return advice.Archived(env.CommandLine, store, st.PRD, advice.UnknownReference(st.PRD, err))
		}
		if found.File == nil {
			return advice.With(found.Unread, "`runner checkpoint validate "+st.PRD+"` names the valid ones")
		}
		if o.json {
			err = writeJSON(env.stdout, newShownCheckpoint(found))
		} else {
			err = writeInspection(env.stdout, found)
		}
		if err == nil && !found.Check.Whole() {
			err = errDamageShown
		}
		return err
	})
}

func newShownCheckpoint(found *rollback.Inspection) shownCheckpoint {
	ref := found.Check.Ref
	return shownCheckpoint{
		CheckpointFile: found.File, Current: found.Check.Current, Valid: ref.Valid && found.Check.Whole(), Pinned: ref.Pinned,
		InvalidatedBy: ref.InvalidatedBy, Damage: ref.Damage, Capture: found.File.State.Capture,
		notCaptured: newNotCaptured(found.LeftOut, found.Unstable, found.Special), Earlier: newEarlierState(found.Earlier),
		EarlierGone: newEarlierGone(found.EarlierGone),
		Validation:  newCheckedParts(&found.Check),
	}
}
