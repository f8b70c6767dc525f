package show

import (
	"fmt"
	"io"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// SafetyRestorePreview shows what a restore would change.
func SafetyRestorePreview(w io.Writer, r info.SafetyRestoreReport) error {
	b := newPage(w)
	const most = 20
	fmt.Fprintf(b, "Restoring %s:\n", r.Checkpoint)
	switch {
	case r.GivesUp != "":
		fmt.Fprintf(b, "  gives up the interrupted restore of %s\n", r.GivesUp)
	case r.Completes:
		b.WriteString("  completes a restore that was interrupted\n")
	}
	if len(r.Files)+len(r.Index)+len(r.Keys)+len(r.Databases) == 0 {
		b.WriteString("  changes nothing: everything is as it was\n")
	}
	for i, c := range r.Files {
		if i == most {
			fmt.Fprintf(b, "  … and %s more\n", view.Plural(len(r.Files)-most, "file"))
			break
		}
		fmt.Fprintf(b, "  %s %s\n", info.ChangeMark(c.Kind), view.OneLine(string(c.Path)))
	}
	if len(r.Index) > 0 {
		fmt.Fprintf(b, "  ~ git's index, at %s\n", info.SomeFiles(r.Index))
	}
	for _, k := range r.Keys {
		fmt.Fprintf(b, "  ~ key %s\n", k.Key)
	}
	for _, c := range r.Databases {
		fmt.Fprintf(b, "  ~ database %s: %s\n", c.Name, c.Describe())
	}
	writeProblemLines(b, "! newer work:", r.Newer)
	writeProblemLines(b, "✗ cannot restore", r.Missing)
	writeProblemLines(b, "✗ cannot change", r.Blocked)
	writeProblemLines(b, "! cannot first copy", r.Uncopied)
	writeNotInCheckpoint(b, r.LeftAlone)
	return b.end()
}

// writeNotInCheckpoint names the files in scope of which the checkpoint has no copy.
func writeNotInCheckpoint(b *page, paths []state.Text) {
	if len(paths) > 0 {
		fmt.Fprintf(b, "  left as they are, since the checkpoint has no copy of them: %s\n", info.SomeFiles(paths))
	}
}

func writeProblemLines(b *page, what string, all []info.FileProblem) {
	for _, p := range all {
		fmt.Fprintf(b, "  %s %s: %s\n", what, view.OneLine(string(p.Path)), view.OneLine(string(p.Reason)))
	}
}

// SafetyRestored shows what a restore did. flags are those with which commands find the
// databases.
func SafetyRestored(w io.Writer, cmdline advice.CommandLine, flags string, r info.SafetyRestoreReport) error {
	b := newPage(w)
	fmt.Fprintf(b, "Restored: %s, %s\n", r.Checkpoint, r.Describe())
	if r.GivesUp != "" {
		fmt.Fprintf(b, "The interrupted restore of %s is given up: everything is as it was before\n", r.GivesUp)
	}
	if len(r.StagedBack) > 0 {
		fmt.Fprintf(b, "  the commits since stay on the branch; that their changes are taken back is staged: %s\n", info.SomeFiles(r.StagedBack))
	}
	writeNotInCheckpoint(b, r.LeftAlone)
	if r.Undo != "" {
		fmt.Fprintf(b, "Undo it with: %s\n", cmdline.Command("safety restore "+r.Undo+" --yes"+flags))
	}
	if len(r.UndoLacks) > 0 {
		fmt.Fprintf(b, "That does not bring back what was in %s, which could not be copied\n", info.SomeFiles(r.UndoLacks))
	}
	return b.end()
}

// SafetyNothingToRestore says that a restore had nothing to do.
func SafetyNothingToRestore(w io.Writer, id string) error {
	_, err := fmt.Fprintf(w, "Nothing to restore: everything is as %s has it\n", id)
	return err
}

// SafetyScript prints shell commands that restore the files of a safety checkpoint
// without Runner.
func SafetyScript(w io.Writer, workdir string, stored *objects.Store, p *safety.RestorePlan) error {
	m := newRestoreScript(stored, scriptHeading(p), p.Changes, p.Obstacles, p.Missing)
	m.writeLine("set -eu\ncd -- %s", text.ShellWord(workdir))
	if len(m.changes) > 0 {
		m.prepare()
		m.remove(false)
		m.writeFiles()
	}
	if len(p.Index) > 0 {
		m.writeLine("git restore --source=%s --staged -- %s", p.Files.Git.Index, info.GitPathspecs(p.Listing.Patterns))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

// scriptHeading says what a script restores, and what it does not do.
func scriptHeading(p *safety.RestorePlan) []string {
	heading := []string{
		"Restores the files of " + p.ID + " by hand. What it replaces or removes it keeps in",
		"another directory, which it names. It is written for the files as they are now.",
	}
	for _, n := range p.Newer {
		heading = append(heading, "It overwrites newer work: "+view.OneLine(n.Path)+", "+n.Why+".")
	}
	if p.Interrupted != nil {
		heading = append(heading, "It does not end the restore that was interrupted.")
	}
	if p.Databases != nil {
		heading = append(heading, "It restores no database; runner safety restore does.")
	}
	if p.Keys != nil {
		heading = append(heading, "It sets no keys of "+p.Keys.PRD+"; runner state set does.")
	}
	return heading
}
