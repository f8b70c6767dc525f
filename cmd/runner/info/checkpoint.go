package info

import (
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// CheckpointReport is what `checkpoint show --json` prints: the checkpoint's file, and what
// the journal and the check say about it.
type CheckpointReport struct {
	*disk.CheckpointFile
	Current       bool           `json:"current"`
	Valid         bool           `json:"valid"`
	Pinned        bool           `json:"pinned"`
	InvalidatedBy string         `json:"invalidated_by,omitempty"`
	Damage        *state.Damage  `json:"damage,omitempty"`
	Capture       *state.Capture `json:"capture,omitempty"`
	NotCaptured
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

// NewCheckpointReport returns the JSON form of a checkpoint.
func NewCheckpointReport(found *rollback.Inspection) CheckpointReport {
	ref := found.Check.Ref
	return CheckpointReport{
		CheckpointFile: found.File, Current: found.Check.Current, Valid: ref.Valid && found.Check.Whole(), Pinned: ref.Pinned,
		InvalidatedBy: ref.InvalidatedBy, Damage: ref.Damage, Capture: found.File.State.Capture,
		NotCaptured: NewNotCaptured(found.LeftOut, found.Unstable, found.Special), Earlier: newEarlierState(found.Earlier),
		EarlierGone: newEarlierGone(found.EarlierGone),
		Validation:  newCheckedParts(&found.Check),
	}
}

// CreatedReport is what `checkpoint create --json` prints.
type CreatedReport struct {
	FormatVersion string               `json:"format_version"`
	PRD           string               `json:"prd"`
	Checkpoint    *state.CheckpointRef `json:"checkpoint"`
	// Kept names the checkpoints of files that were edited before a rollback was finished.
	// Checkpoint does not hold these edits.
	Kept []string `json:"edits_kept,omitempty"`
	NotCaptured
}

// NewCreatedReport returns the JSON form of a checkpoint that was made. kept names the
// checkpoints of edited files.
func NewCreatedReport(prd string, ref *state.CheckpointRef, notCaptured NotCaptured, kept []string) CreatedReport {
	return CreatedReport{FormatVersion: FormatVersion, PRD: prd, Checkpoint: ref, NotCaptured: notCaptured, Kept: kept}
}

// NotCaptured lists the files in the scope of a capture that it left out.
type NotCaptured struct {
	LeftOut  []state.Text `json:"left_out"` // sensitive
	Unstable []state.Text `json:"unstable"` // kept changing
	Special  []state.Text `json:"special"`  // cannot be read, is not a regular file, is larger than 64 GiB, or is another repository
}

// NewNotCaptured returns the files that a capture left out, by the reason.
func NewNotCaptured(leftOut, unstable, special []string) NotCaptured {
	return NotCaptured{LeftOut: state.Texts(leftOut), Unstable: state.Texts(unstable), Special: state.Texts(special)}
}

// LinesForPeople returns a line for each file, for people.
func (n NotCaptured) LinesForPeople() []string {
	var lines []string
	for _, kind := range []struct {
		why   string
		paths []state.Text
	}{
		{"looks sensitive or holds a sensitive value", n.LeftOut},
		{"kept changing", n.Unstable},
		{"cannot be read, is not a regular file, is larger than 64 GiB, or is another repository", n.Special},
	} {
		for _, path := range kind.paths {
			lines = append(lines, "Left out, since it "+kind.why+": "+view.OneLine(string(path)))
		}
	}
	return lines
}
