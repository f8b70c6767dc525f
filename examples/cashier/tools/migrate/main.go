// Command migrate makes the cashier's database from the migrations and
// generates the package store from the schema that came out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"cashier/artifact"
	"cashier/codegen"
	"cashier/database"
)

func main() {
	schema := flag.String("schema", "schema", "`directory` of the migrations")
	path := flag.String("database", "gen/cashier.db", "database `file` to make")
	out := flag.String("out", "gen/store", "`directory` of the generated package")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *schema, *path, *out); err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, schema, path, out string) error {
	applied, tables, err := build(ctx, os.DirFS(schema), path)
	if err != nil {
		return err
	}
	files, err := codegen.Store(tables)
	if err != nil {
		return err
	}
	for name, code := range files {
		if err := artifact.Write(filepath.Join(out, name), code); err != nil {
			return err
		}
	}
	if err := removeStale(out, files); err != nil {
		return err
	}
	return artifact.Report(
		artifact.Output{Name: "migrations", Value: len(applied)},
		artifact.Output{Name: "tables", Value: len(tables)},
		artifact.Output{Name: "summary", Value: fmt.Sprintf("%d migrations made %d tables", len(applied), len(tables))},
	)
}

// build makes the database beside path and moves it there when it is whole, so
// that no run starts from what a killed one left.
func build(ctx context.Context, schema fs.FS, path string) ([]string, []database.Table, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, fmt.Errorf("making the database: %w", err)
	}
	temporary := path + ".tmp"
	for _, leftover := range []string{temporary, temporary + "-journal"} {
		if err := os.Remove(leftover); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("making the database: %w", err)
		}
	}
	db, err := database.Open(ctx, temporary)
	if err != nil {
		return nil, nil, err
	}
	defer db.Close()
	applied, err := database.Migrate(ctx, db, schema)
	if err != nil {
		return nil, nil, err
	}
	tables, err := database.Catalog(ctx, db)
	if err != nil {
		return nil, nil, err
	}
	if err := db.Close(); err != nil {
		return nil, nil, fmt.Errorf("closing the database: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return nil, nil, fmt.Errorf("making the database: %w", err)
	}
	return applied, tables, nil
}

// removeStale removes the code of tables that no longer exist.
func removeStale(out string, files map[string][]byte) error {
	present, err := filepath.Glob(filepath.Join(out, "*.go"))
	if err != nil {
		return fmt.Errorf("looking for stale code: %w", err)
	}
	for _, path := range present {
		if _, wanted := files[filepath.Base(path)]; wanted {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing stale code: %w", err)
		}
	}
	return nil
}
