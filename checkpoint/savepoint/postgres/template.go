package postgres

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/savepoint/engine"
)

// createTemplate copies the database on the server. The copy gets its name when it has been
// read, so that one of that name is always whole.
func (e *Engine) createTemplate(ctx context.Context, m *conn, s *engine.Savepoint) error {
	live, err := e.propertiesOf(ctx, m)
	if err != nil {
		return err
	}
	scratch := e.names.Scratch(s.ID, "")
	if err := e.copyDatabase(ctx, m, live, live.name, scratch); err != nil {
		return err
	}
	is, err := e.digestOf(ctx, scratch)
	if err != nil {
		return err
	}
	copied := e.names.Copy(s.ID)
	if err := e.drop(ctx, m, copied); err != nil {
		return err
	}
	rename := "ALTER DATABASE " + ident(scratch) + " RENAME TO " + ident(copied)
	if err := e.withoutSessions(ctx, m, rename, scratch); err != nil {
		return fmt.Errorf("name the copy %s: %w", copied, err)
	}
	s.Copy = copied
	s.Record(is)
	return nil
}

// loadTemplate creates a scratch database from the database that is the copy.
func (e *Engine) loadTemplate(ctx context.Context, m *conn, s *engine.Savepoint, live *properties, scratch string) error {
	if err := e.checkCopy(s); err != nil {
		return err
	}
	return e.copyDatabase(ctx, m, live, s.Copy, scratch)
}

func (e *Engine) copyDatabase(ctx context.Context, m *conn, live *properties, from, to string) error {
	statement := "CREATE DATABASE " + ident(to) + " TEMPLATE " + ident(from) +
		" OWNER " + ident(live.owner) + live.inTablespace()
	if err := e.withoutSessions(ctx, m, statement, from); err != nil {
		return fmt.Errorf("copy database %s: %w", from, err)
	}
	return nil
}
