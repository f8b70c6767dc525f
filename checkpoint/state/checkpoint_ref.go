package state

import (
	"encoding/json"
	"time"

	"prdrunner/checkpoint/ledger"
)

// CheckpointRef is a checkpoint as the state knows it.
type CheckpointRef struct {
	ID        string       `json:"id"`
	Seq       uint64       `json:"seq"`
	Trigger   Trigger      `json:"trigger"`
	Phase     string       `json:"phase,omitempty"`
	Step      int          `json:"step"`
	StepName  string       `json:"step_name,omitempty"`
	StepSeq   uint64       `json:"step_seq,omitempty"` // of the commit in which the step completed
	Later     bool         `json:"later,omitempty"`    // something happened to a workstream or its files after that
	Reason    Text         `json:"reason,omitempty"`
	CreatedAt time.Time    `json:"created_at"`
	Created   int          `json:"created,omitempty"`  // files that the step made
	Modified  int          `json:"modified,omitempty"` // files that the step changed
	Git       *Git         `json:"git,omitempty"`
	Capture   *Capture     `json:"capture,omitempty"` // the last capture before it, which has its files
	Behind    int          `json:"behind,omitempty"`  // how many workstreams had recorded work since the capture
	Before    string       `json:"before,omitempty"`  // of a pre_rollback checkpoint: where the session stood
	Pinned    bool         `json:"pinned,omitempty"`  // retention never removes it
	CanResume bool         `json:"can_resume"`        // the session was neither complete nor abandoned at it
	Valid     bool         `json:"valid"`
	Conflict  string       `json:"conflict,omitempty"` // the reported conflict that it is for
	Spent     ledger.Spent `json:"spent,omitzero"`     // in the session up to it, as reported
	// Uncaptured says that capturing its files failed.
	Uncaptured bool `json:"uncaptured,omitempty"`
	// InvalidatedBy is the rollback that made it invalid, "" if none did.
	InvalidatedBy string `json:"invalidated_by,omitempty"`
	// Discarded holds, for a pre_rollback checkpoint, the checkpoints that were
	// invalid when it was made, and the rollback that made each invalid.
	Discarded map[string]string `json:"discarded,omitempty"`
	Damage    *Damage           `json:"damage,omitempty"` // found when its file or objects were checked
}

// UnmarshalJSON reads a checkpoint, also as earlier versions wrote it.
func (r *CheckpointRef) UnmarshalJSON(data []byte) error {
	type plain CheckpointRef
	p := plain{CanResume: true}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*r = CheckpointRef(p)
	r.CanResume = r.CanResume && r.Trigger != TriggerComplete
	return nil
}

// Damage says when and why a checkpoint was found to be damaged.
type Damage struct {
	At     time.Time `json:"at"`
	Reason Text      `json:"reason"`
}
