package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"prdrunner/checkpoint/savepoint/engine"
)

// digest returns the digest of the contents of a database, in one snapshot. A scratch
// database has no events; the digest of those that belong to it is given.
func (s *server) digest(ctx context.Context, database, events string) (d engine.Digest, err error) {
	if err := s.exec(ctx, "USE "+ident(database)); err != nil {
		return d, fmt.Errorf("read database %s: %w", database, err)
	}
	if err := s.exec(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"); err != nil {
		return d, fmt.Errorf("read database %s: %w", database, err)
	}
	defer func() {
		if ctx.Err() == nil {
			err = errors.Join(err, s.exec(ctx, "ROLLBACK"))
		}
	}()
	c := engine.NewContents()
	if err := s.addTables(ctx, c, database); err != nil {
		return d, fmt.Errorf("read database %s: %w", database, err)
	}
	if err := s.addDefinitions(ctx, c, database); err != nil {
		return d, fmt.Errorf("read database %s: %w", database, err)
	}
	if events == "" {
		if events, err = s.eventsDigest(ctx, database); err != nil {
			return d, err
		}
	}
	c.Add("events", events)
	return c.Digest(), nil
}

func (s *server) addTables(ctx context.Context, c *engine.Contents, database string) error {
	tables, err := s.namesOf(ctx, database, table)
	if err != nil {
		return err
	}
	for _, name := range tables {
		if err := s.addDefinition(ctx, c, table, name); err != nil {
			return err
		}
		if err := s.addRows(ctx, c, database, name); err != nil {
			return fmt.Errorf("read table %s: %w", name, err)
		}
	}
	return nil
}

// addRows sums up the rows of a table, with the columns that SELECT * leaves out.
func (s *server) addRows(ctx context.Context, c *engine.Contents, database, table string) error {
	columns, err := s.names(ctx, `SELECT COLUMN_NAME FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`, database, table)
	if err != nil {
		return err
	}
	for i, column := range columns {
		columns[i] = ident(column)
	}
	var sum engine.RowSum
	err = s.each(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+ident(table), nil, func(row []sql.RawBytes) {
		sum.Begin()
		for _, value := range row {
			if value == nil {
				sum.Cell('n', nil)
			} else {
				sum.Cell('v', value)
			}
		}
		sum.End()
	})
	if err != nil {
		return err
	}
	c.AddTable(table, sum.Rows, sum.String())
	return nil
}

// addDefinitions adds views, triggers and routines, and the default character set.
func (s *server) addDefinitions(ctx context.Context, c *engine.Contents, database string) error {
	charset, collation, err := s.defaults(ctx, database)
	if err != nil {
		return err
	}
	c.Add("defaults", charset, collation)
	for _, kind := range []kind{view, trigger, procedure, function} {
		names, err := s.namesOf(ctx, database, kind)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := s.addDefinition(ctx, c, kind, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// addDefinition adds the statement that creates something, and what it depends on: the SQL
// mode and character sets. The answer to SHOW CREATE TRIGGER also has the time of creation.
func (s *server) addDefinition(ctx context.Context, c *engine.Contents, kind kind, name string) error {
	rows, err := s.QueryContext(ctx, "SHOW CREATE "+kind.statement()+" "+ident(name))
	if err != nil {
		return fmt.Errorf("read the definition of %s %s: %w", kind.statement(), name, err)
	}
	columns, err := rows.Columns()
	_ = rows.Close() // it is read again below
	if err != nil {
		return err
	}
	answer, err := s.rows(ctx, "SHOW CREATE "+kind.statement()+" "+ident(name))
	if err != nil {
		return fmt.Errorf("read the definition of %s %s: %w", kind.statement(), name, err)
	}
	for i, column := range columns {
		if column != "Created" {
			c.Add(column, answer[0][i])
		}
	}
	return nil
}

// eventsDigest returns the digest of the events of a database. One that happens once and is
// dropped then is not among them: it cannot be created again once its time has passed.
func (s *server) eventsDigest(ctx context.Context, database string) (string, error) {
	c := engine.NewContents()
	names, err := s.namesOf(ctx, database, event)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if err := s.addDefinition(ctx, c, event, name); err != nil {
			return "", err
		}
	}
	return c.Digest().Sum, nil
}

// defaults returns the default character set and collation of a database.
func (s *server) defaults(ctx context.Context, database string) (charset, collation string, err error) {
	rows, err := s.rows(ctx, "SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", database)
	if err != nil || len(rows) == 0 {
		return "", "", fmt.Errorf("read the character set of database %s: %w", database, errors.Join(err, sql.ErrNoRows))
	}
	return rows[0][0], rows[0][1], nil
}
