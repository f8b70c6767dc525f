package show_test

import (
	"io"
	"testing"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

// TestValidationAnswers compares how damage is shown with a file in testdata.
func TestValidationAnswers(t *testing.T) {
	t.Parallel()
	st := session(state.StatusPaused)
	stored := func(place disk.Place, st *state.State) reader.StoredSession {
		return reader.StoredSession{PRD: "PRD-009", Place: place, Dir: "/ws/.runner/PRD-009", State: st}
	}
	good := validate.CheckpointCheck{
		Ref: ref("C1", 1, "WS1"), File: validate.FoundOK, Hash: validate.FoundOK, Schema: validate.FoundOK, Objects: validate.FoundOK, Git: validate.FoundNone,
	}
	noted := validate.CheckpointCheck{Ref: ref("C2", 2, "WS2"), Current: true, File: validate.FoundUnknown, Notes: []string{"git keeps it"}}
	bad := validate.CheckpointCheck{Ref: ref("C3", 3, ""), File: validate.FoundBad, Problems: []string{"out is lost", "out is lost"}}
	worse := validate.CheckpointCheck{Ref: ref("C4", 4, ""), File: validate.FoundBad, Problems: []string{"out is lost"}}
	damage := &state.DamagedError{Path: "/ws/.runner/PRD-009/journal.jsonl", Line: 3, Detail: "not JSON"}
	of := func(s ...validate.SessionCheck) *validate.Validation { return &validate.Validation{Sessions: s} }
	whole := of(validate.SessionCheck{StoredSession: stored(disk.PlaceCurrent, st), Checkpoints: []validate.CheckpointCheck{good, noted}})
	whole.Deep = true
	damaged := of(validate.SessionCheck{
		StoredSession: stored(disk.PlaceCurrent, st), Checkpoints: []validate.CheckpointCheck{good, bad, worse},
		Derived: []*state.DamagedError{{Path: "/ws/PRD-009.json", Detail: "not JSON", Remedy: "`runner status` shows it"}},
	})
	archived := of(validate.SessionCheck{StoredSession: stored(disk.PlaceFailed, st), Checkpoints: []validate.CheckpointCheck{bad}})
	journal := of(validate.SessionCheck{StoredSession: stored(disk.PlaceCurrent, nil), Journal: damage})
	lost := of(validate.SessionCheck{StoredSession: stored(disk.PlaceCurrent, nil), Journal: &state.DamagedError{Path: "/ws/j", Detail: "empty", Lost: true}, Checkpoints: []validate.CheckpointCheck{bad}})
	alone := of(validate.SessionCheck{StoredSession: stored(disk.PlaceCurrent, st), Checkpoints: []validate.CheckpointCheck{bad}})
	clean := of(validate.SessionCheck{StoredSession: stored(disk.PlaceCurrent, st), Checkpoints: []validate.CheckpointCheck{good}})
	marks := &validate.Marks{Marked: []string{"C3"}, Unmarked: []string{"C1"}}
	validation := func(name string, v *validate.Validation, marks *validate.Marks) []answer {
		return []answer{
			{name, func(w io.Writer) error { return show.Validation(w, cmdline, v, marks) }},
			asJSON(name, info.NewValidationReport(cmdline, "PRD-009", v, marks)),
		}
	}
	var answers []answer
	for _, more := range [][]answer{
		validation("nothing", of(), nil), validation("whole", whole, nil), validation("without remarks", clean, nil), validation("damaged", damaged, marks),
		validation("archived", archived, nil), validation("journal", journal, nil), validation("lost", lost, nil), validation("no valid one", alone, nil),
	} {
		answers = append(answers, more...)
	}
	compareAnswers(t, "validation.txt", append(answers,
		answer{"a damaged checkpoint", func(w io.Writer) error { return show.Damage(w, cmdline, st, "C3", "out is lost", ref("C1", 1, "WS1")) }},
		answer{"the only checkpoint", func(w io.Writer) error { return show.Damage(w, cmdline, st, "C3", "out is lost", nil) }},
	))
}

// TestRepairAnswers compares how repairs are shown with a file in testdata.
func TestRepairAnswers(t *testing.T) {
	t.Parallel()
	rebuilt := []repair.RebuiltCheckpoint{
		{ID: "C1", Was: []state.Text{"out is lost", "so is in"}, Kept: []state.Text{"/ws/.runner/x"}, Written: true, Files: []state.Text{"out"}},
		{ID: "C2", Was: []state.Text{"out is lost"}, Left: []state.Text{"out is lost"}}, {ID: "C3", Was: []state.Text{"out is lost"}, Left: []state.Text{"out is lost"}},
		{ID: "C4", Written: true}, {ID: "C5", Left: []state.Text{"its journal is lost"}},
	}
	checkpoints := func(name string, dryRun bool, list ...repair.RebuiltCheckpoint) answer {
		return plain(name, func(w io.Writer) { show.RebuiltCheckpoints(w, cmdline, dryRun, list) })
	}
	damage := &state.DamagedError{Path: "/ws/.runner/PRD-009/journal.jsonl", Line: 3, Detail: "not JSON"}
	short := &repair.JournalRebuild{Damage: damage, Session: "s1", FromSeq: 5, Step: 1, More: true}
	full := &repair.JournalRebuild{
		Damage: damage, Session: "s1", From: "C1", FromSeq: 5, Step: 1, Seq: 9, Lost: []repair.LostCommit{{Seq: 6, Time: at(6), Events: []string{"a", "b"}}}, Untold: 2, More: true,
		Rollbacks: []repair.MetRollback{
			{To: "C1", End: repair.RollbackCarriedOut}, {To: "C2", End: repair.RollbackTakenBack}, {To: "C3", End: repair.RollbackUnfinished}, {To: "C4", End: repair.RollbackUntold},
		},
		Uncertain: []string{"deploy"}, Gone: []string{"C7"}, Kept: "/ws/.runner/PRD-009/damaged",
	}
	st := session(state.StatusPaused)
	current := session(state.StatusPaused)
	current.Checkpoints, current.Current = []*state.CheckpointRef{ref("C1", 1, "WS1")}, "C1"
	migration := info.NewMigrationReport(false)
	migration.Add("PRD-009", &repair.Migrated{From: "1.0", To: "1.0"})
	migration.Add("PRD-010", &repair.Migrated{From: "0.9", To: "1.0", Journal: true, Checkpoints: []string{"C1"}, Kept: []string{"a", "b"}})
	migration.Add("PRD-011", &repair.Migrated{From: "0.9", To: "1.0", Checkpoints: []string{"C1"}})
	ahead := migration
	ahead.DryRun = true
	migrated := func(name string, m info.MigrationReport) answer {
		return plain(name, func(w io.Writer) { show.Migration(w, m) })
	}
	adopted := func(dryRun bool) answer {
		return answer{"adopted", func(w io.Writer) error {
			return show.Adopted(w, cmdline, info.NewAdoptReport("PRD-009", "s1", dryRun, 2))
		}}
	}
	compareAnswers(t, "repair.txt", []answer{
		checkpoints("nothing", false), checkpoints("checkpoints", false, rebuilt...), checkpoints("checkpoints, ahead", true, rebuilt...),
		checkpoints("a file, ahead", true, rebuilt[3]), asJSON("checkpoints", info.NewRebuiltReport("PRD-009", true, rebuilt)),
		plain("a journal", func(w io.Writer) { show.RebuiltJournal(w, cmdline, "PRD-009", short) }),
		plain("a journal, with everything", func(w io.Writer) { show.RebuiltJournal(w, cmdline, "PRD-009", full) }),
		asJSON("a journal", info.NewRebuiltJournalReport(cmdline, "PRD-009", true, short)),
		asJSON("a journal, with everything", info.NewRebuiltJournalReport(cmdline, "PRD-009", false, full)),
		plain("an import", func(w io.Writer) { show.AbandonedImport(w, cmdline, st, &disk.PendingImport{Archive: "-"}) }),
		plain("an import, with a checkpoint", func(w io.Writer) { show.AbandonedImport(w, cmdline, current, &disk.PendingImport{Archive: "a\nb"}) }),
		migrated("migrated", migration), migrated("to be migrated", ahead), migrated("none to migrate", info.NewMigrationReport(false)), asJSON("migrated", migration),
		adopted(false), adopted(true), asJSON("archived", info.NewArchiveReport("PRD-009", "s1", "/x")), asJSON("pinned", info.NewPinReport("PRD-009", true, ref("C1", 1, "WS1"))),
	})
}
