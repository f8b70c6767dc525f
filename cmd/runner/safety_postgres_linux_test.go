package main

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"prdrunner/checkpoint/savepoint/savepointtest"
)

const postgresPipeline = `
variable "database_url" {
  type      = string
  sensitive = true
}

pipeline "PRD-001" {
  savepoint "orders" {
    driver = "postgres"
    url    = var.database_url
    method = "METHOD"
  }

  phase "one" {
    workstream "work" { command = ["true"] }
  }
}
`

// postgresPlace is a workspace with a pipeline whose savepoint is a database with a
// password. Nothing that commands print or write may have the password.
type postgresPlace struct {
	*place
	name string // of the database
	url  string
	away string // a URL of a server that is not there
}

func newPostgresPlace(t *testing.T, method string) *postgresPlace {
	t.Helper()
	p := &postgresPlace{place: newPlace(t), name: "orders_" + method}
	p.write("PRD-001.hcl", strings.Replace(postgresPipeline, "METHOD", method, 1))
	sharedPostgres.Run(t, "postgres", "CREATE DATABASE "+p.name+" OWNER guarded")
	p.url = sharedPostgres.URL(url.UserPassword("guarded", savepointtest.Password), p.name)
	p.away = strings.Replace(p.url, url.QueryEscape(sharedPostgres.Dir()), url.QueryEscape(p.root), 1)
	p.sql("CREATE TABLE orders (n int); INSERT INTO orders VALUES (1), (2)")
	return p
}

func (p *postgresPlace) sql(statements string) string {
	p.t.Helper()
	return sharedPostgres.Run(p.t, p.name, "SET ROLE guarded; "+statements)
}

// with runs runner with the database at a URL.
func (p *postgresPlace) with(at string, want int, line string) string {
	p.t.Helper()
	out := p.run(want, append(strings.Fields(line), "--var", "database_url="+at)...)
	p.hasNoPassword(line, out)
	return out
}

func (p *postgresPlace) hasNoPassword(what, text string) {
	p.t.Helper()
	for _, form := range []string{savepointtest.Password, url.QueryEscape(savepointtest.Password), url.UserPassword("", savepointtest.Password).String()[1:]} {
		if strings.Contains(text, form) {
			p.t.Errorf("%s has the password: %s", what, text)
		}
	}
}

// searchFiles looks for the password in the state directory.
func (p *postgresPlace) searchFiles() {
	p.t.Helper()
	seen := 0
	err := filepath.WalkDir(filepath.Join(p.ws, ".runner"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		seen++
		data, err := os.ReadFile(path)
		p.hasNoPassword(path, string(data))
		return err
	})
	if err != nil || seen == 0 {
		p.t.Errorf("looked at %d files, %v", seen, err)
	}
}

// copies counts the databases on the server that are copies.
func (p *postgresPlace) copies() string {
	p.t.Helper()
	var held []string
	for _, id := range regexp.MustCompile(`chk_\w+`).FindAllString(strings.Join(p.directories(), " "), -1) {
		held = append(held, "datname LIKE 'runner_savepoint_"+id+"%'")
	}
	return sharedPostgres.Run(p.t, "postgres", "SELECT count(*) FROM pg_database WHERE "+strings.Join(append(held, "false"), " OR "))
}

func (p *postgresPlace) directories() []string {
	p.t.Helper()
	found, err := filepath.Glob(filepath.Join(p.ws, ".runner", "safety", "*"))
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// TestSafetyPostgres copies, restores and forgets a database of a real server, by each
// method, and with a password that must stay secret.
func TestSafetyPostgres(t *testing.T) {
	t.Parallel()
	sharedPostgres.Need(t)
	sharedPostgres.Run(t, "postgres", "CREATE ROLE guarded LOGIN CREATEDB PASSWORD '"+savepointtest.Password+"'")
	for _, method := range []string{"dump", "template"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			p := newPostgresPlace(t, method)
			template := method == "template"
			made := p.with(p.url, 0, "safety create --savepoint orders")
			id := regexp.MustCompile(`chk_\w+`).FindString(made)
			if !strings.Contains(made, "--yes --var database_url=…") || strings.Contains(made, "on the same server") != template {
				t.Error(made)
			}
			p.with(p.url, 0, "safety verify "+id)
			p.sql("INSERT INTO orders VALUES (3)")
			if out := p.with(p.url, 0, "safety restore latest --dry-run"); !strings.Contains(out, "1 table, 3 rows now; 1 table, 2 rows afterwards") {
				t.Error(out)
			}
			out := p.with(p.url, 0, "safety restore latest --yes")
			if n := p.sql("SELECT max(n) FROM orders"); n != "2" {
				t.Errorf("the newest order is %s\n%s", n, out)
			}
			undo := regexp.MustCompile(`Undo it with: runner safety restore (chk_\w+)`).FindStringSubmatch(out)
			p.with(p.url, 0, "safety restore "+undo[1]+" --yes")
			if n := p.sql("SELECT max(n) FROM orders"); n != "3" {
				t.Errorf("undone: the newest order is %s", n)
			}
			p.hasNoPassword("show", p.run(0, "safety", "show", id))

			// The server is out of reach.
			p.with(p.away, 5, "safety restore "+id+" --yes --force")
			p.with(p.away, 5, "safety create --savepoint orders")
			p.with(p.away, map[bool]int{true: 5, false: 0}[template], "safety verify "+id)
			p.with(p.url, 0, "safety create --savepoint orders --expiry 1ns")
			before := len(p.directories())
			out = p.with(p.away, 0, "build PRD-001")
			if strings.Contains(out, "Warning: ") != template || template && !strings.Contains(out, "the next run tries again") {
				t.Errorf("the run removed what had expired: %s", out)
			}
			if template {
				out = p.with(p.away, 5, "safety prune --yes")
				if !strings.Contains(out, "hint: the checkpoint stays; repeat the command when the server can be reached") || len(p.directories()) != before || p.copies() != "4" {
					t.Errorf("%s copies are on the server: %s", p.copies(), out)
				}
				p.with(p.url, 0, "safety prune --yes")
			}
			if len(p.directories()) != before-1 {
				t.Errorf("what had expired is still there: %v", p.directories())
			}
			p.searchFiles()
		})
	}
}
