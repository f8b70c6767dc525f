package show

import (
	"fmt"
	"io"
	"slices"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// ImportPreview shows what an import would do.
func ImportPreview(w io.Writer, cmdline advice.CommandLine, i info.Import) error {
	a := i.Archive
	b := newPage(w)
	fmt.Fprintf(b, "Import of %s: session %s, commit %d, %s, %s\n", a.PRD, shownID(state.ShortSession(a.Session)), a.Seq, view.Plural(a.Checkpoints, "checkpoint"), a.State.Status)
	switch a.Relation {
	case journal.RelationNew:
		b.WriteString("  There is no session of this PRD here\n")
	case journal.RelationEqual:
		b.WriteString("  The session here is at the same commit: its state does not change\n")
	case journal.RelationSame:
		b.WriteString("  The session here has only captured files since then: its state does not change\n")
	case journal.RelationForward:
		fmt.Fprintf(b, "  The session here is updated from commit %d\n", a.Here.Seq)
	case journal.RelationOlder, journal.RelationDiverged, journal.RelationForeign, journal.RelationDamaged:
		fmt.Fprintf(b, "  ✗ %v; --replace archives it\n", i.Conflict())
	}
	writeUncertain(b, cmdline, "  ", info.NewImportReport(i))
	writeUnprotected(b, "  ", info.NewImportReport(i))
	writeOrigin(b, "  ", i)
	if i.Files != nil {
		fmt.Fprintf(b, "  Files: %d to write, %d the same, %d different\n", len(i.Files.Absent), i.Files.Same, len(i.Files.Differ))
		writePaths(b, "~", i.Differing())
		if blocked := info.NewImportReport(i).Blocked; len(blocked) > 0 {
			fmt.Fprintf(b, "  %s can't be written:\n", view.Plural(len(blocked), "file"))
			writeFileProblems(b, blocked)
		}
	}
	return b.end()
}

// writeUncertain lists the workstreams that may have happened. Only the user can tell
// whether they did.
func writeUncertain(b *page, cmdline advice.CommandLine, indent string, r info.ImportReport) {
	for _, name := range r.Uncertain {
		resolve := cmdline.Command("resolve " + r.PRD + " " + text.ShellWord(name))
		fmt.Fprintf(b, "%s! %s must happen only once, and was started here since the archive was written: it is uncertain until `%s --done` says that it happened, or `%s --rerun` that it did not\n",
			indent, name, resolve, resolve)
	}
}

// writeUnprotected lists the workstreams whose changes can't be rolled back here.
func writeUnprotected(b *page, indent string, r info.ImportReport) {
	for _, name := range r.Unprotected {
		fmt.Fprintf(b, "%s! what %s changed can't be rolled back here: its safety checkpoint stayed where the archive was exported\n", indent, name)
	}
}

// writeOrigin warns that there are now two copies of an unfinished session, and lists the
// workstreams that would happen in both.
func writeOrigin(b *page, indent string, i info.Import) {
	a := i.Archive
	if a.State.Status == state.StatusComplete {
		return
	}
	if a.State.Abandoned {
		fmt.Fprintf(b, "%sThe session was abandoned where it was exported, and can be imported there, too; resume only one of the two\n", indent)
	} else {
		fmt.Fprintf(b, "%sThe session can also be resumed where it was exported; resume only one of the two, and abandon the other (`runner abandon %s`)\n", indent, a.PRD)
	}
	pending := slices.DeleteFunc(a.Pending(), func(name string) bool { return slices.Contains(a.Uncertain(), name) })
	for _, name := range pending {
		fmt.Fprintf(b, "%s! %s must happen only once, and has not happened yet: if both are resumed, it happens twice\n", indent, name)
	}
}

// writeFileProblems lists the first of some files, with their problems.
func writeFileProblems(b *page, problems []info.FileProblem) {
	var lines []state.Text
	for _, p := range problems {
		lines = append(lines, p.Path+": "+state.Text(p.Reason))
	}
	writePaths(b, "!", lines)
}

// Imported shows what an import did.
func Imported(w io.Writer, cmdline advice.CommandLine, i info.Import, r info.ImportReport) error {
	b := newPage(w)
	b.title("✓", "Imported "+r.PRD)
	fmt.Fprintf(b, "Session %s, commit %d\n", shownID(state.ShortSession(r.Session)), r.Seq)
	switch r.Relation {
	case journal.RelationEqual:
		b.WriteString("The session here was at the same commit already\n")
	case journal.RelationSame:
		b.WriteString("The session here was at that commit already, and has only captured files since then\n")
	case journal.RelationNew, journal.RelationForward, journal.RelationOlder, journal.RelationDiverged, journal.RelationForeign, journal.RelationDamaged:
	}
	if r.Archived != "" {
		fmt.Fprintf(b, "The session that was here is archived under %s\n", cmdline.Display(r.Archived))
	}
	writeUncertain(b, cmdline, "", r)
	writeUnprotected(b, "", r)
	writeOrigin(b, "", i)
	if i.Files != nil {
		fmt.Fprintf(b, "Files: %d written, %d the same\n", r.Written, i.Files.Same)
	}
	if r.Safety != "" {
		fmt.Fprintf(b, "The overwritten files are in checkpoint %s:\n  %s\n", r.Safety, cmdline.Command("checkpoint rollback "+r.PRD+" "+r.Safety+" --files-only"))
	}
	if len(r.LeftAlone) > 0 {
		fmt.Fprintf(b, "Left as they are, since they differ (--overwrite replaces them): %s\n", view.Plural(len(r.LeftAlone), "file"))
		writePaths(b, "~", r.LeftAlone)
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(b, "Not captured, since they look sensitive; copy them here yourself: %s\n", view.Plural(len(r.LeftOut), "file"))
		writePaths(b, "!", r.LeftOut)
	}
	if len(r.Blocked) > 0 {
		fmt.Fprintf(b, "! %s could not be written; make room for them and import again:\n", view.Plural(len(r.Blocked), "file"))
		writeFileProblems(b, r.Blocked)
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(b, "! %s could not be restored:\n", view.Plural(len(r.Missing), "file"))
		writeFileProblems(b, r.Missing)
	}
	b.heading("Next")
	b.commands(cmdline, append([]advice.Suggestion{advice.Suggest("checkpoint validate "+r.PRD+" --deep", "read every byte of it once")}, advice.Resume(i.Archive.State, "", "resume it")...)...)
	return b.end()
}
