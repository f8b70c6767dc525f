package savepoint_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"prdrunner/checkpoint/savepoint"
)

func postgresSuite() suite {
	return suite{
		driver: savepoint.Postgres, method: savepoint.Dump,
		database: func(t testing.TB) (string, string) {
			postgresServer.Need(t)
			name := oddName()
			inPostgres(t, "postgres", "CREATE DATABASE "+quoted(name))
			return postgresURL(url.User("admin"), name), name
		},
		run: func(t testing.TB, name, statement string) string {
			if name == "" {
				name = "postgres"
			}
			return inPostgres(t, name, statement)
		},
		fixture: []string{
			`CREATE SCHEMA "odd "" Schema"`,
			`CREATE TYPE mood AS ENUM ('sad', 'happy')`,
			`CREATE TABLE parent (id serial PRIMARY KEY, name varchar(40) CHECK (name IN ('a', 'b', 'c', 'row')), at timestamptz, f float4, d double precision,
				bytes bytea, big text, m mood, list text[], j jsonb, n numeric, "odd "" column" int GENERATED ALWAYS AS (1) STORED)`,
			`INSERT INTO parent (name, at, f, d, bytes, m, list, j, n) VALUES
				('a', '2024-01-15 14:30:22.123456+02', 1.1, 0.1, '\x00ff0a', 'sad', '{x,NULL,"y z"}', '{"k": [1, null]}', 12345678901234567890.123),
				('b', NULL, 'NaN', '-Infinity', '', 'happy', '{}', 'null', 'NaN'), (NULL, 'infinity', NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
			fmt.Sprintf(`INSERT INTO parent (name, big) SELECT 'c', repeat('ü' || g, %d) FROM generate_series(1, 3) g`, *large),
			`CREATE TABLE child (id bigint GENERATED ALWAYS AS IDENTITY (START 100), parent int REFERENCES parent ON DELETE CASCADE)`,
			`INSERT INTO child (parent) VALUES (1), (1), (2)`,
			`CREATE TABLE "odd "" Schema"."odd' Tablé" ("select" int)`,
			`INSERT INTO "odd "" Schema"."odd' Tablé" VALUES (1), (1), (NULL)`,
			`CREATE TABLE parts (t int, x text) PARTITION BY RANGE (t)`,
			`CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)`,
			`INSERT INTO parts VALUES (5, 'five')`,
			`CREATE TABLE nothing ()`,
			`INSERT INTO nothing DEFAULT VALUES`,
			`CREATE INDEX by_name ON parent (lower(name)) WHERE id > 0`,
			`CREATE VIEW named AS SELECT id, name FROM parent WHERE name IN ('a', 'b')`,
			`CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM parent`,
			`CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS $$ SELECT n * 2 -- twice
				$$`,
			`CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO "odd "" Schema"."odd' Tablé" VALUES (NEW.id); RETURN NEW; END $$`,
			`CREATE TRIGGER touched AFTER UPDATE ON parent FOR EACH ROW EXECUTE FUNCTION touch()`,
			`CREATE SEQUENCE free INCREMENT -3`,
			`SELECT nextval('free')`,
			`SELECT lo_from_bytea(4711, '\x00010203')`,
			`COMMENT ON TABLE parent IS 'it''s a comment'`,
			`GRANT SELECT ON parent TO PUBLIC`,
			`CREATE EXTENSION pg_trgm`,
		},
		edits: [][]string{
			{`UPDATE parent SET name = 'b' WHERE id = 1`, `ALTER TABLE parent ADD more int DEFAULT 7`, `DROP VIEW named`, `CREATE TABLE extra AS SELECT 1 AS n`,
				`REFRESH MATERIALIZED VIEW counted`},
			{`DROP TABLE child`},
			{`INSERT INTO "odd "" Schema"."odd' Tablé" VALUES (1)`},
			{`SELECT nextval('free')`},
			{`SELECT lo_put(4711, 2, '\xff')`},
			{`CREATE OR REPLACE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT n + n'`},
			{`ALTER TABLE parent DISABLE TRIGGER touched`},
			{`DROP SCHEMA public CASCADE`, `CREATE SCHEMA public`, `DROP SCHEMA "odd "" Schema" CASCADE`},
		},
		insert: `INSERT INTO parent (name) VALUES ('row')`,
		number: `SELECT max(id) FROM parent`,
		list:   `SELECT string_agg(datname, ' ') FROM pg_database WHERE datname LIKE 'runner%SUFFIX'`,
		writer: func(t testing.TB, u *subject) (func(string), func()) {
			var c *pgconn.PgConn
			return func(statements string) {
				if c == nil || c.IsClosed() {
					c, _ = pgconn.Connect(context.Background(), u.url) // for a template this one is ended
				}
				if c != nil {
					_, _ = c.Exec(context.Background(), statements).ReadAll()
				}
			}, func() { _ = c.Close(context.Background()) }
		},
	}
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// TestPostgresProperties: the database itself keeps its owner, privileges, settings, limit
// and comment.
func TestPostgresProperties(t *testing.T) {
	t.Parallel()
	for _, method := range []savepoint.Method{savepoint.Dump, savepoint.Template} {
		t.Run(string(method), func(t *testing.T) {
			t.Parallel()
			s := postgresSuite()
			s.method = method
			u := newFilled(t, s)
			name := quoted(u.name)
			role := quoted("Role of " + u.name)
			for _, statement := range []string{
				"CREATE ROLE " + role + " NOLOGIN",
				"ALTER DATABASE " + name + " OWNER TO " + role,
				"REVOKE CONNECT ON DATABASE " + name + " FROM PUBLIC",
				"GRANT CREATE, TEMP ON DATABASE " + name + " TO pg_monitor WITH GRANT OPTION",
				"ALTER DATABASE " + name + ` SET search_path = "$user", public, 'odd " Schema'`,
				"ALTER DATABASE " + name + " SET statement_timeout = '90s'",
				"ALTER DATABASE " + name + " SET default_transaction_read_only = on",
				"ALTER DATABASE " + name + " SET my.own = 'it''s'",
				"ALTER ROLE " + role + " IN DATABASE " + name + " SET work_mem = '5MB'",
				"ALTER DATABASE " + name + " CONNECTION LIMIT 17",
				"COMMENT ON DATABASE " + name + " IS 'it''s commented'",
			} {
				inPostgres(t, "postgres", statement)
			}
			const all = `SELECT (datdba::regrole, datacl::text, datconnlimit, shobj_description(oid, 'pg_database'), datcollate, encoding,
				(SELECT string_agg(setrole::regrole || ' ' || setconfig::text, ' ' ORDER BY setrole) FROM pg_db_role_setting WHERE setdatabase = d.oid))::text
				FROM pg_database d WHERE datname = `
			literal := "'" + strings.ReplaceAll(u.name, "'", "''") + "'"
			before := inPostgres(t, "postgres", all+literal)
			u.restore(u.create("a"))
			if is := inPostgres(t, "postgres", all+literal); is != before {
				t.Errorf("the properties are\n%s instead of\n%s", is, before)
			}
		})
	}
}

// TestPostgresSessions: other sessions cannot prevent a restore, and new ones wait for it.
func TestPostgresSessions(t *testing.T) {
	t.Parallel()
	for _, method := range []savepoint.Method{savepoint.Dump, savepoint.Template} {
		t.Run(string(method), func(t *testing.T) {
			t.Parallel()
			s := postgresSuite()
			s.method = method
			u := newFilled(t, s)
			idle := func() *pgconn.PgConn {
				c, err := pgconn.Connect(t.Context(), u.url)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close(context.Background()) })
				if _, err := c.Exec(t.Context(), "BEGIN; LOCK TABLE child IN ROW EXCLUSIVE MODE").ReadAll(); err != nil {
					t.Fatal(err)
				}
				return c
			}
			c := idle()
			point := u.create("a")
			if _, err := c.Exec(t.Context(), "SELECT 1").ReadAll(); (err != nil) != (method == savepoint.Template) {
				t.Errorf("while a savepoint was created, a session ended: %v", err)
			}
			if method == savepoint.Template {
				c = idle()
			}
			u.restore(point)
			if _, err := c.Exec(t.Context(), "SELECT 1").ReadAll(); err == nil {
				t.Error("a session goes on in what was the database before a restore")
			}
		})
	}
}

// TestPostgresMissing: a database that was dropped must be created before it is restored.
func TestPostgresMissing(t *testing.T) {
	t.Parallel()
	u := newFilled(t, postgresSuite())
	point := u.create("a")
	inPostgres(t, "postgres", "DROP DATABASE "+quoted(u.name))
	if err := u.db.Restore(t.Context(), point); err == nil || !strings.Contains(err.Error(), "create an empty one") {
		t.Errorf("restoring a dropped database: %v", err)
	}
	inPostgres(t, "postgres", "CREATE DATABASE "+quoted(u.name))
	u.restore(point)
	inPostgres(t, "postgres", "ALTER DATABASE "+quoted(u.name)+" IS_TEMPLATE true")
	if err := u.db.Restore(t.Context(), point); err == nil || errors.Is(err, savepoint.ErrDigest) {
		t.Errorf("restoring a template: %v", err)
	}
	inPostgres(t, "postgres", "ALTER DATABASE "+quoted(u.name)+" IS_TEMPLATE false")
}

// TestPostgresReread: PostgreSQL prints an expression otherwise when it has read it again.
func TestPostgresReread(t *testing.T) {
	t.Parallel()
	u := newFilled(t, postgresSuite())
	u.run(t, u.name, "CREATE TABLE reread (a varchar, b varchar, CHECK (a = ANY (ARRAY[b, 'x'])))")
	before := u.digest()
	point := u.create("a")
	if point.Digest == before.Sum {
		t.Error("it printed the expression as before, so that this test shows nothing")
	}
	u.restore(point)
	if again := u.create("b"); again.Digest != point.Digest {
		t.Errorf("a savepoint of the restored database is %+v instead of %+v", again, point)
	}
}

// TestPostgresLocale: a restored database encodes and sorts texts as before.
func TestPostgresLocale(t *testing.T) {
	t.Parallel()
	postgresServer.Need(t)
	for _, locale := range []string{"ENCODING LATIN1 LC_COLLATE 'C' LC_CTYPE 'C'", "LOCALE_PROVIDER icu ICU_LOCALE 'de-u-kf-upper'"} {
		t.Run(locale, func(t *testing.T) {
			t.Parallel()
			s := postgresSuite()
			s.database = func(testing.TB) (string, string) {
				name := oddName()
				inPostgres(t, "postgres", "CREATE DATABASE "+quoted(name)+" TEMPLATE template0 "+locale)
				return postgresURL(url.User("admin"), name), name
			}
			u := newFilled(t, s)
			const properties = `SELECT (encoding, datcollate, datctype, datlocprovider, daticulocale)::text FROM pg_database WHERE datname = current_database()`
			before := u.run(t, u.name, properties)
			point := u.create("a")
			u.all(s.edits[0])
			u.restore(point)
			if is := u.run(t, u.name, properties); is != before {
				t.Errorf("the properties are %s instead of %s", is, before)
			}
		})
	}
}
