package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/go-sql-driver/mysql"

	"prdrunner/checkpoint/savepoint/engine"
	"prdrunner/checkpoint/workspace/git"
)

// The families of servers and of the programs that come with them.
const (
	mariadb = "mariadb"
	oracle  = "mysql"
)

// server is a connection to the server. It has no default database at first.
type server struct {
	*sql.Conn
	family string
}

// onServer calls f with a connection to the server.
func (e *Engine) onServer(ctx context.Context, f func(*server) error) (err error) {
	connector, err := mysql.NewConnector(e.location.config.Clone())
	if err != nil {
		return fmt.Errorf("connect to the server: %w", err)
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	c, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to the server: %w", err)
	}
	defer func() { _ = c.Close() }() // db.Close has the error
	s := &server{c, oracle}
	version, err := s.value(ctx, "SELECT VERSION()")
	if err != nil {
		return fmt.Errorf("connect to the server: %w", err)
	}
	if strings.Contains(version, "MariaDB") {
		s.family = mariadb
	}
	return f(s)
}

// locked calls f under the lock of the database. The lock ends with the connection that f
// gets.
func (e *Engine) locked(ctx context.Context, f func(*server) error) error {
	return e.onServer(ctx, func(s *server) error {
		for {
			// The server waits for a second only, so that it sees soon that nobody waits any more.
			got, err := s.value(ctx, "SELECT COALESCE(GET_LOCK(?, 1), -1)", e.names.Lock())
			if err != nil {
				return fmt.Errorf("wait for the lock of the database: %w", err)
			}
			if got == "1" {
				return f(s)
			}
		}
	})
}

// tidied calls f under the lock of the database, and drops the scratch databases after that.
// If f failed and the database lacks some of its objects, they stay as a sign of it.
func (e *Engine) tidied(ctx context.Context, f func(*server) error) error {
	return e.locked(ctx, func(s *server) error {
		err := f(s)
		if ctx.Err() != nil {
			return err // the next call drops them
		}
		if err != nil && e.checkFinished(ctx, s) != nil {
			return err
		}
		return errors.Join(err, e.dropScratch(ctx, s))
	})
}

func (s *server) exec(ctx context.Context, statement string) error {
	_, err := s.ExecContext(ctx, statement)
	return err
}

func (s *server) value(ctx context.Context, query string, args ...any) (value string, err error) {
	err = s.QueryRowContext(ctx, query, args...).Scan(&value)
	return value, err
}

// rows returns the rows of a query as texts. NULL is "".
func (s *server) rows(ctx context.Context, query string, args ...any) (all [][]string, err error) {
	err = s.each(ctx, query, args, func(row []sql.RawBytes) {
		texts := make([]string, len(row))
		for i, value := range row {
			texts[i] = string(value)
		}
		all = append(all, texts)
	})
	return all, err
}

// names returns the only column of a query.
func (s *server) names(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := s.rows(ctx, query, args...)
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row[0]
	}
	return names, err
}

// each calls f with each row of a query, whose bytes are overwritten after that.
func (s *server) each(ctx context.Context, query string, args []any, f func([]sql.RawBytes)) error {
	rows, err := s.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	row := make([]sql.RawBytes, len(columns))
	targets := make([]any, len(columns))
	for i := range row {
		targets[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		f(row)
	}
	return rows.Err()
}

// dropScratch drops every scratch database of this one.
func (e *Engine) dropScratch(ctx context.Context, s *server) error {
	names, err := e.scratchDatabases(ctx, s)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := e.drop(ctx, s, name); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) scratchDatabases(ctx context.Context, s *server) (scratch []string, err error) {
	all, err := s.names(ctx, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")
	if err != nil {
		return nil, fmt.Errorf("look for scratch databases: %w", err)
	}
	for _, name := range all {
		if e.names.IsScratch(name) {
			scratch = append(scratch, name)
		}
	}
	return scratch, nil
}

func (e *Engine) drop(ctx context.Context, s *server, database string) error {
	if err := s.exec(ctx, "DROP DATABASE IF EXISTS "+ident(database)); err != nil {
		return fmt.Errorf("drop database %s: %w", database, err)
	}
	return nil
}

// checkFinished returns engine.ErrUnfinished if a restore was interrupted while the
// database lacked some of its objects.
func (e *Engine) checkFinished(ctx context.Context, s *server) error {
	names, err := e.scratchDatabases(ctx, s)
	if err != nil {
		return err
	}
	for _, name := range names {
		if e.isFormer(name) {
			return fmt.Errorf("database %s holds the former tables of %s: %w", name, e.location.database, engine.ErrUnfinished)
		}
	}
	return nil
}

// run runs a program of the server's family, or of the other one if there is none.
func (e *Engine) run(ctx context.Context, s *server, program map[string]string, c git.Command) error {
	families := []string{mariadb, oracle}
	if s.family == oracle {
		families = []string{oracle, mariadb}
	}
	if password := e.location.config.Passwd; password != "" {
		c.Env = append(c.Env, "MYSQL_PWD="+password)
	}
	var err error
	for _, family := range families {
		command := c
		command.Args = append([]string{program[family]}, e.location.arguments(family)...)
		if family == oracle && program[family] == dumper()[oracle] {
			command.Args = append(command.Args, "--set-gtid-purged=OFF")
		}
		command.Args = append(command.Args, c.Args...)
		if err = e.kit.Commands.Run(ctx, command); !errors.Is(err, exec.ErrNotFound) {
			return err
		}
	}
	return fmt.Errorf("%w; install the client programs of MySQL or MariaDB", err)
}

func dumper() map[string]string {
	return map[string]string{mariadb: "mariadb-dump", oracle: "mysqldump"}
}
func client() map[string]string { return map[string]string{mariadb: "mariadb", oracle: "mysql"} }

func ident(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
