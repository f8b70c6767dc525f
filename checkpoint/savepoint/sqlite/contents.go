package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"strings"

	"prdrunner/checkpoint/savepoint/engine"
)

// digestOf returns the digest of a file: its schema, its rows, and the two numbers that
// belong to the application. The rows of a virtual table are in ordinary ones.
func digestOf(ctx context.Context, path string) (d engine.Digest, err error) {
	err = withConn(ctx, path, "rw", func(c *sql.Conn) error {
		if err := beginReading(ctx, c); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		contents := engine.NewContents()
		for _, pragma := range []string{"user_version", "application_id", "encoding"} {
			var value string
			if err := c.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&value); err != nil {
				return fmt.Errorf("read %s of %s: %w", pragma, path, err)
			}
			contents.Add(pragma, value)
		}
		tables, err := addSchema(ctx, c, contents)
		if err != nil {
			return fmt.Errorf("read the schema of %s: %w", path, err)
		}
		for _, table := range tables {
			if err := addRows(ctx, c, contents, table); err != nil {
				return fmt.Errorf("read table %q of %s: %w", table, path, err)
			}
		}
		d = contents.Digest()
		return nil
	})
	return d, err
}

// addSchema adds the schema, and returns the tables that have rows of their own.
func addSchema(ctx context.Context, c *sql.Conn, contents *engine.Contents) (tables []string, err error) {
	rows, err := c.QueryContext(ctx, "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name, tbl_name, sql")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	for rows.Next() {
		var kind, name, table, text string
		if err := rows.Scan(&kind, &name, &table, &text); err != nil {
			return nil, err
		}
		contents.Add(kind, name, table, text)
		if kind == "table" && !strings.HasPrefix(text, "CREATE VIRTUAL TABLE") {
			tables = append(tables, name)
		}
	}
	return tables, rows.Err()
}

func addRows(ctx context.Context, c *sql.Conn, contents *engine.Contents, table string) error {
	columns, err := columnsOf(ctx, c, table)
	if err != nil {
		return err
	}
	rows, err := c.QueryContext(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+quote(table))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	values := make([]any, len(columns))
	targets := make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	var sum engine.RowSum
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		sum.Begin()
		for _, value := range values {
			if err := addValue(&sum, value); err != nil {
				return err
			}
		}
		sum.End()
	}
	if err := rows.Err(); err != nil {
		return err
	}
	contents.AddTable(table, sum.Rows, sum.String())
	return nil
}

// columnsOf returns two expressions for each column: the type of the value, and the value.
// An expression has no declared type, which the driver would convert values by. A text is
// read as bytes, since it can contain a zero byte.
func columnsOf(ctx context.Context, c *sql.Conn, table string) ([]string, error) {
	rows, err := c.QueryContext(ctx, "SELECT * FROM "+quote(table)+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	names, err := rows.Columns()
	_ = rows.Close() // there are none
	if err != nil {
		return nil, err
	}
	expressions := make([]string, 0, 2*len(names))
	for _, name := range names {
		name = quote(name)
		expressions = append(expressions, "typeof("+name+")",
			"CASE typeof("+name+") WHEN 'text' THEN CAST("+name+" AS BLOB) ELSE "+name+" END")
	}
	return expressions, nil
}

func addValue(sum *engine.RowSum, value any) error {
	switch v := value.(type) {
	case nil:
		sum.Cell('n', nil)
	case int64:
		sum.Cell('i', strconv.AppendInt(nil, v, 10))
	case float64:
		sum.Cell('r', strconv.AppendUint(nil, math.Float64bits(v), 16))
	case []byte:
		sum.Cell('b', v)
	case string:
		sum.Cell('t', []byte(v))
	default:
		return fmt.Errorf("the driver returned a %T", value)
	}
	return nil
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
