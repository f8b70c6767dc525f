//go:build unix

package rollback

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
	"prdrunner/checkpoint/workspace"
)

// halfway is a session in memory with a workspace on disk. A checkpoint has the first
// moment; the session and the files are at the second one.
type halfway struct {
	*checkpointtest.Fixture
	ws          string
	first       string            // the checkpoint of the first moment
	before      map[string]string // the files of the second moment
	then        map[string]string // the files of the first moment
	steps, past int               // the steps of the second and of the first moment
}

// newHalfway makes the two moments, which differ in files, modes, a directory and a link.
func newHalfway(t *testing.T, fsys store.FS) *halfway {
	t.Helper()
	h := &halfway{Fixture: checkpointtest.On(t, fsys, "/state/.runner"), ws: t.TempDir()}
	x := h.Run()
	w := h.openFiles()
	put := func(name, text string, mode os.FileMode) {
		checkpointtest.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(h.ws, name)), 0o755))
		checkpointtest.Must(t, os.WriteFile(filepath.Join(h.ws, name), []byte(text), 0o600))
		checkpointtest.Must(t, os.Chmod(filepath.Join(h.ws, name), mode))
	}
	put("a", "first a", 0o644)
	put("b", "first b", 0o755)
	put("d/c", "first c", 0o600)
	checkpointtest.Must(t, os.Symlink("a", filepath.Join(h.ws, "link")))
	_, err := x.Capture(context.Background(), w, []string{"**"})
	checkpointtest.Must(t, err)
	ref, err := x.Create(context.Background(), w, "")
	checkpointtest.Must(t, err)
	h.first, h.then, h.past = ref.ID, h.files(), x.State().Steps
	checkpointtest.Commit(t, x, checkpointtest.Work("WS2", "type-check")...)
	put("a", "second a, which is longer", 0o644)
	checkpointtest.Must(t, os.Chmod(filepath.Join(h.ws, "b"), 0o700))
	checkpointtest.Must(t, os.RemoveAll(filepath.Join(h.ws, "d")))
	put("d", "no directory now", 0o644)
	put("new/e", "new", 0o644)
	checkpointtest.Must(t, os.Remove(filepath.Join(h.ws, "link")))
	h.before, h.steps = h.files(), x.State().Steps
	checkpointtest.Must(t, w.Close())
	checkpointtest.Must(t, x.Close())
	return h
}

func (h *halfway) openFiles() *workspace.Workspace {
	h.T.Helper()
	w, err := h.Open().OpenWorkspace(h.ws, nil, workspace.GitOff)
	checkpointtest.Must(h.T, err)
	return w
}

// files returns the content of all files of the workspace, with their modes.
func (h *halfway) files() map[string]string {
	h.T.Helper()
	all := map[string]string{}
	checkpointtest.Must(h.T, filepath.WalkDir(h.ws, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(h.ws, path)
		if err != nil {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			all[rel], err = os.Readlink(path)
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all[rel] = info.Mode().String() + " " + string(data)
		return err
	}))
	return all
}

// finishAndCheck lets the next owner finish an interrupted rollback. State and files must
// be those of one of the two moments, those of the first if done is set. It returns how
// the rollback ended.
func (h *halfway) finishAndCheck(when string, done bool) (how string) {
	t := h.T
	t.Helper()
	ctx := context.Background()
	x, w := h.Lock(), h.openFiles()
	defer func() {
		checkpointtest.Must(t, w.Close())
		checkpointtest.Must(t, x.Close())
	}()
	if _, err := Finish(ctx, x, w); err != nil {
		t.Fatalf("%s: finish: %v", when, err)
	}
	st := x.State()
	if st.Rollback != nil {
		t.Fatalf("%s: the rollback is not finished", when)
	}
	gone := slices.ContainsFunc(st.Rollbacks, func(r state.RollbackRecord) bool { return r.Error == "" })
	want, steps := h.before, h.steps
	if gone {
		want, steps = h.then, h.past
	}
	if done && !gone {
		t.Fatalf("%s: the rollback was not carried out: %+v", when, st.Rollbacks)
	}
	if got := h.files(); !maps.Equal(got, want) || st.Steps != steps {
		t.Fatalf("%s: rolled back: %t, step %d; files %q, want %q", when, gone, st.Steps, got, want)
	}
	// The second moment can be restored in either case.
	if gone {
		i := slices.IndexFunc(st.Rollbacks, func(r state.RollbackRecord) bool { return r.Error == "" })
		if _, err := Run(ctx, x, w, Options{To: st.Rollbacks[i].Safety}); err != nil {
			t.Fatalf("%s: undo: %v", when, err)
		}
		if got := h.files(); !maps.Equal(got, h.before) || x.State().Steps != h.steps {
			t.Fatalf("%s: undone: step %d; files %q, want %q", when, x.State().Steps, got, h.before)
		}
		return "carried out"
	}
	if len(st.Rollbacks) > 0 {
		return "taken back"
	}
	return "never begun"
}

// after returns the session with its state directory on another file system, and with a
// copy of its workspace.
func (h *halfway) after(left *store.Memory) *halfway {
	h.T.Helper()
	to := *h
	state := *h.Fixture
	state.FS, state.Options.FS = left, left
	to.Fixture, to.ws = &state, h.T.TempDir()
	checkpointtest.Must(h.T, filepath.WalkDir(h.ws, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == h.ws {
			return err
		}
		name := filepath.Join(to.ws, strings.TrimPrefix(path, h.ws))
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			err = os.Mkdir(name, 0o700)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, name)
		default:
			data, failed := os.ReadFile(path)
			err = errors.Join(failed, os.WriteFile(name, data, 0o600))
		}
		return errors.Join(err, os.Chmod(name, info.Mode().Perm()))
	}))
	return &to
}

// TestRollbackFaults makes each operation on the state directory fail during a rollback,
// once or from then on, and cuts the power there. The next owner must finish the
// rollback, or find that no rollback began.
func TestRollbackFaults(t *testing.T) {
	t.Parallel()
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		ways := map[string]int{}
		for n := range faults.Moments() {
			m := store.NewMemory()
			h := newHalfway(t, m)
			f := &faults.FailingOnce{FS: m, At: n}
			h.Options.FS = f
			err := h.goBack(context.Background())
			h.Options.FS = m
			ways[h.finishAndCheck(fmt.Sprintf("operation %d failed with %v", n, err), err == nil)]++
			if f.Count.Load() < n {
				break
			}
		}
		t.Log(ways)
		if *faults.CrashDepth > 0 && len(ways) < 3 {
			t.Errorf("the rollback ended in these ways only: %v", ways)
		}
	})
	for _, plane := range []string{"for ever", "power cut"} {
		t.Run(plane, func(t *testing.T) {
			t.Parallel()
			states := 0
			for n := range faults.Moments() {
				m := store.NewMemory()
				h := newHalfway(t, m)
				after := []*store.Memory{m}
				d := &faults.Killed{FS: m, At: n, Before: func() {
					if plane == "power cut" {
						after = faults.SomeCuts(m, n)
					}
				}}
				h.Options.FS = d
				err := h.goBack(context.Background())
				for i, left := range after {
					h.after(left).finishAndCheck(fmt.Sprintf("%s at change %d, state %d: %v", plane, n, i, err), err == nil)
				}
				states += len(after)
				if d.Count.Load() < n {
					t.Logf("%d changes, %d states", n-1, states)
					break
				}
			}
		})
	}
}

// goBack rolls back, or finishes a rollback, as a command does. It releases the locks in
// any case.
func (h *halfway) goBack(ctx context.Context) error {
	s, err := checkpoint.OpenStore(h.Dir, h.Options)
	if err != nil {
		return err
	}
	w, err := s.OpenWorkspace(h.ws, nil, workspace.GitOff)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	x, err := s.Lock(ctx, "PRD-009", checkpointtest.By)
	if err != nil {
		return err
	}
	if x.State().Rollback != nil {
		_, err = Finish(ctx, x, w)
	} else {
		_, err = Run(ctx, x, w, Options{To: h.first})
	}
	if closed := x.Close(); err == nil {
		err = closed
	}
	return err
}

// cutShort begins a rollback, kills its owner, and edits files.
func (h *halfway) cutShort() {
	t, ctx := h.T, context.Background()
	t.Helper()
	x, w := h.Lock(), h.openFiles()
	plan, err := planTo(ctx, x.Store(), w, x.State(), Options{To: h.first})
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.WithExclusiveLock(ctx, func() error { return begin(ctx, x, w, plan, Options{}) }))
	checkpointtest.Kill(t, x)
	checkpointtest.Must(t, w.Close())
	checkpointtest.Must(t, os.Remove(filepath.Join(h.ws, "d")))
	checkpointtest.Must(t, os.WriteFile(filepath.Join(h.ws, "a"), []byte("edited meanwhile"), 0o644))
}

// TestFinishRollbackFaults makes each operation fail while an interrupted rollback is
// finished, as in TestRollbackFaults. The rollback must be finished in the end, and a
// checkpoint must have the file that was edited in between.
func TestFinishRollbackFaults(t *testing.T) {
	t.Parallel()
	for _, plane := range []string{"once", "for ever", "power cut"} {
		t.Run(plane, func(t *testing.T) {
			t.Parallel()
			states := 0
			for n := range faults.Moments() {
				m := store.NewMemory()
				h := newHalfway(t, m)
				h.cutShort()
				after := []*store.Memory{m}
				once, d := &faults.FailingOnce{FS: m, At: n}, &faults.Killed{FS: m, At: n, Before: func() {
					if plane == "power cut" {
						after = faults.SomeCuts(m, n)
					}
				}}
				h.Options.FS = store.FS(d)
				if plane == "once" {
					h.Options.FS = once
				}
				err := h.goBack(context.Background())
				for i, left := range after {
					when := fmt.Sprintf("%s at %d, state %d: %v", plane, n, i, err)
					g := h.after(left)
					g.finishAndCheck(when, err == nil)
					g.keptEdit(when)
				}
				states += len(after)
				if once.Count.Load()+d.Count.Load() < n {
					t.Logf("%d operations, %d states", n-1, states)
					break
				}
			}
		})
	}
}

// keptEdit fails the test unless some checkpoint has the edit of cutShort.
func (h *halfway) keptEdit(when string) {
	t, ctx := h.T, context.Background()
	t.Helper()
	s, w := h.Open(), h.openFiles()
	defer func() { checkpointtest.Must(t, w.Close()) }()
	refs, err := s.Checkpoints("PRD-009")
	checkpointtest.Must(t, err)
	for _, ref := range refs {
		if !strings.Contains(string(ref.Reason), "edited") {
			continue
		}
		file, err := s.ReadCheckpoint("PRD-009", ref.ID)
		checkpointtest.Must(t, err)
		l, _, err := checkpoint.FilesOf(ctx, w, file.State)
		checkpointtest.Must(t, err)
		for _, e := range l.Entries {
			missing, err := w.Contents().Missing(ctx, []workspace.Entry{e}, true)
			checkpointtest.Must(t, err)
			if e.Path == "a" && e.Size == int64(len("edited meanwhile")) && len(missing) == 0 {
				return
			}
		}
	}
	t.Fatalf("%s: no checkpoint has the edit", when)
}
