package show

import (
	"fmt"
	"io"
	"path/filepath"

	"prdrunner/checkpoint/prune"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// Prune shows a prune. ahead says that nothing has been removed yet.
func Prune(w io.Writer, cmdline advice.CommandLine, p *info.Prune, ahead bool) error {
	b := newPage(w)
	checkpoints, sessions := p.Count()
	if checkpoints+sessions+p.Objects.Count() == 0 {
		b.WriteString("Nothing to remove\n")
	}
	for _, plan := range p.Pruned {
		writePruned(b, plan, ahead)
		if p.Reasons {
			writeKept(b, plan)
		}
	}
	writeCollection(b, &p.Objects, ahead)
	writeForeign(b, cmdline, p)
	for prd := range p.Owned {
		fmt.Fprintf(b, "%s was skipped: a run is using it\n", prd)
	}
	return b.end()
}

// writePruned lists the checkpoints and sessions removed from a PRD, with reasons.
func writePruned(b *page, p *prune.Pruned, ahead bool) {
	verb := "Removed"
	if ahead {
		verb = "Would remove"
	}
	if n := len(p.Checkpoints); n > 0 {
		fmt.Fprintf(b, "%s %s of %s%s, keeping %d:\n", verb, view.Plural(n, "checkpoint"), p.PRD, freedBytes(p), p.Kept)
	}
	writeRemoved(b, p, verb)
	if p.Doubted > 0 {
		fmt.Fprintf(b, "  ! %d would be too old if the clock is right; --older-than trusts the clock\n", p.Doubted)
	}
	if p.Over > 0 {
		fmt.Fprintf(b, "  ! %s holds %s more than it may: raise checkpoint.storage.max_size_mb, or unpin or keep fewer\n", p.PRD, info.Size(p.Over))
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(b, "  ! %s: %s\n", p.PRD, warning)
	}
}

// freedBytes returns how many bytes pruning frees, "" if sizes were not determined.
func freedBytes(p *prune.Pruned) string {
	if p.Freed == 0 {
		return ""
	}
	return " (" + info.Size(p.Freed) + ")"
}

// writeKept prints why the other checkpoints stay, for a user who gave an age.
func writeKept(b *page, p *prune.Pruned) {
	if len(p.Keeps) > 0 {
		fmt.Fprintf(b, "Would keep %s of %s:\n", view.Plural(len(p.Keeps), "checkpoint"), p.PRD)
	}
	for _, c := range p.Keeps {
		fmt.Fprintf(b, "  = %s: %s\n", c.ID, c.Why)
	}
}

// Retention lists the checkpoints that retention removed at the end of a run, and the
// steps and rollbacks that can no longer be reached or undone.
func Retention(w io.Writer, p *prune.Pruned) {
	b := newPage(w)
	if n := len(p.Checkpoints); n > 0 {
		fmt.Fprintf(b, "Retention removed %s%s, keeping %d:\n", view.Plural(n, "checkpoint"), freedBytes(p), p.Kept)
	}
	writeRemoved(b, p, "Retention removed")
	fmt.Fprint(w, b.String())
}

// writeRemoved lists the checkpoints and sessions that are removed, with reasons, and the
// steps and rollbacks that can no longer be reached or undone.
func writeRemoved(b *page, p *prune.Pruned, verb string) {
	for _, c := range p.Checkpoints {
		fmt.Fprintf(b, "  - %s: %s\n", c.ID, c.Why)
	}
	for _, s := range p.Sessions {
		fmt.Fprintf(b, "%s the archived session %s (%s): %s\n", verb, filepath.FromSlash(s.ID), info.Size(s.Bytes), s.Why)
	}
	for _, lost := range p.Lost {
		fmt.Fprintf(b, "  ! %s\n", lost)
	}
}

func writeCollection(b *page, c *info.Collection, ahead bool) {
	verb := "Collected"
	if ahead {
		verb = "Would collect"
	}
	switch {
	case c.Why != "":
		fmt.Fprintf(b, "No objects were removed: %s\n", c.Why)
	case c.Count() > 0:
		refs := len(c.Done.Refs)
		if c.Count() > refs {
			fmt.Fprintf(b, "%s %s that nothing needs (%s)\n", verb, view.Plural(c.Done.Objects+c.Done.Leftovers, "object"), info.Size(c.Done.Bytes))
		}
		if refs > 0 {
			fmt.Fprintf(b, "%s %s from git\n", verb, view.Plural(refs, "capture"))
		}
	}
}

func writeForeign(b *page, cmdline advice.CommandLine, p *info.Prune) {
	for _, of := range p.Foreign {
		fmt.Fprintf(b, "! %s in git of another state directory, %s: if that is gone, `%s` removes what is not needed here\n",
			view.Plural(len(of.Refs), "capture"), of.ID, cmdline.Command("checkpoint prune --refs-of "+of.ID))
	}
}

// PrunedRefs shows which captures of another state directory were removed from git.
func PrunedRefs(w io.Writer, of prune.ForeignRefs, dryRun bool) error {
	verb := "Removed"
	if dryRun {
		verb = "Would remove"
	}
	b := newPage(w)
	fmt.Fprintf(b, "%s %s of %s from git\n", verb, view.Plural(len(of.Refs)-len(of.Kept), "capture"), of.ID)
	for _, ref := range of.Kept {
		fmt.Fprintf(b, "  = %s: a session here needs it, until its next capture keeps it under a name of its own\n", ref)
	}
	return b.end()
}

// Deleted shows which checkpoints were deleted. resume are commands that resume the
// session without them.
func Deleted(w io.Writer, cmdline advice.CommandLine, p *prune.Pruned, objects *info.Collection, dryRun bool, resume ...advice.Suggestion) error {
	b := newPage(w)
	writePruned(b, p, dryRun)
	for _, s := range resume {
		fmt.Fprintf(b, "The session can still be resumed, from its journal: %s\n", cmdline.Command(s.Command))
	}
	writeCollection(b, objects, dryRun)
	return b.end()
}

// DeletedSession shows that a session was deleted. what describes its progress.
func DeletedSession(w io.Writer, prd, what string, objects *info.Collection, dryRun bool) error {
	verb := "Deleted"
	if dryRun {
		verb = "Would delete"
	}
	b := newPage(w)
	fmt.Fprintf(b, "%s the session of %s (%s)\n", verb, prd, what)
	writeCollection(b, objects, dryRun)
	return b.end()
}

// DeletePreview shows which checkpoints would be deleted, before the user is asked.
func DeletePreview(w io.Writer, p *prune.Pruned) error {
	b := newPage(w)
	writePruned(b, p, true)
	return b.end()
}
