package postgres

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"prdrunner/checkpoint/savepoint/engine"
	"prdrunner/checkpoint/workspace/git"
)

// contents are the schema and the rows of a snapshot. What the server can compute again is
// not among them: materialized views, statistics. Tables of extensions belong to these.
type contents struct {
	schema         string // as pg_dump prints it
	tables         [][]string
	large          []string // large objects: their number and sum
	rows           int64
	sequenceValues map[string]string
}

// snapshot is a transaction that others can see the same rows in.
type snapshot struct {
	*conn
	database string
	name     string
}

func (e *Engine) beginSnapshot(ctx context.Context, database string) (*snapshot, error) {
	c, err := e.connect(ctx, database)
	if err != nil {
		return nil, err
	}
	err = c.exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	name := ""
	if err == nil {
		name, err = c.value(ctx, "SELECT pg_export_snapshot()")
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("begin a snapshot of database %s: %w", database, err)
	}
	return &snapshot{c, database, name}, nil
}

// contentsOf reads the contents of a database as they are now.
func (e *Engine) contentsOf(ctx context.Context, database string) (contents, error) {
	s, err := e.beginSnapshot(ctx, database)
	if err != nil {
		return contents{}, err
	}
	defer s.close()
	return e.read(ctx, s)
}

// digestOf returns the digest of a database as it is now.
func (e *Engine) digestOf(ctx context.Context, database string) (engine.Digest, error) {
	c, err := e.contentsOf(ctx, database)
	return c.digest(), err
}

func (e *Engine) read(ctx context.Context, s *snapshot) (c contents, err error) {
	if c.schema, err = e.schema(ctx, s.database, s.name); err != nil {
		return c, err
	}
	if err = c.readTables(ctx, s); err != nil {
		return c, err
	}
	rows, err := s.rows(ctx, sumOf("md5(oid::text || md5(lo_get(oid))) AS h FROM pg_largeobject_metadata"))
	if err != nil {
		return c, fmt.Errorf("read the large objects of database %s: %w", s.database, err)
	}
	c.large = rows[0]
	c.sequenceValues, err = s.sequences(ctx)
	return c, err
}

// schema returns the schema of a database as pg_dump prints it, without the lines that
// change from call to call.
func (e *Engine) schema(ctx context.Context, database, snapshot string) (string, error) {
	args := []string{"pg_dump", "--schema-only", "--no-password", "--dbname=" + e.location.url(database)}
	if snapshot != "" {
		args = append(args, "--snapshot="+snapshot)
	}
	var out bytes.Buffer
	if err := e.run(ctx, git.Command{Args: args, Stdout: &out}); err != nil {
		return "", fmt.Errorf("read the schema of database %s: %w", database, err)
	}
	var schema strings.Builder
	for line := range strings.Lines(out.String()) {
		if !isVolatile(line) {
			schema.WriteString(line)
		}
	}
	return unfoldArrays(schema.String()), nil
}

// unfoldArrays replaces a cast of an array in a schema by casts of its elements. PostgreSQL
// prints the expression x IN ('a', 'b') of a varchar column with a cast of the array. If that
// text is loaded into another database, PostgreSQL prints casts of the elements there.
func unfoldArrays(schema string) string {
	const element = `'(?:[^']|'')*'::character varying`
	array := regexp.MustCompile(`\(ARRAY\[(` + element + `(?:, ` + element + `)*)\]\)::text\[\]`)
	elements := regexp.MustCompile(element)
	return array.ReplaceAllStringFunc(schema, func(found string) string {
		found = strings.TrimSuffix(strings.TrimPrefix(found, "("), ")::text[]")
		return elements.ReplaceAllString(found, "($0)::text")
	})
}

// isVolatile reports whether a line of a dump says when and by what it was made.
func isVolatile(line string) bool {
	for _, prefix := range []string{`\restrict `, `\unrestrict `, "-- Dumped from database version", "-- Dumped by pg_dump version"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// loadSchema runs a schema in an empty database.
func (e *Engine) loadSchema(ctx context.Context, schema, database string) error {
	c, err := e.connect(ctx, database)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.exec(ctx, schema); err != nil {
		return fmt.Errorf("load the schema into a scratch database: %w", err)
	}
	return nil
}

// readTables sums up the rows of each table on the server.
func (c *contents) readTables(ctx context.Context, s *snapshot) error {
	tables, err := s.rows(ctx, `SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
		WHERE relkind = 'r' AND relpersistence <> 't' AND nspname !~ '^pg_' AND nspname <> 'information_schema'
		AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
		ORDER BY n.nspname, c.relname`)
	if err != nil {
		return fmt.Errorf("list the tables of database %s: %w", s.database, err)
	}
	for _, table := range tables {
		name := ident(table[0]) + "." + ident(table[1])
		sums, err := s.rows(ctx, sumOf("md5((t.*)::text) AS h FROM ONLY "+name+" t"))
		if err != nil {
			return fmt.Errorf("read table %s of database %s: %w", name, s.database, err)
		}
		count, err := strconv.ParseInt(sums[0][0], 10, 64)
		if err != nil {
			return fmt.Errorf("read table %s of database %s: %w", name, s.database, err)
		}
		c.rows += count
		c.tables = append(c.tables, []string{name, sums[0][0], sums[0][1]})
	}
	return nil
}

// sumOf returns a query for the number of hashes and their sum, whatever their order.
func sumOf(hashes string) string {
	return `SELECT count(*), coalesce(sum(('x' || left(h, 16))::bit(64)::bigint::numeric), 0) || '/' ||
		coalesce(sum(('x' || right(h, 16))::bit(64)::bigint::numeric), 0) FROM (SELECT ` + hashes + `) hashes`
}

// sequences returns the state of each sequence. It is the one of now, in every transaction.
func (s *snapshot) sequences(ctx context.Context) (map[string]string, error) {
	names, err := s.rows(ctx, `SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
		WHERE relkind = 'S' AND relpersistence <> 't' AND nspname !~ '^pg_'
		AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')`)
	if err != nil {
		return nil, fmt.Errorf("list the sequences of database %s: %w", s.database, err)
	}
	values := make(map[string]string, len(names))
	for _, row := range names {
		name := ident(row[0]) + "." + ident(row[1])
		state, err := s.rows(ctx, "SELECT last_value, is_called FROM "+name)
		if err != nil {
			return nil, fmt.Errorf("read sequence %s of database %s: %w", name, s.database, err)
		}
		values[name] = strings.Join(state[0], " ")
	}
	return values, nil
}

// digest returns the digest of all contents.
func (c contents) digest() engine.Digest {
	all := engine.NewContents()
	all.Add("schema", c.schema)
	c.addRows(all)
	for _, name := range slices.Sorted(maps.Keys(c.sequenceValues)) {
		all.Add("sequence", name, c.sequenceValues[name])
	}
	return all.Digest()
}

// rowsDigest returns the digest of the rows alone.
func (c contents) rowsDigest() engine.Digest {
	all := engine.NewContents()
	c.addRows(all)
	return all.Digest()
}

func (c contents) addRows(all *engine.Contents) {
	for _, table := range c.tables {
		count, _ := strconv.ParseInt(table[1], 10, 64) // it was a number when it was read
		all.AddTable(table[0], count, table[2])
	}
	all.Add(append([]string{"large objects"}, c.large...)...)
}
