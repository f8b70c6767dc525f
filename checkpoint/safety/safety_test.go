package safety

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// dirty changes a work tree in every way that git tells apart, before a checkpoint.
func dirty(p *place) {
	p.write("edited.txt", "two, staged\n")
	p.write("added.txt", "added\n")
	if p.root != "" {
		p.git("add", ".")
		p.git("rm", "-q", "--cached", p.path("kept.txt"))
	}
	p.write("edited.txt", "three, in the work tree\n")
	p.write("untracked/new.txt", "untracked\n")
	p.write("ignored.log", "ignored\n")
	p.must(os.Remove(p.path("gone.txt")))
	p.must(os.Symlink("edited.txt", p.path("link")))
}

// mutate changes the files as a careless program does.
func mutate(p *place) {
	p.write("edited.txt", "mutated\n")
	p.must(os.Chmod(p.path("dir/run.sh"), 0o600))
	p.must(os.Remove(p.path("link")))
	p.write("link", "no link any more\n")
	p.must(os.RemoveAll(p.path("untracked")))
	p.write("untracked", "now a file\n")
	p.write("gone.txt", "back\n")
	p.write("made/by/it.txt", "made\n")
	p.write("ignored.log", "other\n")
	p.must(os.Remove(p.path("added.txt")))
}

// TestRestore restores everything exactly as it was, from each type of checkpoint, and a
// second time.
func TestRestore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		place func(t *testing.T) *place
		o     CreateOptions
		want  Type
	}{
		"git":             {func(t *testing.T) *place { return newGitPlace(t, "") }, CreateOptions{}, GitStash},
		"git, below":      {func(t *testing.T) *place { return newGitPlace(t, "sub") }, CreateOptions{}, GitStash},
		"git, detached":   {func(t *testing.T) *place { p := newGitPlace(t, ""); p.git("checkout", "-q", "--detach"); return p }, CreateOptions{}, GitStash},
		"a backup in git": {func(t *testing.T) *place { return newGitPlace(t, "") }, CreateOptions{Type: FileBackup}, FileBackup},
		"a backup elsewhere": {func(t *testing.T) *place {
			p := newPlace(t)
			p.write("dir/run.sh", "x")
			p.write("kept.txt", "")
			p.write("gone.txt", "")
			return p
		}, CreateOptions{}, FileBackup},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := tt.place(t)
			dirty(p)
			was := p.tree()
			made := p.create(tt.o)
			if diff := cmp.Diff(was, p.tree()); diff != "" {
				t.Fatalf("making the checkpoint changed something:\n%s", diff)
			}
			if made.Type != tt.want || made.Confidence() != 1 {
				t.Errorf("type %s, confidence %v: %+v", made.Type, made.Confidence(), made.Checks)
			}
			if plan := p.plan(made.ID); !plan.IsEmpty() {
				t.Errorf("straight after, a restore would change %+v and %+v", plan.Changes, plan.Index)
			}
			mutate(p)
			if tt.want == GitStash {
				p.git("add", "-A")
			}
			if _, err := p.restore(made.ID, RestoreOptions{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(was, p.tree()); tt.want == GitStash && diff != "" {
				t.Errorf("after the restore (-was +is):\n%s", diff)
			} else if diff := cmp.Diff(filesOf(was), filesOf(p.tree())); diff != "" {
				t.Errorf("after the restore (-was +is):\n%s", diff)
			}
			if done, err := p.restore(made.ID, RestoreOptions{}); err != nil || done.Written+done.Deleted > 0 {
				t.Errorf("the second restore: %+v, %v", done, err)
			}
			c, err := p.s.Read(made.ID)
			p.must(err)
			if v, err := p.s.Verify(t.Context(), p.w, c); err != nil || !v.OK() || v.Contents == 0 {
				t.Errorf("verified: %+v, %v", v, err)
			}
			if len(c.Restores) != 2 || c.Restores[0].Written == 0 {
				t.Errorf("restores on record: %+v", c.Restores)
			}
		})
	}
}

// filesOf returns the files of a tree, without what git knows.
func filesOf(tree map[string]string) map[string]string {
	files := map[string]string{}
	for name, content := range tree {
		if !strings.HasPrefix(name, "(") {
			files[name] = content
		}
	}
	return files
}

// TestPlainGit restores a git_stash with git alone.
func TestPlainGit(t *testing.T) {
	t.Parallel()
	p := newGitPlace(t, "")
	dirty(p)
	p.must(os.Remove(p.path("ignored.log")))
	was := p.tree()
	made := p.create(CreateOptions{})
	g := made.Files.Git
	p.git("add", "-A")
	p.git("reset", "-q", "--hard")
	p.git("clean", "-qfd")
	p.git("restore", "--source="+g.Commit, "--worktree", "--", ".")
	p.git("restore", "--source="+g.Index, "--staged", "--", ".")
	p.git("restore", "--source="+g.Untracked, "--overlay", "--worktree", "--", ".")
	if diff := cmp.Diff(was, p.tree()); diff != "" {
		t.Errorf("(-was +is):\n%s", diff)
	}
	if out := p.git("stash", "show", "--include-untracked", "--name-only", g.Commit); !strings.Contains(out, "untracked/new.txt") {
		t.Errorf("git does not take the commit for a stash: %s", out)
	}
}

// TestScope: files out of scope are neither copied nor restored.
func TestScope(t *testing.T) {
	t.Parallel()
	for _, kind := range []Type{GitStash, FileBackup} {
		p := newGitPlace(t, "")
		dirty(p)
		made := p.create(CreateOptions{Type: kind}, "dir/**", "edited.txt")
		var paths []string
		for _, e := range made.Listing.Entries {
			paths = append(paths, e.Path)
		}
		if want := []string{"dir/run.sh", "edited.txt"}; !slices.Equal(paths, want) {
			t.Errorf("%s: copied %q, want %q", kind, paths, want)
		}
		mutate(p)
		was := p.tree()
		if _, err := p.restore(made.ID, RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		was["edited.txt"], was["dir/run.sh"] = "644 three, in the work tree\n", "755 #!/bin/sh\n"
		if diff := cmp.Diff(was, p.tree()); diff != "" {
			t.Errorf("%s (-want +is):\n%s", kind, diff)
		}
	}
}

// TestType: the type is chosen by what git can keep, and refused where git can't.
func TestType(t *testing.T) {
	t.Parallel()
	conflict := func(p *place) {
		p.git("checkout", "-q", "-b", "theirs")
		p.write("edited.txt", "theirs\n")
		p.git("commit", "-qam", "theirs")
		p.git("checkout", "-q", "main")
		p.write("edited.txt", "ours\n")
		p.git("commit", "-qam", "ours")
		if out, err := p.tryGit("merge", "theirs"); err == nil {
			p.t.Fatalf("the merge has no conflict: %s", out)
		}
	}
	for name, tt := range map[string]struct {
		prepare func(p *place)
		globs   []string
		want    Type
		refused string // what an explicit git_stash says
	}{
		"tracked":                 {func(*place) {}, []string{"edited.txt"}, GitStash, ""},
		"untracked":               {func(p *place) { p.write("new.txt", "new") }, []string{"new.txt"}, FileBackup, ""},
		"ignored":                 {func(p *place) { p.write("x.log", "x") }, []string{"*.log"}, FileBackup, ""},
		"in conflict":             {conflict, []string{"**"}, FileBackup, "has a conflict"},
		"a conflict out of scope": {conflict, []string{"dir/**"}, GitStash, ""},
		"without a commit":        {func(p *place) { p.git("checkout", "-q", "--orphan", "new") }, []string{"**"}, FileBackup, "no commit yet"},
	} {
		p := newGitPlace(t, "")
		tt.prepare(p)
		was := p.tree2()
		if made := p.create(CreateOptions{}, tt.globs...); made.Type != tt.want {
			t.Errorf("%s: %s, want %s", name, made.Type, tt.want)
		}
		_, err := p.s.Create(t.Context(), p.w, CreateOptions{Type: GitStash, Patterns: tt.globs})
		var unfit *git.StateError
		if refused := errors.As(err, &unfit); refused != (tt.refused != "") || refused && (!strings.Contains(err.Error(), tt.refused) || unfit.Remedy == "") {
			t.Errorf("%s: an explicit git_stash gives %v", name, err)
		}
		if diff := cmp.Diff(was, p.tree2()); diff != "" {
			t.Errorf("%s: something changed:\n%s", name, diff)
		}
		if left, err := p.s.Tidy(t.Context(), p.w, true); err != nil || left.Bytes > 0 || len(left.Unfinished) > 0 {
			t.Errorf("%s: left over: %+v, %v", name, left, err)
		}
	}
}

// tree2 is tree for a branch that may have no commit.
func (p *place) tree2() map[string]string {
	all := map[string]string{"(status)": p.git("status", "--porcelain", "--ignored"), "(index)": p.git("ls-files", "--stage"), "(stash)": p.git("stash", "list")}
	return all
}

// TestSensitive: sensitive files are left out and named, refused by Strict, and copied
// only if that is asked for. A restore leaves those alone that were left out.
func TestSensitive(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("config.yaml", "a: 1\n")
	p.write(".env", "PASSWORD=1\n")
	p.write("deploy.pem", "key\n")
	made := p.create(CreateOptions{})
	if want := []string{".env", "deploy.pem"}; !slices.Equal(made.Listing.LeftOut, want) || made.Confidence() >= 1 {
		t.Errorf("left out %q, want %q; confidence %v", made.Listing.LeftOut, want, made.Confidence())
	}
	var sensitive *SensitiveError
	if _, err := p.s.Create(t.Context(), p.w, CreateOptions{Patterns: []string{"**"}, Strict: true}); !errors.As(err, &sensitive) || len(sensitive.Paths) != 2 {
		t.Errorf("strict: %v", err)
	}
	p.write(".env", "PASSWORD=2\n")
	p.write("config.yaml", "a: 2\n")
	if _, err := p.restore(made.ID, RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	all := p.create(CreateOptions{Sensitive: true})
	if len(all.Listing.LeftOut) > 0 || len(all.Listing.Entries) != 3 {
		t.Errorf("with sensitive files: %+v", all.Listing)
	}
	p.write(".env", "PASSWORD=3\n")
	if _, err := p.restore(all.ID, RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := p.tree(); got[".env"] != "644 PASSWORD=2\n" || got["config.yaml"] != "644 a: 1\n" {
		t.Errorf("restored: %v", got)
	}
	if all, _, err := p.s.List(); err != nil || len(all) != 2 {
		t.Errorf("%d checkpoints, %v; the refused one must leave nothing", len(all), err)
	}
}

// TestNothing: a scope in which there is nothing to copy is a mistake.
func TestNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(".env", "x")
	for globs, says := range map[string]string{"src/**": "no file matches src/**", ".env": "no file matches .env but .env"} {
		if _, err := p.s.Create(t.Context(), p.w, CreateOptions{Patterns: []string{globs}}); !errors.As(err, new(*NothingMatchesError)) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", globs, err)
		}
	}
	made := p.create(CreateOptions{MayBeNone: true}, "src/**")
	p.write("src/new.go", "made since")
	if done, err := p.restore(made.ID, RestoreOptions{}); err != nil || done.Deleted != 1 {
		t.Errorf("restore nothing: %+v, %v", done, err)
	}
}

// TestUnchanged: unchanged files are not read back again, and deleting the first
// checkpoint does not take the bytes of the second.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	for _, kind := range []Type{GitStash, FileBackup} {
		p := newGitPlace(t, "")
		p.write("edited.txt", "never committed\n")
		first := p.create(CreateOptions{Type: kind})
		second := p.create(CreateOptions{Type: kind})
		if c := second.Confidence(); c >= 1 || c < 0.9 || first.Confidence() != 1 || first.Hash != second.Hash {
			t.Errorf("%s: confidence %v and %v: %+v", kind, first.Confidence(), c, second.Checks)
		}
		p.must(p.s.Delete(t.Context(), p.w, first.ID))
		if kind == GitStash {
			p.git("reflog", "expire", "--expire=now", "--all")
			p.git("gc", "-q", "--prune=now")
		}
		c, err := p.s.Read(second.ID)
		p.must(err)
		if v, err := p.s.Verify(t.Context(), p.w, c); err != nil || !v.OK() {
			t.Errorf("%s: after the first one was deleted: %+v, %v", kind, v, err)
		}
		if _, err := p.s.Read(first.ID); err == nil {
			t.Errorf("%s: it is still there", kind)
		}
		if kind == GitStash && strings.Contains(p.git("for-each-ref"), first.ID) {
			t.Error("its references are still there")
		}
	}
}

// TestLostSinceTheLast: contents that the last checkpoint has lost since do not count as
// stored, even if the files are unchanged.
func TestLostSinceTheLast(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.txt", "a\n")
	p.write("b.txt", "b\n")
	last := p.create(CreateOptions{})
	lost := last.Listing.Entries[0]
	p.must(os.Remove(filepath.Join(p.dir, ".runner", "objects", lost.Digest[7:9], lost.Digest[9:])))
	fresh, before, err := lookFor(t.Context(), p.w, last.Checkpoint).split(last.Listing.Entries)
	if err != nil || len(fresh) != 1 || len(before) != 1 || fresh[0].Path != lost.Path {
		t.Errorf("to be read back: %+v, stored before: %+v, %v", fresh, before, err)
	}
}

// TestDamage: a checkpoint whose bytes or record are damaged is never restored in part.
func TestDamage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.txt", "a, as it was\n")
	p.write("b.txt", "b, as it was\n")
	made := p.create(CreateOptions{})
	p.write("a.txt", "mutated\n")
	p.write("b.txt", "mutated\n")
	was := p.tree()
	e := made.Listing.Entries[1]
	object := filepath.Join(p.dir, ".runner", "objects", e.Digest[7:9], e.Digest[9:])
	p.must(os.Chmod(object, 0o600))
	p.must(os.WriteFile(object, []byte("b, as it WAS\n"), 0o600))
	_, err := p.restore(made.ID, RestoreOptions{Force: true})
	var missing *workspace.MissingError
	if !errors.As(err, &missing) || missing.Missing[0].Path != "b.txt" {
		t.Errorf("with a damaged object: %v", err)
	}
	if diff := cmp.Diff(was, p.tree()); diff != "" {
		t.Errorf("the refusal changed something:\n%s", diff)
	}
	if v, err := p.s.Verify(t.Context(), p.w, made.Checkpoint); err != nil || v.OK() || len(v.Missing) != 1 {
		t.Errorf("verified: %+v, %v", v, err)
	}
	record, err := os.ReadFile(p.s.RecordPath(made.ID))
	p.must(err)
	p.must(os.WriteFile(p.s.RecordPath(made.ID), []byte(strings.Replace(string(record), "file_backup", "file_bookup", 1)), 0o600))
	var damaged *state.DamagedError
	if _, err := p.s.Read(made.ID); !errors.As(err, &damaged) {
		t.Errorf("a changed record: %v", err)
	}
	if all, unread, err := p.s.List(); len(all) > 0 || len(unread) != 1 || err != nil {
		t.Errorf("listed: %d, %d, %v", len(all), len(unread), err)
	}
}

// TestFind: a checkpoint may be named by its ID, the beginning of one, or latest.
func TestFind(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.txt", "a")
	first := p.create(CreateOptions{})
	p.now = p.now.AddDate(0, 0, 1)
	second := p.create(CreateOptions{})
	p.create(CreateOptions{Undoes: first.ID})
	for name, want := range map[string]string{first.ID: first.ID, first.ID[:12]: first.ID, Latest: second.ID} {
		if got, err := p.s.Find(name); got != want || err != nil {
			t.Errorf("%s is %s, %v; want %s", name, got, err, want)
		}
	}
	var none *NotFoundError
	var many *AmbiguousError
	if _, err := p.s.Find("chk_19"); !errors.As(err, &none) {
		t.Errorf("none: %v", err)
	}
	if _, err := p.s.Find("chk_2026"); !errors.As(err, &many) || len(many.IDs) != 3 {
		t.Errorf("many: %v", err)
	}
	if _, err := p.s.Find(""); !errors.As(err, &none) {
		t.Errorf("the empty name: %v", err)
	}
	for _, name := range []string{"../x", "chk_", "chk_20260115_143022_a7b3cg", "chk_2026011x_143022_a7b3c9", "chk_20260115_143022"} {
		if IsID(name) {
			t.Errorf("%q is an ID", name)
		}
	}
}

// TestSubmodule: a submodule and another repository in scope are named and left alone; the
// commit of the submodule that is staged is restored.
func TestSubmodule(t *testing.T) {
	t.Parallel()
	p := newGitPlace(t, "")
	other := newGitPlace(t, "")
	p.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.root, "lib")
	p.git("commit", "-q", "-m", "lib")
	p.git("init", "-q", "nested")
	p.write("lib/kept.txt", "edited in the submodule\n")
	p.write("nested/file", "of the nested repository\n")
	was := p.tree()
	made := p.create(CreateOptions{})
	if want := []string{"lib", "nested"}; made.Type != GitStash || !slices.Equal(made.Listing.Special, want) || made.Confidence() >= 1 {
		t.Errorf("%s, not copied: %q, want %q", made.Type, made.Listing.Special, want)
	}
	p.git("rm", "-q", "--cached", "lib")
	p.write("edited.txt", "mutated\n")
	if _, err := p.restore(made.ID, RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(was, p.tree()); diff != "" {
		t.Errorf("(-was +is):\n%s", diff)
	}
}

var manyFiles = flag.Int("safety.files", 1000, "the number of files that TestMany copies and restores; at least 100")

// TestMany copies and restores many files.
func TestMany(t *testing.T) {
	t.Parallel()
	for _, kind := range []Type{GitStash, FileBackup} {
		p := newGitPlace(t, "")
		n := *manyFiles
		for i := range n {
			p.write(fmt.Sprintf("many/%d/%d.txt", i%100, i), fmt.Sprintf("file %d\n", i))
		}
		p.git("add", ".")
		was := p.tree()
		made := p.create(CreateOptions{Type: kind}, "many/**")
		p.must(os.RemoveAll(p.path("many/7")))
		for i := range n / 2 {
			p.write(fmt.Sprintf("many/%d/%d.txt", i%100, i), "mutated\n")
			p.write(fmt.Sprintf("many/new/%d", i), "new\n")
		}
		done, err := p.restore(made.ID, RestoreOptions{})
		if err != nil || done.Written != n/2+n/200 || done.Deleted != n/2 {
			t.Fatalf("%s: %+v, %v", kind, done, err)
		}
		if now := p.tree(); !maps.Equal(was, now) {
			t.Errorf("%s: the files differ: %d, and %d before", kind, len(now), len(was))
		}
	}
}
