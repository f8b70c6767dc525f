package safety

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLinks: a link is copied as the link that it is, and nothing behind it. A glob that
// leads through one is refused.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, newPlace := range []func(t testing.TB) *place{newPlace, func(t testing.TB) *place { return newGitPlace(t, "") }} {
		p := newPlace(t)
		p.write("real/in.txt", "in\n")
		outside := t.TempDir()
		p.must(os.Symlink(outside, p.path("ext")))
		p.must(os.Symlink("real", p.path("inner")))
		p.must(os.Symlink("real/in.txt", p.path("file")))
		for _, glob := range []string{"ext/**", "ext/secret.txt", "inner/*", "inner/in.txt", "{x,inner}/in.txt", "file/x"} {
			var link *LinkError
			if _, err := p.s.Create(t.Context(), p.w, CreateOptions{Patterns: []string{glob}}); !errors.As(err, &link) || link.Glob != glob {
				t.Errorf("%s: %v", glob, err)
			}
		}
		was := p.tree()
		made := p.create(CreateOptions{}, "ext", "inner", "inner/**", "fil*")
		var paths []string
		for _, e := range made.Listing.Entries {
			paths = append(paths, e.Path)
		}
		if want := []string{"ext", "file", "inner"}; !slices.Equal(paths, want) {
			t.Errorf("copied %q, want %q", paths, want)
		}
		if len(made.Assumptions) != 2 {
			t.Errorf("assumed: %q", made.Assumptions)
		}
		p.must(os.Remove(p.path("inner")))
		p.write("inner/now/a/directory", "x")
		p.must(os.Remove(p.path("ext")))
		p.must(os.Symlink("elsewhere", p.path("ext")))
		if _, err := p.restore(made.ID, RestoreOptions{}); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(was, p.tree()); diff != "" {
			t.Errorf("(-was +is):\n%s", diff)
		}
	}
}

// TestBecameLink: a directory in scope that became a link is restored, and that can be
// undone.
func TestBecameLink(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("config/a.txt", "a\n")
	p.write("other/b.txt", "b\n")
	was := p.tree()
	made := p.create(CreateOptions{}, "config/**")
	p.must(os.RemoveAll(p.path("config")))
	p.must(os.Symlink("other", p.path("config")))
	mutated := p.tree()
	undo := p.create(CreateOptions{MayBeNone: true, Undoes: made.ID}, "config/**")
	if _, err := p.restore(made.ID, RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(was, p.tree()); diff != "" {
		t.Errorf("(-want +is):\n%s", diff)
	}
	if _, err := p.restore(undo.ID, RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mutated, p.tree()); diff != "" {
		t.Errorf("after the undo (-want +is):\n%s", diff)
	}
}
