// Package database opens the cashier's SQLite database, applies its migrations
// and reads back what they made of it.
package database

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// Memory is the path of a database that lives and dies with its handle.
const Memory = ":memory:"

// Open opens the database file at path, which is made when it does not exist.
//
// The handle has one connection: SQLite has one writer anyway, and a database
// in memory belongs to its connection. A transaction must therefore use its
// own handle for every query until it ends.
func Open(ctx context.Context, path string) (*sql.DB, error) {
	const settings = "?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)&_pragma=journal_mode(delete)"
	name := "file:" + (&url.URL{Path: path}).EscapedPath()
	db, err := sql.Open("sqlite", name+settings)
	if err != nil {
		return nil, fmt.Errorf("opening database %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("opening database %s: %w", path, err)
	}
	return db, nil
}
