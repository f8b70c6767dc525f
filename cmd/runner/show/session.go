package show

import (
	"fmt"
	"io"
	"strings"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// Adopted shows which session was adopted, or would be.
func Adopted(w io.Writer, cmdline advice.CommandLine, result info.AdoptReport) error {
	verb, files := "Adopted", view.Plural(result.Untracked, "file")
	if result.DryRun {
		verb = "Would adopt"
	}
	fmt.Fprintf(w, "%s the session of %s (%s): its approvals are asked for again, and its gates judged again\n", verb, result.PRD, shownID(result.Session))
	if result.DryRun {
		fmt.Fprintf(w, "Would take %s out of git's index\n", files)
		return nil
	}
	fmt.Fprintf(w, "Took %s out of git's index; the next commit has them no more\n", files)
	fmt.Fprintf(w, "Resume it: %s\n", cmdline.Command("build "+result.PRD+" --resume"))
	return nil
}

// Migration shows which sessions were converted.
func Migration(w io.Writer, m info.MigrationReport) {
	verb := "Migrated"
	if m.DryRun {
		verb = "Would migrate"
	}
	if len(m.Sessions) == 0 {
		fmt.Fprintln(w, "There are no sessions to migrate")
	}
	for _, s := range m.Sessions {
		if !s.Changed {
			fmt.Fprintf(w, "%s is of format version %s already\n", s.PRD, s.To)
			continue
		}
		fmt.Fprintf(w, "%s %s from format version %s to %s: %s\n", verb, s.PRD, s.From, s.To, view.Plural(len(s.Checkpoints), "checkpoint"))
		if len(s.Kept) > 0 {
			fmt.Fprintf(w, "The old files are kept: %s\n", strings.Join(s.Kept, ", "))
		}
	}
}

// BringBack tells the user how to resume a session that was archived unfinished.
func BringBack(w io.Writer, cmdline advice.CommandLine, prd, session string) {
	fmt.Fprintf(w, "To resume it later: `%s`, and then `%s`, with --replace if there is another session by then\n",
		cmdline.Command("checkpoint export "+prd+" --session "+session+" -o FILE"), cmdline.Command("checkpoint import FILE"))
}
