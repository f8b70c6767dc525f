package savepoint_test

import (
	"net/url"
	"os"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"prdrunner/checkpoint/savepoint/savepointtest"
)

// password is that of the user "guarded" of both servers.
const password = savepointtest.Password

var (
	postgresServer = savepointtest.NewPostgres()
	mysqlServer    = savepointtest.NewMySQL()
	databases      atomic.Int64 // that tests have created
)

func TestMain(m *testing.M) {
	if err := os.Setenv("PATH", savepointtest.Path()); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		postgresServer.Stop()
		mysqlServer.Stop()
		os.Exit(code)
	}))
}

func postgresURL(user *url.Userinfo, database string) string {
	return postgresServer.URL(user, database)
}

func mysqlURL(user *url.Userinfo, database string) string { return mysqlServer.URL(user, database) }

func inPostgres(t testing.TB, database, statements string) string {
	t.Helper()
	return postgresServer.Run(t, database, statements)
}

func inMySQL(t testing.TB, database, statement string) string {
	t.Helper()
	return mysqlServer.Run(t, database, statement)
}

func inSQLite(t testing.TB, path, statements string) string {
	t.Helper()
	return savepointtest.InSQLite(t, path, statements)
}
