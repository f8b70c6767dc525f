package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// withoutSessions runs statements while it ends the sessions of databases. When it returns,
// unless ctx has ended, it ends no more: the next session may be one of ours.
func (e *Engine) withoutSessions(ctx context.Context, m *conn, statements string, databases ...string) error {
	oids, err := m.oids(ctx, databases)
	if err != nil {
		return fmt.Errorf("look for databases: %w", err)
	}
	for attempt := 1; ; attempt++ {
		stop := e.terminating(ctx, oids)
		err := m.exec(ctx, statements)
		stopped := stop()
		if err == nil {
			return nil
		}
		if m.TxStatus() != 'I' {
			_ = m.exec(ctx, "ROLLBACK") // the first error counts
		}
		if ctx.Err() != nil {
			return err
		}
		if attempt == attempts || !isCode(err, objectInUse) || stopped != nil {
			return errors.Join(err, stopped)
		}
	}
}

// oids returns the numbers of databases as a list. A database keeps its number when it is
// renamed.
func (c *conn) oids(ctx context.Context, databases []string) (string, error) {
	oids := []string{"0"}
	for _, database := range databases {
		rows, err := c.rows(ctx, "SELECT oid FROM pg_database WHERE datname = $1", database)
		if err != nil {
			return "", err
		}
		for _, row := range rows {
			oids = append(oids, row[0])
		}
	}
	return strings.Join(oids, ", "), nil
}

// terminating ends the sessions of databases until stop is called, which waits until the
// server has answered. Cancelling instead would leave the server at it for a moment.
func (e *Engine) terminating(ctx context.Context, oids string) (stop func() error) {
	stopping := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- e.onServer(ctx, func(c *conn) error {
			if err := c.lock(ctx, e.terminationLock()); err != nil {
				return fmt.Errorf("wait for the lock of ending sessions: %w", err)
			}
			return c.terminate(ctx, oids, stopping)
		})
	}()
	return func() error {
		close(stopping)
		return <-ended
	}
}

// terminate ends sessions until stopping is closed.
func (c *conn) terminate(ctx context.Context, oids string, stopping <-chan struct{}) error {
	ticker := time.NewTicker(terminateEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stopping:
			return nil
		default:
		}
		_, err := c.rows(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datid IN (`+oids+`) AND pid <> pg_backend_pid() AND backend_type = 'client backend'`)
		if err != nil {
			return fmt.Errorf("end other sessions: %w", err)
		}
		select {
		case <-stopping:
			return nil
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
