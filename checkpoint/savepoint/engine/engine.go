// Package engine is what the engines of savepoints share: the record of a copy, digests,
// the names of scratch databases, and how dumps are stored and programs are run.
//
// What one kind of database needs belongs in the package of its engine. Begin with Engine,
// which each of them implements, then read Contents for digests and Kit for dumps.
package engine

import (
	"context"
	"errors"
	"fmt"
)

// Errors of every engine.
var (
	// ErrDigest says that a database or a copy has other contents than it should.
	ErrDigest = errors.New("the contents differ")
	// ErrUnfinished says that the restore of a savepoint was interrupted and left a part of
	// the database missing. Restoring any savepoint of the database completes it.
	ErrUnfinished = errors.New("a restore was interrupted; restore the savepoint again")
)

// Method is how the copy of a database is kept.
type Method string

// The methods.
const (
	Dump     Method = "dump"     // as an object with all that creates the contents again
	Template Method = "template" // as a database on the same server
)

// Engine copies and restores one database. Its calls are serialised by a lock that
// processes on other machines respect, too.
type Engine interface {
	// Identity tells the database from others. It contains no secret.
	Identity(ctx context.Context) (string, error)
	// Digest returns the digest of the database as it is now.
	Digest(ctx context.Context) (Digest, error)
	// Create fills in what it knows of a new savepoint, whose ID is set. It first removes
	// what interrupted calls left.
	Create(ctx context.Context, s *Savepoint) error
	// Restore replaces the contents of the database by those of a copy. After an
	// interruption at any moment, calling it again completes it.
	Restore(ctx context.Context, s *Savepoint) error
	// Verify checks that the copy is whole, without changing the database.
	Verify(ctx context.Context, s *Savepoint) error
	// Delete removes a copy that is not an object, also one that an interrupted Create may
	// have left. Deleting it twice is no error.
	Delete(ctx context.Context, s *Savepoint) error
}

// Savepoint describes a copy of a database. It contains no secret.
type Savepoint struct {
	ID       string `json:"id"`
	Name     string `json:"name"`     // of the savepoint block
	Driver   string `json:"driver"`   // postgres, mysql or sqlite
	Identity string `json:"identity"` // of the database
	Method   Method `json:"method"`
	Digest   string `json:"digest"` // of the contents, "sha256:" and 64 hex digits
	Tables   int    `json:"tables"`
	Rows     int64  `json:"rows"`

	Object string `json:"object,omitempty"` // of a dump: its digest
	Size   int64  `json:"size,omitempty"`   // of the object, in bytes
	Copy   string `json:"copy,omitempty"`   // of a template: the name of the database that is the copy
	Events string `json:"events,omitempty"` // MySQL: the digest of the events, which no scratch database has
	Absent bool   `json:"absent,omitempty"` // SQLite: there was no file
}

// Record takes over the digest of the copy.
func (s *Savepoint) Record(d Digest) { s.Digest, s.Tables, s.Rows = d.Sum, d.Tables, d.Rows }

// Check returns an ErrDigest if what has another digest than the savepoint.
func (s *Savepoint) Check(what string, is Digest) error {
	if is.Sum == s.Digest {
		return nil
	}
	return fmt.Errorf("%s has %d tables with %d rows and the digest %s instead of %d tables with %d rows and %s: %w",
		what, is.Tables, is.Rows, is.Sum, s.Tables, s.Rows, s.Digest, ErrDigest)
}
