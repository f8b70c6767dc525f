package savepoint_test

import (
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"prdrunner/checkpoint/savepoint"
	"prdrunner/checkpoint/workspace/git"
)

// TestPassword works as a user with a password and no more rights than needed, and looks
// for the password in command lines, savepoints and errors.
func TestPassword(t *testing.T) {
	t.Parallel()
	for name, s := range guardedSuites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newFilled(t, s)
			var looked atomic.Int64
			u.commands.look = func(c git.Command) git.Command {
				if strings.Contains(strings.Join(c.Args, " "), password) {
					t.Errorf("the command line %q has the password", c.Args)
				}
				if c.Stdin != nil {
					c.Stdin = &observedReader{c.Stdin, func() { looked.Add(int64(lookAtProcesses(t))) }}
				}
				if c.Stdout != nil {
					c.Stdout = &observedWriter{c.Stdout, func() { looked.Add(int64(lookAtProcesses(t))) }}
				}
				return c
			}
			point := u.create("a")
			u.all(s.edits[0])
			u.restore(point)
			if looked.Load() == 0 {
				t.Error("no command line of another process was seen")
			}
			data, err := json.Marshal(point)
			if err != nil {
				t.Fatal(err)
			}
			hasNoPassword(t, "the savepoint", string(data))
			for _, wrong := range []string{strings.Replace(u.url, "guarded:", "guarded:x", 1), strings.Replace(u.url, "?", "%zz?", 1), u.url + "&no=1", u.url + "%zz", strings.Replace(u.url, "guarded:", "guarded:%zz", 1)} {
				db, err := savepoint.Open(savepoint.Options{Name: "main", Driver: s.driver, URL: wrong, Objects: u.objects, Commands: u.commands})
				if err == nil {
					_, err = db.Create(t.Context(), "b")
				}
				if err == nil {
					t.Errorf("%s works", wrong)
					continue
				}
				hasNoPassword(t, "the error", err.Error())
			}
		})
	}
}

func hasNoPassword(t *testing.T, what, text string) {
	t.Helper()
	for _, form := range []string{password, url.QueryEscape(password), url.PathEscape(password), url.UserPassword("", password).String()[1:]} {
		if strings.Contains(text, form) {
			t.Errorf("%s has the password: %s", what, text)
		}
	}
}

// lookAtProcesses looks for the password in the command lines of all processes but this
// one, and returns how many it has seen.
func lookAtProcesses(t *testing.T) (seen int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil || len(line) == 0 {
			continue // it has ended, or is the kernel's
		}
		seen++
		hasNoPassword(t, "a command line", string(line))
	}
	return seen
}

type observedReader struct {
	io.Reader
	look func()
}

func (r *observedReader) Read(p []byte) (int, error) {
	r.look()
	return r.Reader.Read(p)
}

type observedWriter struct {
	io.Writer
	look func()
}

func (w *observedWriter) Write(p []byte) (int, error) {
	w.look()
	return w.Writer.Write(p)
}

// guardedSuites return the servers' suites with databases of the user guarded.
func guardedSuites() map[string]suite {
	userinfo := url.UserPassword("guarded", password)
	postgres, mysql := postgresSuite(), mysqlSuite()
	postgres.database = func(t testing.TB) (string, string) {
		postgresServer.Need(t)
		name := oddName()
		inPostgres(t, "postgres", "CREATE ROLE guarded LOGIN CREATEDB PASSWORD '"+password+"'")
		inPostgres(t, "postgres", "CREATE DATABASE "+quoted(name)+" OWNER guarded")
		return postgresURL(userinfo, name), name
	}
	postgres.run = func(t testing.TB, name, statement string) string {
		return inPostgres(t, name, "SET ROLE guarded; "+statement)
	}
	mysql.database = func(t testing.TB) (string, string) {
		mysqlServer.Need(t)
		name := "guarded " + oddMySQLName()
		for _, statement := range []string{
			"CREATE DATABASE " + backquoted(name),
			"CREATE USER guarded@localhost IDENTIFIED BY '" + password + "'",
			"GRANT ALL ON `guarded%`.* TO guarded@localhost",
			"GRANT ALL ON `runner\\_scratch\\_%`.* TO guarded@localhost",
		} {
			inMySQL(t, "", statement)
		}
		return mysqlURL(userinfo, name), name
	}
	mysql.run = func(t testing.TB, name, statement string) string {
		if strings.HasPrefix(statement, "CREATE") { // else root would be the definer
			statement = strings.Replace(statement, "CREATE", "CREATE DEFINER=guarded@localhost", 1)
			if kind := strings.Fields(statement)[2]; kind == "TABLE" || kind == "INDEX" {
				statement = strings.Replace(statement, " DEFINER=guarded@localhost", "", 1)
			}
		}
		return inMySQL(t, name, statement)
	}
	return map[string]suite{"postgres": postgres, "mysql": mysql}
}
