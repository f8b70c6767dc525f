package change

import (
	"context"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

// finishImport restores the files that an import had not restored when it was cut short.
func finishImport(ctx context.Context, env *cli.Environment, store *checkpoint.Store, session *checkpoint.Session, w *workspace.Workspace, pending *disk.PendingImport) error {
	prd := session.State().PRD
	fmt.Fprintf(env.Stderr, "The import of %s from %s was cut short; finishing it first\n", prd, info.ArchiveName(pending))
	record := checkpoint.AuditRecord{
		What: "checkpoint import (finish)", PRD: prd, Session: session.State().Session,
		Args: []state.Text{pending.Archive, state.Text(pending.Session)},
	}
	return WithAudit(env, store, &record, func() error {
		done, err := transfer.FinishImport(ctx, session, w)
		if done != nil && done.Safety != "" {
			record.IDs = []string{done.Safety}
		}
		if err != nil {
			return advice.With(err, advice.ImportAgain(pending)+"; with --state-only it leaves the files as they are")
		}
		if done.GivenUp {
			record.Because("given up: a new journal was started")
			show.AbandonedImport(env.Stderr, env.CommandLine, session.State(), pending)
			return nil
		}
		fmt.Fprintf(env.Stderr, "Imported: %s written, %s left as they are\n", view.Plural(done.Written, "file"), view.Plural(len(done.Kept)+len(done.Skipped), "file"))
		if done.Safety != "" {
			fmt.Fprintf(env.Stderr, "The overwritten files are in checkpoint %s\n", done.Safety)
		}
		return nil
	})
}
