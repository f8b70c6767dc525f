package safety

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// interrupted is a restore that was interrupted after it had written a.txt: b.txt is still
// as it was before.
type interrupted struct {
	*place
	id, undo    string
	was, before map[string]string // the files as the checkpoint has them, and from before the restore
}

func interruptRestore(t *testing.T, p *place) *interrupted {
	t.Helper()
	p.write("a.txt", "a, as it was\n")
	p.write("sub/b.txt", "b, as it was\n")
	half := &interrupted{place: p, was: p.tree()}
	half.id = p.create(CreateOptions{}, "a.txt", "sub/**").ID
	p.write("a.txt", "a, mutated\n")
	p.write("sub/b.txt", "b, mutated\n")
	half.before = p.tree()
	half.undo = p.create(CreateOptions{Undoes: half.id}, "a.txt", "sub/**").ID
	bad := &faults.Faulty{FS: store.OS(), Op: "rename", Part: recordName}
	bad.On.Store(true)
	p.s.FS = bad
	if _, err := p.restore(half.id, RestoreOptions{Undo: half.undo}); err == nil {
		t.Fatal("the restore was not interrupted")
	}
	p.s.FS = store.OS()
	p.write("sub/b.txt", "b, mutated\n")
	p.write("sub/.runner-restore-"+half.id+"-7", "half of it")
	return half
}

// ended checks that the restore is no longer interrupted, and what the files are.
func (i *interrupted) ended(want map[string]string) {
	i.t.Helper()
	if half, err := i.s.Interrupted(); half != nil || err != nil {
		i.t.Errorf("interrupted: %+v, %v", half, err)
	}
	if diff := cmp.Diff(filesOf(want), filesOf(i.tree())); diff != "" {
		i.t.Errorf("(-want +is):\n%s", diff)
	}
}

// TestInterrupted: an interrupted restore is completed, or given up by a restore of its
// undo. No other restore begins before that.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, newPlace := range map[string]func() *place{
		"git": func() *place { return newGitPlace(t, "") }, "no git": func() *place { return newPlace(t) },
	} {
		half := interruptRestore(t, newPlace())
		other := half.create(CreateOptions{}, "a.txt")
		half.write("a.txt", "a, as it was\n")
		var unfinished *UnfinishedRestoreError
		if err := half.plan(other.ID).Refused(true); !errors.As(err, &unfinished) || unfinished.ID != half.id || unfinished.Undo != half.undo {
			t.Errorf("%s: the restore of another one: %v", name, err)
		}
		done, err := half.restore(half.id, RestoreOptions{})
		if err != nil || done.Undo != half.undo {
			t.Errorf("%s: completed: %+v, %v", name, done, err)
		}
		half.ended(half.was)

		half = interruptRestore(t, newPlace())
		if plan := half.plan(half.undo); !plan.GivesUp() {
			t.Errorf("%s: the restore of the undo gives nothing up", name)
		}
		if _, err := half.restore(half.undo, RestoreOptions{}); err != nil {
			t.Errorf("%s: given up: %v", name, err)
		}
		half.ended(half.before)
	}
}

// TestEditedAfterInterruption: what was edited after a restore was interrupted is newer
// work for the restore that completes it, and for the one that gives it up.
func TestEditedAfterInterruption(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit func(p *place)
		says string
	}{
		"what it had written": {func(p *place) { p.write("a.txt", "edited\n") }, "a.txt (changed after"},
		"what it had not":     {func(p *place) { p.write("sub/b.txt", "edited\n") }, "sub/b.txt (changed after"},
		"only the mode":       {func(p *place) { p.must(os.Chmod(p.path("sub/b.txt"), 0o755)) }, "sub/b.txt (changed after"},
		"a new file":          {func(p *place) { p.write("sub/new.txt", "new\n") }, "sub/new.txt (changed after"},
		"what only git knows": {func(p *place) {
			p.write("a.txt", "staged\n")
			p.git("add", "a.txt")
			p.write("a.txt", "a, as it was\n")
		}, "a.txt (changed after"},
		"what nobody can know":  {func(p *place) { p.must(p.s.Delete(p.t.Context(), p.w, p.undoOf())) }, "sub/b.txt (perhaps changed after"},
		"nothing: it was gone":  {func(p *place) { p.must(os.Remove(p.path("sub/b.txt"))) }, ""},
		"nothing: it was empty": {func(p *place) { p.must(os.Mkdir(p.path("sub/dir"), 0o755)) }, ""},
	} {
		half := interruptRestore(t, newTracked(t))
		tt.edit(half.place)
		was := half.tree()
		for _, id := range []string{half.id, half.undo} {
			if _, err := half.s.Read(id); err != nil {
				continue // it was deleted
			}
			err := half.plan(id).Refused(false)
			var newer *NewerWorkError
			if (tt.says != "") != errors.As(err, &newer) || newer != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v, want %q", name, err, tt.says)
			}
		}
		if diff := cmp.Diff(was, half.tree()); diff != "" {
			t.Errorf("%s: something changed:\n%s", name, diff)
		}
		if _, err := half.restore(half.id, RestoreOptions{Force: true}); err != nil {
			t.Errorf("%s: by force: %v", name, err)
		}
		half.ended(half.was)
	}
}

// newTracked returns a git work tree in which git tracks a.txt and sub/b.txt.
func newTracked(t *testing.T) *place {
	p := newGitPlace(t, "")
	p.write("a.txt", "committed\n")
	p.write("sub/b.txt", "committed\n")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "second")
	return p
}

// undoOf returns the undo of the interrupted restore.
func (p *place) undoOf() string {
	half, err := p.s.Interrupted()
	p.must(err)
	return half.Undo
}

// TestUndoLost: if one of the two checkpoints of an interrupted restore is damaged, the
// other one can still be restored.
func TestUndoLost(t *testing.T) {
	t.Parallel()
	half := interruptRestore(t, newPlace(t))
	half.must(os.WriteFile(half.s.RecordPath(half.id), []byte("{}"), 0o600))
	if _, err := half.restore(half.undo, RestoreOptions{Force: true}); err != nil {
		t.Error(err)
	}
	half.ended(half.before)
}
