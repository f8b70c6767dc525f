package main

import (
	"context"
	"fmt"
	"io"
	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// finishImport restores the files that an import had not restored when it was cut short.
func finishImport(ctx context.Context, env *environment, store *checkpoint.Store, session *checkpoint.Session, w *workspace.Workspace, pending *disk.PendingImport) error {
	prd := session.State().PRD
	fmt.Fprintf(env.stderr, "The import of %s from %s was cut short; finishing it first\n", prd, shownArchive(pending))
	record := checkpoint.AuditRecord{
		What: "checkpoint import (finish)", PRD: prd, Session: session.State().Session,
		Args: []state.Text{pending.Archive, state.Text(pending.Session)},
	}
	return audited(env, store, &record, func() error {
		done, err := transfer.FinishImport(ctx, session, w)
		if done != nil && done.Safety != "" {
			record.IDs = []string{done.Safety}
		}
		if err != nil {
			return advice.With(err, advice.ImportAgain(pending)+"; with --state-only it leaves the files as they are")
		}
		if done.GivenUp {
			record.Because("given up: a new journal was started")
			showGivenUp(env.stderr, env, session.State(), pending)
			return nil
		}
		fmt.Fprintf(env.stderr, "Imported: %s written, %s left as they are\n", view.Plural(done.Written, "file"), view.Plural(len(done.Kept)+len(done.Skipped), "file"))
		if done.Safety != "" {
			fmt.Fprintf(env.stderr, "The overwritten files are in checkpoint %s\n", done.Safety)
		}
		return nil
	})
}

// shownArchive returns the name of an archive, safe to show.
func shownArchive(p *disk.PendingImport) string {
	switch p.Archive {
	case "":
		return "an archive"
	case standardStream:
		return "standard input"
	}
	return view.OneLine(string(p.Archive))
}

// showGivenUp tells the user that an import can no longer be finished, and names the
// command that lists the files that may be missing.
func showGivenUp(out io.Writer, env *environment, st *state.State, p *disk.PendingImport) {
	fmt.Fprintf(out, "! The import from %s was cut short, and cannot be finished since a new journal was started: files may be missing\n", shownArchive(p))
	if c := st.CurrentCheckpoint(); c != nil {
		fmt.Fprintf(out, "  %s   show what that would restore\n", env.Command("checkpoint rollback "+st.PRD+" "+c.ID+" --files-only --dry-run"))
	}
}
