package safety

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNewerWork: a restore refuses to overwrite what was committed since, and what was
// edited after an earlier restore.
func TestNewerWork(t *testing.T) {
	t.Parallel()
	p := newGitPlace(t, "")
	made := p.create(CreateOptions{}, "*.txt")
	p.write("edited.txt", "mutated\n")
	p.write("kept.txt", "committed\n")
	p.git("commit", "-q", "-m", "newer", "kept.txt")
	was := p.tree()
	_, err := p.restore(made.ID, RestoreOptions{})
	var newer *NewerWorkError
	if !errors.As(err, &newer) || len(newer.Newer) != 1 || newer.Newer[0].Path != "kept.txt" {
		t.Fatalf("after a commit: %v", err)
	}
	if diff := cmp.Diff(was, p.tree()); diff != "" {
		t.Errorf("the refusal changed something:\n%s", diff)
	}
	if _, err := p.restore(made.ID, RestoreOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if got := p.tree(); got["kept.txt"] != "644 kept\n" || got["edited.txt"] != "644 one\n" {
		t.Errorf("by force: %v", got)
	}
	p.write("edited.txt", "edited after the restore\n")
	if _, err = p.restore(made.ID, RestoreOptions{}); !errors.As(err, &newer) || newer.Newer[0].Path != "edited.txt" {
		t.Errorf("after an edit: %v", err)
	}
}

// TestCommittedSince: a commit that was made since the checkpoint is newer work, wherever it
// is; one that was taken back, or another branch that was checked out, is not.
func TestCommittedSince(t *testing.T) {
	t.Parallel()
	commit := func(p *place, day, name string) {
		p.write(name, day)
		p.git("add", name)
		p.gitAt(day, "commit", "-q", "-m", day)
	}
	const before, after = "2026-01-10T00:00:00Z", "2026-01-20T00:00:00Z"
	for name, tt := range map[string]struct {
		since func(p *place)
		want  []string
	}{
		"a commit":                       {func(p *place) { commit(p, after, "edited.txt") }, []string{"edited.txt"}},
		"older commits that were pulled": {func(p *place) { commit(p, before, "edited.txt") }, []string{"edited.txt"}},
		"reset":                          {func(p *place) { p.git("reset", "-q", "--hard", "HEAD~1") }, nil},
		"another branch":                 {func(p *place) { p.git("checkout", "-q", "other") }, nil},
		"a commit on another branch":     {func(p *place) { p.git("checkout", "-q", "other"); commit(p, after, "kept.txt") }, []string{"kept.txt"}},
		"an amended commit": {func(p *place) {
			p.write("gone.txt", "amended")
			p.git("add", "gone.txt")
			p.gitAt(after, "commit", "-q", "--amend", "--no-edit")
		}, []string{"gone.txt"}},
		"another branch was merged there": {func(p *place) {
			p.git("checkout", "-q", "other")
			p.gitAt(after, "merge", "-q", "-m", "merged", "third")
		}, []string{"third.txt"}},
		"nothing in scope": {func(p *place) { commit(p, after, "dir/run.sh") }, nil},
	} {
		p := newGitPlace(t, "")
		p.git("checkout", "-q", "-b", "third")
		commit(p, before, "third.txt")
		p.git("checkout", "-q", "-b", "other", "main")
		commit(p, before, "edited.txt")
		p.git("checkout", "-q", "main")
		commit(p, before, "kept.txt")
		made := p.create(CreateOptions{}, "*.txt")
		tt.since(p)
		var got []string
		for _, n := range p.plan(made.ID).Newer {
			got = append(got, n.Path)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: newer work %q, want %q", name, got, tt.want)
		}
	}
}
