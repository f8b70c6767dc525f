package show

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// ListOptions says how a list of checkpoints is shown.
type ListOptions struct {
	Now      time.Time
	Commands bool // list commands to type next
	Rows     int  // of the screen; of a session with more checkpoints the older ones are counted. 0: all are listed
}

// Checkpoints formats the checkpoints of all sessions in parallel, and then writes
// them in order.
func Checkpoints(w io.Writer, cmdline advice.CommandLine, sessions []reader.StoredSession, o ListOptions) error {
	shown := make([]*page, len(sessions))
	var all sync.WaitGroup
	for i, at := range sessions {
		shown[i] = newPage(w)
		all.Go(func() {
			if i > 0 {
				shown[i].Printf("\n")
			}
			writeCheckpoints(shown[i], cmdline, at, o)
		})
	}
	all.Wait()
	for _, p := range shown {
		if err := p.end(); err != nil {
			return err
		}
	}
	return nil
}

// writeCheckpoints shows the checkpoints of a session, and commands to type next if the
// user can type one.
func writeCheckpoints(p *page, cmdline advice.CommandLine, at reader.StoredSession, o ListOptions) {
	if at.State == nil {
		p.title("", "Checkpoints of "+at.PRD)
		p.facts(fact("Session", cmdline.Display(at.Dir)), factIn(view.Red, "Damaged", "it cannot be read: "+cmdline.Localize(at.Err.Error())))
		return
	}
	st := at.State
	p.title("", "Checkpoints of "+view.Named(st.PRD, st.Title))
	facts := []info.Fact{fact("Session", state.ShortSession(st.Session)), fact("Created", info.When(o.Now, st.CreatedAt)), fact("Type", st.Type)}
	if st.Review != nil {
		facts = append(facts, fact("Review", st.Review.Describe()))
	}
	if at.Place != disk.PlaceCurrent {
		facts = append(facts, fact("Status", fmt.Sprintf("%s, archived in %s", st.Status, cmdline.Display(at.Dir))))
	}
	p.facts(facts...)
	p.Printf("\n")
	switch {
	case len(st.Checkpoints) == 0 && st.EmptiedSeq > 0:
		p.Printf("There are none any more: they were deleted when the session completed.\n")
	case len(st.Checkpoints) == 0:
		p.Printf("There are none: checkpoints are switched off, none was due yet, or they were removed.\n")
	default:
		writeCheckpointTable(p, cmdline, at, o)
	}
	writeRollbackHistory(p, st)
	if at.Place == disk.PlaceCurrent && o.Commands && len(st.Checkpoints) > 0 {
		writeListCommands(p, cmdline, st)
	}
}

// aroundTable is how many rows of a screen a list needs besides its checkpoints.
const aroundTable = 12

func writeCheckpointTable(p *page, cmdline advice.CommandLine, at reader.StoredSession, o ListOptions) {
	st, names := at.State, map[string]string{}
	if at.Place == disk.PlaceCurrent { // names such as latest stand for checkpoints of the current session only
		names = st.Names()
	}
	spent := !st.Spent.Reported().IsZero()
	head := []view.Cell{{Text: "NAME"}, {Text: "CHECKPOINT ID"}, {Text: "STEP"}, {Text: "TRIGGER"}, {Text: "CREATED"}, {Text: "FILES"}}
	if spent {
		head = append(head, view.Cell{Text: "SPENT"})
	}
	rows := [][]view.Cell{append(head, view.Cell{Text: "STATUS"})}
	hide := 0 // how many of the older ones are not listed
	if room := max(o.Rows-aroundTable, 1); o.Rows > 0 && len(st.Checkpoints) > room {
		hide = len(st.Checkpoints) - room
	}
	currentListed, hidden := false, 0
	for i, c := range st.Checkpoints {
		current := c.ID == st.Current
		currentListed = currentListed || current
		if i < hide && !current && !c.Pinned && c.Damage == nil {
			hidden++
			continue
		}
		rows = append(rows, checkpointRow(o.Now, cmp.Or(names[c.ID], "-"), c, spent, current))
	}
	p.Table("", rows)
	if hidden > 0 {
		p.Printf("%s\n", p.Paint(view.Dim, fmt.Sprintf("%s not listed; `%s` lists all", view.Plural(hidden, "older checkpoint"), cmdline.Command("checkpoint list "+st.PRD+" --all"))))
	}
	if !currentListed {
		p.Printf("The session is past all of these checkpoints: its newest one was removed or skipped.\n")
	}
}

// checkpointRow returns the row of a checkpoint.
func checkpointRow(now time.Time, name string, c *state.CheckpointRef, spent, current bool) []view.Cell {
	status, style := info.CheckpointStatus(c, current)
	row := []view.Cell{{Text: name}, {Text: c.ID}, {Text: stepLabel(c)}, {Text: string(c.Trigger)}, {Text: view.Ago(now, c.CreatedAt)}, {Text: changed(c)}}
	if spent {
		row = append(row, view.Cell{Text: cmp.Or(c.Spent.String(), "-")})
	}
	return append(row, view.Cell{Text: status, Style: style})
}

// changed returns how many files the step created and modified.
func changed(c *state.CheckpointRef) string {
	if c.Created+c.Modified == 0 {
		return "-"
	}
	return fmt.Sprintf("+%d ~%d", c.Created, c.Modified)
}

func writeRollbackHistory(p *page, st *state.State) {
	if len(st.Rollbacks) > 0 {
		p.heading("Rollbacks")
	}
	for _, r := range st.Rollbacks {
		p.Printf("- %s: %s", r.At.UTC().Format(time.DateTime), info.DescribeRollback(r))
		if r.Error != "" {
			p.Printf(" (%s)", p.Paint(view.Red, "failed: "+string(r.Error)))
		}
		p.Printf("\n")
	}
	if r := st.Rollback; r != nil {
		p.Printf("\n! A rollback to %s was begun and is not finished.\n", r.To)
	}
}

// writeListCommands lists commands to type next, with checkpoints of the session.
func writeListCommands(p *page, cmdline advice.CommandLine, st *state.State) {
	to := "latest"
	if _, err := st.FindCheckpoint("latest~1"); err == nil {
		to = "latest~1"
	}
	if ref, err := st.FindCheckpoint(to); err == nil {
		to = ref.ID
	}
	p.heading("Commands")
	p.commands(cmdline,
		advice.Suggest("checkpoint rollback "+st.PRD+" "+to, "go back to it"),
		advice.Suggest("checkpoint show "+st.PRD+" "+to, "show what it holds"),
		advice.Suggest("checkpoint diff "+st.PRD+" "+to, "compare it with the current state"))
}
