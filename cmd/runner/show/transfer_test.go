package show_test

import (
	"io"
	"testing"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

// TestTransferAnswers compares how exports and imports are shown with a file in testdata.
func TestTransferAnswers(t *testing.T) {
	t.Parallel()
	st := session(state.StatusPaused)
	header := transfer.ExportHeader{PRD: "PRD-009", Session: "s1", Seq: 50}
	bare := &transfer.Exported{ExportHeader: header, SHA256: "ab", Size: 10}
	full := &transfer.Exported{
		ExportHeader: header, Path: "/ws/a b.tar", SHA256: "ab", Size: 10, Checkpoints: 2, Rollbacks: 1, Objects: 3, ObjectBytes: 2000, Logs: 1,
		FromFiles: paths[string](21), LeftOut: []string{"secret"},
	}
	for _, name := range paths[state.Text](21) {
		full.Lacking = append(full.Lacking, transfer.Lacking{What: name, Reason: "it is lost"})
	}
	exported := func(name string, done *transfer.Exported, st *state.State) answer {
		return answer{name, func(w io.Writer) error { return show.Exported(w, cmdline, st, done) }}
	}
	answers := []answer{
		exported("exported", bare, session(state.StatusComplete)), asJSON("exported", info.NewExportReport(bare)),
		exported("exported, with everything", full, st), asJSON("exported, with everything", info.NewExportReport(full)),
	}

	once := session(state.StatusPaused)
	once.Phases[1].Workstreams[0].Once = true
	here := session(state.StatusPaused)
	here.Seq = 40
	of := func(relation journal.Relation, st *state.State) *transfer.Import {
		return &transfer.Import{ExportHeader: header, State: st, Checkpoints: 2, Objects: 3, Bytes: 4, Relation: relation, Here: here}
	}
	files := &transfer.ImportFiles{
		Absent: []workspace.Change{{Path: "absent"}}, Differ: []workspace.Change{{Path: "differs"}}, Same: 3,
		Blocked: []transfer.Blocked{{Path: "a/b", By: "a"}}, LeftOut: []string{"secret"},
	}
	for _, relation := range []journal.Relation{
		journal.RelationNew, journal.RelationEqual, journal.RelationSame, journal.RelationForward, journal.RelationOlder, journal.RelationDiverged, journal.RelationForeign, journal.RelationDamaged,
	} {
		i := info.Import{Archive: of(relation, session(state.StatusComplete))}
		answers = append(answers, answer{"to import, " + string(relation), func(w io.Writer) error { return show.ImportPreview(w, cmdline, i) }})
	}
	abandoned := once.Clone() // with a workstream that must happen only once
	abandoned.Abandoned = true
	imported := func(name string, i info.Import, done *transfer.RestoredFiles, archived string) answer {
		r := info.NewImportReport(i)
		r.Archived = archived
		if done != nil {
			r.AddRestored(done)
		}
		return answer{name, func(w io.Writer) error { return show.Imported(w, cmdline, i, r) }}
	}
	uncertain := info.Import{Archive: of(journal.RelationOlder, once)}
	started := once.Clone()
	began := started.Phases[1].Workstreams[0]
	began.Status, began.Attempts, began.StartedAt = state.Running, 1, pointer(at(4))
	uncertain.Archive.Here = started
	withFiles := info.Import{Archive: of(journal.RelationNew, once), Files: files, DryRun: true}
	noBlocks := info.Import{Archive: of(journal.RelationNew, once), Files: &transfer.ImportFiles{}}
	restored := &transfer.RestoredFiles{Written: 1, Skipped: []workspace.Missing{{Path: "lost", Reason: "the archive lacks it"}}, Kept: []string{"differs"}, Safety: "C9"}
	after := info.NewImportReport(withFiles)
	after.AddRestored(restored)
	answers = append(answers,
		answer{"to import, with files", func(w io.Writer) error { return show.ImportPreview(w, cmdline, withFiles) }}, asJSON("to import, with files", info.NewImportReport(withFiles)),
		answer{"to import, once started here", func(w io.Writer) error { return show.ImportPreview(w, cmdline, uncertain) }},
		answer{"to import, no files", func(w io.Writer) error { return show.ImportPreview(w, cmdline, noBlocks) }},
		answer{"to import, abandoned", func(w io.Writer) error {
			return show.ImportPreview(w, cmdline, info.Import{Archive: of(journal.RelationNew, abandoned)})
		}},
		asJSON("to import, state only", info.NewImportReport(info.Import{Archive: of(journal.RelationOlder, st), Refused: true})),
		imported("imported", withFiles, restored, "/ws/.runner/failed/x"), asJSON("imported", after), imported("imported, no files", noBlocks, &transfer.RestoredFiles{}, ""),
		imported("imported, state only", info.Import{Archive: of(journal.RelationEqual, session(state.StatusComplete))}, nil, ""),
		imported("imported, the same", info.Import{Archive: of(journal.RelationSame, session(state.StatusComplete))}, nil, ""),
	)
	compareAnswers(t, "transfer.txt", answers)
}
