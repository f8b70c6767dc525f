package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Statements about a database for which nobody may be connected to it wait five seconds
// for its sessions to end, with a lock that has new sessions wait. So they are ended during
// that time, from another connection; nothing has to be set at the database, which would
// stay if this process was killed.
const (
	terminateEvery = 20 * time.Millisecond
	attempts       = 3 // at such a statement
)

// withoutSessions runs statements while it ends the sessions of databases.
func (e *Engine) withoutSessions(ctx context.Context, m *conn, statements string, databases ...string) error {
	for attempt := 1; ; attempt++ {
		stop := e.terminating(ctx, m, databases)
		err := m.exec(ctx, statements)
		stopped := stop()
		if err == nil {
			return nil
		}
		if m.TxStatus() != 'I' {
			_ = m.exec(ctx, "ROLLBACK") // the first error counts
		}
		if attempt == attempts || !isCode(err, objectInUse) || stopped != nil {
			return errors.Join(err, stopped)
		}
	}
}

// terminating ends the sessions of databases until stop is called. The databases are found
// by the number that they have now, since one that is renamed meanwhile is another.
func (e *Engine) terminating(ctx context.Context, m *conn, databases []string) (stop func() error) {
	oids := "0"
	for _, database := range databases {
		rows, err := m.rows(ctx, "SELECT oid FROM pg_database WHERE datname = $1", database)
		if err != nil {
			return func() error { return err }
		}
		for _, row := range rows {
			oids += ", " + row[0]
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- e.onServer(ctx, func(c *conn) error { return c.terminate(ctx, oids) })
	}()
	return func() error {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
}

// terminate ends sessions until ctx ends.
func (c *conn) terminate(ctx context.Context, oids string) error {
	ticker := time.NewTicker(terminateEvery)
	defer ticker.Stop()
	for {
		_, err := c.rows(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datid IN (`+oids+`) AND pid <> pg_backend_pid() AND backend_type = 'client backend'`)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("end other sessions: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// swap gives the scratch database the name of the database, in one transaction, and drops
// what was the database.
func (e *Engine) swap(ctx context.Context, m *conn, live *properties, scratch, old string) error {
	err := e.withoutSessions(ctx, m, "BEGIN;"+
		"ALTER DATABASE "+ident(live.name)+" RENAME TO "+ident(old)+";"+
		"ALTER DATABASE "+ident(scratch)+" RENAME TO "+ident(live.name)+";"+
		"COMMIT", live.name, scratch)
	if err != nil {
		return fmt.Errorf("exchange %s and %s: %w", live.name, scratch, err)
	}
	return nil
}
