package show_test

import (
	"io"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/savepoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

// TestSafety compares what the commands about safety checkpoints of databases print with a
// file in testdata.
func TestSafety(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	checkpointtest.Must(t, f.Lock().Close())
	store := f.Open()
	kept := checkpointtest.Put(t, store, "kept", "a dump").Digest
	f.Compress(true)
	compressed := checkpointtest.Put(t, f.Open(), "compressed", strings.Repeat("a dump ", 1000)).Digest
	place := info.SafetyPlace{CommandLine: cmdline, Flags: " --var url=…", Store: store.Safety(), Objects: store.Objects()}

	saved := func(name string, driver savepoint.Driver, s savepoint.Savepoint) *savepoint.Savepoint {
		s.ID, s.Name, s.Driver, s.Digest = "chk_20251211_100000_a7b3c9", name, string(driver), "sha256:"+name
		if s.Method == "" {
			s.Method = savepoint.Dump
		}
		return &s
	}
	orders := saved("orders", savepoint.Postgres, savepoint.Savepoint{Identity: "/run/postgresql:5432/orders of cluster 7", Object: kept, Tables: 2, Rows: 100})
	copied := saved("copied", savepoint.Postgres, savepoint.Savepoint{Identity: "host:5432/copied", Method: savepoint.Template, Copy: "runner_savepoint_x", Tables: 1, Rows: 1})
	stock := saved("stock", savepoint.MySQL, savepoint.Savepoint{Identity: "host:3306/stock", Object: kept, Tables: 3})
	file := saved("file", savepoint.SQLite, savepoint.Savepoint{Identity: "/ws/data/file.db", Object: compressed, Tables: 1, Rows: 7})
	absent := saved("absent", savepoint.SQLite, savepoint.Savepoint{Identity: "/ws/absent.db", Absent: true})

	c := &safety.Checkpoint{
		ID: orders.ID, Type: safety.DatabaseSavepoint, CreatedAt: at(0), Reason: "before the migration", Hash: "sha256:hash",
		Keys:      &safety.Keys{PRD: "PRD-009", Session: "s1", Values: map[string]*ledger.Value{"step": nil}},
		Databases: &safety.Databases{PRD: "PRD-009", Savepoints: []*savepoint.Savepoint{orders, copied, stock, file, absent}},
		Restores:  []safety.Restore{{At: at(1), Undo: "chk_20251211_100100_b7b3c9", Keys: 1, Databases: []string{"orders", "stock"}}},
	}
	created := info.NewSafetyCreatedReport(place, c, nil, true)
	plan := &safety.RestorePlan{
		Checkpoint: c,
		DatabaseChanges: []safety.DatabaseChange{
			{Savepoint: orders, Now: savepoint.Digest{Sum: "sha256:now", Tables: 3, Rows: 120}}, {Savepoint: stock},
		},
		Newer:    []safety.Newer{{Path: "database orders", Why: "changed since"}},
		Missing:  []workspace.Missing{{Path: "database stock", Reason: "there is no object"}},
		Uncopied: []string{"database stock"},
	}
	dry := info.NewSafetyRestoreReport(plan, nil)
	done := info.NewSafetyRestoreReport(plan, &safety.Restore{At: at(2), Undo: "chk_20251211_100200_c7b3c9", Databases: []string{"orders", "stock"}})
	compareAnswers(t, "safety.txt", []answer{
		{"created", func(w io.Writer) error { return show.SafetyCreated(w, created) }}, asJSON("created", created),
		{"shown", func(w io.Writer) error { return show.Safety(w, created) }},
		{"would restore", func(w io.Writer) error { return show.SafetyRestorePreview(w, dry) }}, asJSON("would restore", dry),
		{"restored", func(w io.Writer) error { return show.SafetyRestored(w, cmdline, " --var url=…", done) }}, asJSON("restored", done),
	})
}
