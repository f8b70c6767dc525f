package isolate_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git/gittest"
	"prdrunner/pipeline"
	"prdrunner/runner/isolate"
	"prdrunner/runner/survey"
)

// site is a workspace with its work trees.
type site struct {
	t     *testing.T
	dir   string // the workspace
	cache string // holds the work trees
	files *workspace.Workspace
	trees *isolate.Trees
}

func newSite(t *testing.T, below string) *site {
	s := &site{t: t, dir: filepath.Join(t.TempDir(), "w", below), cache: t.TempDir()}
	must(t, os.MkdirAll(s.dir, 0o755))
	for _, name := range []string{"a", "src/b", "src/vendor/c", "src/vendor/README", "out/old", "ignored", "tool"} {
		s.write(name, name)
	}
	s.write(".gitignore", "ignored\nout\n.runner\n")
	must(t, os.Symlink("src", filepath.Join(s.dir, "link")))
	must(t, os.Mkdir(filepath.Join(s.dir, "empty"), 0o755))
	must(t, os.Chmod(filepath.Join(s.dir, "tool"), 0o750))
	must(t, os.Chtimes(filepath.Join(s.dir, "tool"), time.Time{}, time.Unix(1e9, 0)))
	kept := checkpointtest.On(t, store.OS(), filepath.Join(s.dir, ".runner"))
	var err error
	s.files, err = kept.Open().OpenWorkspace(s.dir, nil, workspace.GitOff)
	must(t, err)
	t.Cleanup(func() { _ = s.files.Close() })
	s.write(".runner/state", "state")
	s.trees = isolate.New(isolate.Options{
		Dir: s.cache, Workspace: s.dir, StateDir: filepath.Join(s.dir, ".runner"), PRD: "PRD-001", Files: s.files, Commander: gittest.Commander{},
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) write(name, text string) {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Dir(filepath.Join(s.dir, name)), 0o755))
	must(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644))
}

func gitOutput(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=u", "-c", "user.email=u@localhost"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// initGit makes a repository whose first commit has all files.
func initGit(t *testing.T, dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	gitOutput(t, dir, "init", "-q")
	gitOutput(t, dir, "add", "-A")
	gitOutput(t, dir, "commit", "-q", "-m", "first")
}

// workstream returns a workstream with this isolate block and these artifacts.
func workstream(t *testing.T, block string, artifacts ...string) *pipeline.Workstream {
	t.Helper()
	f, diags := pipeline.Parse([]byte(`pipeline "PRD-001" {
  phase "one" {
    workstream "make" {
      command   = ["make"]
      inputs    = ["ignored"]
      artifacts = ["`+strings.Join(artifacts, `", "`)+`"]
      isolate {
        `+block+`
      }
      gate "read" {
        command = ["cat"]
        inputs  = ["link/b"]
      }
    }
  }
}`), "PRD-001.hcl")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, diags := f.Pipeline(pipeline.Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return p.Workstream("make")
}

func (s *site) make(block string, artifacts ...string) (*isolate.Tree, *pipeline.Workstream) {
	s.t.Helper()
	ws := workstream(s.t, block, artifacts...)
	tree, err := s.trees.Make(context.Background(), ws, 1)
	must(s.t, err)
	return tree, ws
}

// list returns the files and empty directories below a directory, without git's own.
func list(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if d.Name() == ".git" {
			return err
		}
		entries, _ := os.ReadDir(path)
		if !d.IsDir() || len(entries) == 0 {
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	}))
	return all
}

func TestFilesOfWorkTree(t *testing.T) {
	t.Parallel()
	all := []string{".gitignore", "a", "empty", "ignored", "link", "out/old", "src/b", "src/vendor/README", "src/vendor/c", "tool"}
	for _, test := range []struct {
		block string
		want  []string
	}{
		{``, all},
		{`from = "copy"`, all},
		{`include = []`, []string{"ignored", "link", "out/old", "src/b"}}, // what is declared
		{`include = ["a", "src"]`, []string{"a", "ignored", "link", "out/old", "src/b", "src/vendor/README", "src/vendor/c"}},
		{`exclude = ["src/vendor", "!src/vendor/README", "empty", ".*", "ignored"]`, []string{"a", "ignored", "link", "out/old", "src/b", "src/vendor/README", "tool"}},
		{`from = "git"`, []string{".gitignore", "a", "ignored", "link", "out/old", "src/b", "src/vendor/README", "src/vendor/c", "tool"}},
		{"from = \"git\"\n exclude = [\"src/vendor\"]", []string{".gitignore", "a", "ignored", "link", "out/old", "src/b", "tool"}},
	} {
		t.Run(test.block, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			if strings.Contains(test.block, "git") {
				initGit(t, s.dir)
			}
			tree, _ := s.make(test.block, "out/**")
			if diff := cmp.Diff(test.want, list(t, tree.Dir)); diff != "" {
				t.Error(diff)
			}
			if info, err := os.Lstat(filepath.Join(tree.Dir, "tool")); err == nil && (info.Mode().Perm() != 0o750 || !info.ModTime().Equal(time.Unix(1e9, 0))) {
				t.Errorf("mode %s, time %s", info.Mode(), info.ModTime())
			}
			must(t, tree.Remove())
			must(t, s.trees.Clear())
			if left := list(t, s.cache); !slices.Equal(left, []string{"."}) {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

func TestGitWorkTree(t *testing.T) {
	t.Parallel()
	s := newSite(t, "below")
	top := filepath.Dir(s.dir)
	must(t, os.WriteFile(filepath.Join(top, "above"), nil, 0o644))
	initGit(t, top)
	s.write("a", "edited")
	s.write("new", "")
	must(t, os.Remove(filepath.Join(s.dir, "src/b")))
	tree, _ := s.make("from = \"git\"\nexclude = [\"src/vendor\"]", "out/**")
	if filepath.Base(tree.Dir) != "below" {
		t.Error(tree.Dir)
	}
	// Neither what is excluded nor what lies outside of the workspace counts as deleted.
	status := gitOutput(t, tree.Dir, "status", "--short")
	if want := " M a\n D src/b\n?? new\n"; status != want {
		t.Errorf("%q, want %q", status, want)
	}
	// A killed run leaves it. What another one has made stays.
	other := filepath.Join(t.TempDir(), "other")
	gitOutput(t, top, "worktree", "add", "-q", "--detach", other)
	must(t, s.trees.Clear())
	if all := gitOutput(t, top, "worktree", "list", "--porcelain"); strings.Count(all, "worktree ") != 2 || !strings.Contains(all, "/other") {
		t.Error(all)
	}
	if left := list(t, s.cache); !slices.Equal(left, []string{"."}) {
		t.Errorf("left over: %v", left)
	}
}

// TestManyGitWorkTreesAtOnce: git itself can't add two at the same time.
func TestManyGitWorkTreesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	initGit(t, s.dir)
	var all errgroup.Group
	for range 24 {
		ws := workstream(t, `from = "git"`, "out/*")
		all.Go(func() error {
			tree, err := s.trees.Make(t.Context(), ws, 1)
			if err != nil {
				return err
			}
			return tree.Remove()
		})
	}
	must(t, all.Wait())
}

// TestNoGitWorkTree: a work tree that git can't add is an error, and leaves nothing.
func TestNoGitWorkTree(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	gitOutput(t, s.dir, "init", "-q")
	_, err := s.trees.Make(t.Context(), workstream(t, `from = "git"`, "out/*"), 1)
	if err == nil || !strings.Contains(err.Error(), "make a linked git work tree") {
		t.Errorf("in a repository without a commit: %v", err)
	}
	if left := list(t, s.cache); len(left) != 1 || strings.Contains(left[0], "/") {
		t.Errorf("%q are left", left)
	}
}

// attempt runs an attempt that changes, makes and deletes artifacts, and removes its work tree.
// meanwhile is called before it ends.
func (s *site) attempt(meanwhile func()) (artifacts, before []state.Artifact) {
	t := s.t
	t.Helper()
	for _, name := range []string{"changed", "deleted", "same"} {
		s.write("out/"+name, "one "+name)
	}
	tree, ws := s.make("", "out/**")
	in := func(name string) string { return filepath.Join(tree.Dir, "out", name) }
	must(t, os.WriteFile(in("changed"), []byte("two"), 0o644))
	must(t, os.WriteFile(in("new"), []byte("two"), 0o755))
	must(t, os.Mkdir(in("sub"), 0o755))
	must(t, os.WriteFile(in("sub/new"), []byte("two"), 0o644))
	must(t, os.Remove(in("deleted")))
	must(t, os.WriteFile(filepath.Join(tree.Dir, "a"), []byte("dropped"), 0o644))
	meanwhile()
	m, err := tree.Files.Tree().Match(t.Context(), ws.ArtifactPatterns, nil)
	must(t, err)
	entries, _, err := tree.Files.Keep(t.Context(), m.Files)
	must(t, err)
	for _, e := range entries {
		artifacts = append(artifacts, state.Artifact{Path: state.Text(e.Path), Size: e.Size, Mode: e.Mode, Digest: e.Digest})
	}
	before = tree.Before(artifacts)
	must(t, tree.Remove())
	return artifacts, before
}

// texts returns the files of the workspace with their content.
func (s *site) texts() map[string]string {
	s.t.Helper()
	all := make(map[string]string)
	for _, name := range list(s.t, s.dir) {
		if data, err := os.ReadFile(filepath.Join(s.dir, name)); err == nil && !strings.HasPrefix(name, ".runner/") {
			all[name] = string(data)
		}
	}
	return all
}

// TestTakeBack takes back what is in the workspace of a result whose return was cut short.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		there func(s *site)     // what came back, and what happened then
		edits map[string]string // files that are not as before: they were edited
	}{
		{name: "nothing", there: func(*site) {}},
		{name: "temporary files", there: func(s *site) { s.write("out/.runner-restore-id-1", "two"); s.write(".runner-restore-id-2", "") }},
		{name: "half", there: func(s *site) { s.write("out/changed", "two"); s.write("out/sub/new", "two") }},
		{name: "what was deleted", there: func(s *site) { must(s.t, os.Remove(filepath.Join(s.dir, "out/deleted"))) }},
		{name: "half, and an edit", there: func(s *site) {
			s.write("out/changed", "two")
			s.write("out/deleted", "mine")
			s.write("out/same", "mine")
		}, edits: map[string]string{"out/deleted": "mine", "out/same": "mine"}},
		{name: "an edit of what came back", there: func(s *site) { s.write("out/changed", "two and mine") }, edits: map[string]string{"out/changed": "two and mine"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			artifacts, before := s.attempt(func() {})
			leftOut, err := isolate.KeepReplaced(t.Context(), s.files, before)
			must(t, err)
			if len(leftOut) > 0 {
				t.Error(leftOut)
			}
			want := s.texts()
			test.there(s)
			maps.Copy(want, test.edits)
			for range 2 { // also after a kill
				stay, err := isolate.TakeBack(t.Context(), s.files, "id", artifacts, before)
				must(t, err)
				if diff := cmp.Diff(want, s.texts()); diff != "" || len(stay) > 0 {
					t.Error(stay, diff)
				}
			}
		})
	}
	t.Run("all of it", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "")
		artifacts, before := s.attempt(func() {})
		_, err := isolate.KeepReplaced(t.Context(), s.files, before)
		must(t, err)
		want := s.texts()
		must(t, isolate.Return(t.Context(), s.files, "id", artifacts, before))
		_, err = isolate.TakeBack(t.Context(), s.files, "id", artifacts, before)
		must(t, err)
		if diff := cmp.Diff(want, s.texts()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("bytes are lost", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "")
		artifacts, before := s.attempt(func() {})
		must(t, isolate.Return(t.Context(), s.files, "id", artifacts, before))
		stay, err := isolate.TakeBack(t.Context(), s.files, "id", artifacts, before)
		must(t, err)
		if len(stay) != 2 || stay[0].Path != "out/changed" || stay[1].Path != "out/deleted" {
			t.Error(stay)
		}
		if now := s.texts(); now["out/changed"] != "two" || now["out/new"] != "" {
			t.Error(now)
		}
	})
}

// TestKeepReplaced refuses to keep files that have changed, and names those that it may not keep.
func TestKeepReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	_, before := s.attempt(func() { s.write("out/changed", "mine") })
	var changed *isolate.ChangedError
	if _, err := isolate.KeepReplaced(t.Context(), s.files, before); !errors.As(err, &changed) || !slices.Equal(changed.Paths, []string{"out/changed"}) {
		t.Error(err)
	}
	s.write("out/.env", "KEY=1")
	a, err := survey.Describe(t.Context(), s.files, "out/.env")
	must(t, err)
	if leftOut, err := isolate.KeepReplaced(t.Context(), s.files, []state.Artifact{a}); err != nil || !slices.Equal(leftOut, []string{"out/.env"}) {
		t.Error(leftOut, err)
	}
}

func TestReturn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		meanwhile func(s *site)
		changed   []string // the files that keep the result from coming back
	}{
		{name: "unchanged"},
		{name: "another file", meanwhile: func(s *site) { s.write("a", "mine") }},
		{name: "half of it is there", meanwhile: func(s *site) { s.write("out/changed", "two") }},
		{name: "deleted already", meanwhile: func(s *site) { must(s.t, os.Remove(filepath.Join(s.dir, "out/deleted"))) }},
		{name: "changed", meanwhile: func(s *site) { s.write("out/changed", "mine") }, changed: []string{"out/changed"}},
		{name: "removed", meanwhile: func(s *site) { must(s.t, os.Remove(filepath.Join(s.dir, "out/changed"))) }, changed: []string{"out/changed"}},
		{name: "the deleted one changed", meanwhile: func(s *site) { s.write("out/deleted", "mine") }, changed: []string{"out/deleted"}},
		{name: "there is such a file", meanwhile: func(s *site) { s.write("out/new", "mine") }, changed: []string{"out/new"}},
		{name: "one that was left alone", meanwhile: func(s *site) { s.write("out/same", "mine") }, changed: []string{"out/same"}},
		{name: "two", meanwhile: func(s *site) { s.write("out/changed", "mine"); s.write("out/same", "mine") }, changed: []string{"out/changed", "out/same"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			artifacts, before := s.attempt(func() {
				if test.meanwhile != nil {
					test.meanwhile(s)
				}
			})
			was := list(t, s.dir)

			err := isolate.Return(t.Context(), s.files, "id", artifacts, before)
			var changed *isolate.ChangedError
			if errors.As(err, &changed); len(test.changed) > 0 {
				if changed == nil || !slices.Equal(changed.Paths, test.changed) {
					t.Fatal(err)
				}
				if now := list(t, s.dir); !slices.Equal(was, now) {
					t.Error("something came back", now)
				}
				return
			}
			must(t, err)
			must(t, isolate.Return(t.Context(), s.files, "id", artifacts, before)) // as after a kill
			for name, want := range map[string]string{"changed": "two", "new": "two", "same": "one same", "old": "out/old"} {
				if got, err := os.ReadFile(filepath.Join(s.dir, "out", name)); err != nil || string(got) != want {
					t.Errorf("%s: %q %v", name, got, err)
				}
			}
			if _, err := survey.Describe(t.Context(), s.files, "out/deleted"); err == nil {
				t.Error("out/deleted is still there")
			}
			if got, _ := os.ReadFile(filepath.Join(s.dir, "a")); string(got) == "dropped" {
				t.Error("what is no artifact came back")
			}
		})
	}
}

// TestOnlyOwnDirectories puts what is not Runner's in the place of each of its directories. No
// work tree is made there, and nothing is removed behind it.
func TestOnlyOwnDirectories(t *testing.T) {
	s := newSite(t, "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	options := isolate.Options{Workspace: s.dir, StateDir: s.dir, PRD: "PRD-001", Files: s.files, Commander: gittest.Commander{}}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	if os.TempDir() != temp {
		t.Skip("the directory for temporary files is not the one in TMPDIR")
	}
	ws := workstream(t, "", "out/**")
	tree, err := isolate.New(options).Make(t.Context(), ws, 1)
	must(t, err)
	rel, err := filepath.Rel(must1(filepath.EvalSymlinks(temp)), filepath.Dir(tree.Dir))
	must(t, err)
	names := strings.Split(filepath.ToSlash(rel), "/")
	if len(names) != 3 {
		t.Fatal(names)
	}
	for i := range names {
		for _, test := range []struct {
			name, detail string
			put          func(at, precious string) error
		}{
			{"link", "symbolic link", func(at, precious string) error { return os.Symlink(precious, at) }},
			{"file", "not a directory", func(at, _ string) error { return os.WriteFile(at, nil, 0o600) }},
			{"writable", "other users may write to it", func(at, precious string) error {
				return errors.Join(os.CopyFS(at, os.DirFS(precious)), os.Chmod(at, 0o777))
			}},
		} {
			t.Run(names[i]+" is a "+test.name, func(t *testing.T) {
				temp, precious := t.TempDir(), t.TempDir()
				t.Setenv("TMPDIR", temp)
				kept := filepath.Join(append(append([]string{precious}, names[i+1:]...), "kept")...)
				must(t, os.MkdirAll(filepath.Dir(kept), 0o700))
				must(t, os.WriteFile(kept, nil, 0o600))
				at := filepath.Join(append([]string{temp}, names[:i+1]...)...)
				must(t, os.MkdirAll(filepath.Dir(at), 0o700))
				must(t, test.put(at, precious))
				before := append(list(t, temp), list(t, precious)...)

				trees := isolate.New(options)
				must(t, trees.Clear())
				_, err := trees.Make(t.Context(), ws, 1)
				var place *isolate.PlaceError
				if !errors.As(err, &place) || !strings.Contains(place.Detail, test.detail) || filepath.Base(place.Path) != names[i] {
					t.Error(err)
				}
				must(t, trees.RemoveLeft())
				if after := append(list(t, temp), list(t, precious)...); !slices.Equal(before, after) {
					t.Error(cmp.Diff(before, after))
				}
			})
		}
	}
}

// must1 returns a value, and ends the test if there is none.
func must1[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestTreesOfOthersStay ends a run that has lost its lock, while another one has a work tree.
func TestTreesOfOthersStay(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	initGit(t, s.dir)
	s.make(`from = "git"`, "out/**")
	other := isolate.New(isolate.Options{
		Dir: s.cache, Workspace: s.dir, StateDir: filepath.Join(s.dir, ".runner"), PRD: "PRD-001", Files: s.files, Commander: gittest.Commander{},
	})
	must(t, other.Clear())
	tree, err := other.Make(t.Context(), workstream(t, `from = "git"`, "out/**"), 2)
	must(t, err)
	must(t, s.trees.RemoveLeft())
	if status := gitOutput(t, tree.Dir, "status", "--short"); status != "" {
		t.Error(status)
	}
	must(t, other.RemoveLeft())
	if left := list(t, s.cache); !slices.Equal(left, []string{"."}) {
		t.Errorf("left over: %v", left)
	}
}

// BenchmarkClear reports what each build takes to look for work trees where none were made.
func BenchmarkClear(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		trees := isolate.New(isolate.Options{Workspace: dir, StateDir: dir, PRD: "PRD-001"})
		if err := trees.Clear(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNoWorkTreeWithinWorkspace(t *testing.T) {
	s := newSite(t, "")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(s.dir, "cache"))
	t.Setenv("HOME", s.dir)
	t.Setenv("TMPDIR", s.dir)
	trees := isolate.New(isolate.Options{Workspace: s.dir, StateDir: s.dir, PRD: "PRD-001", Files: s.files, Commander: gittest.Commander{}})
	_, err := trees.Make(t.Context(), workstream(t, "", "out/**"), 1)
	if err == nil || !strings.Contains(err.Error(), "no directory for work trees outside of the workspace") {
		t.Error(err)
	}
	must(t, trees.Clear())
}
