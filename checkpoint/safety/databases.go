package safety

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"prdrunner/checkpoint/savepoint"
	"prdrunner/checkpoint/workspace"
)

// Databases are the databases of a checkpoint.
type Databases struct {
	PRD        string                 `json:"prd"` // its pipeline says where the databases are
	Savepoints []*savepoint.Savepoint `json:"savepoints"`
}

// Names returns the names of the savepoint blocks.
func (d *Databases) Names() []string {
	if d == nil {
		return nil
	}
	names := make([]string, len(d.Savepoints))
	for i, s := range d.Savepoints {
		names[i] = s.Name
	}
	return names
}

// OpenDatabase returns the database that a savepoint block of a PRD's pipeline names.
type OpenDatabase func(ctx context.Context, prd, name string) (*savepoint.Database, error)

// errNoDatabases says that a program gave the store no OpenDatabase.
var errNoDatabases = errors.New("this command knows no databases")

func (s *Store) openDatabase(ctx context.Context, prd, name string) (*savepoint.Database, error) {
	if s.OpenDatabase == nil {
		return nil, errNoDatabases
	}
	return s.OpenDatabase(ctx, prd, name)
}

// databaseName names a database among files and keys.
func databaseName(name string) string { return "database " + name }

// copyDatabases copies databases, and proves the copies. It first makes a note of those
// that will be databases on a server.
func (s *Store) copyDatabases(ctx context.Context, c *Checkpoint, o CreateOptions) error {
	if len(o.Databases) == 0 {
		return nil
	}
	var all []*savepoint.Database
	note := &Databases{PRD: o.DatabasesOf}
	for _, name := range o.Databases {
		db, err := s.openDatabase(ctx, o.DatabasesOf, name)
		if err != nil {
			return err
		}
		prepared, err := db.Prepare(ctx, c.ID)
		if err != nil {
			return err
		}
		all = append(all, db)
		if prepared.Method == savepoint.Template {
			note.Savepoints = append(note.Savepoints, prepared)
		}
	}
	if err := s.writeCopies(c.ID, note); err != nil {
		return err
	}
	c.Databases = &Databases{PRD: o.DatabasesOf}
	for _, db := range all {
		copied, err := db.Create(ctx, c.ID)
		if err == nil && copied.Method == savepoint.Dump {
			err = db.Verify(ctx, copied)
		}
		if err != nil {
			return err
		}
		c.Databases.Savepoints = append(c.Databases.Savepoints, copied)
	}
	return nil
}

// DatabaseChange is a database whose contents a restore replaces.
type DatabaseChange struct {
	*savepoint.Savepoint
	Now savepoint.Digest // of the present contents; zero: they can't be read, since a restore was interrupted

	db *savepoint.Database
}

// Readable reports whether the present contents can be read, and so be copied.
func (c *DatabaseChange) Readable() bool { return c.Now.Sum != "" }

// planDatabases finds the databases that differ from their copies, and checks the copies.
func (p *RestorePlan) planDatabases(ctx context.Context, s *Store) error {
	if p.Databases == nil {
		return nil
	}
	for _, copied := range p.Databases.Savepoints {
		db, err := s.openDatabase(ctx, p.Databases.PRD, copied.Name)
		if err != nil {
			return err
		}
		if err := db.CheckOwner(ctx, copied); err != nil {
			return err // another database may have the same contents
		}
		now, err := db.Digest(ctx)
		switch {
		case err != nil && !errors.Is(err, savepoint.ErrUnfinished):
			return err
		case err == nil && now.Sum == copied.Digest:
			continue
		}
		if err := db.Verify(ctx, copied); err != nil {
			p.Missing = append(p.Missing, workspace.Missing{Path: databaseName(copied.Name), Reason: err.Error()})
		}
		p.DatabaseChanges = append(p.DatabaseChanges, DatabaseChange{Savepoint: copied, Now: now, db: db})
	}
	return nil
}

// verifyDatabases checks the copies of a checkpoint's databases.
func (v *Verified) verifyDatabases(ctx context.Context, s *Store, d *Databases) error {
	if d == nil {
		return nil
	}
	for _, copied := range d.Savepoints {
		db, err := s.openDatabase(ctx, d.PRD, copied.Name)
		if err != nil {
			return err
		}
		v.Contents++
		if err := db.Verify(ctx, copied); err != nil {
			v.Missing = append(v.Missing, workspace.Missing{Path: databaseName(copied.Name), Reason: err.Error()})
		}
	}
	return nil
}

// describe summarises the databases, for people.
func (d *Databases) describe() string {
	parts := make([]string, len(d.Savepoints))
	for i, s := range d.Savepoints {
		if s.Absent {
			parts[i] = fmt.Sprintf("database %s, which had no file", s.Name)
			continue
		}
		parts[i] = fmt.Sprintf("database %s with %s and %s", s.Name, count(s.Tables, "table"), count(int(s.Rows), "row"))
	}
	return strings.Join(parts, "; ")
}
