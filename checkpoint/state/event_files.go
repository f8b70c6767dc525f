package state

import "prdrunner/checkpoint/workspace"

// WorkspaceCaptured records the files of the workspace. Later checkpoints have these
// files, until the next capture.
type WorkspaceCaptured struct {
	workspace.Capture

	// Aside says that the capture may hold edits made since the last run, so that files
	// must not be compared with it. A command made it while a run had no recorded end,
	// or a resumed run made it before it started anything.
	Aside bool `json:"aside,omitempty"`
	// TookMS is the time that the capture took, if a run made it.
	TookMS int64 `json:"took_ms,omitempty"`
}

// ArtifactsRestored says that recorded artifacts were put back from objects.
type ArtifactsRestored struct {
	Workstream string `json:"workstream"` // the workstream that made them
	Paths      []Text `json:"paths"`
	Reason     Text   `json:"reason"`
}

// CheckpointPinned keeps a checkpoint from retention.
type CheckpointPinned struct {
	ID     string `json:"id"`
	By     Actor  `json:"by"`
	Reason Text   `json:"reason,omitempty"`
}

// CheckpointUnpinned removes a pin.
type CheckpointUnpinned struct {
	ID string `json:"id"`
	By Actor  `json:"by"`
}

// CheckpointDamaged marks a checkpoint that a rollback can't use.
type CheckpointDamaged struct {
	ID     string `json:"id"`
	Reason Text   `json:"reason"`
}

// CheckpointRebuilt removes the mark of damage.
type CheckpointRebuilt struct {
	ID string `json:"id"`
}

// RollbackScope says what a rollback restores.
type RollbackScope string

// The scopes.
const (
	RollbackAll   RollbackScope = "all"
	RollbackState RollbackScope = "state"
	RollbackFiles RollbackScope = "files"
)

// RollbackStarted announces a rollback. Until it is completed or failed the files may be
// partly restored, and the next owner of the session finishes it first.
type RollbackStarted struct {
	ID     string        `json:"id"`
	To     string        `json:"to_checkpoint"`
	ToSeq  uint64        `json:"to_seq"`
	ToStep int           `json:"to_step"`
	Safety string        `json:"safety_checkpoint"` // the pre_rollback checkpoint
	Scope  RollbackScope `json:"scope"`
	Force  bool          `json:"force,omitempty"` // files that can't be restored are skipped
	Reason Text          `json:"reason,omitempty"`
	By     Actor         `json:"by"`
	// StateSeq is the commit whose state is restored, if that is earlier than the
	// checkpoint because the checkpoint's files do not prove a later one.
	StateSeq uint64 `json:"state_seq,omitempty"`
}

// RollbackCompleted says that the files are those of the checkpoint. State is the restored
// state, nil if only files were restored.
type RollbackCompleted struct {
	ID      string `json:"id"`
	State   *State `json:"state,omitempty"`
	Written int    `json:"written"`
	Deleted int    `json:"deleted"`
	Skipped []Text `json:"skipped,omitempty"` // paths that could not be restored
}

// RollbackFailed says that the files are again those of the safety checkpoint.
type RollbackFailed struct {
	ID    string `json:"id"`
	Error Text   `json:"error"`
}
