package state

import "prdrunner/checkpoint/workspace"

// WorkspaceCaptured records the files of the workspace. The checkpoints that
// follow are of these files, until the next one.
type WorkspaceCaptured struct {
	workspace.Capture

	// Aside says that what was edited since the last run is in this capture, so that
	// no files are compared with it: a run has no end on record and did not make the
	// capture, or a resumed run made it before anything started.
	Aside bool `json:"aside,omitempty"`
	// TookMS is how long it took, where a run made it.
	TookMS int64 `json:"took_ms,omitempty"`
}

// ArtifactsRestored says that recorded artifacts were put back from objects.
type ArtifactsRestored struct {
	Workstream string `json:"workstream"` // whose they are
	Paths      []Text `json:"paths"`
	Reason     Text   `json:"reason"`
}

// CheckpointPinned keeps a checkpoint from retention.
type CheckpointPinned struct {
	ID     string `json:"id"`
	By     Actor  `json:"by"`
	Reason Text   `json:"reason,omitempty"`
}

// CheckpointUnpinned takes that back.
type CheckpointUnpinned struct {
	ID string `json:"id"`
	By Actor  `json:"by"`
}

// CheckpointDamaged marks a checkpoint as one that cannot be gone back to.
type CheckpointDamaged struct {
	ID     string `json:"id"`
	Reason Text   `json:"reason"`
}

// CheckpointRebuilt takes the mark off a checkpoint that is whole again.
type CheckpointRebuilt struct {
	ID string `json:"id"`
}

// RollbackScope is what a rollback takes back.
type RollbackScope string

// The scopes.
const (
	RollbackAll   RollbackScope = "all"
	RollbackState RollbackScope = "state"
	RollbackFiles RollbackScope = "files"
)

// RollbackStarted is the intent to go back to a checkpoint. Until it is
// completed or failed, the files may be of neither moment, and the next one
// who owns the session finishes it first.
type RollbackStarted struct {
	ID     string        `json:"id"`
	To     string        `json:"to_checkpoint"`
	ToSeq  uint64        `json:"to_seq"`
	ToStep int           `json:"to_step"`
	Safety string        `json:"safety_checkpoint"` // the pre_rollback one
	Scope  RollbackScope `json:"scope"`
	Force  bool          `json:"force,omitempty"` // what can't be restored is left out
	Reason Text          `json:"reason,omitempty"`
	By     Actor         `json:"by"`
	// StateSeq is the commit whose state it takes, where that is earlier than the
	// checkpoint: its files vouch for no later state.
	StateSeq uint64 `json:"state_seq,omitempty"`
}

// RollbackCompleted says that the files are those of the checkpoint. State is
// what the fold jumps to, nil where only files were taken back.
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
