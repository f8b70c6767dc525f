package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// ErrUnsound means that a database fails its own consistency checks.
var ErrUnsound = errors.New("database is unsound")

// Table is a table as the database itself describes it.
type Table struct {
	Name    string
	Columns []Column
	Foreign []ForeignKey
}

// Column is a column of a table.
type Column struct {
	Name     string
	Type     string // as declared: INTEGER, TEXT …
	Nullable bool
	Primary  bool
}

// ForeignKey is a reference from a column to a column of another table.
type ForeignKey struct {
	Column, Table, References string
}

// Catalog reads the tables of the live database, sorted by name, without those
// of SQLite and of the migrations.
func Catalog(ctx context.Context, db *sql.DB) ([]Table, error) {
	const query = `SELECT name FROM sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name <> 'schema_migrations' ORDER BY name`
	tables, err := collect(ctx, db, query, nil, func(rows *sql.Rows, t *Table) error {
		return rows.Scan(&t.Name)
	})
	if err != nil {
		return nil, fmt.Errorf("listing tables: %w", err)
	}
	for i := range tables {
		t := &tables[i]
		if t.Columns, err = columns(ctx, db, t.Name); err != nil {
			return nil, fmt.Errorf("reading columns of %s: %w", t.Name, err)
		}
		if t.Foreign, err = foreignKeys(ctx, db, t.Name); err != nil {
			return nil, fmt.Errorf("reading foreign keys of %s: %w", t.Name, err)
		}
	}
	return tables, nil
}

// Sound runs SQLite's checks of the file's structure and of its references.
func Sound(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check`).Scan(&verdict); err != nil {
		return fmt.Errorf("checking integrity: %w", err)
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrUnsound, verdict)
	}
	broken, err := collect(ctx, db, `SELECT "table" FROM pragma_foreign_key_check`, nil,
		func(rows *sql.Rows, table *string) error { return rows.Scan(table) })
	if err != nil {
		return fmt.Errorf("checking foreign keys: %w", err)
	}
	if len(broken) > 0 {
		return fmt.Errorf("%w: rows that refer to nothing in %s", ErrUnsound, strings.Join(broken, ", "))
	}
	return nil
}

func columns(ctx context.Context, db *sql.DB, table string) ([]Column, error) {
	const query = `SELECT name, type, "notnull" = 0 AND pk = 0, pk > 0 FROM pragma_table_info(?) ORDER BY cid`
	return collect(ctx, db, query, []any{table}, func(rows *sql.Rows, c *Column) error {
		return rows.Scan(&c.Name, &c.Type, &c.Nullable, &c.Primary)
	})
}

func foreignKeys(ctx context.Context, db *sql.DB, table string) ([]ForeignKey, error) {
	const query = `SELECT "from", "table", "to" FROM pragma_foreign_key_list(?) ORDER BY "from"`
	return collect(ctx, db, query, []any{table}, func(rows *sql.Rows, k *ForeignKey) error {
		return rows.Scan(&k.Column, &k.Table, &k.References)
	})
}

// collect reads all rows of a query, one T each.
func collect[T any](ctx context.Context, db *sql.DB, query string, args []any, scan func(*sql.Rows, *T) error) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
