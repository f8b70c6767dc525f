package main

import (
	"database/sql"
	"fmt"
	"os"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// sqlite is a program for scripts, `sqlite FILE SQL`. It prints the first value of the
// answer, if there is one.
func sqlite() {
	if err := querySQLite(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func querySQLite(file, statement string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // every statement is a transaction of its own
	rows, err := db.Query(statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	if rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return err
		}
		fmt.Println(value)
	}
	return rows.Err()
}
