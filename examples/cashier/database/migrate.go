package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
)

// ErrEdited means that a migration is not what it was when it was applied.
var ErrEdited = errors.New("migration was edited after it had been applied")

// ledger has no time in it, so that equal migrations give an equal file.
const ledger = `CREATE TABLE IF NOT EXISTS schema_migrations (
	name   TEXT PRIMARY KEY,
	sha256 TEXT NOT NULL
) STRICT, WITHOUT ROWID`

// Migrate applies every *.sql file of files that the database does not record
// as applied, in the order of their names, each in a transaction with its
// record. It returns the names of those it applied.
func Migrate(ctx context.Context, db *sql.DB, files fs.FS) ([]string, error) {
	if _, err := db.ExecContext(ctx, ledger); err != nil {
		return nil, fmt.Errorf("making the table of migrations: %w", err)
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing migrations: %w", err)
	}
	var applied []string
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return applied, fmt.Errorf("reading migration: %w", err)
		}
		fresh, err := migrate(ctx, db, name, text)
		if err != nil {
			return applied, fmt.Errorf("migration %s: %w", name, err)
		}
		if fresh {
			applied = append(applied, name)
		}
	}
	return applied, nil
}

// Migration is an applied migration as the database records it.
type Migration struct {
	Name   string
	SHA256 string
}

// Applied returns the migrations that the database records, in their order.
func Applied(ctx context.Context, db *sql.DB) ([]Migration, error) {
	applied, err := collect(ctx, db, `SELECT name, sha256 FROM schema_migrations ORDER BY name`, nil,
		func(rows *sql.Rows, m *Migration) error { return rows.Scan(&m.Name, &m.SHA256) })
	if err != nil {
		return nil, fmt.Errorf("reading the recorded migrations: %w", err)
	}
	return applied, nil
}

// migrate applies one migration and reports whether it was needed.
func migrate(ctx context.Context, db *sql.DB, name string, text []byte) (bool, error) {
	digest := sha256.Sum256(text)
	sum := hex.EncodeToString(digest[:])

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()

	var recorded string
	err = tx.QueryRowContext(ctx, `SELECT sha256 FROM schema_migrations WHERE name = ?`, name).Scan(&recorded)
	switch {
	case err == nil && recorded == sum:
		return false, nil
	case err == nil:
		return false, ErrEdited
	case !errors.Is(err, sql.ErrNoRows):
		return false, err
	}
	if _, err := tx.ExecContext(ctx, string(text)); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO schema_migrations (name, sha256) VALUES (?, ?)`, name, sum); err != nil {
		return false, err
	}
	return true, tx.Commit()
}
