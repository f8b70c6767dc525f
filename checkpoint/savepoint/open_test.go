package savepoint_test

import (
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/savepoint"
)

// TestOpen connects to nothing, so that it needs no server.
func TestOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver savepoint.Driver
		method savepoint.Method
		url    string
		want   string // in the error; "": none
	}{
		{"postgres", "", "postgres://user:secret@host:5433/db?sslmode=disable", ""},
		{"postgres", "template", "postgresql://user@/db?host=/run/postgresql", ""},
		{"postgres", "", "postgres://host", "names no database"},
		{"postgres", "", "mysql://user:secret@host/db", "write postgres://"},
		{"postgres", "", "postgres://user:secret%zz@host/db", "write postgres://"},
		{"postgres", "", "postgres://user:secret@host/db?schema=x", `unknown parameter "schema"`},
		{"postgres", "", "postgres://user:secret@one,two/db", "several servers"},
		{"postgres", "", "postgres://user:secret@host/db?sslmode=sometimes", "sslmode"},
		{"postgres", "copy", "postgres://user:secret@host/db", `no method "copy"`},
		{"mysql", "dump", "mysql://user:secret@host/db?tls=true", ""},
		{"mysql", "", "mariadb://user@localhost/db?socket=/run/mysqld/mysqld.sock", ""},
		{"mysql", "", "mysql://user:secret@host/", "names no database"},
		{"mysql", "", "mysql://user:secret@host/MySQL", "of the server itself"},
		{"mysql", "", "mysql://host/db", "names no user"},
		{"mysql", "", "mysql://user:secret@host/it's", "has quotes"},
		{"mysql", "", "mysql://user:secret@/db", "names no server"},
		{"mysql", "", "mysql://user:secret@host/db?charset=x", `unknown parameter "charset"`},
		{"mysql", "", "mysql://user:secret@host/db?tls=perhaps", "tls=perhaps"},
		{"mysql", "", "user:secret@tcp(host)/db", "write mysql://"},
		{"mysql", "template", "mysql://user:secret@host/db", `no method "template"`},
		{"sqlite", "", "sqlite:data/app.db", ""},
		{"sqlite", "", "data/app.db", ""},
		{"sqlite", "", "sqlite:", "names no file"},
		{"sqlite", "", ":memory:", "names no file"},
		{"sqlite", "", "sqlite://data/app.db", "write sqlite:PATH"},
		{"sqlite", "template", "app.db", `no method "template"`},
		{"oracle", "", "oracle://user:secret@host/db", `no driver "oracle"`},
	} {
		_, err := savepoint.Open(savepoint.Options{Name: "main", Driver: c.driver, Method: c.method, URL: c.url})
		switch {
		case err == nil && c.want != "":
			t.Errorf("%s was opened", c.url)
		case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", c.url, err)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error has the password: %v", c.url, err)
		}
	}
}

// TestIdentity: a relative path begins in the workspace.
func TestIdentity(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, url := range []string{"sqlite:data/app.db", "data/app.db", "sqlite:" + filepath.Join(dir, "data", "app.db")} {
		db, err := savepoint.Open(savepoint.Options{Driver: savepoint.SQLite, URL: url, Workspace: dir})
		if err != nil {
			t.Fatal(err)
		}
		if is, err := db.Identity(t.Context()); err != nil || is != filepath.Join(dir, "data", "app.db") {
			t.Errorf("%s is %s, %v", url, is, err)
		}
	}
}
