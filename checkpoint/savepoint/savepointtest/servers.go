// Package savepointtest starts private servers of PostgreSQL and MariaDB for tests, and runs
// statements in databases.
//
// Begin with [NewPostgres]. What tests expect of savepoints belongs in the tests.
package savepointtest

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// Password is that of the user "guarded" of both servers, whom tests create.
const Password = "s3cret p@ss/w:rd"

// unprivileged is the user nobody, as whom servers run if the tests run as root.
const unprivileged = 65534

// server is a private server of this test binary, on a socket in a temporary directory: in
// memory if there is room, which takes under two thirds of the time. The first test that
// needs it starts it.
type server struct {
	programs []string
	launch   func(dir string) (stop func(), err error)

	once sync.Once
	dir  string
	stop func()
	err  error
}

// NewPostgres returns a server of PostgreSQL, which is not started yet.
func NewPostgres() *Postgres {
	return &Postgres{server{programs: []string{"pg_dump", "pg_restore", "initdb", "pg_ctl"}, launch: launchPostgres}}
}

// Postgres is a server of PostgreSQL.
type Postgres struct{ server }

// NewMySQL returns a server of MariaDB, which is not started yet.
func NewMySQL() *MySQL {
	return &MySQL{server{programs: []string{"mariadb-install-db", "mariadbd", "mariadb", "mariadb-dump"}, launch: launchMySQL}}
}

// MySQL is a server of MariaDB.
type MySQL struct{ server }

// Dir returns the directory with the socket of the server, once it was started.
func (s *server) Dir() string { return s.dir }

// Stop stops the server, if it was started, and removes its files. TestMain calls it.
func (s *server) Stop() {
	if s.stop != nil {
		s.stop()
	}
	_ = os.RemoveAll(s.dir)
}

// Need starts the server. Without its programs the test is skipped; in CI it fails.
func (s *server) Need(t testing.TB) {
	t.Helper()
	for _, program := range s.programs {
		if _, err := find(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("CI has no program %s", program)
			}
			t.Skipf("there is no program %s", program)
		}
	}
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp(memoryDir(), "sp"); s.err != nil { // short, as the path of a socket has to be
			return
		}
		if os.Getuid() == 0 {
			if s.err = os.Chown(s.dir, unprivileged, unprivileged); s.err != nil {
				return
			}
		}
		s.stop, s.err = s.launch(s.dir)
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
}

// find finds a program, also where Debian puts those of PostgreSQL.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); len(found) > 0 {
		return found[len(found)-1], nil
	}
	return "", err
}

// Path returns a value of PATH in which the programs of PostgreSQL come first. What Debian
// has in their place otherwise are scripts that look for them, which takes twice as long.
func Path() string {
	path := os.Getenv("PATH")
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin"); len(found) > 0 {
		path = found[len(found)-1] + string(filepath.ListSeparator) + path
	}
	return path
}

// command returns a command that runs as an unprivileged user.
func command(dir, program string, args ...string) *exec.Cmd {
	path, err := find(program)
	if err != nil {
		path = program
	}
	if os.Getuid() == 0 {
		id := strconv.Itoa(unprivileged)
		args = append([]string{"--reuid=" + id, "--regid=" + id, "--clear-groups", "--", path}, args...)
		path = "setpriv"
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir) // that of the tests may be root's alone
	return cmd
}

func run(dir, program string, args ...string) error {
	out, err := command(dir, program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

func launchPostgres(dir string) (func(), error) {
	data := filepath.Join(dir, "data")
	if err := run(dir, "initdb", "-D", data, "-U", "admin", "-A", "trust", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"); err != nil {
		return nil, err
	}
	hba := filepath.Join(data, "pg_hba.conf")
	rules, err := os.ReadFile(hba)
	if err == nil {
		err = os.WriteFile(hba, append([]byte("local all guarded scram-sha-256\n"), rules...), 0o600)
	}
	if err != nil {
		return nil, err
	}
	options := "-c listen_addresses='' -c max_connections=60 -c unix_socket_directories=" + dir +
		// Nothing needs the data after the test, so the server need not write it durably.
		" -c fsync=off -c full_page_writes=off -c wal_level=minimal -c max_wal_senders=0 -c shared_buffers=32MB -c max_wal_size=64MB -c autovacuum=off -c jit=off"
	if err := run(dir, "pg_ctl", "-D", data, "-l", filepath.Join(dir, "log"), "-o", options, "-w", "start"); err != nil {
		return nil, err
	}
	return func() { _ = run(dir, "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop") }, nil
}

func launchMySQL(dir string) (func(), error) {
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "socket")
	// Nothing needs the data after the test, so the server need not write it durably.
	options := []string{"--no-defaults", "--datadir=" + data, "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--innodb-log-file-size=16M"}
	if err := run(dir, "mariadb-install-db", append(options, "--auth-root-authentication-method=normal", "--skip-test-db")...); err != nil {
		return nil, err
	}
	server := command(dir, "mariadbd", append(options, "--socket="+socket, "--skip-networking",
		"--pid-file="+filepath.Join(dir, "pid"), "--event-scheduler=ON", "--log-bin-trust-function-creators=1")...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the server has it, too
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		_ = server.Process.Kill() // setpriv became the server
		_ = server.Wait()
	}
	if err := waitForSocket(socket); err != nil {
		stop()
		return nil, fmt.Errorf("%w; see %s", err, log.Name())
	}
	return stop, nil
}

// waitForSocket waits until a server listens. The option --wait of mariadb-admin would wait
// for five seconds between two attempts.
func waitForSocket(path string) error {
	deadline := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := net.Dial("unix", path)
		if err == nil {
			return c.Close()
		}
		select {
		case <-deadline:
			return err
		case <-tick.C:
		}
	}
}

// URL returns the URL of a database.
func (s *Postgres) URL(user *url.Userinfo, database string) string {
	u := url.URL{Scheme: "postgres", User: user, Path: "/" + database, RawQuery: "host=" + url.QueryEscape(s.dir)}
	return u.String()
}

// Run runs statements as the superuser, and returns the first value of the last answer.
func (s *Postgres) Run(t testing.TB, database, statements string) string {
	t.Helper()
	c, err := pgconn.Connect(context.Background(), s.URL(url.User("admin"), database))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }() // nothing is left to be said
	results, err := c.Exec(context.Background(), statements).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
	if last := results[len(results)-1]; len(last.Rows) > 0 {
		return string(last.Rows[0][0])
	}
	return ""
}

// URL returns the URL of a database.
func (s *MySQL) URL(user *url.Userinfo, database string) string {
	u := url.URL{Scheme: "mysql", User: user, Path: "/" + database, RawQuery: "socket=" + url.QueryEscape(filepath.Join(s.dir, "socket"))}
	return u.String()
}

// Run runs a statement as root, and returns the first value of its answer.
func (s *MySQL) Run(t testing.TB, database, statement string) string {
	t.Helper()
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "root", "unix", filepath.Join(s.dir, "socket"), database
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	return query(t, sql.OpenDB(connector), statement)
}

// InSQLite runs statements in a database file, and returns the first value of the answer.
func InSQLite(t testing.TB, path, statements string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	return query(t, db, statements)
}

func query(t testing.TB, db *sql.DB, statement string) (value string) {
	t.Helper()
	defer func() { _ = db.Close() }() // each statement is a transaction of its own
	rows, err := db.Query(statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	if rows.Next() {
		columns, _ := rows.Columns()
		targets := make([]any, len(columns))
		targets[0] = &value
		for i := range targets[1:] {
			targets[i+1] = new(any)
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}
