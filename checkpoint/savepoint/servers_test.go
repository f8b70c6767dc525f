package savepoint_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"
)

// password is that of the user "guarded" of both servers.
const password = "s3cret p@ss/w:rd"

// unprivileged is the user nobody, as whom servers run if the tests run as root.
const unprivileged = 65534

// server is a private server of this test binary, on a socket in a temporary directory. The
// first test that needs it starts it.
type server struct {
	programs []string
	launch   func(dir string) (stop func(), err error)

	once sync.Once
	dir  string
	stop func()
	err  error
}

var (
	postgresServer = &server{programs: []string{"pg_dump", "pg_restore", "initdb", "pg_ctl"}, launch: launchPostgres}
	mysqlServer    = &server{programs: []string{"mariadb-install-db", "mariadbd", "mariadb-admin", "mariadb-dump"}, launch: launchMySQL}
	databases      atomic.Int64 // that tests have created
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		for _, s := range []*server{postgresServer, mysqlServer} {
			if s.stop != nil {
				s.stop()
			}
			_ = os.RemoveAll(s.dir)
		}
		os.Exit(code)
	}))
}

// need starts the server. Without its programs the test is skipped; in CI it fails.
func (s *server) need(t testing.TB) {
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
		if s.dir, s.err = os.MkdirTemp("", "sp"); s.err != nil { // short, as the path of a socket has to be
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
	cmd.Dir = dir
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
	options := "-c listen_addresses='' -c fsync=off -c max_connections=60 -c unix_socket_directories=" + dir
	if err := run(dir, "pg_ctl", "-D", data, "-l", filepath.Join(dir, "log"), "-o", options, "-w", "start"); err != nil {
		return nil, err
	}
	return func() { _ = run(dir, "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop") }, nil
}

func launchMySQL(dir string) (func(), error) {
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "socket")
	if err := run(dir, "mariadb-install-db", "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return nil, err
	}
	server := command(dir, "mariadbd", "--no-defaults", "--datadir="+data, "--socket="+socket, "--skip-networking",
		"--pid-file="+filepath.Join(dir, "pid"), "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--event-scheduler=ON", "--log-bin-trust-function-creators=1")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		_ = server.Process.Kill() // setpriv became the server
		_ = server.Wait()
	}
	if err := run(dir, "mariadb-admin", "--no-defaults", "--user=root", "--socket="+socket, "--wait=60", "--connect-timeout=60", "ping"); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// postgresURL returns the URL of a database.
func postgresURL(user *url.Userinfo, database string) string {
	u := url.URL{Scheme: "postgres", User: user, Path: "/" + database, RawQuery: "host=" + url.QueryEscape(postgresServer.dir)}
	return u.String()
}

// inPostgres runs statements, and returns the first value of the last answer.
func inPostgres(t testing.TB, database, statements string) string {
	t.Helper()
	c, err := pgconn.Connect(context.Background(), postgresURL(url.User("admin"), database))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	results, err := c.Exec(context.Background(), statements).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
	if last := results[len(results)-1]; len(last.Rows) > 0 {
		return string(last.Rows[0][0])
	}
	return ""
}

// mysqlURL returns the URL of a database.
func mysqlURL(user *url.Userinfo, database string) string {
	u := url.URL{Scheme: "mysql", User: user, Path: "/" + database, RawQuery: "socket=" + url.QueryEscape(filepath.Join(mysqlServer.dir, "socket"))}
	return u.String()
}

// inMySQL runs a statement, and returns the first value of its answer.
func inMySQL(t testing.TB, database, statement string) string {
	t.Helper()
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "root", "unix", filepath.Join(mysqlServer.dir, "socket"), database
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	return query(t, sql.OpenDB(connector), statement)
}

// inSQLite runs statements, and returns the first value of the answer.
func inSQLite(t testing.TB, path, statements string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	return query(t, db, statements)
}

func query(t testing.TB, db *sql.DB, statement string) (value string) {
	t.Helper()
	defer db.Close()
	rows, err := db.Query(statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer rows.Close()
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
