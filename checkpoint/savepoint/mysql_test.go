package savepoint_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"prdrunner/checkpoint/savepoint"
)

func mysqlSuite() suite {
	return suite{
		driver: savepoint.MySQL, method: savepoint.Dump,
		database: func(t testing.TB) (string, string) {
			mysqlServer.Need(t)
			name := oddMySQLName()
			inMySQL(t, "", "CREATE DATABASE "+backquoted(name)+" CHARACTER SET latin1 COLLATE latin1_bin")
			return mysqlURL(url.User("root"), name), name
		},
		run: func(t testing.TB, name, statement string) string { return inMySQL(t, name, statement) },
		fixture: []string{
			"CREATE TABLE parent (id int PRIMARY KEY AUTO_INCREMENT, name varchar(40), at timestamp NULL, d datetime(6), f double, bytes blob, " +
				"big longtext CHARACTER SET utf8mb4, m enum('sad', 'happy'), b bit(9), n decimal(40, 10), `odd `` column` int AS (id + 1) VIRTUAL, hidden int INVISIBLE DEFAULT 3) ENGINE=InnoDB",
			"INSERT INTO parent (name, at, d, f, bytes, m, b, n) VALUES ('a', '2024-01-15 14:30:22', '2024-01-15 14:30:22.123456', 0.1, X'00ff0a0d0a27', 'sad', b'101010101', 12345678901234567890.123), " +
				"('it''s \\\\ \\0 \\r\\n \\Z', NULL, NULL, -1e300, '', 'happy', b'0', -1), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
			fmt.Sprintf("INSERT INTO parent (name, big) SELECT 'c', REPEAT('ü😀', %d + seq) FROM seq_1_to_3", *large),
			"CREATE TABLE child (id int AUTO_INCREMENT, parent int, KEY (id), FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE) AUTO_INCREMENT=100 ENGINE=InnoDB",
			"INSERT INTO child (parent) VALUES (1), (1), (2)",
			"CREATE TABLE `odd' \"``Tablé` (`select` int) CHARACTER SET utf8mb4",
			"INSERT INTO `odd' \"``Tablé` VALUES (1), (1), (NULL)",
			"CREATE TABLE nothing (n int)",
			"CREATE INDEX by_name ON parent (name)",
			"CREATE FUNCTION twice(n int) RETURNS int DETERMINISTIC RETURN n * 2",
			"CREATE VIEW named AS SELECT id, name FROM parent WHERE name IN ('a', 'b')",
			"CREATE VIEW a_view_of_it AS SELECT id, twice(id) FROM named",
			"CREATE PROCEDURE touch(n int) BEGIN INSERT INTO `odd' \"``Tablé` VALUES (n); \r\n SELECT ';'; END",
			"CREATE TRIGGER touched AFTER UPDATE ON parent FOR EACH ROW INSERT INTO `odd' \"``Tablé` VALUES (NEW.id)",
			"CREATE TRIGGER added BEFORE INSERT ON child FOR EACH ROW SET NEW.parent = COALESCE(NEW.parent, 1)",
			"CREATE EVENT yearly ON SCHEDULE EVERY 1 YEAR STARTS '2035-01-01 00:00:00' DO INSERT INTO nothing VALUES (1)",
		},
		edits: [][]string{
			{"UPDATE parent SET name = 'b' WHERE id = 1", "ALTER TABLE parent ADD more int DEFAULT 7", "DROP VIEW named", "DROP VIEW a_view_of_it", "CREATE TABLE named AS SELECT 1 AS n"},
			{"DROP TABLE child"},
			{"INSERT INTO `odd' \"``Tablé` VALUES (1)"},
			{"DROP TRIGGER touched"},
			{"DROP EVENT yearly"},
			{"DROP FUNCTION twice", "CREATE FUNCTION twice(n int) RETURNS int DETERMINISTIC RETURN n + n"},
			{"ALTER DATABASE CHARACTER SET utf8mb4", "CREATE PROCEDURE more() SELECT 1"},
			{"UPDATE parent SET hidden = 4 WHERE id = 2"},
		},
		insert: "INSERT INTO parent (name) VALUES ('row')",
		number: "SELECT MAX(id) FROM parent",
		list:   "SELECT GROUP_CONCAT(SCHEMA_NAME) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'runner%SUFFIX' HAVING COUNT(*) > 0",
		writer: func(t testing.TB, u *subject) (func(string), func()) {
			c := mysql.NewConfig()
			c.User, c.Net, c.Addr, c.DBName = "root", "unix", filepath.Join(mysqlServer.Dir(), "socket"), u.name
			c.MultiStatements = true
			connector, err := mysql.NewConnector(c)
			if err != nil {
				t.Fatal(err)
			}
			db := sql.OpenDB(connector)
			return func(statements string) {
				if _, err := db.Exec("BEGIN; " + statements + "; COMMIT"); err != nil {
					panic(err)
				}
			}, func() { _ = db.Close() }
		},
	}
}

// oddMySQLName has no quotes: of a database with them, mariadb-dump dumps no routines.
func oddMySQLName() string { return strings.NewReplacer("'", "`", `"`, "").Replace(oddName()) }

func backquoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// TestMySQLEngines: the tables of other engines are dumped under a lock.
func TestMySQLEngines(t *testing.T) {
	t.Parallel()
	u := newFilled(t, mysqlSuite())
	u.all([]string{"CREATE TABLE isam (n int, t text, FULLTEXT (t)) ENGINE=MyISAM", "INSERT INTO isam VALUES (1, 'one')"})
	point := u.create("a")
	u.run(t, u.name, "UPDATE isam SET n = 2")
	u.restore(point)
}

// TestMySQLRefused: what a dump would not keep is refused.
func TestMySQLRefused(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{"CREATE SEQUENCE s", "CREATE TABLE v (n int) WITH SYSTEM VERSIONING"} {
		u := newFilled(t, mysqlSuite())
		u.run(t, u.name, statement)
		if _, err := u.db.Create(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "cannot keep") {
			t.Errorf("after %s: %v", statement, err)
		}
	}
	u := newFilled(t, mysqlSuite())
	point := u.create("a")
	other := oddMySQLName()
	inMySQL(t, "", "CREATE DATABASE "+backquoted(other))
	inMySQL(t, other, "CREATE TABLE foreign_one (parent int, FOREIGN KEY (parent) REFERENCES "+backquoted(u.name)+".parent (id))")
	if err := u.db.Restore(t.Context(), point); err == nil || !strings.Contains(err.Error(), "foreign key") {
		t.Errorf("restoring tables that another database refers to: %v", err)
	}
}

// TestMySQLMissing: a database that was dropped is created again.
func TestMySQLMissing(t *testing.T) {
	t.Parallel()
	u := newFilled(t, mysqlSuite())
	point := u.create("a")
	inMySQL(t, "", "DROP DATABASE "+backquoted(u.name))
	if err := u.db.Restore(context.Background(), point); err != nil {
		t.Fatal(err)
	}
	u.restore(point)
}
