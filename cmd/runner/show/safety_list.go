package show

import (
	"cmp"
	"fmt"
	"io"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// SafetyList shows a list of safety checkpoints.
func SafetyList(w io.Writer, cmdline advice.CommandLine, r info.SafetyListReport) error {
	b := newPage(w)
	if len(r.Checkpoints)+len(r.Damaged) == 0 {
		b.WriteString("There are no safety checkpoints\n")
	}
	for _, c := range r.Checkpoints {
		fmt.Fprintf(b, "%s  %-11s  %s", c.ID, c.Type, view.OneLine(c.Summary))
		switch {
		case c.NeededBy != nil:
			fmt.Fprintf(b, "  needed by %s of %s", c.NeededBy.Workstream, c.NeededBy.PRD)
		case c.Expired:
			b.WriteString("  expired")
		case c.Expiry != nil:
			b.WriteString("  expires " + expiry(c.Expiry))
		}
		if c.Reason != "" {
			b.WriteString("  " + view.OneLine(string(c.Reason)))
		}
		b.WriteString("\n")
		if c.Restoring {
			fmt.Fprintf(b, "  its restore was interrupted; %s\n", cmdline.Localize(advice.UnfinishedRestore(*r.Interrupted)))
		}
	}
	for _, d := range r.Damaged {
		fmt.Fprintf(b, "%s  damaged: %s\n", d.ID, view.OneLine(string(d.Error)))
	}
	return b.end()
}

// SafetyRemoved shows a removal.
func SafetyRemoved(w io.Writer, r info.SafetyRemovedReport) error {
	b := newPage(w)
	word := "Removed"
	if r.DryRun {
		word = "Would remove"
	}
	for _, c := range r.Removed {
		fmt.Fprintf(b, "%s: %s, %s\n", word, c.ID, cmp.Or(view.OneLine(c.Summary), "whose record is damaged"))
	}
	for _, id := range r.Unfinished {
		fmt.Fprintf(b, "%s: %s, which has no record: it was never finished, or its record was lost\n", word, id)
	}
	if b.Len() == 0 {
		fmt.Fprintf(b, "Nothing to remove; %s kept\n", view.Plural(r.Kept, "safety checkpoint"))
	}
	return b.end()
}

// SafetyVerified shows a verification.
func SafetyVerified(w io.Writer, r info.SafetyVerifyReport) error {
	b := newPage(w)
	for _, m := range r.Missing {
		fmt.Fprintf(b, "✗ %s: %s\n", view.OneLine(string(m.Path)), view.OneLine(string(m.Reason)))
	}
	for _, lost := range r.Refs {
		fmt.Fprintf(b, "✗ git has no reference %[1]s to the commit %[2]s, which git gc may therefore remove; `git update-ref %[1]s %[2]s` makes it again\n", lost.Ref, lost.Commit)
	}
	switch {
	case r.OK:
		fmt.Fprintf(b, "✓ %s is whole: %s read, hash %s\n", r.Checkpoint, view.Plural(r.Contents, "content"), r.Hash)
	case !r.HashOK && len(r.Missing) == 0:
		fmt.Fprintf(b, "✗ %s: what it holds does not have the recorded hash %s\n", r.Checkpoint, r.Hash)
	case r.HashOK && len(r.Missing) == 0:
		fmt.Fprintf(b, "✗ %s can be restored, but only until git gc has run\n", r.Checkpoint)
	default:
		fmt.Fprintf(b, "✗ %s can't be restored\n", r.Checkpoint)
	}
	return b.end()
}
