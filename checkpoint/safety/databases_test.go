package safety

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/savepoint"
	"prdrunner/checkpoint/savepoint/savepointtest"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/git/gittest"
)

const ofPRD = "PRD-001"

// newDatabasePlace returns a workspace with the databases orders and stock, in files of
// SQLite.
func newDatabasePlace(t *testing.T) *place {
	p := newPlace(t)
	p.s.OpenDatabase = func(_ context.Context, prd, name string) (*savepoint.Database, error) {
		if prd != ofPRD {
			return nil, fmt.Errorf("asked for a database of %s", prd)
		}
		return savepoint.Open(savepoint.Options{Name: name, Driver: savepoint.SQLite, URL: name + ".db", Workspace: p.dir, Objects: p.objects()})
	}
	p.sql("orders", "CREATE TABLE orders (n)", "INSERT INTO orders VALUES (1), (2)")
	p.sql("stock", "CREATE TABLE stock (n)")
	return p
}

func (p *place) objects() *objects.Store {
	return objects.New(store.OS(), filepath.Join(p.dir, ".runner", "objects"), objects.Options{})
}

func (p *place) sql(name string, statements ...string) {
	p.t.Helper()
	for _, statement := range statements {
		savepointtest.InSQLite(p.t, p.path(name+".db"), statement)
	}
}

// row returns the newest order.
func (p *place) row() string {
	p.t.Helper()
	return savepointtest.InSQLite(p.t, p.path("orders.db"), "SELECT max(n) FROM orders")
}

// save copies databases, and what else the options say.
func (p *place) save(o CreateOptions, databases ...string) *Created {
	p.t.Helper()
	o.Databases, o.DatabasesOf = databases, ofPRD
	made, err := p.s.Create(p.t.Context(), p.w, o)
	p.must(err)
	return made
}

// TestDatabase restores a database and a file, twice, and undoes that.
func TestDatabase(t *testing.T) {
	t.Parallel()
	p := newDatabasePlace(t)
	p.write("a.txt", "one\n")
	made := p.save(CreateOptions{Patterns: []string{"*.txt"}}, "orders")
	if made.Type != FileBackup || made.Confidence() != 1 || !strings.Contains(made.Summary(), "database orders with 1 table and 2 rows") {
		t.Errorf("made %s, confidence %v, %s", made.Type, made.Confidence(), made.Summary())
	}
	lines := fmt.Sprintf("file 100644 %x a.txt\ndatabase %s orders\n", sha256.Sum256([]byte("one\n")), strings.TrimPrefix(made.Databases.Savepoints[0].Digest, "sha256:"))
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(lines))); made.Hash != want {
		t.Errorf("the hash is %s instead of %s", made.Hash, want)
	}
	if plan := p.plan(made.ID); !plan.IsEmpty() {
		t.Errorf("straight after, a restore would change %+v", plan.DatabaseChanges)
	}

	p.sql("orders", "INSERT INTO orders VALUES (3)")
	p.write("a.txt", "two\n")
	undo := p.save(CreateOptions{Undoes: made.ID}, "orders")
	if undo.Type != DatabaseSavepoint || undo.Confidence() != 1 {
		t.Errorf("made %s, confidence %v", undo.Type, undo.Confidence())
	}
	if plan := p.plan(made.ID); len(plan.DatabaseChanges) != 1 || plan.DatabaseChanges[0].Now.Rows != 3 || plan.DatabaseChanges[0].Rows != 2 {
		t.Errorf("a restore would change %+v", plan.DatabaseChanges)
	}
	for _, restored := range []int{1, 0} {
		done, err := p.restore(made.ID, RestoreOptions{})
		if err != nil || len(done.Databases) != restored || p.row() != "2" {
			t.Errorf("restored: %+v, %v; the newest order is %s", done, err, p.row())
		}
	}

	p.sql("orders", "INSERT INTO orders VALUES (4)")
	var newer *NewerWorkError
	if _, err := p.restore(made.ID, RestoreOptions{}); !errors.As(err, &newer) || newer.Newer[0].Path != "database orders" || p.row() != "4" {
		t.Errorf("over newer work: %v", err)
	}
	if _, err := p.restore(undo.ID, RestoreOptions{}); err != nil || p.row() != "3" {
		t.Errorf("undone: %v; the newest order is %s", err, p.row())
	}
}

// TestVerifyDatabase: a dump that is damaged is found, and nothing is restored from it.
func TestVerifyDatabase(t *testing.T) {
	t.Parallel()
	p := newDatabasePlace(t)
	made := p.save(CreateOptions{}, "orders")
	if v, err := p.s.Verify(t.Context(), p.w, made.Checkpoint); err != nil || !v.OK() || v.Contents != 1 {
		t.Errorf("verified: %+v, %v", v, err)
	}
	p.sql("orders", "INSERT INTO orders VALUES (3)")
	file, _, err := p.objects().Path(made.Databases.Savepoints[0].Object)
	p.must(err)
	p.must(os.Remove(file))
	v, err := p.s.Verify(t.Context(), p.w, made.Checkpoint)
	if err != nil || v.OK() || v.Missing[0].Path != "database orders" {
		t.Errorf("verified: %+v, %v", v, err)
	}
	if _, err := p.restore(made.ID, RestoreOptions{}); err == nil || p.row() != "3" {
		t.Errorf("a lost dump was restored: %v", err)
	}
}

// TestInterruptedDatabases: of two databases one is restored when a restore is interrupted.
// It is completed, or given up, and neither overwrites what was changed in between.
func TestInterruptedDatabases(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit        string // after the interruption
		giveUp      bool
		wantNewer   string
		wantOrder   string
		wantInStock string
	}{
		"completed":             {"", false, "", "2", "0"},
		"given up":              {"", true, "", "3", "1"},
		"completed over edits":  {"INSERT INTO orders VALUES (9)", false, "database orders", "2", "0"},
		"given up despite work": {"INSERT INTO orders VALUES (9)", true, "database orders", "3", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDatabasePlace(t)
			made := p.save(CreateOptions{}, "orders", "stock")
			p.sql("orders", "INSERT INTO orders VALUES (3)")
			p.sql("stock", "INSERT INTO stock VALUES (1)")
			undo := p.save(CreateOptions{Undoes: made.ID}, "orders", "stock")
			plan := p.plan(made.ID)
			file, _, err := p.objects().Path(made.Databases.Savepoints[1].Object)
			p.must(err)
			p.must(os.Rename(file, file+".away"))
			if _, err := p.s.Restore(t.Context(), p.w, plan, RestoreOptions{Undo: undo.ID}); err == nil || p.row() != "2" {
				t.Fatalf("not interrupted: %v; the newest order is %s", err, p.row())
			}
			p.must(os.Rename(file+".away", file))
			if tt.edit != "" {
				p.sql("orders", tt.edit)
			}
			next := made.ID
			if tt.giveUp {
				next = undo.ID
			}
			var newer *NewerWorkError
			if errors.As(p.plan(next).Refused(false), &newer) != (tt.wantNewer != "") || newer != nil && (len(newer.Newer) != 1 || newer.Newer[0].Path != tt.wantNewer) {
				t.Errorf("newer work: %v", newer)
			}
			if _, err := p.restore(next, RestoreOptions{Force: true}); err != nil {
				t.Fatal(err)
			}
			if n := savepointtest.InSQLite(t, p.path("stock.db"), "SELECT count(*) FROM stock"); n != tt.wantInStock || p.row() != tt.wantOrder {
				t.Errorf("the newest order is %s, and %s rows are in stock", p.row(), n)
			}
			if half, err := p.s.Interrupted(); half != nil || err != nil {
				t.Errorf("interrupted: %+v, %v", half, err)
			}
		})
	}
}

// newTemplatePlace returns a workspace with a database of PostgreSQL that is copied as a
// template. away has the server out of reach.
func newTemplatePlace(t *testing.T) (p *place, away *bool) {
	postgresServer.Need(t)
	p, away = newPlace(t), new(bool)
	name := "db" + filepath.Base(p.dir) + strings.ToLower(t.Name())
	postgresServer.Run(t, "postgres", `CREATE DATABASE "`+name+`"`)
	p.s.OpenDatabase = func(_ context.Context, _, block string) (*savepoint.Database, error) {
		at := postgresServer.URL(url.User("admin"), name)
		if *away {
			at = strings.Replace(at, url.QueryEscape(postgresServer.Dir()), url.QueryEscape(p.dir), 1)
		}
		return savepoint.Open(savepoint.Options{
			Name: block, Driver: savepoint.Postgres, Method: savepoint.Template, URL: at, Objects: p.objects(), Commands: gittest.Commander{},
		})
	}
	return p, away
}

// TestFailedCreation: if a database can't be copied, nothing is left of the copies of others.
func TestFailedCreation(t *testing.T) {
	t.Parallel()
	p, _ := newTemplatePlace(t)
	postgres, id := p.s.OpenDatabase, ""
	p.write("broken.db", strings.Repeat("no database ", 1000))
	p.s.OpenDatabase = func(ctx context.Context, prd, name string) (*savepoint.Database, error) {
		if name == "orders" {
			return postgres(ctx, prd, name)
		}
		ids, err := p.s.ids()
		if err != nil || len(ids) != 1 {
			return nil, fmt.Errorf("there are %v, %w", ids, err)
		}
		id = ids[0]
		return savepoint.Open(savepoint.Options{Name: name, Driver: savepoint.SQLite, URL: "broken.db", Workspace: p.dir, Objects: p.objects()})
	}
	if _, err := p.s.Create(t.Context(), p.w, CreateOptions{Databases: []string{"orders", "broken"}, DatabasesOf: ofPRD}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("the creation: %v", err)
	}
	if ids, err := p.s.ids(); err != nil || len(ids) > 0 || copies(t, id) != "0" {
		t.Errorf("left are %v, %v, and %s copies of %s", ids, err, copies(t, id), id)
	}
}

// copies returns how many databases are copies of a checkpoint.
func copies(t *testing.T, id string) string {
	t.Helper()
	return postgresServer.Run(t, "postgres", "SELECT count(*) FROM pg_database WHERE datname LIKE 'runner_savepoint_"+id+"%'")
}

// TestDeleteTemplate: the copy on the server goes with the checkpoint. If the server is out
// of reach, the checkpoint stays.
func TestDeleteTemplate(t *testing.T) {
	t.Parallel()
	p, away := newTemplatePlace(t)
	made := p.save(CreateOptions{}, "orders")
	if n := copies(t, made.ID); n != "1" {
		t.Fatalf("%s copies are on the server", n)
	}
	*away = true
	var left *CopyError
	if err := p.s.Delete(t.Context(), p.w, made.ID); !errors.As(err, &left) || left.Name != "orders" {
		t.Errorf("the server is out of reach: %v", err)
	}
	*away = false
	if v, err := p.s.Verify(t.Context(), p.w, made.Checkpoint); err != nil || !v.OK() {
		t.Errorf("verified: %+v, %v", v, err)
	}
	p.must(os.WriteFile(p.s.RecordPath(made.ID), []byte("damaged"), 0o600))
	p.must(p.s.Delete(t.Context(), p.w, made.ID))
	if n := copies(t, made.ID); n != "0" {
		t.Errorf("%s copies are on the server", n)
	}
}

// TestTidyTemplate: a creation that was killed leaves a copy on the server, which Tidy
// removes as soon as the server is in reach.
func TestTidyTemplate(t *testing.T) {
	t.Parallel()
	p, away := newTemplatePlace(t)
	killed := &Checkpoint{ID: newID(p.now)}
	p.must(os.MkdirAll(filepath.Join(p.s.Dir, killed.ID), 0o700))
	p.must(p.s.copyDatabases(t.Context(), killed, CreateOptions{Databases: []string{"orders"}, DatabasesOf: ofPRD}))
	var warned []error
	p.s.Warn = func(err error) { warned = append(warned, err) }
	*away = true
	if tidied, err := p.s.Tidy(t.Context(), p.w, false); err != nil || len(tidied.Unfinished) > 0 || len(warned) != 1 || copies(t, killed.ID) != "1" {
		t.Errorf("out of reach: %+v, %v, warned of %v", tidied, err, warned)
	}
	*away = false
	if tidied, err := p.s.Tidy(t.Context(), p.w, false); err != nil || len(tidied.Unfinished) != 1 || len(warned) != 1 || copies(t, killed.ID) != "0" {
		t.Errorf("in reach: %+v, %v, warned of %v", tidied, err, warned)
	}
	if ids, err := p.s.ids(); err != nil || len(ids) > 0 {
		t.Errorf("left are %v, %v", ids, err)
	}
}

// TestOtherDatabase: a database that has the contents of the copy, but is another one, does
// not count as restored.
func TestOtherDatabase(t *testing.T) {
	t.Parallel()
	p := newDatabasePlace(t)
	p.sql("twin", "CREATE TABLE orders (n)", "INSERT INTO orders VALUES (1), (2)")
	made := p.save(CreateOptions{}, "orders")
	open := p.s.OpenDatabase
	p.s.OpenDatabase = func(ctx context.Context, prd, _ string) (*savepoint.Database, error) { return open(ctx, prd, "twin") }
	if plan, err := p.s.PlanRestore(t.Context(), p.w, made.Checkpoint, nil); !errors.Is(err, savepoint.ErrOtherDatabase) {
		t.Errorf("a restore of another database is planned: %+v, %v", plan, err)
	}
}
