package show

import (
	"fmt"
	"io"
	"strings"

	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// AdoptReport is what `checkpoint import --adopt --json` prints.
type AdoptReport struct {
	FormatVersion string `json:"format_version"`
	PRD           string `json:"prd"`
	Session       string `json:"session"`
	DryRun        bool   `json:"dry_run"`
	Untracked     int    `json:"untracked"` // number of files to remove from git's index, or removed
}

// NewAdoptReport returns the JSON form of an adoption.
func NewAdoptReport(prd, session string, dryRun bool, untracked int) AdoptReport {
	return AdoptReport{FormatVersion: FormatVersion, PRD: prd, Session: session, DryRun: dryRun, Untracked: untracked}
}

// Adopted shows which session was adopted, or would be.
func Adopted(w io.Writer, cmdline advice.CommandLine, result AdoptReport) error {
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

// ArchiveReport is what `checkpoint archive --json` prints.
type ArchiveReport struct {
	FormatVersion string     `json:"format_version"`
	PRD           string     `json:"prd"`
	Session       string     `json:"session"`
	Path          state.Text `json:"path"`
}

// NewArchiveReport returns the JSON form of an archived session.
func NewArchiveReport(prd, session, path string) ArchiveReport {
	return ArchiveReport{FormatVersion, prd, session, state.Text(path)}
}

// PinReport is what `checkpoint pin --json` and `unpin --json` print.
type PinReport struct {
	FormatVersion string               `json:"format_version"`
	PRD           string               `json:"prd"`
	Changed       bool                 `json:"changed"`
	Checkpoint    *state.CheckpointRef `json:"checkpoint"`
}

// NewPinReport returns the JSON form of a checkpoint that was pinned or unpinned.
func NewPinReport(prd string, changed bool, ref *state.CheckpointRef) PinReport {
	return PinReport{FormatVersion: FormatVersion, PRD: prd, Changed: changed, Checkpoint: ref}
}

// MigrationReport is what `checkpoint migrate --json` prints.
type MigrationReport struct {
	FormatVersion string            `json:"format_version"`
	DryRun        bool              `json:"dry_run"`
	Sessions      []migratedSession `json:"sessions"`
}

type migratedSession struct {
	PRD         string   `json:"prd"`
	From        string   `json:"from"`
	To          string   `json:"to"`
	Changed     bool     `json:"changed"` // or would be changed, with --dry-run
	Journal     bool     `json:"journal"`
	Checkpoints []string `json:"checkpoints"`
	Kept        []string `json:"kept"`
}

// NewMigrationReport returns the JSON form of a migration to which no session was added
// yet.
func NewMigrationReport(dryRun bool) MigrationReport {
	return MigrationReport{FormatVersion: FormatVersion, DryRun: dryRun, Sessions: []migratedSession{}}
}

// Add adds a session to a migration.
func (m *MigrationReport) Add(prd string, done *repair.Migrated) {
	m.Sessions = append(m.Sessions, migratedSession{
		PRD: prd, From: done.From, To: done.To, Changed: done.Needed(), Journal: done.Journal,
		Checkpoints: append([]string{}, done.Checkpoints...), Kept: append([]string{}, done.Kept...),
	})
}

// Migration shows which sessions were converted.
func Migration(w io.Writer, m MigrationReport) {
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
