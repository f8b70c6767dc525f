// Package sqlite is the engine of savepoints for SQLite.
//
// A copy is a database file that SQLite's backup API wrote, stored as an object. Create and
// Restore each are one transaction of SQLite: programs that have the database open see it
// either as it was or as it is restored, and wait no longer than for another transaction.
// A kill leaves a journal that the next one to open the database rolls back.
//
// A database without a file can be a savepoint, too: restoring it removes the file. Programs
// that have that file open keep what they see, and should be ended before.
//
// Begin with Engine. contents.go has the digest.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"

	"prdrunner/checkpoint/savepoint/engine"
)

// wait is how long SQLite waits for the transaction of another program, in milliseconds.
const wait = "10000"

// pagesAtOnce is how many pages are copied between two looks at the context.
const pagesAtOnce = 4096

// Engine copies and restores a database file.
type Engine struct {
	kit  engine.Kit
	path string // absolute
}

var _ engine.Engine = (*Engine)(nil)

// New returns the engine of a file. The location is a path, with or without "sqlite:"
// before it. A relative one begins in the workspace.
func New(kit engine.Kit, location, workspace string) (*Engine, error) {
	path := strings.TrimPrefix(location, "sqlite:")
	switch {
	case path == "" || path == ":memory:":
		return nil, fmt.Errorf("the URL %q names no file", location)
	case strings.HasPrefix(path, "//"):
		return nil, fmt.Errorf("the URL %q is none of SQLite; write sqlite:PATH", location)
	case strings.ContainsRune(path, 0):
		return nil, errors.New("the URL contains a zero byte")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(workspace, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", path, err)
	}
	return &Engine{kit, path}, nil
}

// Identity returns the absolute path of the file.
func (e *Engine) Identity(context.Context) (string, error) { return e.path, nil }

// Digest returns the digest of the file, or that of no file.
func (e *Engine) Digest(ctx context.Context) (engine.Digest, error) {
	there, err := isFile(e.path)
	if err != nil || !there {
		return absent(), err
	}
	digest, err := digestOf(ctx, e.path)
	return digest, e.explain(err)
}

// absent returns the digest of a database without a file.
func absent() engine.Digest {
	c := engine.NewContents()
	c.Add("absent")
	return c.Digest()
}

// Create copies the file with the backup API, and stores the copy as an object.
func (e *Engine) Create(ctx context.Context, s *engine.Savepoint) error {
	there, err := isFile(e.path)
	if err != nil {
		return err
	}
	if !there {
		s.Absent = true
		s.Record(absent())
		return nil
	}
	return inTemp(func(temp string) error {
		if err := copyDatabase(ctx, e.path, "rw", temp, "rwc"); err != nil {
			return err
		}
		digest, err := digestOf(ctx, temp)
		if err != nil {
			return fmt.Errorf("digest the copy: %w", err)
		}
		s.Record(digest)
		ref, err := e.kit.Store(ctx, func(w io.Writer) error { return readInto(w, temp) })
		s.Object, s.Size = ref.Digest, ref.Size
		return err
	})
}

// Restore writes the copy into the file, or removes the file.
func (e *Engine) Restore(ctx context.Context, s *engine.Savepoint) error {
	if s.Absent {
		return e.remove(s)
	}
	return inTemp(func(temp string) error {
		if err := e.extract(s.Object, temp); err != nil {
			return err
		}
		digest, err := digestOf(ctx, temp)
		if err != nil {
			return fmt.Errorf("digest the copy: %w", err)
		}
		if err := s.Check("the copy", digest); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(e.path), 0o777); err != nil {
			return err
		}
		if err := copyDatabase(ctx, temp, "rw", e.path, "rwc"); err != nil {
			return e.explain(err)
		}
		if digest, err = digestOf(ctx, e.path); err != nil {
			return err
		}
		return s.Check("the restored database", digest)
	})
}

// explain says what to do if the file is no database.
func (e *Engine) explain(err error) error {
	if failed := (*sqlite.Error)(nil); errors.As(err, &failed) && failed.Code()&0xff == notADatabase {
		return fmt.Errorf("%w; move %s away, with the files whose names begin with it, and restore again", err, e.path)
	}
	return err
}

// notADatabase is SQLITE_NOTADB.
const notADatabase = 26

// Verify reads the object.
func (e *Engine) Verify(ctx context.Context, s *engine.Savepoint) error {
	if s.Absent {
		return nil
	}
	return e.kit.Objects.Verify(ctx, s.Object)
}

// Delete does nothing: the object is left to a collection.
func (e *Engine) Delete(context.Context, *engine.Savepoint) error { return nil }

// remove removes the file first, so that no part of a journal is taken for a change of it.
func (e *Engine) remove(s *engine.Savepoint) error {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.Remove(e.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.Check("no file", absent())
}

// extract writes an object to a file.
func (e *Engine) extract(object, path string) (err error) {
	r, err := e.kit.Objects.Open(object)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read from
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("extract object %s: %w", object, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(f, r)
	return err
}

// inTemp calls f with the path of a file that does not exist. What f makes there is removed.
func inTemp(f func(path string) error) (err error) {
	dir, err := os.MkdirTemp("", "runner-savepoint-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return f(filepath.Join(dir, "copy.sqlite"))
}

func isFile(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is no regular file", path)
	}
	return true, nil
}

func readInto(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read from
	_, err = io.Copy(w, f)
	return err
}

// uri returns the name under which SQLite opens a file.
func uri(path, mode string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: "mode=" + mode + "&_pragma=busy_timeout(" + wait + ")"}
	return name.String()
}

// copyDatabase copies one database over another in one transaction of each.
func copyDatabase(ctx context.Context, from, fromMode, to, toMode string) error {
	return withConn(ctx, from, fromMode, func(c *sql.Conn) error {
		// The transaction keeps the copy of one moment, although it is made in steps.
		if err := beginReading(ctx, c); err != nil {
			return err
		}
		return c.Raw(func(driver any) error {
			source, ok := driver.(interface {
				NewBackup(uri string) (*sqlite.Backup, error)
			})
			if !ok {
				return errors.New("the driver of SQLite has no backups")
			}
			backup, err := source.NewBackup(uri(to, toMode))
			if err != nil {
				return fmt.Errorf("open %s: %w", to, err)
			}
			err = step(ctx, backup)
			if finished := backup.Finish(); err == nil {
				err = finished
			}
			if err != nil {
				return fmt.Errorf("copy %s to %s: %w", from, to, err)
			}
			return nil
		})
	})
}

func step(ctx context.Context, backup *sqlite.Backup) error {
	for {
		more, err := backup.Step(pagesAtOnce)
		if err != nil || !more {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// withConn calls f with a connection to a file.
func withConn(ctx context.Context, path, mode string, f func(*sql.Conn) error) (err error) {
	db, err := sql.Open("sqlite", uri(path, mode))
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	c, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return f(c)
}

// beginReading begins a transaction that sees the database as it is now.
func beginReading(ctx context.Context, c *sql.Conn) error {
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	var count int
	return c.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&count)
}
