package savepoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/savepoint"
	"prdrunner/checkpoint/savepoint/engine"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// large is how long each large value of the fixtures is: by default long enough that
// PostgreSQL keeps it outside of its row.
var large = flag.Int("savepoint.large", 20_000, "how many characters a large value has")

// suite is what the contract needs of a driver with a method.
type suite struct {
	driver   savepoint.Driver
	method   savepoint.Method
	database func(t testing.TB) (url, name string) // creates an empty one
	run      func(t testing.TB, name, statement string) string

	fixture []string   // creates all kinds of things, among them the tables parent and child
	edits   [][]string // each changes rows and schema
	insert  string     // a row into parent
	number  string     // the number that the database gave to the last row of parent
	writer  func(t testing.TB, u *subject) (write func(statements string), stop func())
	list    string // the names of the databases that savepoints have created, or ""
}

// oddName is a name of a database that has to be quoted everywhere.
func oddName() string { return fmt.Sprintf("Odd näme'\"%%20 %d", databases.Add(1)) }

// suites returns every driver with each of its methods.
func suites() map[string]suite {
	template := postgresSuite()
	template.method = savepoint.Template
	return map[string]suite{"postgres dump": postgresSuite(), "postgres template": template, "mysql": mysqlSuite(), "sqlite": sqliteSuite()}
}

// subject is a database under test.
type subject struct {
	suite
	t        *testing.T
	name     string
	url      string
	objects  *objects.Store
	dir      string // of the objects
	commands *commander
	db       *savepoint.Database
}

// newSubject creates a database with the fixture.
func newSubject(t *testing.T, s suite) *subject {
	t.Helper()
	u := &subject{suite: s, t: t, dir: t.TempDir(), commands: &commander{}}
	u.url, u.name = s.database(t)
	u.objects = objects.New(store.OS(), filepath.Join(u.dir, "objects"), objects.Options{Compress: true})
	u.db = u.open(u.url)
	return u
}

func newFilled(t *testing.T, s suite) *subject {
	t.Helper()
	u := newSubject(t, s)
	u.all(s.fixture)
	return u
}

func (u *subject) open(url string) *savepoint.Database {
	u.t.Helper()
	db, err := savepoint.Open(savepoint.Options{
		Name: "main", Driver: u.driver, URL: url, Method: u.method, Workspace: u.dir, Objects: u.objects, Commands: u.commands,
	})
	if err != nil {
		u.t.Fatal(err)
	}
	return db
}

func (u *subject) all(statements []string) {
	u.t.Helper()
	if u.driver == savepoint.Postgres { // where a connection is a process
		statements = []string{strings.Join(statements, ";\n")}
	}
	for _, statement := range statements {
		u.run(u.t, u.name, statement)
	}
}

func (u *subject) digest() savepoint.Digest {
	u.t.Helper()
	d, err := u.db.Digest(u.t.Context())
	if err != nil {
		u.t.Fatal(err)
	}
	return d
}

func (u *subject) create(id string) *savepoint.Savepoint {
	u.t.Helper()
	s, err := u.db.Create(u.t.Context(), id)
	if err != nil {
		u.t.Fatal(err)
	}
	// The caller keeps it as JSON.
	data, err := json.Marshal(s)
	if err != nil {
		u.t.Fatal(err)
	}
	read := &savepoint.Savepoint{}
	if err := json.Unmarshal(data, read); err != nil {
		u.t.Fatal(err)
	}
	return read
}

func (u *subject) restore(s *savepoint.Savepoint) {
	u.t.Helper()
	if err := u.db.Restore(u.t.Context(), s); err != nil {
		u.t.Fatal(err)
	}
	if is := u.digest(); is.Sum != s.Digest || is.Rows != s.Rows || is.Tables != s.Tables {
		u.t.Errorf("the restored database is %+v, the savepoint %+v", is, s)
	}
}

// left returns the names of the databases that savepoints of the subject have left.
func (u *subject) left() string {
	u.t.Helper()
	if u.list == "" {
		return ""
	}
	suffix := strings.TrimPrefix(engine.NamesFor(u.name).Lock(), "runner_savepoint")
	return u.run(u.t, "", strings.ReplaceAll(u.list, "SUFFIX", suffix))
}

// commander runs commands. At one of them it can end as if the process was killed there.
type commander struct {
	mu   sync.Mutex
	die  func() // at the command that brings left to 0
	left int
	look func(git.Command) git.Command
}

var errKilled = errors.New("killed")

func (c *commander) Run(ctx context.Context, command git.Command) error {
	c.mu.Lock()
	look, die := c.look, c.die
	if die != nil {
		c.left--
		if c.left > 0 {
			die = nil
		}
	}
	c.mu.Unlock()
	if die != nil {
		die()
		return errKilled
	}
	if look != nil {
		command = look(command)
	}
	command.Env = append(command.Env, "LC_ALL=C") // as the supervised commander says
	return gittest.Commander{}.Run(ctx, command)
}

func TestContract(t *testing.T) {
	t.Parallel()
	for name, s := range suites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, test := range map[string]func(*testing.T, suite){
				"restores": testRestores, "verifies": testVerifies, "deletes": testDeletes, "other": testOther,
				"writers": testWriters, "empty": testEmpty, "interrupted": testInterrupted, "replaced": testReplaced,
				"at once": testAtOnce, "changed copy": testChangedCopy, "order": testOrder,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, s)
				})
			}
		})
	}
}

// testRestores changes rows and schema in several ways, and restores.
func testRestores(t *testing.T, s suite) {
	u := newFilled(t, s)
	before := u.digest()
	if before.Rows == 0 || before.Tables == 0 {
		t.Fatalf("the fixture is %+v", before)
	}
	number := u.run(t, u.name, s.number)
	point := u.create("chk_20240115_143022_a7b3c9")
	if point.Digest != before.Sum || point.Rows != before.Rows || point.Name != "main" || point.Driver != string(s.driver) {
		t.Errorf("the savepoint is %+v, the database was %+v", point, before)
	}
	if is := u.digest(); is != before {
		t.Errorf("creating a savepoint changed the database from %+v to %+v", before, is)
	}
	u.restore(point) // an unchanged database
	last := before
	for _, edits := range s.edits {
		u.all(edits)
		is := u.digest()
		if is.Sum == last.Sum {
			t.Errorf("the digest did not change after %q", edits)
		}
		last = is
	}
	u.restore(point)
	u.restore(point)
	u.run(t, u.name, s.insert)
	if is := u.run(t, u.name, s.number); is == number {
		t.Errorf("a row that was inserted after a restore got the number %s again", is)
	}
	if err := u.db.Delete(t.Context(), point); err != nil {
		t.Error(err)
	}
	if left := u.left(); left != "" {
		t.Errorf("left are %s", left)
	}
}

// testVerifies damages the object.
func testVerifies(t *testing.T, s suite) {
	u := newFilled(t, s)
	point := u.create("a")
	if err := u.db.Verify(t.Context(), point); err != nil {
		t.Fatal(err)
	}
	if s.method == savepoint.Template {
		return // see testChangedCopy
	}
	path, _, err := u.objects.Path(point.Object)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	u.all(s.edits[0])
	edited := u.digest()
	if err := u.db.Verify(t.Context(), point); !objects.IsLost(err) {
		t.Errorf("verifying a damaged object: %v", err)
	}
	if err := u.db.Restore(t.Context(), point); err == nil {
		t.Error("a damaged object was restored")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := u.db.Verify(t.Context(), point); !objects.IsLost(err) {
		t.Errorf("verifying a missing object: %v", err)
	}
	if is := u.digest(); is != edited {
		t.Errorf("the failed restore changed the database from %+v to %+v", edited, is)
	}
	if left := u.left(); left != "" {
		t.Errorf("the failed restore left %s", left)
	}
}

// testChangedCopy gives a savepoint the digest of other contents.
func testChangedCopy(t *testing.T, s suite) {
	u := newFilled(t, s)
	point := u.create("a")
	if s.method == savepoint.Template {
		u.run(t, point.Copy, s.insert)
		if err := u.db.Verify(t.Context(), point); !errors.Is(err, savepoint.ErrDigest) {
			t.Errorf("verifying a changed copy: %v", err)
		}
	} else {
		point.Digest = "sha256:" + strings.Repeat("0", 64)
	}
	u.all(s.edits[0])
	edited := u.digest()
	if err := u.db.Restore(t.Context(), point); !errors.Is(err, savepoint.ErrDigest) {
		t.Errorf("restoring a copy with another digest: %v", err)
	}
	if is := u.digest(); is != edited {
		t.Errorf("the failed restore changed the database from %+v to %+v", edited, is)
	}
}

func testDeletes(t *testing.T, s suite) {
	u := newFilled(t, s)
	point := u.create("a")
	if (u.left() == "") != (point.Copy == "") {
		t.Errorf("the copy is %q, and there are %q", point.Copy, u.left())
	}
	for range 2 {
		if err := u.db.Delete(t.Context(), point); err != nil {
			t.Error(err)
		}
	}
	if left := u.left(); left != "" {
		t.Errorf("left are %s", left)
	}
	if s.method == savepoint.Template {
		if err := u.db.Verify(t.Context(), point); err == nil {
			t.Error("a deleted copy is whole")
		}
		point.Copy = u.name
		if err := u.db.Delete(t.Context(), point); err == nil {
			t.Error("a database was dropped that is no copy")
		}
		u.digest()
	}
}

func testOther(t *testing.T, s suite) {
	u := newFilled(t, s)
	point := u.create("a")
	url, name := s.database(t)
	other := u.open(url)
	for what, err := range map[string]error{"restoring": other.Restore(t.Context(), point), "deleting": other.Delete(t.Context(), point)} {
		if !errors.Is(err, savepoint.ErrOtherDatabase) {
			t.Errorf("%s a savepoint of %s in %s: %v", what, u.name, name, err)
		}
	}
	for _, id := range []string{"", "a b", "a$old", strings.Repeat("x", 33)} {
		if _, err := u.db.Create(t.Context(), id); err == nil {
			t.Errorf("the ID %q was taken", id)
		}
	}
}

// testWriters creates savepoints while rows are added in pairs.
func testWriters(t *testing.T, s suite) {
	u := newFilled(t, s)
	u.run(t, u.name, "CREATE TABLE a (n integer)")
	u.run(t, u.name, "CREATE TABLE b (n integer)")
	write, stop := s.writer(t, u)
	const pair = "INSERT INTO a VALUES (1); INSERT INTO b VALUES (1)"
	for range 10 {
		write(pair)
	}
	done := make(chan struct{})
	ended := make(chan int, 1)
	go func() {
		n := 10
		for {
			select {
			case <-done:
				ended <- n
				return
			default:
				write(pair)
				n++
			}
		}
	}()
	point, err := u.db.Create(t.Context(), "a")
	close(done)
	n := <-ended
	stop()
	if err != nil {
		t.Fatal(err)
	}
	u.restore(point)
	a, b := u.run(t, u.name, "SELECT count(*) FROM a"), u.run(t, u.name, "SELECT count(*) FROM b")
	if a != b || a == "0" {
		t.Errorf("the copy has %s and %s rows of pairs", a, b)
	}
	t.Logf("%d pairs were written, of which the copy has %s", n, a)
}

func testEmpty(t *testing.T, s suite) {
	u := newSubject(t, s)
	before := u.digest()
	point := u.create("a")
	if point.Rows != 0 || point.Tables != 0 {
		t.Errorf("an empty database is %+v", point)
	}
	u.restore(point)
	u.all(s.fixture)
	u.restore(point)
	if is := u.digest(); is != before {
		t.Errorf("the empty database is %+v after a restore instead of %+v", is, before)
	}
}

// testOrder: the order of rows is no part of a digest, but how often there is an equal one.
func testOrder(t *testing.T, s suite) {
	u := newSubject(t, s)
	u.all([]string{"CREATE TABLE o (n integer)", "INSERT INTO o VALUES (1), (2), (3)"})
	before := u.digest()
	u.all([]string{"DELETE FROM o WHERE n = 1", "INSERT INTO o VALUES (1)"})
	if is := u.digest(); is != before {
		t.Errorf("in another order the rows have the digest %+v instead of %+v", is, before)
	}
	u.run(t, u.name, "INSERT INTO o VALUES (1), (1)")
	twice := u.digest()
	u.all([]string{"DELETE FROM o", "INSERT INTO o VALUES (1), (2), (2), (2), (3)"})
	if is := u.digest(); is.Rows != twice.Rows || is.Sum == twice.Sum {
		t.Errorf("with other duplicates the digest is %+v, after %+v", is, twice)
	}
}

// testReplaced creates a savepoint again with the same ID.
func testReplaced(t *testing.T, s suite) {
	u := newFilled(t, s)
	u.create("a")
	u.all(s.edits[0])
	point := u.create("a")
	u.run(t, u.name, s.insert)
	u.restore(point)
}

// testInterrupted ends Create and Restore at each of their commands.
func testInterrupted(t *testing.T, s suite) {
	u := newFilled(t, s)
	point := u.create("a")
	dieAt := func(n int, f func(ctx context.Context) error) (died bool) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		u.commands.mu.Lock()
		u.commands.left, u.commands.die = n, func() { died = true; cancel() }
		u.commands.mu.Unlock()
		err := f(ctx)
		u.commands.mu.Lock()
		u.commands.die = nil
		u.commands.mu.Unlock()
		if died != (err != nil) {
			t.Fatalf("it died: %v, and the error is %v", died, err)
		}
		return died
	}
	for n := 1; ; n++ {
		u.all(s.edits[0])
		if !dieAt(n, func(ctx context.Context) error { return u.db.Restore(ctx, point) }) {
			break
		}
		if _, err := u.db.Digest(t.Context()); err != nil && !errors.Is(err, savepoint.ErrUnfinished) {
			t.Fatal(err)
		}
		u.restore(point)
		if left := u.left(); left != point.Copy {
			t.Errorf("after dying at command %d and restoring again there are %s", n, left)
		}
	}
	for n := 1; dieAt(n, func(ctx context.Context) error { _, err := u.db.Create(ctx, "b"); return err }); n++ {
		if is := u.digest(); is.Sum != point.Digest {
			t.Errorf("creating a savepoint, which died at command %d, changed the database from %+v to %+v", n, point, is)
		}
	}
	u.restore(point)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := u.db.Restore(ctx, point); err == nil {
		t.Error("a restore went on although its context had ended")
	}
}

// testAtOnce restores and creates in parallel.
func testAtOnce(t *testing.T, s suite) {
	u := newFilled(t, s)
	point := u.create("a")
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			if err := u.db.Restore(t.Context(), point); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			other, err := u.db.Create(t.Context(), fmt.Sprint("b", i))
			if err != nil {
				t.Error(err)
			} else if other.Digest != point.Digest {
				t.Errorf("another savepoint is %+v instead of %+v", other, point)
			}
		})
	}
	all.Wait()
	u.restore(point)
}
