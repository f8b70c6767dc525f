// Package postgres is the engine of savepoints for PostgreSQL.
//
// A copy is a dump of one snapshot, or, with the method template, a database on the same
// server that CREATE DATABASE … TEMPLATE made; for the moment of that copy the server
// allows no session, so that other sessions of the database are ended. Restore makes a
// scratch database from the copy, compares its digest, and renames it and the database in
// one transaction. Meanwhile new sessions wait, and old ones are ended. The owner, the
// privileges, the settings, the connection limit and the comment of the database itself
// are not part of a copy: the restored database has those from just before the restore.
//
// The digest of a dump is that of the scratch database into which it was loaded. For a few
// expressions, which PostgreSQL prints otherwise once it has read them again, it differs
// from the digest that the database has until it is restored.
//
// The user of the URL must be allowed to create databases (CREATEDB), and own this one and
// all that is in it, or be a superuser. Both methods need pg_dump, which prints the schema
// for the digest; the method dump also needs pg_restore. If the database has no schema
// public, one that is restored from a dump has an empty one.
//
// Begin with Engine. location.go has the URL, conn.go the connections and the locks,
// contents.go the digest, dump.go and template.go the methods, swap.go the exchange of two
// databases, properties.go what it carries over.
package postgres

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/savepoint/engine"
)

// Engine copies and restores a database of PostgreSQL.
type Engine struct {
	kit      engine.Kit
	location location
	method   engine.Method
	names    engine.Names
}

var _ engine.Engine = (*Engine)(nil)

// New returns the engine of the database of a URL, and the password in it.
func New(kit engine.Kit, url string, method engine.Method) (*Engine, engine.Secret, error) {
	l, secret, err := parse(url)
	if err != nil {
		return nil, secret, err
	}
	return &Engine{kit, l, method, engine.NamesFor(l.database)}, secret, nil
}

// Identity returns the server, the name of the database, and the identifier of the cluster
// if the user may read it.
func (e *Engine) Identity(ctx context.Context) (identity string, err error) {
	err = e.onServer(ctx, func(m *conn) error {
		identity = fmt.Sprintf("%s:%d/%s", e.location.config.Host, e.location.config.Port, e.location.database)
		allowed, err := m.value(ctx, "SELECT has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')")
		if err != nil || allowed != "t" {
			return err
		}
		cluster, err := m.value(ctx, "SELECT system_identifier FROM pg_catalog.pg_control_system()")
		identity += " of cluster " + cluster
		return err
	})
	return identity, err
}

// Digest returns the digest of the database.
func (e *Engine) Digest(ctx context.Context) (d engine.Digest, err error) {
	err = e.locked(ctx, func(*conn) error {
		d, err = e.digestOf(ctx, e.location.database)
		return err
	})
	return d, err
}

// Create makes a dump or a copy.
func (e *Engine) Create(ctx context.Context, s *engine.Savepoint) error {
	return e.tidied(ctx, func(m *conn) error {
		if s.Method == engine.Template {
			return e.createTemplate(ctx, m, s)
		}
		return e.createDump(ctx, m, s)
	})
}

// Restore loads the copy into a scratch database, and exchanges the two.
func (e *Engine) Restore(ctx context.Context, s *engine.Savepoint) error {
	return e.tidied(ctx, func(m *conn) error {
		live, err := e.propertiesOf(ctx, m)
		if err != nil {
			return err
		}
		scratch := e.names.Scratch(s.ID, "")
		if err := e.load(ctx, m, s, live, scratch); err != nil {
			return err
		}
		is, err := e.digestOf(ctx, scratch)
		if err != nil {
			return err
		}
		if err := s.Check("the copy", is); err != nil {
			return err
		}
		if err := e.apply(ctx, m, live, scratch); err != nil {
			return err
		}
		if err := e.swap(ctx, m, live, scratch, e.names.Scratch(s.ID, "$old")); err != nil {
			return err
		}
		if is, err = e.digestOf(ctx, live.name); err != nil {
			return err
		}
		return s.Check("the restored database, if no other program has written to it since,", is)
	})
}

// load makes a scratch database that has the contents of a copy.
func (e *Engine) load(ctx context.Context, m *conn, s *engine.Savepoint, live *properties, scratch string) error {
	if s.Method == engine.Template {
		return e.loadTemplate(ctx, m, s, live, scratch)
	}
	return e.loadDump(ctx, m, s.Object, live, scratch)
}

// Verify reads the object, or computes the digest of the database that is the copy.
func (e *Engine) Verify(ctx context.Context, s *engine.Savepoint) error {
	if s.Method != engine.Template {
		return e.kit.Objects.Verify(ctx, s.Object)
	}
	if err := e.checkCopy(s); err != nil {
		return err
	}
	return e.locked(ctx, func(*conn) error {
		is, err := e.digestOf(ctx, s.Copy)
		if err != nil {
			return err
		}
		return s.Check("the copy "+s.Copy, is)
	})
}

// Delete drops the database that is the copy.
func (e *Engine) Delete(ctx context.Context, s *engine.Savepoint) error {
	if s.Method != engine.Template {
		return e.tidied(ctx, func(*conn) error { return nil })
	}
	if s.Copy != "" { // it is whole
		if err := e.checkCopy(s); err != nil {
			return err
		}
	}
	return e.tidied(ctx, func(m *conn) error { return e.drop(ctx, m, e.names.Copy(s.ID)) })
}

// checkCopy refuses a name that is not that of the copy, because Delete drops it.
func (e *Engine) checkCopy(s *engine.Savepoint) error {
	if s.Copy != e.names.Copy(s.ID) {
		return fmt.Errorf("%q is not the copy of savepoint %s", s.Copy, s.ID)
	}
	return nil
}
