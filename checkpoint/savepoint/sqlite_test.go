package savepoint_test

import (
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/savepoint"
	"prdrunner/checkpoint/store"
)

func sqliteSuite() suite {
	return suite{
		driver: savepoint.SQLite, method: savepoint.Dump,
		database: func(t testing.TB) (string, string) {
			path := filepath.Join(t.TempDir(), "odd ?#%20 'näme.db")
			inSQLite(t, sqliteURI(path), "PRAGMA user_version = 1")
			return "sqlite:" + path, path
		},
		run: func(t testing.TB, path, statement string) string { return inSQLite(t, sqliteURI(path), statement) },
		fixture: []string{
			"PRAGMA journal_mode = WAL",
			"CREATE TABLE parent (id integer PRIMARY KEY AUTOINCREMENT, name, at DATETIME, flag BOOLEAN, big text)",
			`INSERT INTO parent (name, at, flag) VALUES ('a', '2024-01-15 14:30:22', 1), (NULL, 'no time', 'maybe'), (X'00ff', 1.5, NULL), ('', X'', 0), (CAST(X'610062' AS TEXT), 1e300, 9223372036854775807)`,
			"INSERT INTO parent (name, big) VALUES ('c', printf('%.*c', 300000, 'x'))",
			"CREATE TABLE child (parent REFERENCES parent ON DELETE CASCADE, PRIMARY KEY (parent)) WITHOUT ROWID",
			"INSERT INTO child VALUES (1), (2)",
			`CREATE TABLE "odd' "" Tablé" ("sele""ct" int, sum AS ("sele""ct" + 1))`,
			`INSERT INTO "odd' "" Tablé" VALUES (1), (1), (NULL)`,
			"CREATE TABLE empty (n)",
			"CREATE INDEX by_name ON parent (name) WHERE id > 0",
			"CREATE VIEW named AS SELECT id, name FROM parent",
			`CREATE TRIGGER touched AFTER UPDATE ON parent BEGIN INSERT INTO "odd' "" Tablé" VALUES (NEW.id); END`,
			"CREATE VIRTUAL TABLE words USING fts5(text)",
			"INSERT INTO words VALUES ('some words')",
			"PRAGMA application_id = 7",
		},
		edits: [][]string{
			{"UPDATE parent SET name = 'b' WHERE id = 1", "ALTER TABLE parent ADD more", "DROP VIEW named", "CREATE TABLE extra AS SELECT 1"},
			{"DROP TABLE child"},
			{`INSERT INTO "odd' "" Tablé" VALUES (1)`},
			{"UPDATE parent SET flag = '1' WHERE id = 1"},
			{"UPDATE words SET text = 'other words'"},
			{"PRAGMA user_version = 2"},
			{"DELETE FROM parent", "VACUUM"},
		},
		insert: "INSERT INTO parent (name) VALUES ('row')",
		number: "SELECT max(id) FROM parent",
		writer: func(t testing.TB, u *subject) (func(string), func()) {
			db, err := sql.Open("sqlite", sqliteURI(u.name)+"?_pragma=busy_timeout(10000)")
			if err != nil {
				t.Fatal(err)
			}
			return func(statements string) {
				if _, err := db.Exec("BEGIN IMMEDIATE; " + statements + "; COMMIT"); err != nil {
					panic(err)
				}
			}, func() { _ = db.Close() }
		},
	}
}

func sqliteURI(path string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// TestSQLiteAbsent: a savepoint of no file removes the file, and one of a file creates it.
func TestSQLiteAbsent(t *testing.T) {
	t.Parallel()
	u := newSubject(t, sqliteSuite())
	whole := u.create("a")
	if err := os.Remove(u.name); err != nil {
		t.Fatal(err)
	}
	absent := u.create("b")
	u.restore(absent)
	u.all(u.fixture)
	u.restore(absent)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(u.name), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
	if err := u.db.Verify(t.Context(), absent); err != nil {
		t.Error(err)
	}
	u.restore(whole)
}

// TestSQLiteOpen: connections that are open see a restore.
func TestSQLiteOpen(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"WAL", "DELETE"} {
		u := newFilled(t, sqliteSuite())
		u.run(t, u.name, "PRAGMA journal_mode = "+mode)
		point := u.create("a")
		db, err := sql.Open("sqlite", sqliteURI(u.name))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		if _, err := db.Exec("INSERT INTO empty VALUES (1); DROP TABLE child"); err != nil {
			t.Fatal(err)
		}
		u.restore(point)
		var n int
		if err := db.QueryRow("SELECT count(*) FROM child").Scan(&n); err != nil || n != 2 {
			t.Errorf("%s: the open connection sees %d rows, %v", mode, n, err)
		}
		if is := u.run(t, u.name, "PRAGMA journal_mode"); !strings.EqualFold(is, mode) {
			t.Errorf("the journal mode is %s instead of %s", is, mode)
		}
	}
}

// TestSQLiteDamaged: a file that is no database is refused, and says what to do.
func TestSQLiteDamaged(t *testing.T) {
	t.Parallel()
	u := newFilled(t, sqliteSuite())
	point := u.create("a")
	u.run(t, u.name, "PRAGMA journal_mode = DELETE")
	if err := os.WriteFile(u.name, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := u.db.Digest(t.Context()); err == nil || !strings.Contains(err.Error(), "move ") {
		t.Errorf("the error of the digest is %v", err)
	}
	if err := u.db.Restore(t.Context(), point); err == nil || !strings.Contains(err.Error(), "move ") {
		t.Errorf("restoring over a file that is no database: %v", err)
	}
	if err := os.Rename(u.name, u.name+".old"); err != nil {
		t.Fatal(err)
	}
	u.restore(point)
}

// TestSQLiteZero: a file without bytes is an empty database.
func TestSQLiteZero(t *testing.T) {
	t.Parallel()
	u := newSubject(t, sqliteSuite())
	if err := os.Truncate(u.name, 0); err != nil {
		t.Fatal(err)
	}
	point := u.create("a")
	u.restore(point)
	u.all(u.fixture)
	u.restore(point)
}

// TestSQLiteKilled kills a process while it writes the database. What it has written is
// rolled back, or was complete.
func TestSQLiteKilled(t *testing.T) {
	t.Parallel()
	for mode, journal := range map[string]string{"DELETE": "-journal", "WAL": "-wal"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			u := newFilled(t, sqliteSuite())
			u.run(t, u.name, "INSERT INTO parent (big) SELECT printf('%.*c', 9000, 'y') FROM parent a, parent b, parent c, parent d")
			u.run(t, u.name, "PRAGMA journal_mode = "+mode)
			point := u.create("a")
			u.run(t, u.name, "DELETE FROM parent WHERE id > 3")
			edited := u.digest()
			data, err := json.Marshal(point)
			if err != nil {
				t.Fatal(err)
			}
			helper := exec.Command(os.Args[0], "-test.run=^TestSQLiteHelper$")
			helper.Env = append(os.Environ(), helperVariable+"="+string(data), "SAVEPOINT_URL="+u.url, "SAVEPOINT_OBJECTS="+u.dir)
			if err := helper.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				_ = helper.Wait()
				close(ended)
			}()
			for writing := false; !writing; {
				info, err := os.Stat(u.name + journal)
				writing = err == nil && info.Size() > 0
				select {
				case <-ended:
					writing = true
				default:
				}
			}
			_ = helper.Process.Kill()
			<-ended
			is := u.digest()
			if is.Sum != edited.Sum && is.Sum != point.Digest {
				t.Errorf("after a kill the database is %+v: neither the edited %+v nor the savepoint %+v", is, edited, point)
			}
			t.Logf("restored: %v", is.Sum == point.Digest)
			u.restore(point)
		})
	}
}

const helperVariable = "SAVEPOINT_RESTORE"

// TestSQLiteHelper is the process that TestSQLiteKilled kills.
func TestSQLiteHelper(t *testing.T) {
	data := os.Getenv(helperVariable)
	if data == "" {
		return
	}
	var point savepoint.Savepoint
	if err := json.Unmarshal([]byte(data), &point); err != nil {
		t.Fatal(err)
	}
	u := &subject{suite: sqliteSuite(), t: t, dir: os.Getenv("SAVEPOINT_OBJECTS"), commands: &commander{}}
	u.objects = objects.New(store.OS(), filepath.Join(u.dir, "objects"), objects.Options{})
	if err := u.open(os.Getenv("SAVEPOINT_URL")).Restore(t.Context(), &point); err != nil {
		t.Fatal(err)
	}
}
