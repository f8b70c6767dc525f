package postgres

import (
	"context"
	"fmt"
	"io"

	"prdrunner/checkpoint/savepoint/engine"
	"prdrunner/checkpoint/workspace/git"
)

// createDump dumps a snapshot, and loads the dump into a scratch database, whose contents
// must be those of the snapshot.
func (e *Engine) createDump(ctx context.Context, m *conn, s *engine.Savepoint) error {
	live, err := e.propertiesOf(ctx, m)
	if err != nil {
		return err
	}
	source, err := e.beginSnapshot(ctx, e.location.database)
	if err != nil {
		return err
	}
	defer source.close()
	before, err := source.sequences(ctx)
	if err != nil {
		return err
	}
	ref, err := e.kit.Store(ctx, func(w io.Writer) error { return e.dump(ctx, source.name, w) })
	if err != nil {
		return fmt.Errorf("dump the database: %w", err)
	}
	was, err := e.read(ctx, source)
	if err != nil {
		return err
	}
	source.close()
	scratch := e.names.Scratch(s.ID, "")
	if err := e.loadDump(ctx, m, ref.Digest, live, scratch); err != nil {
		return err
	}
	is, err := e.contentsOf(ctx, scratch)
	if err != nil {
		return err
	}
	if err := e.checkDump(ctx, m, live, before, was, is, s); err != nil {
		return err
	}
	s.Object, s.Size = ref.Digest, ref.Size
	s.Record(is.digest())
	return nil
}

// checkDump compares what a dump gave with the snapshot that was dumped.
func (e *Engine) checkDump(ctx context.Context, m *conn, live *properties, before map[string]string, was, is contents, s *engine.Savepoint) error {
	if was.rowsDigest() != is.rowsDigest() {
		return fmt.Errorf("the dump, loaded into a scratch database, has %d rows in %d tables, and the database had %d rows in %d tables, or some of them differ: %w",
			is.rows, len(is.tables), was.rows, len(was.tables), engine.ErrDigest)
	}
	// Sequences belong to no snapshot: pg_dump reads the value of a later moment.
	for name, value := range is.sequenceValues {
		if value != before[name] && value != was.sequenceValues[name] && before[name] == was.sequenceValues[name] {
			return fmt.Errorf("the sequence %s is at %s in the dump instead of %s: %w", name, value, before[name], engine.ErrDigest)
		}
	}
	if was.schema == is.schema {
		return nil
	}
	// PostgreSQL prints some expressions otherwise once they have been read again.
	again := e.names.Scratch(s.ID, "$again")
	if err := live.create(ctx, m, again); err != nil {
		return err
	}
	if err := e.loadSchema(ctx, was.schema, again); err != nil {
		return err
	}
	reread, err := e.schema(ctx, again, "")
	if err != nil {
		return err
	}
	if reread != is.schema {
		return fmt.Errorf("the dump, loaded into a scratch database, has another schema than the database: %w", engine.ErrDigest)
	}
	return nil
}

// dump writes a dump of a snapshot.
func (e *Engine) dump(ctx context.Context, snapshot string, w io.Writer) error {
	return e.run(ctx, git.Command{
		Args: []string{
			"pg_dump", "--format=custom", "--compress=0", "--no-password", "--snapshot=" + snapshot,
			"--dbname=" + e.location.url(e.location.database),
		},
		Stdout: w,
	})
}

// loadDump creates a scratch database and loads a dump into it.
func (e *Engine) loadDump(ctx context.Context, m *conn, object string, live *properties, scratch string) error {
	if err := live.create(ctx, m, scratch); err != nil {
		return err
	}
	r, err := e.kit.Objects.Open(object)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read from
	err = e.run(ctx, git.Command{
		Args:  []string{"pg_restore", "--exit-on-error", "--no-password", "--dbname=" + e.location.url(scratch)},
		Env:   []string{fastCommits},
		Stdin: r,
	})
	if err != nil {
		return fmt.Errorf("load the dump into a scratch database: %w", err)
	}
	return nil
}

// fastCommits waits for no disk after each statement: the exchange of the databases, which
// waits, makes durable all that was before it.
const fastCommits = "PGOPTIONS=-c synchronous_commit=off"
