package main

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMigrationIsRolledBack runs the commands that the comment of PRD-008 in
// examples/migration names. The migration fails, which must leave the database and schema/
// as they were. After the fix it must succeed.
func TestMigrationIsRolledBack(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for driver, database := range map[string]func(*testing.T) string{
		"sqlite":   func(*testing.T) string { return "shop.db" },
		"postgres": shopInPostgres,
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, driver, database(t))
			want := s.sql("SELECT sum(quantity * price_cents - coalesce(discount_cents, 0)) FROM orders")
			before := s.contents()

			expect(t, s.run(1, binary, "build", "PRD-008"), "889 orders have no total", "! rolled back totals: 1 file restored, 2 files removed (schema/0002_fill_total.txt, schema/0003_drop_prices.txt), restored shop")
			if after := s.contents(); after != before {
				t.Errorf("before the migration:\n%s\nafter the rollback:\n%s", before, after)
			}
			expect(t, s.run(0, binary, "safety", "list"), "database shop with 2 tables and 1004 rows", "before attempt 1 at totals")
			expect(t, s.run(0, binary, "safety", "show", "latest"), "they do not restore the database shop")
			expect(t, s.run(0, binary, "safety", "restore", "latest", "--manual"), "It restores no database")

			s.run(0, "cp", "fixes/0002_fill_total.sql", "totals/")
			expect(t, s.run(0, binary, "build", "PRD-008", "--resume"), "PRD-008 complete")
			if got := s.run(0, "cat", "report.txt"); got != want {
				t.Errorf("the report has the sum %q, want %q", got, want)
			}
			if got := s.sql("SELECT count(total_cents) FROM orders"); got != "1000\n" {
				t.Errorf("%q orders have a total, want 1000", got)
			}
			if got := s.run(0, "cat", "schema/0003_drop_prices.txt"); !strings.Contains(got, "total_cents") || strings.Contains(got, "price_cents") {
				t.Errorf("the last schema is\n%s", got)
			}
			if list := s.run(0, binary, "safety", "list"); strings.Contains(list, "before attempt") {
				t.Errorf("a safety checkpoint is left:\n%s", list)
			}
			s.run(6, binary, "build", "PRD-008", "--resume")
		})
	}
}

// shop is a copy of the example with a database and a schema/ that has a file.
type shop struct {
	t                *testing.T
	dir              string
	driver, database string
}

func newShop(t *testing.T, driver, database string) *shop {
	s := &shop{t: t, dir: copyExample(t, "migration"), driver: driver, database: database}
	s.run(0, "rm", "-rf", "schema", "shop.db", "report.txt") // a run in the work tree made them
	s.run(0, "mkdir", "schema")
	s.run(0, "sh", "-c", "echo old > schema/0001_add_total.txt && ./sql.sh < shop.sql")
	return s
}

// run runs a command in the example, and returns its output.
func (s *shop) run(exit int, name string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	if name == "sh" {
		cmd.Env = append(os.Environ(), "DRIVER="+s.driver, "DATABASE="+s.database)
	} else {
		cmd.Env = append(os.Environ(), "PRDRUNNER_VAR_driver="+s.driver, "PRDRUNNER_VAR_database="+s.database)
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != exit {
		s.t.Fatalf("%s %s: exit code %d, want %d\n%s", filepath.Base(name), strings.Join(args, " "), got, exit, out)
	}
	return string(out)
}

// sql runs a statement in the database of the shop, and returns the rows.
func (s *shop) sql(statement string) string {
	s.t.Helper()
	return s.run(0, "sh", "-c", "echo '"+statement+"' | ./sql.sh")
}

// contents returns all that the migration changes: the tables, their rows, and schema/.
func (s *shop) contents() string {
	s.t.Helper()
	return s.run(0, "sh", "-c", "./sql.sh schema") + s.sql("SELECT * FROM orders ORDER BY id") + s.run(0, "sh", "-c", "grep -H '' schema/*")
}

func expect(t *testing.T, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("the output does not contain %q:\n%s", text, out)
		}
	}
}

// shopInPostgres returns the URL of an empty database on a real server.
func shopInPostgres(t *testing.T) string {
	t.Helper()
	sharedPostgres.Need(t)
	sharedPostgres.Run(t, "postgres", "CREATE DATABASE shop")
	return sharedPostgres.URL(url.User("admin"), "shop")
}
