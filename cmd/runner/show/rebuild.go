package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// RebuiltCheckpoints shows the checkpoints that were damaged, and counts those whose
// files were only missing.
func RebuiltCheckpoints(w io.Writer, cmdline advice.CommandLine, dryRun bool, rebuilt []repair.RebuiltCheckpoint) {
	if len(rebuilt) == 0 {
		fmt.Fprintln(w, "Nothing is damaged")
	}
	missing := 0
	var texts repeatedText
	for i := range rebuilt {
		if r := &rebuilt[i]; len(r.Was) > 0 || !r.Whole() {
			showMended(w, cmdline, dryRun, r, &texts)
		} else {
			missing++
		}
	}
	switch {
	case missing > 0 && dryRun:
		fmt.Fprintf(w, "! %s without a file: it would be made again from the journal\n", view.Plural(missing, "checkpoint"))
	case missing > 0:
		fmt.Fprintf(w, "✓ %s without a file: it was made again from the journal\n", view.Plural(missing, "checkpoint"))
	}
}

// showMended shows how a damaged checkpoint was rebuilt, or would be.
func showMended(w io.Writer, cmdline advice.CommandLine, dryRun bool, r *repair.RebuiltCheckpoint, texts *repeatedText) {
	rewritten := "its file was made again from the journal"
	switch {
	case dryRun:
		rewritten = "its file would be made again from the journal"
		fmt.Fprintf(w, "✗ %s: %s\n", r.ID, view.OneLine(texts.orSame(joined(r.Was))))
	case r.Whole():
		fmt.Fprintf(w, "✓ %s is whole\n", r.ID)
	default:
		fmt.Fprintf(w, "✗ %s cannot be rebuilt: %s\n", r.ID, view.OneLine(texts.orSame(joined(r.Left))))
	}
	if r.Written {
		fmt.Fprintf(w, "  %s\n", rewritten)
	}
	for _, path := range r.Kept {
		fmt.Fprintf(w, "  the damaged one is kept as %s\n", cmdline.Display(string(path)))
	}
	for _, path := range r.Files {
		fmt.Fprintf(w, "  bytes restored: %s\n", view.OneLine(string(path)))
	}
}

// RebuiltJournal shows what rebuilding the journal did, or would do.
func RebuiltJournal(w io.Writer, cmdline advice.CommandLine, prd string, r *repair.JournalRebuild) {
	fmt.Fprintf(w, "Damaged: %s: %s\n", damagePlace(cmdline, r.Damage), view.OneLine(r.Damage.Detail))
	from := "the last commit before the damage"
	if r.From != "" {
		from = r.From
	}
	fmt.Fprintf(w, "New journal: session %s at step %d, as of %s (commit %d)\n", r.Session, r.Step, from, r.FromSeq)
	for _, c := range r.Lost {
		fmt.Fprintf(w, "✗ Lost: commit %d, %s: %s\n", c.Seq, c.Time.UTC().Format(time.DateTime), view.OneLine(strings.Join(c.Events, ", ")))
	}
	if r.Untold > 0 {
		fmt.Fprintf(w, "✗ Lost: %s of which nothing can be read\n", view.Plural(r.Untold, "commit"))
	}
	if r.More && r.Untold+len(r.Lost) == 0 {
		fmt.Fprintf(w, "! If there was anything after commit %d, it cannot be read\n", r.FromSeq)
	}
	for _, id := range r.Gone {
		fmt.Fprintf(w, "✗ Lost: checkpoint %s\n", id)
	}
	for _, met := range r.Rollbacks {
		showMetRollback(w, cmdline, prd, met)
	}
	if r.Import != nil {
		AbandonedImport(w, cmdline, r.State(), r.Import)
	}
	for _, name := range r.Uncertain {
		fmt.Fprintf(w, "! %s must happen only once and may have happened: it becomes uncertain\n", view.OneLine(name))
	}
	if r.Kept != "" {
		b := newPage(w)
		advice.WriteSuggestions(b, cmdline, advice.Suggest("status "+prd, "show its state"))
		advice.WriteSuggestions(b, cmdline, advice.Resume(r.State(), "", "resume from there")...)
		fmt.Fprintf(w, "The old files are kept in %s\nNext:\n%s", cmdline.Display(r.Kept), b.String())
	}
}

// showMetRollback shows the fate of a rollback that was under way at the damage or began
// in a lost commit.
func showMetRollback(w io.Writer, cmdline advice.CommandLine, prd string, met repair.MetRollback) {
	switch met.End {
	case repair.RollbackCarriedOut:
		fmt.Fprintf(w, "The rollback to %s was finished\n", met.To)
	case repair.RollbackTakenBack:
		fmt.Fprintf(w, "The rollback to %s had failed, and nothing was rolled back\n", met.To)
	case repair.RollbackUnfinished:
		fmt.Fprintf(w, "! A rollback to %s was cut short: the next command that changes %s finishes it\n", met.To, prd)
	case repair.RollbackUntold:
		fmt.Fprintf(w, "! It is not known whether the rollback to %s was finished: the files are not changed, and the state is that before the rollback\n", met.To)
		fmt.Fprintf(w, "  %s   show what it would do now\n", cmdline.Command("checkpoint rollback "+prd+" "+met.To+" --dry-run"))
	}
}

// AbandonedImport tells the user that an import can no longer be finished, and names the
// command that lists the files that may be missing.
func AbandonedImport(w io.Writer, cmdline advice.CommandLine, st *state.State, p *disk.PendingImport) {
	fmt.Fprintf(w, "! The import from %s was cut short, and cannot be finished since a new journal was started: files may be missing\n", info.ArchiveName(p))
	if c := st.CurrentCheckpoint(); c != nil {
		fmt.Fprintf(w, "  %s   show what that would restore\n", cmdline.Command("checkpoint rollback "+st.PRD+" "+c.ID+" --files-only --dry-run"))
	}
}
