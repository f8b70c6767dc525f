package info

import (
	"fmt"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// ListReport is what `checkpoint list --json` prints.
type ListReport struct {
	FormatVersion string                 `json:"format_version"`
	PRD           string                 `json:"prd,omitempty"`     // "" if the list has several
	Session       string                 `json:"session,omitempty"` // "" if the list has several
	Checkpoints   []ListedCheckpoint     `json:"checkpoints"`       // by session, oldest first
	Rollbacks     []state.RollbackRecord `json:"rollback_history"`
	Sessions      []ListedSession        `json:"sessions"`
}

// ListedCheckpoint is a checkpoint in a list.
type ListedCheckpoint struct {
	*state.CheckpointRef
	PRD     string `json:"prd"`
	Session string `json:"session"`
	Current bool   `json:"current"` // it is the session's current checkpoint
}

// ListedSession is a session in a list.
type ListedSession struct {
	PRD       string        `json:"prd"`
	Session   string        `json:"session,omitempty"`
	Place     disk.Place    `json:"place"`
	Path      state.Text    `json:"path"`
	Title     string        `json:"title,omitempty"`
	Type      string        `json:"type,omitempty"`
	Status    state.Status  `json:"status,omitempty"`
	CreatedAt time.Time     `json:"created_at,omitzero"`
	Current   string        `json:"current_checkpoint,omitempty"`
	Review    *state.Review `json:"review,omitempty"`  // the one before the first phase
	Damaged   state.Text    `json:"damaged,omitempty"` // why the session can't be read
}

// NewListReport returns the JSON form of a list of checkpoints.
func NewListReport(cmdline advice.CommandLine, sessions []reader.StoredSession) ListReport {
	list := ListReport{
		FormatVersion: FormatVersion,
		Checkpoints:   []ListedCheckpoint{}, Rollbacks: []state.RollbackRecord{}, Sessions: []ListedSession{},
	}
	for i, at := range sessions {
		item := ListedSession{PRD: at.PRD, Place: at.Place, Path: state.Text(cmdline.Display(at.Dir))}
		if i == 0 || list.PRD == at.PRD {
			list.PRD = at.PRD
		} else {
			list.PRD = ""
		}
		if at.State == nil {
			item.Damaged = state.Text(cmdline.Localize(at.Err.Error()))
			list.Sessions = append(list.Sessions, item)
			continue
		}
		st := at.State
		item.Session, item.Title, item.Type, item.Status, item.CreatedAt = st.Session, st.Title, st.Type, st.Status, st.CreatedAt
		item.Review = st.Review
		list.Rollbacks = append(list.Rollbacks, st.Rollbacks...)
		for _, ref := range st.Checkpoints {
			if ref.ID == st.Current {
				item.Current = ref.ID
			}
			list.Checkpoints = append(list.Checkpoints, ListedCheckpoint{ref, at.PRD, st.Session, ref.ID == st.Current})
		}
		list.Sessions = append(list.Sessions, item)
	}
	if len(list.Sessions) == 1 {
		list.Session = list.Sessions[0].Session
	}
	return list
}

// CheckpointStatus returns the status of a checkpoint in a list, and its style.
func CheckpointStatus(c *state.CheckpointRef, current bool) (string, view.Style) {
	status, style := "✓", view.Green
	switch {
	case c.Damage != nil:
		status, style = "✗ "+string(view.Damaged), view.Red
	case c.InvalidatedBy != "":
		status, style = "✗ "+string(view.Discarded), view.Dim
	case current:
		status = "← " + string(view.Current)
	}
	switch {
	case c.Uncaptured:
		status += ", " + string(view.NotCaptured)
	case c.Capture != nil && c.Behind > 0:
		status += fmt.Sprintf(", files %d %s", c.Behind, view.Behind)
	}
	if c.Pinned {
		status += ", " + string(view.Pinned)
	}
	return status, style
}

// DescribeRollback says what a rollback took back, and why.
func DescribeRollback(r state.RollbackRecord) string {
	text := fmt.Sprintf("step %d → %d, %s", r.FromStep, r.ToStep, r.To)
	if r.Scope != state.RollbackAll {
		text += fmt.Sprintf(", %s only", r.Scope)
	}
	if r.Reason != "" {
		text += ": " + string(r.Reason)
	}
	return text
}
