package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/store"
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
			[]Blocked{{notes, "sub"}}, 0,
			map[string]string{"elsewhere/notes session-1.txt": "one", "gen/a.txt": "a"},
		},
		"a link that leads outside": {
			func(t *testing.T, q *project) { linkTo(t, t.TempDir(), filepath.Join(q.dir, "gen")) },
			[]Blocked{{"gen/a.txt", "gen"}}, 0,
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
			_, err = i.Place(t.Context(), by, false)
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
