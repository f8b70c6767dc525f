// Package mysql is the engine of savepoints for MySQL and MariaDB.
//
// A copy is a dump of base tables, views, triggers, routines, events and the default
// character set. It has the rows of one moment: of one snapshot if every table is of
// InnoDB; else other programs cannot write to the tables while they are dumped. As
// mysqldump prints a FLOAT with six digits, it is copied with six digits.
//
// Neither server can rename a database. Restore loads the tables into a scratch database
// and compares its digest. Then it exchanges all tables in one RENAME TABLE, which is
// atomic: at each moment there are the rows from before or those of the copy. But a table
// with triggers cannot be moved, and the servers change views, triggers, routines and
// events one by one. So these are dropped before the exchange, and created after it. If
// Restore is interrupted between, the database lacks some of them. The scratch database
// that holds the former tables then shows it: Create and Digest return
// engine.ErrUnfinished, and calling Restore again completes the restore. Other programs are
// not kept away meanwhile: what they write just after the exchange runs no triggers, and
// Restore then says that the contents differ. Privileges belong to names and are not
// touched.
//
// The user of the URL needs all privileges on the database and on databases whose names
// begin with runner_scratch_. The programs mariadb-dump and mariadb, or mysqldump and mysql,
// must be installed.
//
// A MariaDB database with sequences or system-versioned tables is refused: dumps do not
// keep the latter's history. So is a restore while tables of other databases have foreign
// keys to this one.
//
// Begin with Engine. location.go has the URL, server.go the connections and the lock,
// contents.go the digest, dump.go the dump, swap.go the exchange.
package mysql

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint/savepoint/engine"
)

// Engine copies and restores a database of MySQL or MariaDB.
type Engine struct {
	kit      engine.Kit
	location location
	names    engine.Names
}

var _ engine.Engine = (*Engine)(nil)

// New returns the engine of the database of a URL, and the password in it.
func New(kit engine.Kit, url string) (*Engine, engine.Secret, error) {
	l, secret, err := parse(url)
	if err != nil {
		return nil, secret, err
	}
	return &Engine{kit, l, engine.NamesFor(l.database)}, secret, nil
}

// Identity returns the server's address and the name of the database.
func (e *Engine) Identity(context.Context) (string, error) {
	return e.location.config.Addr + "/" + e.location.database, nil
}

// Digest returns the digest of the database.
func (e *Engine) Digest(ctx context.Context) (d engine.Digest, err error) {
	err = e.locked(ctx, func(s *server) error {
		if err := e.checkFinished(ctx, s); err != nil {
			return err
		}
		d, err = s.digest(ctx, e.location.database, "")
		return err
	})
	return d, err
}

// Create makes a dump, and loads it into a scratch database. If nothing was written
// meanwhile, the contents of that must be those of the database.
func (e *Engine) Create(ctx context.Context, s *engine.Savepoint) error {
	return e.tidied(ctx, func(on *server) error {
		if err := e.checkFinished(ctx, on); err != nil {
			return err
		}
		if err := e.dropScratch(ctx, on); err != nil {
			return err
		}
		before, err := on.digest(ctx, e.location.database, "")
		if err != nil {
			return err
		}
		header, ref, err := e.storeDump(ctx, on)
		if err != nil {
			return err
		}
		scratch := e.names.Scratch(s.ID, "")
		if err := e.loadDump(ctx, on, ref.Digest, scratch); err != nil {
			return err
		}
		is, err := on.digest(ctx, scratch, header.EventsDigest)
		if err == nil && is.Sum != before.Sum {
			err = e.checkWritten(ctx, on, before, is)
		}
		if err != nil {
			return err
		}
		s.Object, s.Size, s.Events = ref.Digest, ref.Size, header.EventsDigest
		s.Record(is)
		return nil
	})
}

// checkWritten returns an error if a dump differs from a database that nobody wrote to.
func (e *Engine) checkWritten(ctx context.Context, on *server, before, dumped engine.Digest) error {
	after, err := on.digest(ctx, e.location.database, "")
	if err != nil || after.Sum != before.Sum {
		return err
	}
	return fmt.Errorf("the dump, loaded into a scratch database, has %d rows in %d tables, and the database has %d rows in %d tables, or some of them differ: %w",
		dumped.Rows, dumped.Tables, before.Rows, before.Tables, engine.ErrDigest)
}

// Restore loads the copy into a scratch database, and exchanges the two.
func (e *Engine) Restore(ctx context.Context, s *engine.Savepoint) error {
	return e.tidied(ctx, func(on *server) error {
		scratch := e.names.Scratch(s.ID, "")
		if err := e.drop(ctx, on, scratch); err != nil {
			return err
		}
		if err := e.loadDump(ctx, on, s.Object, scratch); err != nil {
			return err
		}
		is, err := on.digest(ctx, scratch, s.Events)
		if err != nil {
			return err
		}
		if err := s.Check("the copy", is); err != nil {
			return err
		}
		if err := e.checkForeignKeys(ctx, on); err != nil {
			return err
		}
		if err := e.swap(ctx, on, s, scratch); err != nil {
			return fmt.Errorf("%w; restore the savepoint again", err)
		}
		if is, err = on.digest(ctx, e.location.database, ""); err != nil {
			return err
		}
		return s.Check("the restored database, if no other program has written to it since,", is)
	})
}

// Verify reads the object.
func (e *Engine) Verify(ctx context.Context, s *engine.Savepoint) error {
	return e.kit.Objects.Verify(ctx, s.Object)
}

// Delete removes what interrupted calls left, unless a restore has to be completed.
func (e *Engine) Delete(ctx context.Context, _ *engine.Savepoint) error {
	return e.locked(ctx, func(on *server) error {
		if err := e.checkFinished(ctx, on); errors.Is(err, engine.ErrUnfinished) {
			return nil
		} else if err != nil {
			return err
		}
		return e.dropScratch(ctx, on)
	})
}
