package show

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// RollbackPreview shows what a rollback would do.
func RollbackPreview(w io.Writer, prd string, plan *rollback.Plan) error {
	b := newPage(w)
	b.title("!", fmt.Sprintf("Roll %s back to %s", prd, plan.Target.ID))
	b.facts(fact("Target step", stepLabel(plan.Target)), fact("Current step", strconv.Itoa(plan.Step)), fact("Undoes", undoes(plan.Undoes)))
	b.heading("This will")
	b.WriteString("  - Make a checkpoint of the present state and files first: a rollback to it undoes this one\n")
	if plan.Finish != nil {
		UnfinishedRollback(b, "  ! ", plan.Finish)
	}
	if plan.Earlier != nil {
		for _, line := range earlierLines(plan.Earlier) {
			fmt.Fprintf(b, "  ! %s\n", line)
		}
	}
	if plan.Scope != state.RollbackFiles {
		writeDiscards(b, plan)
	}
	if plan.Scope != state.RollbackState {
		writeFileChanges(b, plan)
	}
	switch {
	case plan.Branch == "":
	case plan.Git != nil && !plan.Git.Absent:
		fmt.Fprintf(b, "  ! Refused while %s is checked out: it resets the branch %s\n", plan.Branch, cmp.Or(plan.Git.Branch, "(detached)"))
	default:
		fmt.Fprintf(b, "  ! The checkpoint is of the branch %s, and %s is checked out\n", cmp.Or(string(plan.Target.Git.Branch), "(detached)"), plan.Branch)
	}
	if g := plan.Git; g != nil {
		writeReset(b, g)
	}
	return b.end()
}

// undoes describes the rollback that another one undoes, "" if it undoes none.
func undoes(id string) string {
	if id == "" {
		return ""
	}
	return "the rollback " + id
}

// earlierLines describes the state that a rollback restores instead, and the workstreams
// that run again.
func earlierLines(e *rollback.EarlierState) []string {
	names := make([]string, len(e.Again))
	for i, w := range e.Again {
		names[i] = view.OneLine(view.Named(w.Name, w.Title))
	}
	return []string{
		fmt.Sprintf("State goes to step %s, when the files were captured last: %s", stepNamed(e.Step, e.StepName), view.OneLine(e.Reason)),
		fmt.Sprintf("These will run again: %s; --state-only restores the state of the checkpoint instead", strings.Join(names, ", ")),
	}
}

// writeReset shows what a rollback does to the branch.
func writeReset(b *page, g *rollback.GitReset) {
	const most = 20
	if g.Absent {
		fmt.Fprintf(b, "  ! The commit %s of the checkpoint is not in this repository: with --force the files come back, and the branch stays at %s\n", shortCommit(g.To), cmp.Or(shortCommit(g.From), "no commit"))
		return
	}
	fmt.Fprintf(b, "  ✗ Reset the branch %s, and discard %s\n", cmp.Or(g.Branch, "(detached)"), view.Plural(len(g.Discard), "git commit"))
	for i, c := range g.Discard {
		if i == most {
			fmt.Fprintf(b, "      … and %d more\n", len(g.Discard)-most)
			break
		}
		fmt.Fprintf(b, "      %s %s\n", shortCommit(c.Commit), view.OneLine(c.Subject))
	}
	fmt.Fprintf(b, "\nGit changes:\n  - Current: %s\n  - Target:  %s\n", shortCommit(g.From), shortCommit(g.To))
}

func writeDiscards(b *page, plan *rollback.Plan) {
	if len(plan.Discards) == 0 {
		b.WriteString("  - Discard no completed workstream\n")
	}
	for _, w := range plan.Discards {
		fmt.Fprintf(b, "  ✗ Discard step %d - %s\n", w.Step, view.OneLine(view.Named(w.Name, w.Title)))
	}
	for _, name := range plan.Uncertain {
		fmt.Fprintf(b, "  ! %s must happen only once and has been started: it becomes uncertain\n", view.OneLine(name))
	}
	if n := len(plan.Invalidates); n > 0 {
		fmt.Fprintf(b, "  ✗ Invalidate %s\n", view.Plural(n, "later checkpoint"))
	}
}

// writeFileChanges counts the changes of files, and lists the first.
func writeFileChanges(b *page, plan *rollback.Plan) {
	const most = 20
	count := map[workspace.ChangeKind]int{}
	for _, c := range plan.Changes {
		count[c.Kind]++
	}
	if len(plan.Changes) == 0 {
		b.WriteString("  - Change no file\n")
	} else {
		fmt.Fprintf(b, "  ✗ Revert %s, restore %s, delete %s\n",
			view.Plural(count[workspace.Modified], "file"), view.Plural(count[workspace.Added], "file"), view.Plural(count[workspace.Deleted], "file"))
	}
	for i, c := range plan.Changes {
		if i == most {
			fmt.Fprintf(b, "      … and %d more\n", len(plan.Changes)-most)
			break
		}
		fmt.Fprintf(b, "      %s %s\n", info.ChangeMark(c.Kind), view.OneLine(c.Path))
	}
	if count[workspace.Deleted] > 0 && plan.ChangesIgnored() {
		b.WriteString("  - Files that the .gitignore of that time ignores are not deleted\n")
	}
	switch {
	case plan.FilesOf == nil:
		b.WriteString("  ! Its workspace was not captured: only recorded artifacts come back\n")
	case plan.Target.Uncaptured:
		fmt.Fprintf(b, "  ! Its files could not be captured: those captured at %s come back, with the artifacts recorded since\n", plan.FilesOf.At.UTC().Format("2006-01-02 15:04:05"))
	case plan.FilesOf.Seq < plan.Target.Seq && plan.Target.Capture != nil && plan.FilesOf.At.Before(plan.Target.CreatedAt):
		fmt.Fprintf(b, "  - Files are those captured at %s, with the artifacts recorded since\n", plan.FilesOf.At.UTC().Format("2006-01-02 15:04:05"))
	}
	writeLosses(b, "  ! ", "loses", plan.Losses)
	for _, m := range plan.Missing {
		fmt.Fprintf(b, "  ✗ Cannot restore %s: %s\n", view.OneLine(m.Path), m.Reason)
	}
	for _, o := range plan.Obstacles {
		fmt.Fprintf(b, "  ✗ Cannot change %s: %s\n", view.OneLine(o.Path), view.OneLine(o.Reason))
	}
	writeLeftAlone(b, "  - Left as it is, since it", plan.Untouched)
}

// writeLosses lists the artifacts that sessions of other PRDs lose, a line for each PRD.
func writeLosses(b *page, mark, verb string, losses []rollback.Loss) {
	for _, l := range losses {
		fmt.Fprintf(b, "%s%s, whose session is %s, %s %s: %s\n", mark, l.PRD, strings.ReplaceAll(string(l.Status), "_", " "), verb,
			view.Plural(len(l.Files), "artifact"), info.SomeFiles(l.Files))
	}
}

// writeLeftAlone lists the files that a rollback does not change, a line each.
func writeLeftAlone(b *page, so string, l rollback.Untouched) {
	for _, path := range l.LeftOut {
		fmt.Fprintf(b, "%s looks sensitive or holds a sensitive value: %s\n", so, view.OneLine(path))
	}
	for _, path := range l.Unstable {
		fmt.Fprintf(b, "%s kept changing while it was captured: %s\n", so, view.OneLine(path))
	}
	for _, path := range l.Special {
		fmt.Fprintf(b, "%s could not be captured (it cannot be read, is not a regular file, is larger than 64 GiB, or is another repository): %s\n", so, view.OneLine(path))
	}
	for _, path := range l.Sparse {
		fmt.Fprintf(b, "%s was not checked out then: %s\n", so, view.OneLine(path))
	}
}

// RolledBack shows what a rollback did. given holds the flags that set variables of
// the pipeline.
func RolledBack(w io.Writer, cmdline advice.CommandLine, given string, st *state.State, done *rollback.Result) error {
	b := newPage(w)
	b.title("✓", fmt.Sprintf("Rolled %s back to %s", st.PRD, done.To))
	b.facts(fact("Current step", strconv.Itoa(st.CurrentStep())))
	if done.Scope != state.RollbackFiles {
		b.heading("State restored")
		b.Printf("- Status: %s\n- Progress: %s\n", st.Status, info.Progress(st))
		if done.StateSeq > 0 {
			b.WriteString("- It is the state at the last capture of the files\n")
		}
		if len(done.Again) > 0 {
			fmt.Fprintf(b, "- Runs again: %s\n", view.OneLine(strings.Join(done.Again, ", ")))
		}
	}
	if done.Scope != state.RollbackState {
		b.heading("Files restored")
		b.Printf("- Written: %d\n- Deleted: %d\n", done.Written, done.Deleted)
	}
	if done.Absent != "" {
		fmt.Fprintf(b, "- Git: the branch stays where it is, since commit %s is not in this repository\n", shortCommit(done.Absent))
	}
	writeLosses(b, "- ", "lost", done.Losses)
	writeLeftAlone(b, "- Left as it was, since it", done.Untouched)
	for _, path := range done.Skipped {
		fmt.Fprintf(b, "- Not restored: %s\n", view.OneLine(string(path)))
	}
	b.Printf("\nInvalidated: %s.\n", view.Plural(len(done.Invalidated), "later checkpoint"))
	b.heading("Commands")
	b.commands(cmdline, append(advice.Resume(st, given, "resume from here"),
		advice.Suggest("checkpoint rollback "+st.PRD+" "+done.Safety, "undo this rollback"),
		advice.Suggest("checkpoint list "+st.PRD, "list the checkpoints"))...)
	return b.end()
}

// UnfinishedRollback shows what finishing a rollback does to files that were edited
// since. Each line has the prefix.
func UnfinishedRollback(b io.Writer, prefix string, f *rollback.FinishPlan) {
	fmt.Fprintf(b, "%sFirst, the rollback to %s that was cut short is finished\n", prefix, f.To)
	for _, line := range editedLines(f.Edited) {
		fmt.Fprintf(b, "%s  %s\n", strings.Repeat(" ", len(prefix)), line)
	}
	if f.Moved != nil {
		fmt.Fprintf(b, "%sWith git's current branch and commit, that is refused: %v\n", prefix, f.Moved)
	}
}

// editedLines lists the first edited files.
func editedLines(edited []string) []string {
	const most = 20
	if len(edited) == 0 {
		return nil
	}
	lines := []string{"Edited since; a checkpoint keeps these before any is overwritten or deleted:"}
	for i, path := range edited {
		if i == most {
			return append(lines, fmt.Sprintf("  … and %d more", len(edited)-most))
		}
		lines = append(lines, "  "+view.OneLine(path))
	}
	return lines
}

// RollbackFailed shows the session and the files as a failed rollback left them, and
// what can be done.
func RollbackFailed(w io.Writer, cmdline advice.CommandLine, given string, st *state.State, failed *rollback.Error) error {
	b := newPage(w)
	b.title("✗", fmt.Sprintf("Rollback of %s to %s failed", st.PRD, failed.To))
	b.facts(factIn(view.Red, "Error", failed.Err.Error()))
	b.heading("Current state")
	if failed.Undone {
		b.WriteString("- Files: as they were before\n")
	} else {
		fmt.Fprintf(b, "- Files: partly restored; restoring the earlier ones failed, too: %v\n", failed.UndoFail)
	}
	fmt.Fprintf(b, "- Session step: %d\n", failed.Step)
	if failed.Commit != "" {
		fmt.Fprintf(b, "- Git branch: %s\n- Git commit: %s\n", cmp.Or(failed.Branch, "(detached)"), failed.Commit)
	}
	if failed.Status != "" {
		fmt.Fprintf(b, "- Git status:\n%s\n", indent(failed.Status))
	}
	b.heading("Recovery options")
	var options []advice.Suggestion
	if advice.IsA[*workspace.MissingError](failed) || advice.IsA[*workspace.ObstructedError](failed) { // --force leaves out only missing and obstructed files
		options = append(options, advice.Suggest("checkpoint rollback "+st.PRD+" "+failed.To+" --force", "roll back without what can't be restored"))
	}
	options = append(options, advice.Suggest("checkpoint rollback "+st.PRD+" "+failed.To+" --manual", "print the commands that do it by hand"))
	options = append(options, advice.Resume(st, given, "resume from the current state")...)
	b.commands(cmdline, append(options, advice.Abandon(st, "give the session up")...)...)
	return b.end()
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
