package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/workspace"
)

// linkTo makes a symbolic link. Without symbolic links it skips the test, or fails it in
// CI.
func linkTo(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("no symbolic links: %v", err)
	}
}

// TestImportMeetsObstacles puts links, files and directories in the way of files to
// import. An import must neither remove an obstacle nor write through a link, even if it
// may overwrite files, and must report each blocked file.
func TestImportMeetsObstacles(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	archive := checkpointtest.Exported(p)
	outside := t.TempDir()
	const notes = "sub/notes session-1.txt"
	for name, test := range map[string]struct {
		prepare func(t *testing.T, q *checkpointtest.Project)
		blocked []transfer.Blocked
		same    int
		stays   map[string]string // paths and their content after the import
	}{
		"a directory with files in the place of a file": {
			func(_ *testing.T, q *checkpointtest.Project) { q.Save("PRD-009.hcl/mine.txt", "mine") },
			[]transfer.Blocked{{"PRD-009.hcl", "PRD-009.hcl/mine.txt"}}, 0,
			map[string]string{"PRD-009.hcl/mine.txt": "mine", notes: "one", "gen/a.txt": "a"},
		},
		"an empty directory in the place of a file": {
			func(t *testing.T, q *checkpointtest.Project) {
				checkpointtest.Must(t, os.MkdirAll(filepath.Join(q.Root, "PRD-009.hcl", "sub"), 0o755))
			},
			nil, 0,
			map[string]string{"PRD-009.hcl": "pipeline", notes: "one", "gen/a.txt": "a"},
		},
		"a file in the place of a directory": {
			func(_ *testing.T, q *checkpointtest.Project) { q.Save("gen", "mine") },
			[]transfer.Blocked{{"gen/a.txt", "gen"}}, 0,
			map[string]string{"gen": "mine", "PRD-009.hcl": "pipeline", notes: "one"},
		},
		"a link to a directory with the same file": {
			func(t *testing.T, q *checkpointtest.Project) {
				q.Save("elsewhere/notes session-1.txt", "one")
				linkTo(t, "elsewhere", filepath.Join(q.Root, "sub"))
			},
			[]transfer.Blocked{{notes, "sub (a link to elsewhere)"}}, 0,
			map[string]string{"elsewhere/notes session-1.txt": "one", "gen/a.txt": "a"},
		},
		"a link that leads outside": {
			func(t *testing.T, q *checkpointtest.Project) { linkTo(t, outside, filepath.Join(q.Root, "gen")) },
			[]transfer.Blocked{{"gen/a.txt", "gen (a link to " + filepath.ToSlash(outside) + ")"}}, 0,
			map[string]string{"PRD-009.hcl": "pipeline", notes: "one"},
		},
		"a file that is there": {
			func(_ *testing.T, q *checkpointtest.Project) { q.Save("gen/a.txt", "a") },
			nil, 1,
			map[string]string{"PRD-009.hcl": "pipeline", notes: "one", "gen/a.txt": "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := checkpointtest.NewProject(t, store.NewMemory())
			test.prepare(t, q)
			s := q.Open()
			w := q.Workspace(s)
			i, err := transfer.OpenImport(t.Context(), s, bytes.NewReader(archive), "it.tar", bundle.Limits{})
			checkpointtest.Must(t, err)
			files, err := i.PlanFiles(t.Context(), w)
			checkpointtest.Must(t, err)
			if !slices.Equal(files.Blocked, test.blocked) || files.Same != test.same || len(files.Differ) > 0 {
				t.Errorf("planned: %+v", files)
			}
			_, err = i.Place(t.Context(), checkpointtest.By, transfer.PlaceOptions{})
			checkpointtest.Must(t, err)
			done, err := transfer.RestoreImported(t.Context(), s, w, "PRD-009", files, checkpointtest.By, true)
			checkpointtest.Must(t, errors.Join(err, i.Close()))
			if want := len(files.Absent); done.Written != want || len(done.Skipped) > 0 {
				t.Errorf("%+v; want %d written", done, want)
			}
			for path, content := range test.stays {
				data, err := os.ReadFile(filepath.Join(q.Root, filepath.FromSlash(path)))
				if err != nil || string(data) != content {
					t.Errorf("%s is %q, %v; want %q", path, data, err, content)
				}
			}
		})
	}
}

// TestImportAfterTheWorkspaceChanged removes or makes a file after the import was
// planned. The import must name that file and overwrite no file.
func TestImportAfterTheWorkspaceChanged(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	archive := checkpointtest.Exported(p)
	const notes = "sub/notes session-1.txt" // the last file in sorted order
	for name, test := range map[string]struct {
		change func(t *testing.T, q *checkpointtest.Project)
		path   string // the file that the error names
		want   map[string]string
	}{
		"removed": {
			func(t *testing.T, q *checkpointtest.Project) {
				checkpointtest.Must(t, os.Remove(filepath.Join(q.Root, filepath.FromSlash(notes))))
			},
			notes, map[string]string{"PRD-009.hcl": "mine"},
		},
		"made": {
			func(_ *testing.T, q *checkpointtest.Project) { q.Save("gen/a.txt", "made") },
			"gen/a.txt", map[string]string{"PRD-009.hcl": "mine", "gen/a.txt": "made", notes: "mine"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := checkpointtest.NewProject(t, store.NewMemory())
			q.Save("PRD-009.hcl", "mine")
			q.Save(notes, "mine")
			s := q.Open()
			w := q.Workspace(s)
			i, err := transfer.OpenImport(t.Context(), s, bytes.NewReader(archive), "it.tar", bundle.Limits{})
			checkpointtest.Must(t, err)
			planned, err := i.PlanFiles(t.Context(), w)
			checkpointtest.Must(t, err)
			if len(planned.Differ) != 2 || len(planned.Absent) != 1 {
				t.Fatalf("planned: %+v", planned)
			}
			test.change(t, q)
			_, err = i.Place(t.Context(), checkpointtest.By, transfer.PlaceOptions{Files: planned, Overwrite: true})
			checkpointtest.Must(t, errors.Join(err, i.Close()))
			_, err = transfer.RestoreImported(t.Context(), s, w, "PRD-009", planned, checkpointtest.By, true)
			if err == nil || !strings.Contains(err.Error(), test.path+" was changed meanwhile") {
				t.Errorf("%s was changed: %v", test.path, err)
			}
			if diff := cmp.Diff(test.want, files(t, q.Root)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestImportOfFilesCutShort ends an import at each change of the state directory, by a
// fault and by a power cut, and at each check of its context. A reader must see that the
// import is unfinished, and the next owner must finish it.
func TestImportOfFilesCutShort(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	is, archive := p.State(), checkpointtest.Exported(p)
	want := files(t, p.Root)
	for _, overwrite := range []bool{false, true} {
		for _, cut := range []string{"change", "context"} {
			t.Run(fmt.Sprintf("%s, overwrite %v", cut, overwrite), func(t *testing.T) {
				t.Parallel()
				for n := range faults.Moments() {
					disk, ctx := store.NewMemory(), t.Context()
					fsys := store.FS(disk)
					if cut == "change" {
						fsys = &faults.Killed{FS: disk, At: n}
					} else {
						ctx = &ending{Context: ctx, at: n}
					}
					q := &checkpointtest.Project{Fixture: checkpointtest.On(t, fsys, "/ws/.runner"), Root: t.TempDir()}
					q.Save("PRD-009.hcl", "mine")
					err := takeFilesIn(ctx, q, archive, overwrite)
					when := fmt.Sprintf("%s %d (%v)", cut, n, err)
					for plane, left := range map[string]*store.Memory{"crashed": disk.Crash(), "live": disk} {
						finishes(t, when+", "+plane, &checkpointtest.Project{Fixture: checkpointtest.On(t, left, "/ws/.runner"), Root: q.Root}, is)
					}
					if err == nil {
						if overwrite == (files(t, q.Root)["PRD-009.hcl"] == "mine") {
							t.Errorf("%s: PRD-009.hcl", when)
						}
						return
					}
					if stands, loaded := checkpointtest.On(t, disk, "/ws/.runner").Open().Load("PRD-009"); loaded == nil && stands.State.Session == is.Session {
						got := files(t, q.Root)
						if !overwrite {
							got["PRD-009.hcl"] = want["PRD-009.hcl"]
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Fatalf("%s: the files differ from those of the session (-want +got):\n%s", when, diff)
						}
					}
				}
			})
		}
	}
}

// takeFilesIn imports an archive as `runner checkpoint import` does.
func takeFilesIn(ctx context.Context, p *checkpointtest.Project, archive []byte, overwrite bool) (err error) {
	s := p.Open()
	w, err := s.OpenWorkspace(p.Root, nil, workspace.GitOff)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	i, err := transfer.OpenImport(ctx, s, bytes.NewReader(archive), "it.tar", bundle.Limits{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	files, err := i.PlanFiles(ctx, w)
	if err != nil {
		return err
	}
	if _, err := i.Place(ctx, checkpointtest.By, transfer.PlaceOptions{Files: files, Overwrite: overwrite}); err != nil {
		return err
	}
	_, err = transfer.RestoreImported(ctx, s, w, "PRD-009", files, checkpointtest.By, overwrite)
	return err
}

// finishes fails the test unless an unfinished import is reported to readers, and the
// next owner finishes it exactly once.
func finishes(t *testing.T, when string, q *checkpointtest.Project, is *state.State) {
	t.Helper()
	s := q.Open()
	pending, err := s.Layout().InterruptedImport("PRD-009")
	checkpointtest.Must(t, err)
	snap, err := s.Load("PRD-009")
	if err == nil && (snap.Import != nil) != (pending != nil) {
		t.Fatalf("%s: pending import %v, but the snapshot has %v", when, pending, snap.Import)
	}
	if err == nil && pending == nil && len(files(t, q.Root)) < 3 {
		t.Fatalf("%s: files are missing, but no import is pending", when)
	}
	w := q.Workspace(s)
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	done, err := transfer.FinishImport(t.Context(), x, w)
	if err != nil || (done != nil) != (pending != nil) {
		t.Fatalf("%s: finished %+v, %v; pending was %+v", when, done, err, pending)
	}
	again, err := transfer.FinishImport(t.Context(), x, w)
	if err != nil || again != nil {
		t.Fatalf("%s: finished again: %+v, %v", when, again, err)
	}
	if x.State() != nil && x.State().Session != is.Session {
		t.Fatalf("%s: the state is %q", when, checkpointtest.SeqOf(x.State()))
	}
	checkpointtest.Must(t, x.Close())
}

// files returns the files of a workspace and their content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	checkpointtest.Must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[filepath.ToSlash(path[len(dir)+1:])] = string(data)
		return err
	}))
	return all
}

// ending is a context whose Err returns context.Canceled from call number at.
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
