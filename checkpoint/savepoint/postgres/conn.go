package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"prdrunner/checkpoint/workspace/git"
)

// closeWait bounds how long saying goodbye to the server may take.
const closeWait = 5 * time.Second

// Codes of PostgreSQL's errors.
const (
	invalidCatalogName = "3D000" // there is no such database
	objectInUse        = "55006" // the database still has sessions
)

func isCode(err error, code string) bool {
	var failed *pgconn.PgError
	return errors.As(err, &failed) && failed.Code == code
}

// session is how every connection of ours is set up, whatever the settings of the database
// and the user are: no limit of time, and texts that do not depend on the place.
const session = `SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0;
SET default_transaction_read_only = off; SET row_security = off; SET standard_conforming_strings = on;
SET search_path = pg_catalog; SET client_encoding = UTF8; SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD';
SET IntervalStyle = postgres; SET bytea_output = hex; SET extra_float_digits = 3; SET lc_monetary = 'C'; SET xmloption = content`

// conn is a connection.
type conn struct{ *pgconn.PgConn }

// connect connects to a database of the server.
func (e *Engine) connect(ctx context.Context, database string) (*conn, error) {
	config := e.location.config.Copy()
	config.Database = database
	pg, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	c := &conn{pg}
	if err := c.exec(ctx, session); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *conn) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	_ = c.Close(ctx) // nothing is left to be said
}

// exec runs statements without answers.
func (c *conn) exec(ctx context.Context, statements string) error {
	_, err := c.Exec(ctx, statements).ReadAll()
	return err
}

// rows returns the rows of a query as texts. NULL is "".
func (c *conn) rows(ctx context.Context, query string, args ...string) ([][]string, error) {
	params := make([][]byte, len(args))
	for i, arg := range args {
		params[i] = []byte(arg)
	}
	result := c.ExecParams(ctx, query, params, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	rows := make([][]string, len(result.Rows))
	for i, row := range result.Rows {
		for _, value := range row {
			rows[i] = append(rows[i], string(value))
		}
	}
	return rows, nil
}

// value returns the only value of the only row of a query.
func (c *conn) value(ctx context.Context, query string, args ...string) (string, error) {
	rows, err := c.rows(ctx, query, args...)
	if err != nil {
		return "", err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return "", fmt.Errorf("%d rows answer %q", len(rows), query)
	}
	return rows[0][0], nil
}

// onServer calls f with a connection to another database of the server: one cannot rename
// a database from within.
func (e *Engine) onServer(ctx context.Context, f func(*conn) error) error {
	databases := []string{"postgres", "template1"}
	if e.location.database == databases[0] {
		databases = databases[1:]
	}
	var m *conn
	var err error
	for _, database := range databases {
		m, err = e.connect(ctx, database)
		if !isCode(err, invalidCatalogName) {
			break
		}
	}
	if err != nil {
		return err
	}
	defer m.close()
	return f(m)
}

// locked calls f under the lock of the database, which ends with the connection that f gets.
//
// The connection that ends sessions has a lock of its own. If an earlier call was cut off,
// the server may have ended its connection with the lock of the database, and still be
// about to end sessions for it: those of this call.
func (e *Engine) locked(ctx context.Context, f func(*conn) error) error {
	return e.onServer(ctx, func(m *conn) error {
		err := m.lock(ctx, e.names.Lock())
		if err == nil {
			err = m.lock(ctx, e.terminationLock())
		}
		if err == nil {
			err = m.unlock(ctx, e.terminationLock())
		}
		if err != nil {
			return fmt.Errorf("wait for the lock of the database: %w", err)
		}
		return f(m)
	})
}

// terminationLock is the name of the lock of a connection that ends sessions.
func (e *Engine) terminationLock() string { return e.names.Lock() + "_termination" }

// lock waits for a lock, and takes it until the connection ends.
func (c *conn) lock(ctx context.Context, name string) error {
	_, err := c.rows(ctx, "SELECT pg_advisory_lock($1)", lockKey(name))
	return err
}

func (c *conn) unlock(ctx context.Context, name string) error {
	_, err := c.rows(ctx, "SELECT pg_advisory_unlock($1)", lockKey(name))
	return err
}

// lockKey is the number of a lock: the server has no names for them.
func lockKey(name string) string {
	key := fnv.New64a()
	_, _ = key.Write([]byte(name)) // a hash never fails
	return strconv.FormatInt(int64(key.Sum64()), 10)
}

// tidied calls f under the lock of the database, and drops the scratch databases before and
// after that.
func (e *Engine) tidied(ctx context.Context, f func(*conn) error) error {
	return e.locked(ctx, func(m *conn) error {
		if err := e.dropScratch(ctx, m); err != nil {
			return err
		}
		err := f(m)
		if ctx.Err() != nil {
			return err // the next call drops them
		}
		return errors.Join(err, e.dropScratch(ctx, m))
	})
}

// dropScratch drops every scratch database of this one.
func (e *Engine) dropScratch(ctx context.Context, m *conn) error {
	rows, err := m.rows(ctx, "SELECT datname FROM pg_database")
	if err != nil {
		return fmt.Errorf("look for scratch databases: %w", err)
	}
	for _, row := range rows {
		if e.names.IsScratch(row[0]) {
			if err := e.drop(ctx, m, row[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop drops a database, if it is there, and ends its sessions.
func (e *Engine) drop(ctx context.Context, m *conn, database string) error {
	if err := e.withoutSessions(ctx, m, "DROP DATABASE IF EXISTS "+ident(database), database); err != nil {
		return fmt.Errorf("drop database %s: %w", database, err)
	}
	return nil
}

// run runs a program of PostgreSQL.
func (e *Engine) run(ctx context.Context, c git.Command) error {
	c.Env = append(c.Env, "PGCLIENTENCODING=UTF8")
	if password := e.location.config.Password; password != "" {
		c.Env = append(c.Env, "PGPASSWORD="+password)
	}
	err := e.kit.Commands.Run(ctx, c)
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w; install the client programs of PostgreSQL", err)
	}
	return err
}

func ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
