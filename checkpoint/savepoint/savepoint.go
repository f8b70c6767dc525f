// Package savepoint copies databases before something changes them, and restores the
// copies, all or nothing. It knows PostgreSQL, MySQL, MariaDB and SQLite.
//
// Begin with Open, which returns a Database. Create makes a Savepoint and proves it: a dump
// is loaded into a scratch database, whose contents must have the digest of what was
// copied. Restore loads the copy beside the database, checks it, and only then puts it in
// the place of the database. After a kill, Restore can be called again, and the next call
// removes what the killed one left.
//
// A dump is an object of package objects; the caller records the Savepoint, and what the
// objects are needed for. Which command needs a copy, and how long it is kept, its callers
// know: they are safety checkpoints. Packages postgres, mysql and sqlite say what is
// special to each kind of database, and package engine has what they share.
package savepoint

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/savepoint/engine"
	"prdrunner/checkpoint/savepoint/mysql"
	"prdrunner/checkpoint/savepoint/postgres"
	"prdrunner/checkpoint/savepoint/sqlite"
)

// Errors of a Database.
var (
	// ErrOtherDatabase says that a savepoint is of another database.
	ErrOtherDatabase = errors.New("the savepoint is of another database")
	// ErrDigest says that a database or a copy has other contents than it should.
	ErrDigest = engine.ErrDigest
	// ErrUnfinished says that a restore was interrupted. Restoring again completes it.
	ErrUnfinished = engine.ErrUnfinished
)

// Driver is a kind of database.
type Driver string

// The drivers.
const (
	Postgres Driver = "postgres"
	MySQL    Driver = "mysql" // and MariaDB
	SQLite   Driver = "sqlite"
)

// Method is how a copy is kept.
type Method = engine.Method

// The methods.
const (
	Dump     = engine.Dump     // as an object
	Template = engine.Template // as a database on the same server; PostgreSQL only
)

// Savepoint describes a copy. Its JSON contains no secret.
type Savepoint = engine.Savepoint

// Digest identifies the contents of a database: schema and rows.
type Digest = engine.Digest

// Options say which database to copy, and how.
type Options struct {
	Name   string // of the savepoint block
	Driver Driver
	// URL is postgres://user:password@host:port/database?host=/socket/dir&sslmode=…,
	// mysql://user:password@host:port/database?socket=/path&tls=true, or sqlite:PATH, also
	// without "sqlite:".
	URL       string
	Method    Method // "": Dump
	Workspace string // relative paths of SQLite begin here
	Objects   *objects.Store
	Commands  engine.Commands
}

// Database is a database that can be copied and restored. It keeps no connection between
// calls. It is safe for concurrent use.
type Database struct {
	o      Options
	engine engine.Engine
	secret engine.Secret
}

// Open returns a database. It connects to nothing.
func Open(o Options) (*Database, error) {
	if o.Method == "" {
		o.Method = Dump
	}
	if o.Method != Dump && o.Method != Template {
		return nil, fmt.Errorf("savepoint %q: there is no method %q; the methods are %q and %q", o.Name, o.Method, Dump, Template)
	}
	if o.Method == Template && o.Driver != Postgres {
		return nil, fmt.Errorf("savepoint %q: the driver %q has no method %q, only %q", o.Name, o.Driver, Template, Dump)
	}
	d := &Database{o: o}
	kit := engine.Kit{Objects: o.Objects, Commands: o.Commands}
	var err error
	switch o.Driver {
	case Postgres:
		d.engine, d.secret, err = postgres.New(kit, o.URL, o.Method)
	case MySQL:
		d.engine, d.secret, err = mysql.New(kit, o.URL)
	case SQLite:
		d.engine, err = sqlite.New(kit, o.URL, o.Workspace)
	default:
		err = fmt.Errorf("there is no driver %q; the drivers are %q, %q and %q", o.Driver, Postgres, MySQL, SQLite)
	}
	if err != nil {
		return nil, fmt.Errorf("savepoint %q: %w", o.Name, d.secret.Hide(err))
	}
	return d, nil
}

// Identity tells the database from others: the server, the name of the database, and the
// system identifier of a PostgreSQL cluster, or the absolute path of a file. It contains
// no secret.
func (d *Database) Identity(ctx context.Context) (string, error) {
	identity, err := d.engine.Identity(ctx)
	return identity, d.failed("identify the database", err)
}

// Digest returns the digest of the database as it is now.
func (d *Database) Digest(ctx context.Context) (Digest, error) {
	digest, err := d.engine.Digest(ctx)
	return digest, d.failed("digest the database", err)
}

// Prepare returns what is known of a savepoint before Create makes it. The caller records
// it first if the method is Template: if Create is interrupted, Delete removes the copy
// that it may have left on the server. An ID has at most 32 letters, digits, "_" and "-".
func (d *Database) Prepare(ctx context.Context, id string) (*Savepoint, error) {
	const what = "create a savepoint"
	if !engine.IsID(id) {
		return nil, d.failed(what, fmt.Errorf("the ID %q has other characters than letters, digits, \"_\" and \"-\", or not 1 to 32 of them", id))
	}
	identity, err := d.engine.Identity(ctx)
	if err != nil {
		return nil, d.failed(what, err)
	}
	return &Savepoint{ID: id, Name: d.o.Name, Driver: string(d.o.Driver), Identity: identity, Method: d.o.Method}, nil
}

// Create copies the database and proves the copy. Creating a savepoint again with the same
// ID replaces its copy. Other programs may write meanwhile: a dump is of one moment, and
// for a template PostgreSQL disconnects them while it copies.
func (d *Database) Create(ctx context.Context, id string) (*Savepoint, error) {
	s, err := d.Prepare(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := d.engine.Create(ctx, s); err != nil {
		return nil, d.failed("create a savepoint", err)
	}
	return s, nil
}

// Restore replaces the contents of the database by those of a savepoint, with all that
// changed since, and checks them: ErrDigest. A savepoint of another database is
// ErrOtherDatabase. Until the copy is loaded and checked the database is not touched. After
// an interruption at any moment, calling Restore again completes it. The packages of the
// engines say what a reader of the database can see meanwhile.
func (d *Database) Restore(ctx context.Context, s *Savepoint) error {
	const what = "restore a savepoint"
	if err := d.checkOwner(ctx, s); err != nil {
		return d.failed(what, err)
	}
	return d.failed(what, d.engine.Restore(ctx, s))
}

// Verify checks that the copy of a savepoint is whole: its object can be read and has the
// right hash, or its database is there and has the right digest.
func (d *Database) Verify(ctx context.Context, s *Savepoint) error {
	return d.failed("verify a savepoint", d.engine.Verify(ctx, s))
}

// Delete removes the database that is the copy of a savepoint, and what interrupted calls
// left on the server. The savepoint may be one that was only prepared. An object stays until a collection, so that the savepoint of a dump
// can be forgotten without it. Deleting twice is no error.
func (d *Database) Delete(ctx context.Context, s *Savepoint) error {
	const what = "delete a savepoint"
	if err := d.checkOwner(ctx, s); err != nil {
		return d.failed(what, err)
	}
	return d.failed(what, d.engine.Delete(ctx, s))
}

// CheckOwner returns ErrOtherDatabase unless a savepoint is of this database.
func (d *Database) CheckOwner(ctx context.Context, s *Savepoint) error {
	return d.failed("look for the database of a savepoint", d.checkOwner(ctx, s))
}

// checkOwner is CheckOwner. It does not say what failed; it returns ErrOtherDatabase unless a savepoint is of this database.
func (d *Database) checkOwner(ctx context.Context, s *Savepoint) error {
	if !engine.IsID(s.ID) {
		return fmt.Errorf("%q is not the ID of a savepoint", s.ID)
	}
	identity, err := d.engine.Identity(ctx)
	if err != nil {
		return err
	}
	if s.Driver != string(d.o.Driver) || s.Identity != identity {
		return fmt.Errorf("it is of %s %s, and this is %s %s: %w", s.Driver, s.Identity, d.o.Driver, identity, ErrOtherDatabase)
	}
	return nil
}

// failed says what failed, of which savepoint block, without the password.
func (d *Database) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s of %q: %w", what, d.o.Name, d.secret.Hide(err))
}
