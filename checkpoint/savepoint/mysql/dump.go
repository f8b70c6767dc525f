package mysql

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/savepoint/engine"
	"prdrunner/checkpoint/workspace/git"
)

// headerPrefix begins a dump; its first line is a comment of SQL.
const headerPrefix = "-- runner savepoint "

// header is the first line of a dump. After it follow the definitions (routines,
// views, triggers), the events, and to the end the tables with their rows, so that each part can
// be loaded alone. To load a dump by hand, load the tables first.
type header struct {
	Charset      string `json:"charset"`
	Collation    string `json:"collation"`
	Definitions  int64  `json:"definitions"` // length in bytes
	Events       int64  `json:"events"`      // length in bytes
	EventsDigest string `json:"events_digest"`
}

// storeDump stores a dump of the database.
func (e *Engine) storeDump(ctx context.Context, s *server) (h header, ref objects.Ref, err error) {
	if err := e.checkSupported(ctx, s); err != nil {
		return h, ref, err
	}
	if h.Charset, h.Collation, err = s.defaults(ctx, e.location.database); err != nil {
		return h, ref, err
	}
	if err := s.exec(ctx, "USE "+ident(e.location.database)); err != nil {
		return h, ref, err
	}
	if h.EventsDigest, err = s.eventsDigest(ctx, e.location.database); err != nil {
		return h, ref, err
	}
	var definitions, events bytes.Buffer
	if err := e.dumpDefinitions(ctx, s, &definitions); err != nil {
		return h, ref, err
	}
	if err := e.dump(ctx, s, &events, "--no-create-info", "--no-data", "--skip-triggers", "--events", "--", e.location.database); err != nil {
		return h, ref, err
	}
	h.Definitions, h.Events = int64(definitions.Len()), int64(events.Len())
	ref, err = e.kit.Store(ctx, func(w io.Writer) error {
		line, err := json.Marshal(h)
		if err != nil {
			return err
		}
		for _, part := range [][]byte{[]byte(headerPrefix), line, []byte("\n"), definitions.Bytes(), events.Bytes()} {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return e.dumpTables(ctx, s, w)
	})
	return h, ref, err
}

// checkSupported refuses a database with tables that a dump would not keep whole.
func (e *Engine) checkSupported(ctx context.Context, s *server) error {
	others, err := s.rows(ctx, `SELECT TABLE_TYPE, TABLE_NAME FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = ? AND TABLE_TYPE NOT IN ('BASE TABLE', 'VIEW')`, e.location.database)
	if err != nil {
		return fmt.Errorf("list the tables: %w", err)
	}
	if len(others) > 0 {
		return fmt.Errorf("a savepoint cannot keep the %s %s", strings.ToLower(others[0][0]), others[0][1])
	}
	return nil
}

// dumpDefinitions dumps the routines, which views may call, then the views and triggers.
func (e *Engine) dumpDefinitions(ctx context.Context, s *server, w io.Writer) error {
	views, err := s.namesOf(ctx, e.location.database, view)
	if err != nil {
		return err
	}
	live := e.location.database
	if err := e.dump(ctx, s, w, "--no-create-info", "--no-data", "--skip-triggers", "--routines", "--", live); err != nil {
		return err
	}
	if len(views) > 0 {
		args := append([]string{"--no-data", "--skip-triggers", "--", live}, views...)
		if err := e.dump(ctx, s, w, args...); err != nil {
			return err
		}
	}
	return e.dump(ctx, s, w, "--no-create-info", "--no-data", "--triggers", "--", live)
}

// dumpTables dumps the tables with their rows: of a snapshot if every one is of InnoDB,
// else under a lock.
func (e *Engine) dumpTables(ctx context.Context, s *server, w io.Writer) error {
	tables, err := s.namesOf(ctx, e.location.database, table)
	if err != nil || len(tables) == 0 {
		return err
	}
	others, err := s.names(ctx, `SELECT TABLE_NAME FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = ? AND TABLE_TYPE = 'BASE TABLE' AND COALESCE(ENGINE, '') <> 'InnoDB'`, e.location.database)
	if err != nil {
		return fmt.Errorf("list the tables: %w", err)
	}
	consistency := "--single-transaction"
	if len(others) > 0 {
		consistency = "--lock-tables"
	}
	args := append([]string{consistency, "--quick", "--hex-blob", "--no-autocommit", "--skip-triggers", "--", e.location.database}, tables...)
	return e.dump(ctx, s, w, args...)
}

// dump runs the program that dumps.
func (e *Engine) dump(ctx context.Context, s *server, w io.Writer, args ...string) error {
	err := e.run(ctx, s, dumper(), git.Command{Args: append([]string{"--skip-dump-date", "--no-tablespaces", "--skip-add-locks"}, args...), Stdout: w})
	if err != nil {
		return fmt.Errorf("dump the database: %w", err)
	}
	return nil
}

// opened is a dump that is being read.
type opened struct {
	header
	definitions, events []byte
	tables              io.Reader
	io.Closer
}

// open reads all of a dump but the tables.
func (e *Engine) open(object string) (*opened, error) {
	r, err := e.kit.Objects.Open(object)
	if err != nil {
		return nil, err
	}
	o := &opened{Closer: r}
	if err := o.read(bufio.NewReaderSize(r, 1<<16)); err != nil {
		return nil, errors.Join(fmt.Errorf("read the dump %s: %w", object, err), r.Close())
	}
	return o, nil
}

func (o *opened) read(r *bufio.Reader) error {
	line, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	text, ok := strings.CutPrefix(line, headerPrefix)
	if !ok {
		return errors.New("it does not begin as a dump does")
	}
	if err := json.Unmarshal([]byte(text), &o.header); err != nil {
		return err
	}
	if o.definitions, err = readPart(r, o.Definitions); err != nil {
		return err
	}
	o.events, err = readPart(r, o.Events)
	o.tables = r
	return err
}

func readPart(r io.Reader, length int64) ([]byte, error) {
	part, err := io.ReadAll(io.LimitReader(r, length))
	if err == nil && int64(len(part)) != length {
		err = io.ErrUnexpectedEOF
	}
	return part, err
}

// loadDump creates a scratch database and loads a dump into it, without the events, so that
// none happens there.
func (e *Engine) loadDump(ctx context.Context, s *server, object, scratch string) error {
	o, err := e.open(object)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }() // only read from
	statement := "CREATE DATABASE " + ident(scratch) + " CHARACTER SET " + ident(o.Charset) + " COLLATE " + ident(o.Collation)
	if err := s.exec(ctx, statement); err != nil {
		return fmt.Errorf("create the scratch database %s: %w", scratch, err)
	}
	if err := e.execute(ctx, s, scratch, o.tables); err != nil {
		return fmt.Errorf("load the dump into a scratch database: %w", err)
	}
	if err := e.execute(ctx, s, scratch, bytes.NewReader(o.definitions)); err != nil {
		return fmt.Errorf("load the dump into a scratch database: %w", err)
	}
	return nil
}

// execute runs statements in a database. The binary mode changes no line endings.
func (e *Engine) execute(ctx context.Context, s *server, database string, statements io.Reader) error {
	return e.run(ctx, s, client(), git.Command{Args: []string{"--binary-mode", "--batch", "--", database}, Stdin: statements})
}

var _ engine.Engine = (*Engine)(nil)
