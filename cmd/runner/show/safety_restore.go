package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// SafetyRestoreReport is what `safety restore --json` prints.
type SafetyRestoreReport struct {
	FormatVersion string           `json:"format_version"`
	Checkpoint    string           `json:"checkpoint"`
	DryRun        bool             `json:"dry_run"`
	Files         []fileChange     `json:"files"`
	Index         []state.Text     `json:"index"` // paths whose entries in git's index change
	Keys          []keyEdit        `json:"state_keys"`
	Databases     []databaseChange `json:"databases"`
	Newer         []fileProblem    `json:"newer"`                 // newer work that is overwritten, only by force
	Missing       []fileProblem    `json:"missing"`               // files whose bytes are lost or damaged
	Blocked       []fileProblem    `json:"blocked"`               // files that can't be changed because of an obstacle
	Uncopied      []fileProblem    `json:"uncopied"`              // files that are overwritten or removed, only by force, and can't be copied before
	LeftAlone     []state.Text     `json:"left_alone"`            // files in scope that the checkpoint does not have, since they looked sensitive or could not be read
	StagedBack    []state.Text     `json:"staged_back,omitempty"` // files that were committed since, and that git's index has as they were before
	Undo          string           `json:"undo,omitempty"`
	UndoLacks     []state.Text     `json:"undo_lacks,omitempty"` // files that were overwritten or removed, and that the undo does not have
	Completes     bool             `json:"completes,omitempty"`  // a restore that was interrupted
	GivesUp       string           `json:"gives_up,omitempty"`   // the checkpoint whose interrupted restore is given up
	Done          restored         `json:"done"`                 // how much was restored; 0 in a dry run
}

type restored struct {
	Written   int      `json:"written"` // files
	Deleted   int      `json:"deleted"` // files
	Keys      int      `json:"keys"`
	Databases []string `json:"databases"` // the names of their savepoint blocks
}

func newRestored(done *safety.Restore) restored {
	return restored{done.Written, done.Deleted, done.Keys, append([]string{}, done.Databases...)}
}

type keyEdit struct {
	Key  string      `json:"key"`
	From *state.Text `json:"from"` // null: not set
	To   *state.Text `json:"to"`
}

// describe counts what was restored: the files, unless only other things were.
func (d restored) describe() string {
	var parts []string
	if d.Written+d.Deleted > 0 || d.Keys+len(d.Databases) == 0 {
		parts = append(parts, fmt.Sprintf("%s written, %s deleted", view.Plural(d.Written, "file"), view.Plural(d.Deleted, "file")))
	}
	if d.Keys > 0 {
		parts = append(parts, view.Plural(d.Keys, "key")+" set")
	}
	for _, name := range d.Databases {
		parts = append(parts, "database "+name+" restored")
	}
	return strings.Join(parts, ", ")
}

// NewSafetyRestoreReport returns the JSON form of a restore. done is nil for a dry run.
func NewSafetyRestoreReport(p *safety.RestorePlan, done *safety.Restore) SafetyRestoreReport {
	r := SafetyRestoreReport{
		FormatVersion: FormatVersion, Checkpoint: p.ID, DryRun: done == nil, Files: []fileChange{}, Index: []state.Text{}, Keys: []keyEdit{},
		Databases: newDatabaseChanges(p.DatabaseChanges), Done: restored{Databases: []string{}},
		Newer: []fileProblem{}, Missing: []fileProblem{}, Blocked: []fileProblem{}, Uncopied: []fileProblem{}, LeftAlone: []state.Text{},
	}
	if half := p.Interrupted; p.GivesUp() {
		r.GivesUp = half.ID
	} else {
		r.Completes = half != nil
	}
	if done != nil {
		r.Undo, r.Done = done.Undo, newRestored(done)
	}
	for _, c := range p.Changes {
		r.Files = append(r.Files, fileChange{state.Text(c.Path), c.Kind})
	}
	for _, e := range p.Index {
		r.Index = append(r.Index, state.Text(e.Path))
	}
	for _, e := range p.KeyEdits {
		edit := keyEdit{Key: e.Name}
		if e.From != nil {
			edit.From = (*state.Text)(&e.From.Value)
		}
		if e.To != nil {
			edit.To = (*state.Text)(&e.To.Value)
		}
		r.Keys = append(r.Keys, edit)
	}
	for _, n := range p.Newer {
		r.Newer = append(r.Newer, fileProblem{state.Text(n.Path), state.Text(n.Why)})
		if n.Committed && slices.ContainsFunc(p.Index, func(e git.IndexEntry) bool { return e.Path == n.Path }) {
			r.StagedBack = append(r.StagedBack, state.Text(n.Path))
		}
	}
	for _, m := range p.Missing {
		r.Missing = append(r.Missing, fileProblem{state.Text(m.Path), state.Text(m.Reason)})
	}
	for _, path := range p.Uncopied {
		r.Uncopied = append(r.Uncopied, fileProblem{state.Text(path), "it looks sensitive, or can't be read"})
	}
	if l := p.Listing; l != nil {
		r.LeftAlone = state.Texts(slices.Concat(l.LeftOut, l.Unstable, l.Special))
	}
	for _, o := range p.Obstacles {
		r.Blocked = append(r.Blocked, fileProblem{state.Text(o.Path), state.Text(o.Reason)})
	}
	return r
}

// SafetyRestorePreview shows what a restore would change.
func SafetyRestorePreview(w io.Writer, r SafetyRestoreReport) error {
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
		fmt.Fprintf(b, "  %s %s\n", changeMark(c.Kind), view.OneLine(string(c.Path)))
	}
	if len(r.Index) > 0 {
		fmt.Fprintf(b, "  ~ git's index, at %s\n", someFiles(r.Index))
	}
	for _, k := range r.Keys {
		fmt.Fprintf(b, "  ~ key %s\n", k.Key)
	}
	for _, c := range r.Databases {
		fmt.Fprintf(b, "  ~ database %s: %s\n", c.Name, c.describe())
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
		fmt.Fprintf(b, "  left as they are, since the checkpoint has no copy of them: %s\n", someFiles(paths))
	}
}

func writeProblemLines(b *page, what string, all []fileProblem) {
	for _, p := range all {
		fmt.Fprintf(b, "  %s %s: %s\n", what, view.OneLine(string(p.Path)), view.OneLine(string(p.Reason)))
	}
}

// SafetyRestored shows what a restore did. flags are those with which commands find the
// databases.
func SafetyRestored(w io.Writer, cmdline advice.CommandLine, flags string, r SafetyRestoreReport) error {
	b := newPage(w)
	fmt.Fprintf(b, "Restored: %s, %s\n", r.Checkpoint, r.Done.describe())
	if r.GivesUp != "" {
		fmt.Fprintf(b, "The interrupted restore of %s is given up: everything is as it was before\n", r.GivesUp)
	}
	if len(r.StagedBack) > 0 {
		fmt.Fprintf(b, "  the commits since stay on the branch; that their changes are taken back is staged: %s\n", someFiles(r.StagedBack))
	}
	writeNotInCheckpoint(b, r.LeftAlone)
	if r.Undo != "" {
		fmt.Fprintf(b, "Undo it with: %s\n", cmdline.Command("safety restore "+r.Undo+" --yes"+flags))
	}
	if len(r.UndoLacks) > 0 {
		fmt.Fprintf(b, "That does not bring back what was in %s, which could not be copied\n", someFiles(r.UndoLacks))
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
		m.writeLine("git restore --source=%s --staged -- %s", p.Files.Git.Index, gitPathspecs(p.Listing.Patterns))
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
