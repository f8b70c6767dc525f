// Command schemacheck validates what migrate made: that the database is sound,
// holds every migration and the tables that the service is written for, and
// that the generated code is the code of exactly this schema.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"cashier/codegen"
	"cashier/database"
)

// required are the references that the service relies on.
func required() map[string][]database.ForeignKey {
	return map[string][]database.ForeignKey{
		"drawers":       nil,
		"outbox_events": nil,
		"players":       nil,
		"rating_slips":  {{Column: "visit_id", Table: "visits", References: "id"}},
		"transactions": {
			{Column: "drawer_id", Table: "drawers", References: "id"},
			{Column: "visit_id", Table: "visits", References: "id"},
		},
		"visits": {{Column: "player_id", Table: "players", References: "id"}},
	}
}

func main() {
	schema := flag.String("schema", "schema", "`directory` of the migrations")
	path := flag.String("database", "gen/cashier.db", "database `file` to check")
	code := flag.String("code", "gen/store", "`directory` of the generated package")
	flag.Parse()
	if err := run(context.Background(), *schema, *path, *code); err != nil {
		fmt.Fprintln(os.Stderr, "schemacheck:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, schema, path, code string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("no database: %w", err)
	}
	db, err := database.Open(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := database.Sound(ctx, db); err != nil {
		return err
	}
	tables, err := database.Catalog(ctx, db)
	if err != nil {
		return err
	}
	if err := errors.Join(
		checkMigrations(ctx, db, schema), checkTables(tables), checkCode(tables, code),
	); err != nil {
		return err
	}
	fmt.Printf("%s: %d tables, sound, and %s matches\n", path, len(tables), code)
	return nil
}

// checkMigrations applies the migrations to an empty database, and asks that
// the one at hand has recorded the same.
func checkMigrations(ctx context.Context, db *sql.DB, schema string) error {
	fresh, err := database.Open(ctx, database.Memory)
	if err != nil {
		return err
	}
	defer fresh.Close()
	if _, err := database.Migrate(ctx, fresh, os.DirFS(schema)); err != nil {
		return err
	}
	want, err := database.Applied(ctx, fresh)
	if err != nil {
		return err
	}
	applied, err := database.Applied(ctx, db)
	if err != nil {
		return err
	}
	if !slices.Equal(applied, want) {
		return fmt.Errorf("the database was not made by the %d migrations of %s", len(want), schema)
	}
	return nil
}

func checkTables(tables []database.Table) error {
	var problems []error
	found := map[string][]database.ForeignKey{}
	for _, table := range tables {
		found[table.Name] = table.Foreign
	}
	needed := required()
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		foreign, ok := found[name]
		if !ok {
			problems = append(problems, fmt.Errorf("table %s is missing", name))
			continue
		}
		for _, key := range needed[name] {
			if !slices.Contains(foreign, key) {
				problems = append(problems, fmt.Errorf("%s.%s does not refer to %s.%s", name, key.Column, key.Table, key.References))
			}
		}
	}
	return errors.Join(problems...)
}

func checkCode(tables []database.Table, dir string) error {
	want, err := codegen.Store(tables)
	if err != nil {
		return err
	}
	present, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return fmt.Errorf("listing generated code: %w", err)
	}
	var problems []error
	for _, path := range present {
		code, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading generated code: %w", err)
		}
		if !bytes.Equal(code, want[filepath.Base(path)]) {
			problems = append(problems, fmt.Errorf("%s:1: not the code of this schema", path))
		}
		delete(want, filepath.Base(path))
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		problems = append(problems, fmt.Errorf("%s is missing", filepath.Join(dir, name)))
	}
	return errors.Join(problems...)
}
