package show

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
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

// Checkpoints formats the checkpoints of all sessions in parallel, and then writes
// them in order.
func Checkpoints(w io.Writer, cmdline advice.CommandLine, sessions []reader.StoredSession, commands bool) error {
	shown := make([]strings.Builder, len(sessions))
	var all sync.WaitGroup
	for i, at := range sessions {
		all.Go(func() {
			if i > 0 {
				shown[i].WriteString("\n")
			}
			writeCheckpoints(&shown[i], cmdline, at, commands)
		})
	}
	all.Wait()
	for i := range shown {
		if _, err := io.WriteString(w, shown[i].String()); err != nil {
			return err
		}
	}
	return nil
}

// writeCheckpoints shows the checkpoints of a session, and commands to type next if the
// user can type one.
func writeCheckpoints(b *strings.Builder, cmdline advice.CommandLine, at reader.StoredSession, commands bool) {
	if at.State == nil {
		fmt.Fprintf(b, "%s\nCHECKPOINTS - %s, %s\n%s\nIt cannot be read: %s\n", rule, at.PRD, cmdline.Display(at.Dir), rule, view.OneLine(cmdline.Localize(at.Err.Error())))
		return
	}
	st := at.State
	fmt.Fprintf(b, "%s\nCHECKPOINTS - Session: %s\n%s\n", rule, st.Session, rule)
	fmt.Fprintf(b, "Topic: %s\nCreated: %s\n", view.OneLine(view.Named(st.PRD, st.Title)), st.CreatedAt.UTC().Format(time.DateTime))
	if st.Type != "" {
		fmt.Fprintf(b, "Type: %s\n", view.OneLine(st.Type))
	}
	if st.Review != nil {
		fmt.Fprintf(b, "Review: %s\n", view.OneLine(st.Review.Describe()))
	}
	if at.Place != disk.PlaceCurrent {
		fmt.Fprintf(b, "Status: %s, archived in %s\n", st.Status, cmdline.Display(at.Dir))
	}
	b.WriteString("\n")
	if len(st.Checkpoints) == 0 && st.EmptiedSeq > 0 {
		b.WriteString("There are none any more: they were deleted when the session completed.\n")
	} else if len(st.Checkpoints) == 0 {
		b.WriteString("There are none: checkpoints are switched off, none was due yet, or they were removed.\n")
	} else {
		writeCheckpointTable(b, at)
	}
	writeRollbackHistory(b, st)
	if at.Place == disk.PlaceCurrent && commands && len(st.Checkpoints) > 0 {
		writeListCommands(b, cmdline, st)
	}
	fmt.Fprintf(b, "%s\n", rule)
}

// typicalRow is the approximate length of a checkpoint's row in a list, in bytes.
const typicalRow = 128

func writeCheckpointTable(b *strings.Builder, at reader.StoredSession) {
	st, names := at.State, map[string]string{}
	if at.Place == disk.PlaceCurrent { // names such as latest stand for checkpoints of the current session only
		names = st.Names()
	}
	b.Grow(len(st.Checkpoints) * typicalRow)
	rows := make([]byte, 0, len(st.Checkpoints)*typicalRow)
	spent := ""
	if !st.Spent.Reported().IsZero() {
		spent = "SPENT\t"
	}
	rows = append(rows, "NAME\tCHECKPOINT ID\tSTEP\tTRIGGER\tTIMESTAMP\tFILES\t"+spent+"STATUS\n"...)
	currentListed := false
	for _, c := range st.Checkpoints {
		rows = appendRow(rows, cmp.Or(names[c.ID], "-"), c, spent != "", c.ID == st.Current)
		currentListed = currentListed || c.ID == st.Current
	}
	alignColumns(b, rows)
	if !currentListed {
		b.WriteString("The session is past all of these checkpoints: its newest one was removed or skipped.\n")
	}
}

// appendRow appends the row of a checkpoint. It appends to bytes for speed, since a
// session may have many checkpoints.
func appendRow(b []byte, name string, c *state.CheckpointRef, spent, current bool) []byte {
	for _, cell := range []string{name, c.ID, stepLabel(c), string(c.Trigger)} {
		b = append(append(b, cell...), '\t')
	}
	b = append(c.CreatedAt.UTC().AppendFormat(b, time.DateTime), '\t')
	b = append(append(b, changed(c)...), '\t')
	if spent {
		b = append(append(b, cmp.Or(c.Spent.String(), "-")...), '\t')
	}
	return append(append(b, listStatus(c, current)...), '\n')
}

// listStatus returns the status of a checkpoint in a list.
func listStatus(c *state.CheckpointRef, current bool) string {
	status := "✓"
	switch {
	case c.Damage != nil:
		status = "✗ damaged"
	case c.InvalidatedBy != "":
		status = "✗ discarded"
	case current:
		status = "← curr"
	}
	switch {
	case c.Uncaptured:
		status += ", files not captured"
	case c.Capture != nil && c.Behind > 0:
		status += fmt.Sprintf(", files %d behind", c.Behind)
	}
	if c.Pinned {
		status += ", pinned"
	}
	return status
}

// changed returns how many files the step created and modified.
func changed(c *state.CheckpointRef) string {
	if c.Created+c.Modified == 0 {
		return "-"
	}
	return fmt.Sprintf("+%d ~%d", c.Created, c.Modified)
}

func writeRollbackHistory(b *strings.Builder, st *state.State) {
	if len(st.Rollbacks) > 0 {
		b.WriteString("\nRollbacks:\n")
	}
	for _, r := range st.Rollbacks {
		fmt.Fprintf(b, "- %s: step %d → %d, %s", r.At.UTC().Format(time.DateTime), r.FromStep, r.ToStep, r.To)
		if r.Scope != state.RollbackAll {
			fmt.Fprintf(b, ", %s only", r.Scope)
		}
		if r.Reason != "" {
			fmt.Fprintf(b, ": %s", view.OneLine(string(r.Reason)))
		}
		if r.Error != "" {
			fmt.Fprintf(b, " (failed: %s)", view.OneLine(string(r.Error)))
		}
		b.WriteString("\n")
	}
	if r := st.Rollback; r != nil {
		fmt.Fprintf(b, "\nA rollback to %s was begun and is not finished.\n", r.To)
	}
}

// writeListCommands lists commands to type next, with checkpoints of the session.
func writeListCommands(b *strings.Builder, cmdline advice.CommandLine, st *state.State) {
	to := "latest"
	if _, err := st.FindCheckpoint("latest~1"); err == nil {
		to = "latest~1"
	}
	if ref, err := st.FindCheckpoint(to); err == nil {
		to = ref.ID
	}
	b.WriteString("\nCommands:\n")
	advice.WriteSuggestions(b, cmdline,
		advice.Suggest("checkpoint rollback "+st.PRD+" "+to, "go back to it"),
		advice.Suggest("checkpoint show "+st.PRD+" "+to, "show what it holds"),
		advice.Suggest("checkpoint diff "+st.PRD+" "+to, "compare it with the current state"))
}
