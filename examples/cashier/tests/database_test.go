package tests

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"cashier/codegen"
	"cashier/database"
	"cashier/gen/store"
	"cashier/schema"
)

func TestMigrateIsIdempotent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "with space?.db")
	for _, want := range []int{5, 0} {
		db := must(database.Open(t.Context(), path))(t)
		applied := must(database.Migrate(t.Context(), db, schema.Files))(t)
		equal(t, "number of migrations applied", len(applied), want)
		equal(t, "number of migrations recorded", len(must(database.Applied(t.Context(), db))(t)), 5)
		if err := database.Sound(t.Context(), db); err != nil {
			t.Error(err)
		}
		db.Close()
	}
}

func TestMigrateRefusesAnEditedMigration(t *testing.T) {
	t.Parallel()
	db := must(database.Open(t.Context(), database.Memory))(t)
	defer db.Close()
	files := fstest.MapFS{"1.sql": {Data: []byte("CREATE TABLE a (id INTEGER PRIMARY KEY)")}}
	must(database.Migrate(t.Context(), db, files))(t)
	files["1.sql"].Data = []byte("CREATE TABLE b (id INTEGER PRIMARY KEY)")
	refused(database.Migrate(t.Context(), db, files))(t, database.ErrEdited)
}

func TestMigrateUndoesABrokenMigration(t *testing.T) {
	t.Parallel()
	db := must(database.Open(t.Context(), database.Memory))(t)
	defer db.Close()
	files := fstest.MapFS{
		"1.sql": {Data: []byte("CREATE TABLE a (id INTEGER PRIMARY KEY)")},
		"2.sql": {Data: []byte("CREATE TABLE b (id INTEGER PRIMARY KEY); CREATE TABEL c")},
	}
	applied, err := database.Migrate(t.Context(), db, files)
	if err == nil || !slices.Equal(applied, []string{"1.sql"}) {
		t.Fatalf("applied %v with error %v", applied, err)
	}
	tables := must(database.Catalog(t.Context(), db))(t)
	equal(t, "number of tables", len(tables), 1)
}

func TestSoundFindsRowsThatReferToNothing(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, statement := range []string{
		"PRAGMA foreign_keys = off", "INSERT INTO visits (player_id, started_at) VALUES (7, 0)",
	} {
		must(db.ExecContext(t.Context(), statement))(t)
	}
	refused(0, database.Sound(t.Context(), db))(t, database.ErrUnsound)
}

func TestCatalogIsTheSchemaThatTheCodeWasMadeFrom(t *testing.T) {
	t.Parallel()
	var names []string
	for _, table := range must(database.Catalog(t.Context(), newDatabase(t)))(t) {
		names = append(names, table.Name)
	}
	if !slices.Equal(names, store.Tables()) {
		t.Errorf("tables are %v, the code is for %v", names, store.Tables())
	}
}

func TestOpenReportsAPathThatCannotBe(t *testing.T) {
	t.Parallel()
	if db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "none", "x.db")); err == nil {
		db.Close()
		t.Error("a database was made in a directory that does not exist")
	}
}

func TestStoreCodeHasAFileForEachTable(t *testing.T) {
	t.Parallel()
	tables := must(database.Catalog(t.Context(), newDatabase(t)))(t)
	files := must(codegen.Store(tables))(t)
	equal(t, "number of files", len(files), len(tables)+1)
	for _, want := range []string{
		"type RatingSlip struct", "ClosedAt", "*int64", "func SelectRatingSlips(", "// of visits",
	} {
		if !strings.Contains(string(files["rating_slips.go"]), want) {
			t.Errorf("the code of rating_slips lacks %q:\n%s", want, files["rating_slips.go"])
		}
	}
}

func TestStoreCodeRefusesShapes(t *testing.T) {
	t.Parallel()
	key := database.Column{Name: "id", Type: "INTEGER", Primary: true}
	cases := map[string][]database.Column{
		"type":           {key, {Name: "x", Type: "BLOB"}},
		"no key":         {{Name: "x", Type: "TEXT"}},
		"key of text":    {{Name: "id", Type: "TEXT", Primary: true}},
		"key of several": {key, {Name: "x", Type: "TEXT", Primary: true}},
	}
	for name, columns := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(codegen.Store([]database.Table{{Name: "things", Columns: columns}}))(t, codegen.ErrUnsupported)
		})
	}
}
