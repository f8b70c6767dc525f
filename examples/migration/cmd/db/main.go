// Command db does to a SQLite database what the pipeline needs.
//
//	db run FILE             runs the SQL on standard input, all of it or none, and prints its rows
//	db copy FILE TO         copies it, consistent also beside an open writer
//	db apply FILE           applies the migrations that it lacks, all of them or none
//	db verify FILE          exits 0 if it has all migrations, 1 if it lacks one
//	db describe FILE        prints its schema, and how many rows each table has
//	db check FILE BACKUP    fails if it is damaged, or has lost a row that the backup has
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite"
)

func main() {
	err := run(os.Args[1:])
	if errors.Is(err, errBehind) {
		fmt.Println(err)
		os.Exit(1)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "db:", err)
		os.Exit(2)
	}
}

// errBehind says that a database lacks a migration.
var errBehind = errors.New("a migration is missing")

func run(args []string) error {
	verbs := map[string]struct {
		files int
		do    func(*sql.DB, []string) error
	}{
		"run":      {1, runInput},
		"copy":     {2, copyTo},
		"apply":    {1, apply},
		"verify":   {1, verify},
		"describe": {1, describe},
		"check":    {2, check},
	}
	if len(args) == 0 {
		return errors.New("usage: db run|copy|apply|verify|describe|check FILE [FILE]")
	}
	verb, known := verbs[args[0]]
	if files := args[1:]; known && len(files) == verb.files {
		if _, err := os.Stat(files[0]); args[0] != "run" && err != nil {
			return err
		}
		db, err := sql.Open("sqlite", "file:"+files[0]+"?_pragma=foreign_keys(1)&_txlock=immediate")
		if err != nil {
			return err
		}
		return errors.Join(verb.do(db, files), db.Close())
	}
	return fmt.Errorf("db %s: unknown, or the wrong number of files", args[0])
}

// runInput runs the statements on standard input. The database need not exist.
func runInput(db *sql.DB, _ []string) error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	return inTransaction(db, func(tx *sql.Tx) error {
		rows, err := tx.Query(string(text))
		if err != nil {
			return err
		}
		return errors.Join(printRows(rows), rows.Close())
	})
}

// printRows prints a row per line, with | between its values.
func printRows(rows *sql.Rows) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, pointers := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			return err
		}
		line := make([]string, len(values))
		for i, v := range values {
			line[i] = v.String
		}
		fmt.Println(strings.Join(line, "|"))
	}
	return rows.Err()
}

func copyTo(db *sql.DB, files []string) error {
	if err := os.MkdirAll(filepath.Dir(files[1]), 0o777); err != nil {
		return err
	}
	temporary := files[1] + ".tmp"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := db.Exec(`VACUUM INTO ?`, temporary); err != nil {
		return err
	}
	return os.Rename(temporary, files[1])
}

// migrations are the files to be applied, in their order. The database counts those
// that it has in user_version.
func migrations() ([]string, error) { return filepath.Glob("migrations/*.sql") }

func version(db *sql.DB) (n int, err error) {
	err = db.QueryRow(`PRAGMA user_version`).Scan(&n)
	return n, err
}

func apply(db *sql.DB, _ []string) error {
	all, err := migrations()
	if err != nil {
		return err
	}
	have, err := version(db)
	if err != nil {
		return err
	}
	return inTransaction(db, func(tx *sql.Tx) error {
		for _, file := range all[min(have, len(all)):] {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(string(text)); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			fmt.Println("applied", file)
		}
		_, err := tx.Exec(fmt.Sprintf(`PRAGMA user_version = %d`, len(all)))
		return err
	})
}

func verify(db *sql.DB, _ []string) error {
	all, err := migrations()
	if err != nil {
		return err
	}
	have, err := version(db)
	if err == nil && have < len(all) {
		return fmt.Errorf("it has %d of %d migrations: %w", have, len(all), errBehind)
	}
	return err
}

func describe(db *sql.DB, _ []string) error {
	rows, err := counts(db)
	if err != nil {
		return err
	}
	found, err := db.Query(`SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name`)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		var name, text string
		if err := found.Scan(&name, &text); err != nil {
			return err
		}
		fmt.Printf("%s\n", text)
		if n, ok := rows[name]; ok {
			fmt.Printf("-- %d rows\n", n)
		}
	}
	return found.Err()
}

// counts tells how many rows the tables have.
func counts(db *sql.DB) (map[string]int, error) {
	n := map[string]int{}
	for _, table := range []string{"customers", "orders"} {
		var count int
		if err := db.QueryRow(`SELECT count(*) FROM ` + table).Scan(&count); err != nil {
			return nil, err
		}
		n[table] = count
	}
	return n, nil
}

func check(db *sql.DB, files []string) error {
	var verdict string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%s is damaged: %s", files[0], verdict)
	}
	backup, err := sql.Open("sqlite", "file:"+files[1]+"?mode=ro")
	if err != nil {
		return err
	}
	defer backup.Close()
	is, err := counts(db)
	if err != nil {
		return err
	}
	was, err := counts(backup)
	if err != nil {
		return err
	}
	for table, n := range was {
		if is[table] < n {
			return fmt.Errorf("%s has %d rows in %s, and %s had %d", files[0], is[table], table, files[1], n)
		}
	}
	return nil
}

func inTransaction(db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
