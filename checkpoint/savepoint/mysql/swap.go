package mysql

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"prdrunner/checkpoint/savepoint/engine"
)

// formerPurpose marks the scratch database that holds the former tables. It exists while the
// database may lack some of its objects.
const formerPurpose = "$former"

func (e *Engine) isFormer(scratch string) bool { return strings.Contains(scratch, formerPurpose) }

// checkForeignKeys refuses to move tables that foreign keys of other databases refer to:
// these would follow the former tables.
func (e *Engine) checkForeignKeys(ctx context.Context, s *server) error {
	keys, err := s.rows(ctx, `SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME FROM information_schema.KEY_COLUMN_USAGE
		WHERE REFERENCED_TABLE_SCHEMA = ? AND TABLE_SCHEMA <> REFERENCED_TABLE_SCHEMA`, e.location.database)
	if err != nil {
		return fmt.Errorf("look for foreign keys of other databases: %w", err)
	}
	for _, key := range keys {
		if !e.names.IsScratch(key[0]) {
			return fmt.Errorf("the foreign key %s of table %s in database %s refers to this one; drop it, and restore again", key[2], key[1], key[0])
		}
	}
	return nil
}

// swap exchanges the contents of the database and of a scratch database. Each step can be
// repeated after an interruption at any moment.
func (e *Engine) swap(ctx context.Context, s *server, p *engine.Savepoint, scratch string) error {
	o, err := e.open(p.Object)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }() // only read from
	live := e.location.database
	former := e.names.Scratch(p.ID, formerPurpose)
	if err := e.begin(ctx, s, o, former); err != nil {
		return err
	}
	for _, k := range []kind{event, trigger, view, procedure, function} {
		if err := s.dropAll(ctx, live, k); err != nil {
			return err
		}
	}
	if err := s.dropAll(ctx, scratch, trigger); err != nil {
		return err
	}
	if err := s.renameTables(ctx, live, scratch, former); err != nil {
		return err
	}
	for _, statements := range [][]byte{o.definitions, o.events} {
		if err := e.execute(ctx, s, live, bytes.NewReader(statements)); err != nil {
			return fmt.Errorf("create views, triggers, routines and events: %w", err)
		}
	}
	return nil
}

// begin creates the database that the former tables are moved to. After an interrupted
// restore it is there, and must not go: its tables do.
func (e *Engine) begin(ctx context.Context, s *server, o *opened, former string) error {
	charset := " CHARACTER SET " + ident(o.Charset) + " COLLATE " + ident(o.Collation)
	for _, statement := range []string{
		"SET foreign_key_checks = 0",
		"CREATE DATABASE IF NOT EXISTS " + ident(former),
		"CREATE DATABASE IF NOT EXISTS " + ident(e.location.database),
		"ALTER DATABASE " + ident(e.location.database) + charset,
	} {
		if err := s.exec(ctx, statement); err != nil {
			return err
		}
	}
	return s.dropAll(ctx, former, table)
}

// dropAll drops all that a database has of a kind.
func (s *server) dropAll(ctx context.Context, database string, k kind) error {
	names, err := s.namesOf(ctx, database, k)
	if err != nil {
		return err
	}
	for _, name := range names {
		statement := "DROP " + k.statement() + " IF EXISTS " + ident(database) + "." + ident(name)
		if err := s.exec(ctx, statement); err != nil {
			return fmt.Errorf("drop %s %s: %w", strings.ToLower(k.statement()), name, err)
		}
	}
	return nil
}

// renameTables moves the tables of the database to the former one, and those of the scratch
// database to its place, in one statement.
func (s *server) renameTables(ctx context.Context, live, scratch, former string) error {
	var moves []string
	for _, move := range [][2]string{{live, former}, {scratch, live}} {
		names, err := s.namesOf(ctx, move[0], table)
		if err != nil {
			return err
		}
		for _, name := range names {
			moves = append(moves, ident(move[0])+"."+ident(name)+" TO "+ident(move[1])+"."+ident(name))
		}
	}
	if len(moves) == 0 {
		return nil
	}
	if err := s.exec(ctx, "RENAME TABLE "+strings.Join(moves, ", ")); err != nil {
		return fmt.Errorf("exchange the tables: %w", err)
	}
	return nil
}
