package info

import (
	"fmt"
	"strings"

	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/savepoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// safetyDatabase is a database in a safety checkpoint.
type safetyDatabase struct {
	Name     string           `json:"name"` // of the savepoint block
	Driver   string           `json:"driver"`
	Identity state.Text       `json:"identity"`
	Method   savepoint.Method `json:"method"`
	Tables   int              `json:"tables"`
	Rows     int64            `json:"rows"`
	Digest   string           `json:"digest"`
}

// addDatabases adds the databases, which a restore restores first.
func (r *SafetyCreatedReport) addDatabases(d *safety.Databases) {
	cp := &r.Checkpoint
	for _, s := range d.Savepoints {
		cp.Scope.Databases = append(cp.Scope.Databases, safetyDatabase{s.Name, s.Driver, state.Text(s.Identity), s.Method, s.Tables, s.Rows, s.Digest})
		cp.Prerequisites = append(cp.Prerequisites, prerequisites(d.PRD, s)...)
		cp.RestoreOrder = append(cp.RestoreOrder, "database "+s.Name)
		r.NextSafeActions = append(r.NextSafeActions, "change the database "+s.Name)
		r.Assumptions = append(r.Assumptions, assumptions(s)...)
	}
}

// prerequisites returns what the restore of a database needs.
func prerequisites(prd string, s *savepoint.Savepoint) []string {
	needs := []string{fmt.Sprintf("the pipeline of %s has the savepoint %s", prd, s.Name)}
	if savepoint.Driver(s.Driver) != savepoint.SQLite {
		needs = append(needs, "the server of "+s.Name+" can be reached")
	}
	switch {
	case savepoint.Driver(s.Driver) == savepoint.MySQL:
		needs = append(needs, "mariadb-dump and mariadb, or mysqldump and mysql, are installed")
	case s.Method == savepoint.Template:
		needs = append(needs, "pg_dump is installed")
	case savepoint.Driver(s.Driver) == savepoint.Postgres:
		needs = append(needs, "pg_dump and pg_restore are installed")
	}
	return needs
}

// assumptions returns what the copy of a database relies on, and what its restore means for
// the users of the database.
func assumptions(s *savepoint.Savepoint) (all []state.Text) {
	add := func(format string, args ...any) { all = append(all, state.Text(fmt.Sprintf(format, args...))) }
	if s.Method == savepoint.Template {
		add("the copy of %[1]s is the database %[2]s on the same server, as long as nobody changes or drops it; making it disconnected the users of %[1]s", s.Name, s.Copy)
	}
	switch {
	case s.Absent:
		add("%s had no file; a restore removes the file, and programs that have it open should be ended before", s.Name)
	case savepoint.Driver(s.Driver) == savepoint.Postgres:
		add("a restore disconnects the users of %s", s.Name)
	case savepoint.Driver(s.Driver) == savepoint.MySQL:
		add("while %s is restored, its views, triggers, routines and events are absent for a moment", s.Name)
	}
	return all
}

// plainDatabases says that the plain commands restore no databases, and where the dumps
// are that other programs can read.
func plainDatabases(at SafetyPlace, d *safety.Databases) []state.Text {
	var limits []state.Text
	for _, s := range d.Savepoints {
		limit := "they do not restore the database " + s.Name
		what := map[savepoint.Driver]string{savepoint.Postgres: "a dump that pg_restore reads", savepoint.SQLite: "a copy of its file"}[savepoint.Driver(s.Driver)]
		if file, compressed, err := at.Objects.Path(s.Object); err == nil && what != "" {
			limit += "; " + at.CommandLine.Display(file) + " is " + what
			if compressed {
				limit += ", once zstd has decompressed it"
			}
		}
		limits = append(limits, state.Text(limit))
	}
	return limits
}

// databaseChange is a database whose contents a restore replaces.
type databaseChange struct {
	Name string        `json:"name"`
	Now  *databaseSize `json:"now"` // null: it can't be read, since a restore was interrupted
	Then databaseSize  `json:"then"`
}

type databaseSize struct {
	Tables int   `json:"tables"`
	Rows   int64 `json:"rows"`
}

func newDatabaseChanges(changes []safety.DatabaseChange) []databaseChange {
	all := []databaseChange{}
	for _, c := range changes {
		change := databaseChange{Name: c.Name, Then: databaseSize{c.Tables, c.Rows}}
		if c.Readable() {
			change.Now = &databaseSize{c.Now.Tables, c.Now.Rows}
		}
		all = append(all, change)
	}
	return all
}

// Describe counts what the database holds now, and what it holds after the restore.
func (c databaseChange) Describe() string {
	now := "it can't be read now, since a restore was interrupted"
	if c.Now != nil {
		now = c.Now.describe() + " now"
	}
	return fmt.Sprintf("%s; %s afterwards", now, c.Then.describe())
}

func (s databaseSize) describe() string {
	return strings.Join([]string{view.Plural(s.Tables, "table"), view.Plural(int(s.Rows), "row")}, ", ")
}
