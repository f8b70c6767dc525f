package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
	"prdrunner/checkpoint/workspace"
)

// linkTo makes a symbolic link, where the system has them.
func linkTo(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("no symbolic links: %v", err)
	}
}

// TestImportMeetsObstacles: what is in the way of a file is neither taken for
// it nor removed, nor is anything written behind a link, even if files that
// differ are to be overwritten.
func TestImportMeetsObstacles(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	archive := p.export()
	outside := t.TempDir()
	const notes = "sub/notes session-1.txt"
	for name, test := range map[string]struct {
		prepare func(t *testing.T, q *project)
		blocked []Blocked
		same    int
		stays   map[string]string // to what is there afterwards
	}{
		"a directory with files in the place of a file": {
			func(_ *testing.T, q *project) { q.save("PRD-009.hcl/mine.txt", "mine") },
			[]Blocked{{"PRD-009.hcl", "PRD-009.hcl/mine.txt"}}, 0,
			map[string]string{"PRD-009.hcl/mine.txt": "mine", notes: "one", "gen/a.txt": "a"},
		},
		"an empty directory in the place of a file": {
			func(t *testing.T, q *project) {
				must(t, os.MkdirAll(filepath.Join(q.dir, "PRD-009.hcl", "sub"), 0o755))
			},
			nil, 0,
			map[string]string{"PRD-009.hcl": "pipeline", notes: "one", "gen/a.txt": "a"},
		},
		"a file in the place of a directory": {
			func(_ *testing.T, q *project) { q.save("gen", "mine") },
			[]Blocked{{"gen/a.txt", "gen"}}, 0,
			map[string]string{"gen": "mine", "PRD-009.hcl": "pipeline", notes: "one"},
		},
		"a link to a directory with the same file": {
			func(t *testing.T, q *project) {
				q.save("elsewhere/notes session-1.txt", "one")
				linkTo(t, "elsewhere", filepath.Join(q.dir, "sub"))
			},
			[]Blocked{{notes, "sub (a link to elsewhere)"}}, 0,
			map[string]string{"elsewhere/notes session-1.txt": "one", "gen/a.txt": "a"},
		},
		"a link that leads outside": {
			func(t *testing.T, q *project) { linkTo(t, outside, filepath.Join(q.dir, "gen")) },
			[]Blocked{{"gen/a.txt", "gen (a link to " + filepath.ToSlash(outside) + ")"}}, 0,
			map[string]string{"PRD-009.hcl": "pipeline", notes: "one"},
		},
		"a file that is there": {
			func(_ *testing.T, q *project) { q.save("gen/a.txt", "a") },
			nil, 1,
			map[string]string{"PRD-009.hcl": "pipeline", notes: "one", "gen/a.txt": "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newProject(t, store.NewMemory())
			test.prepare(t, q)
			s := q.open()
			w := q.workspace(s)
			i, err := s.OpenImport(t.Context(), bytes.NewReader(archive), "it.tar", bundle.Limits{})
			must(t, err)
			files, err := i.PlanFiles(t.Context(), w)
			must(t, err)
			if !slices.Equal(files.Blocked, test.blocked) || files.Same != test.same || len(files.Differ) > 0 {
				t.Errorf("planned: %+v", files)
			}
			_, err = i.Place(t.Context(), by, PlaceOptions{})
			must(t, err)
			done, err := s.RestoreImported(t.Context(), w, "PRD-009", files, by, true)
			must(t, errors.Join(err, i.Close()))
			if want := len(files.Absent); done.Written != want || len(done.Skipped) > 0 {
				t.Errorf("%+v; want %d written", done, want)
			}
			for path, content := range test.stays {
				data, err := os.ReadFile(filepath.Join(q.dir, filepath.FromSlash(path)))
				if err != nil || string(data) != content {
					t.Errorf("%s is %q, %v; want %q", path, data, err, content)
				}
			}
		})
	}
}

// TestImportOfFilesCutShort ends an import at each change of the state
// directory, by a fault that stays and by a power cut, and at each look at its
// context: whoever reads then is told of it, and the next owner finishes it.
func TestImportOfFilesCutShort(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	is, archive := p.stands(), p.export()
	want := files(t, p.dir)
	for _, overwrite := range []bool{false, true} {
		for _, cut := range []string{"change", "context"} {
			t.Run(fmt.Sprintf("%s, overwrite %v", cut, overwrite), func(t *testing.T) {
				t.Parallel()
				for n := int64(1); ; n++ {
					disk, ctx := store.NewMemory(), t.Context()
					fsys := store.FS(disk)
					if cut == "change" {
						fsys = &faults.Killed{FS: disk, At: n}
					} else {
						ctx = &ending{Context: ctx, at: n}
					}
					q := &project{fixture: on(t, fsys, "/ws/.runner"), dir: t.TempDir()}
					q.save("PRD-009.hcl", "mine")
					err := q.takeFilesIn(ctx, archive, overwrite)
					when := fmt.Sprintf("%s %d (%v)", cut, n, err)
					for plane, left := range map[string]*store.Memory{"crashed": disk.Crash(), "live": disk} {
						finishes(t, when+", "+plane, &project{fixture: on(t, left, "/ws/.runner"), dir: q.dir}, is)
					}
					if err == nil {
						if overwrite == (files(t, q.dir)["PRD-009.hcl"] == "mine") {
							t.Errorf("%s: PRD-009.hcl", when)
						}
						return
					}
					if stands, loaded := on(t, disk, "/ws/.runner").open().Load("PRD-009"); loaded == nil && stands.State.Session == is.Session {
						got := files(t, q.dir)
						if !overwrite {
							got["PRD-009.hcl"] = want["PRD-009.hcl"]
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Fatalf("%s: the files are not those of the session (-want +got):\n%s", when, diff)
						}
					}
				}
			})
		}
	}
}

// takeFilesIn imports an archive as `runner checkpoint import` does.
func (p *project) takeFilesIn(ctx context.Context, archive []byte, overwrite bool) (err error) {
	s := p.open()
	w, err := s.OpenWorkspace(p.dir, nil, workspace.GitOff)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	i, err := s.OpenImport(ctx, bytes.NewReader(archive), "it.tar", bundle.Limits{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	files, err := i.PlanFiles(ctx, w)
	if err != nil {
		return err
	}
	if _, err := i.Place(ctx, by, PlaceOptions{Files: files, Overwrite: overwrite}); err != nil {
		return err
	}
	_, err = s.RestoreImported(ctx, w, "PRD-009", files, by, overwrite)
	return err
}

// finishes makes sure that an import that may have been cut short is told of,
// and that the next owner finishes it, once.
func finishes(t *testing.T, when string, q *project, is *state.State) {
	t.Helper()
	s := q.open()
	pending, err := s.layout.InterruptedImport("PRD-009")
	must(t, err)
	snap, err := s.Load("PRD-009")
	if err == nil && (snap.Import != nil) != (pending != nil) {
		t.Fatalf("%s: %v is pending, and the snapshot says %v", when, pending, snap.Import)
	}
	if err == nil && pending == nil && len(files(t, q.dir)) < 3 {
		t.Fatalf("%s: files are missing, and nothing says so", when)
	}
	w := q.workspace(s)
	x := lockPRD(t, s, "PRD-009")
	done, err := x.FinishImport(t.Context(), w)
	if err != nil || (done != nil) != (pending != nil) {
		t.Fatalf("%s: finished %+v, %v, and %+v was pending", when, done, err, pending)
	}
	again, err := x.FinishImport(t.Context(), w)
	if err != nil || again != nil {
		t.Fatalf("%s: finished again: %+v, %v", when, again, err)
	}
	if x.State() != nil && x.State().Session != is.Session {
		t.Fatalf("%s: it stands at %q", when, seqOf(x.State()))
	}
	must(t, x.Close())
}

// files are the files in a workspace and what they hold.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[filepath.ToSlash(path[len(dir)+1:])] = string(data)
		return err
	}))
	return all
}

// ending is a context that ends when it is asked for the nth time.
type ending struct {
	context.Context
	asked atomic.Int64
	at    int64
}

func (e *ending) Err() error {
	if e.asked.Add(1) >= e.at {
		return context.Canceled
	}
	return e.Context.Err()
}
