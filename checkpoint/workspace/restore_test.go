//go:build unix

package workspace

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/statcache"
	"prdrunner/checkpoint/workspace/tree"
)

// keeper opens a workspace in a new directory, outside git, with its objects
// and its cache in a state directory inside.
func keeper(t testing.TB) (*Workspace, string) {
	t.Helper()
	dir := t.TempDir()
	return open(t, keeperOptions(dir)), dir
}

func keeperOptions(dir string) Options {
	state := filepath.Join(dir, ".state")
	return Options{
		Dir: dir, Skip: []string{state}, FS: store.OS(), Cache: filepath.Join(state, "cache"),
		Objects: objects.New(store.OS(), filepath.Join(state, "objects"), objects.Options{}),
	}
}

// fill writes the files of a listing, whose digests belong to known data, to a directory.
func fill(dir string, l *Listing) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != ".state" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	data := map[string]string{}
	for _, d := range []string{"x", "yy", "zz"} {
		data[shaOf(d)] = d
	}
	for _, e := range l.Entries {
		name := filepath.Join(dir, tree.Native(e.Path))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o755))
		switch e.kindBits() {
		case ModeDir:
			err = errors.Join(err, os.MkdirAll(name, 0o755))
		case ModeSymlink:
			err = errors.Join(err, os.Symlink(data[e.Digest], name))
			continue
		default:
			err = errors.Join(err, os.WriteFile(name, []byte(data[e.Digest]), 0o600))
		}
		err = errors.Join(err, os.Chmod(name, fs.FileMode(e.Mode&0o777)))
	}
	return err
}

func capturePlain(t testing.TB, w *Workspace, last *Capture) Captured {
	t.Helper()
	c, err := w.Capture(t.Context(), CaptureOptions{Patterns: []string{"**"}, Last: last})
	must(t, err)
	return c
}

// restoreTo restores the workspace to a listing.
func restoreTo(ctx context.Context, w *Workspace, listing, id string) (Restored, error) {
	target, err := w.Load(ctx, listing)
	if err != nil {
		return Restored{}, err
	}
	now, err := w.Now(ctx, target.Patterns)
	if err != nil {
		return Restored{}, err
	}
	return w.Restore(ctx, Diff(now, target), RestoreOptions{ID: id})
}

// differs says how the workspace differs from a listing, or returns "". It does not use
// the cache.
func differs(dir string, l *Listing) string {
	fresh, err := Open(Options{Dir: dir, Skip: []string{filepath.Join(dir, ".state")}})
	if err != nil {
		return err.Error()
	}
	defer func() { _ = fresh.Close() }()
	now, err := fresh.Now(context.Background(), []string{"**"})
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, c := range Diff(now, l) {
		fmt.Fprintf(&b, "%s %q %v %v; ", c.Kind, c.Path, c.From, c.To)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), tree.TempPrefix) {
			fmt.Fprintf(&b, "%s was left; ", path)
		}
		return err
	})
	if err != nil {
		b.WriteString(err.Error())
	}
	return b.String()
}

// TestRestoreAnything restores random trees to other random trees, and back.
func TestRestoreAnything(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	must(t, os.Mkdir(filepath.Join(dir, ".state"), 0o700))
	rapid.Check(t, func(r *rapid.T) {
		a, b := listings().Draw(r, "a"), listings().Draw(r, "b")
		if err := fill(dir, a); err != nil {
			r.Fatal(err)
		}
		first := capturePlain(t, w, nil)
		if err := fill(dir, b); err != nil {
			r.Fatal(err)
		}
		second := capturePlain(t, w, &first.Capture)
		for _, step := range []struct {
			capture Captured
			want    *Listing
		}{{first, a}, {second, b}, {second, b}, {first, a}} {
			if _, err := restoreTo(t.Context(), w, step.capture.Listing, "x"); err != nil {
				r.Fatal(err)
			}
			if diff := differs(dir, step.want); diff != "" {
				r.Fatalf("%s", diff)
			}
		}
	})
}

// These environment variables make the test binary a process that dies in a restore.
const (
	crashDir     = "RESTORE_CRASH_DIR"
	crashListing = "RESTORE_CRASH_LISTING"
	crashAt      = "RESTORE_CRASH_AT"
)

// dying is a context that kills the process when its Err is called for the nth time.
type dying struct {
	context.Context
	left *atomic.Int64
}

func (d dying) Err() error {
	if d.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return d.Context.Err()
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		os.Exit(dieRestoring(dir))
	}
	// Random values are the same in every run, unless a flag says otherwise.
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func dieRestoring(dir string) int {
	at, err := strconv.Atoi(os.Getenv(crashAt))
	if err != nil {
		return 2
	}
	var left atomic.Int64
	left.Store(int64(at))
	w, err := Open(keeperOptions(dir))
	if err != nil {
		return 2
	}
	target, err := w.Load(context.Background(), os.Getenv(crashListing))
	if err != nil {
		return 2
	}
	now, err := w.Now(context.Background(), target.Patterns)
	if err != nil {
		return 2
	}
	if _, err := w.Restore(dying{context.Background(), &left}, Diff(now, target), RestoreOptions{ID: "x"}); err != nil {
		return 2
	}
	return 0
}

// crashTrees returns two trees that differ by every kind of change.
func crashTrees() (a, b *Listing) {
	file := func(path, data string, mode uint32) Entry {
		return Entry{Path: path, Mode: mode, Size: int64(len(data)), Digest: shaOf(data)}
	}
	a = (&Listing{}).With([]Entry{
		file("same", "x", 0o644), file("changed", "x", 0o644), file("mode", "x", 0o644), file("gone/deep/down", "yy", 0o600),
		file("dir-to-file/a", "x", 0o644), file("dir-to-file/b/c", "x", 0o644), file("file-to-dir", "zz", 0o644),
		file("link-to-dir", "x", ModeSymlink), {Path: "empty", Mode: ModeDir | 0o755}, {Path: "empty-mode", Mode: ModeDir | 0o755},
	})
	b = (&Listing{}).With([]Entry{
		file("same", "x", 0o644), file("changed", "yy", 0o600), file("mode", "x", 0o755), file("new/deep/down", "zz", 0o444),
		file("dir-to-file", "x", 0o644), file("file-to-dir/a/b", "yy", 0o644), file("file-to-dir/c", "x", ModeSymlink),
		file("link-to-dir/a", "x", 0o644), {Path: "gone/empty", Mode: ModeDir | 0o711}, {Path: "empty-mode", Mode: ModeDir | 0o700},
	})
	return a, b
}

// TestRestoreKilled kills a restore at every step, and repeats it. The repeated restore
// must complete.
func TestRestoreKilled(t *testing.T) {
	t.Parallel()
	a, b := crashTrees()
	w, dir := keeper(t)
	must(t, os.Mkdir(filepath.Join(dir, ".state"), 0o700))
	must(t, fill(dir, b))
	second := capturePlain(t, w, nil)
	step := 1
	if testing.Short() {
		step = 5
	}
	killed, left := 0, 0
	for at := 1; ; at += step {
		must(t, fill(dir, a))
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashDir+"="+dir, crashListing+"="+second.Listing, crashAt+"="+strconv.Itoa(at))
		out, err := cmd.CombinedOutput()
		if err == nil {
			break
		}
		if cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("at %d: %v: %s", at, err, out)
		}
		killed++
		if strings.Contains(differs(dir, b), "was left") {
			left++
		}
		if _, err := restoreTo(t.Context(), w, second.Listing, "x"); err != nil {
			t.Fatalf("after a kill at %d: %v", at, err)
		}
		if diff := differs(dir, b); diff != "" {
			t.Fatalf("after a kill at %d: %s", at, diff)
		}
	}
	t.Logf("killed %d times, %d of them with a temporary file left", killed, left)
	if killed < 10/step || left == 0 {
		t.Errorf("killed %d times only, %d of them with a temporary file left", killed, left)
	}
	if diff := differs(dir, b); diff != "" {
		t.Error(diff)
	}
}

// TestRestoreCancelled cancels a restore at every step. The restore leaves no temporary
// files.
func TestRestoreCancelled(t *testing.T) {
	t.Parallel()
	a, b := crashTrees()
	w, dir := keeper(t)
	must(t, os.Mkdir(filepath.Join(dir, ".state"), 0o700))
	must(t, fill(dir, b))
	second := capturePlain(t, w, nil)
	must(t, fill(dir, a))
	target, err := w.Load(t.Context(), second.Listing)
	must(t, err)
	for n := 1; ; n += 3 {
		now, err := w.Now(t.Context(), target.Patterns)
		must(t, err)
		ctx := &counting{Context: t.Context(), left: n}
		_, err = w.Restore(ctx, Diff(now, target), RestoreOptions{ID: "x"})
		if entries, _ := filepath.Glob(filepath.Join(dir, "*", tree.TempPrefix+"*")); len(entries) > 0 {
			t.Fatalf("left %q", entries)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("at %d: %v", n, err)
		}
	}
	if diff := differs(dir, b); diff != "" {
		t.Error(diff)
	}
}

// TestRestoreRefuses: a restore finds obstacles and files that changed meanwhile before
// it changes anything.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	file := func(path, data string) *Entry {
		return &Entry{Path: path, Mode: 0o644, Size: int64(len(data)), Digest: shaOf(data)}
	}
	link := &Entry{Path: "l", Mode: ModeSymlink, Size: 1, Digest: shaOf("d")}
	for name, test := range map[string]struct {
		changes []Change
		want    string
	}{
		"changed meanwhile":       {[]Change{{Path: "f", From: file("f", "x"), To: file("f", "yy")}}, "f was changed"},
		"already there":           {[]Change{{Path: "f", To: file("f", "yy")}}, "f was changed"},
		"gone and other":          {[]Change{{Path: "nothing", From: file("nothing", "x"), To: file("nothing", "yy")}}, "nothing was changed"},
		"deleted meanwhile":       {[]Change{{Path: "f", From: file("f", "x")}}, "f was changed"},
		"directory in the way":    {[]Change{{Path: "d", To: file("d", "x")}}, "d/keep is in the way"},
		"repository in the way":   {[]Change{{Path: "r", To: file("r", "x")}}, "r/.git is in the way"},
		"file above":              {[]Change{{Path: "f/x", To: file("f/x", "x")}}, "f is in the way"},
		"link above":              {[]Change{{Path: "l/x", To: file("l/x", "x")}}, "l (a link to d) is in the way"},
		"pipe":                    {[]Change{{Path: "pipe", To: file("pipe", "x")}}, ErrNotRegular.Error()},
		"escapes":                 {[]Change{{Path: "../f", To: file("../f", "x")}}, "does not name a file"},
		"state directory":         {[]Change{{Path: ".state/x", To: file(".state/x", "x")}}, "not a part"},
		"git's own":               {[]Change{{Path: "r/.git/x", To: file("r/.git/x", "x")}}, "not a part"},
		"bytes that are not kept": {[]Change{{Path: "new", To: file("new", "zz")}}, "no object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := keeper(t)
			put(t, dir, "x", "x")
			put(t, dir, "yy", "yy")
			_, _, err := w.Keep(t.Context(), []string{"x", "yy"})
			must(t, err)
			for _, path := range []string{"f", "d/keep", "r/.git/HEAD"} {
				put(t, dir, path, "mine")
			}
			must(t, os.Symlink("d", filepath.Join(dir, "l")))
			must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
			fresh := open(t, Options{Dir: dir, Skip: []string{filepath.Join(dir, ".state")}})
			before, err := fresh.Now(t.Context(), []string{"**"})
			must(t, err)
			changes := append([]Change{{Path: "yy", From: file("yy", "yy")}}, test.changes...)
			_, err = w.Restore(t.Context(), changes, RestoreOptions{ID: "x"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if diff := differs(dir, before); diff != "" {
				t.Errorf("the refused restore changed the workspace: %s", diff)
			}
			var obstructed *ObstructedError
			if inTheWay := strings.Contains(test.want, "in the way") || name == "pipe"; errors.As(err, &obstructed) != inTheWay {
				t.Errorf("%v is an ObstructedError: %t", err, !inTheWay)
			}
			if obstructed == nil {
				return
			}
			obstacles, err := w.Obstacles(t.Context(), changes)
			if err != nil || !slices.Equal(obstacles, obstructed.Obstacles) {
				t.Errorf("Obstacles returned %v, %v", obstacles, err)
			}
			done, err := w.Restore(t.Context(), changes, RestoreOptions{ID: "x", Force: true})
			if err != nil || done.Deleted != 1 || len(done.Skipped) != 1 {
				t.Errorf("forced: %+v, %v", done, err)
			}
		})
	}
	t.Run("link goes", func(t *testing.T) {
		t.Parallel()
		w, dir := keeper(t)
		put(t, dir, "d/x", "x")
		_, _, err := w.Keep(t.Context(), []string{"d/x"})
		must(t, err)
		must(t, os.Symlink("d", filepath.Join(dir, "l")))
		_, err = w.Restore(t.Context(), []Change{{Path: "l", From: link}, {Path: "l/y", To: file("l/y", "x")}}, RestoreOptions{})
		must(t, err)
		if info := mustStat(t, filepath.Join(dir, "l", "y")); info.Size() != 1 {
			t.Error("not restored")
		}
		if _, err := os.Lstat(filepath.Join(dir, "d", "y")); err == nil {
			t.Error("a link was followed")
		}
	})
}

// TestRestoreBesideLeftovers: a directory with only a temporary file of another restore
// counts as empty, and is not removed.
func TestRestoreBesideLeftovers(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	put(t, dir, "d/"+tree.TempPrefix+"other-0", "x")
	put(t, dir, "f", "x")
	before, err := open(t, Options{Dir: dir, Skip: []string{filepath.Join(dir, ".state")}}).Now(t.Context(), []string{"**"})
	must(t, err)
	done, err := w.Restore(t.Context(), Diff(before, &Listing{}), RestoreOptions{ID: "x"})
	if err != nil || done.Deleted != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "d")); err != nil || len(entries) != 1 {
		t.Errorf("the temporary file of another restore is gone: %v, %v", entries, err)
	}
}

// TestRecheck: a file that changed after the comparison is not overwritten.
func TestRecheck(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	put(t, dir, "f", "x")
	r := &restore{w: w}
	i := &item{Change: Change{Path: "f", From: &Entry{Path: "f", Mode: 0o644, Size: 1, Digest: shaOf("x")}}, exists: true, stat: statcache.StatOf(mustStat(t, filepath.Join(dir, "f")))}
	must(t, r.recheck(t.Context(), w.tree.Root(), i))
	var changed *ChangedError
	if err := r.recheck(t.Context(), w.tree.Root(), &item{Change: Change{Path: "f"}}); !errors.As(err, &changed) {
		t.Errorf("a file that came: %v", err)
	}
	put(t, dir, "f", "yy")
	if err := r.recheck(t.Context(), w.tree.Root(), i); !errors.As(err, &changed) {
		t.Errorf("a file that changed: %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "f")))
	if err := r.recheck(t.Context(), w.tree.Root(), i); !errors.As(err, &changed) {
		t.Errorf("a file that went: %v", err)
	}
	must(t, r.recheck(t.Context(), w.tree.Root(), &item{Change: Change{Path: "f"}}))
}

// TestIsAsWritten: a restored file need not be read again if its times were so old at the
// rename that any later write would change them.
func TestIsAsWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(w *Workspace, r *restore, path string) error
		is        bool
	}{
		"untouched":  {func(*Workspace, *restore, string) error { return nil }, true},
		"written to": {func(_ *Workspace, _ *restore, path string) error { return os.WriteFile(path, []byte("y"), 0o644) }, false},
		"replaced": {func(_ *Workspace, r *restore, path string) error {
			was := time.Unix(0, r.items[0].staged.Mtime)
			return errors.Join(os.WriteFile(path+"2", []byte("x"), 0o644), os.Chtimes(path+"2", was, was), os.Rename(path+"2", path))
		}, false},
		"another mode": {func(_ *Workspace, _ *restore, path string) error { return os.Chmod(path, 0o600) }, false},
		"gone":         {func(_ *Workspace, _ *restore, path string) error { return os.Remove(path) }, false},
		"too young": {func(_ *Workspace, r *restore, _ string) error {
			r.renamed = time.Unix(0, r.items[0].staged.Mtime).Add(20 * time.Millisecond)
			return nil
		}, false},
		"young by the clock of the disk": {func(w *Workspace, _ *restore, _ string) error {
			w.cache.SetClockLag(time.Minute)
			return nil
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := keeper(t)
			path := filepath.Join(dir, "f")
			put(t, dir, "f", "x")
			must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-time.Second)))
			e := Entry{Path: "f", Mode: 0o644, Size: 1, Digest: shaOf("x")}
			i := &item{Change: Change{Path: "f", To: &e}, temp: "t", staged: statcache.StatOf(mustStat(t, path)), sums: statcache.Sums{Digest: e.Digest}}
			r := &restore{w: w, items: []*item{i}, renamed: time.Now()}
			must(t, c.meanwhile(w, r, path))
			at := w.tree.Cursor()
			defer at.Close()
			if is := r.isAsWritten(at, i); is != (c.is && i.staged.Inode != 0) { // without inodes files can't be told apart
				t.Errorf("isAsWritten = %v", is)
			}
		})
	}
}

// TestRestoreMany restores more files than are synced together. If the bytes of one are
// missing, it restores none.
func TestRestoreMany(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	var paths []string
	for n := range 2*flushBatch + 1 {
		path := fmt.Sprintf("d%d/%d", n%3, n)
		put(t, dir, path, path)
		paths = append(paths, path)
	}
	kept, _, err := w.Keep(t.Context(), paths)
	must(t, err)
	var changes []Change
	for i := range kept {
		changes = append(changes, Change{Path: kept[i].Path, To: &kept[i]})
		must(t, os.Remove(filepath.Join(dir, tree.Native(paths[i]))))
	}
	damaged, _, err := w.o.Objects.Path(kept[flushBatch+1].Digest)
	must(t, err)
	whole, err := os.ReadFile(damaged)
	must(t, err)
	must(t, os.WriteFile(damaged, bytes.Repeat([]byte("x"), len(whole)), 0o600))
	var missing *MissingError
	if _, err := w.Restore(t.Context(), changes, RestoreOptions{ID: "x"}); !errors.As(err, &missing) || len(missing.Missing) != 1 {
		t.Fatalf("with a damaged object: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "d*", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	must(t, os.WriteFile(damaged, whole, 0o600))
	r, err := newRestore(w, changes, RestoreOptions{ID: "x"})
	must(t, err)
	if err := r.execute(t.Context()); err != nil || int(r.written.Load()) != len(paths) {
		t.Fatalf("restored %d of %d, %v", r.written.Load(), len(paths), err)
	}
	for _, i := range r.items {
		if i.staged == (statcache.Stat{}) {
			t.Errorf("%s was not synced", i.Path)
		}
	}
	for _, e := range kept {
		if now, err := w.Describe(t.Context(), e.Path); err != nil || !sameEntry(now, e) {
			t.Errorf("%s is %+v, %v", e.Path, now, err)
		}
	}
}
