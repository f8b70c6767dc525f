//go:build unix

package runner_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// TestOperations applies random operations to sessions: builds that fail and are resumed,
// edits, rollbacks and their undoing, pins, pruning and collecting, moves to another
// directory. A simple model remembers the files and the state of every checkpoint. After
// every step the session must agree with the model.
func TestOperations(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		defer w.close()
		w.build()
		for range rapid.IntRange(3, 12).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{
				"build", "build", "build", "edit", "edit", "edit", "meddle", "rollback", "rollback", "rollback", "undo", "undo",
				"forward", "cut", "cut", "create", "pin", "prune", "resolve", "resolve", "move",
			}).Draw(rt, "step")
			w.now = w.now.Add(time.Hour)
			map[string]func(){
				"build": w.build, "edit": w.edit, "meddle": w.meddle, "rollback": w.rollback, "undo": w.undo, "forward": w.forward,
				"cut": w.cut, "create": w.create, "pin": w.pin, "prune": w.prune, "resolve": w.resolve, "move": w.move,
			}[name]()
			w.check(name)
		}
	})
}

// build starts or resumes the pipeline.
func (w *world) build() {
	rt := w.t
	w.fails, w.rejects = map[string]bool{}, map[string]bool{}
	for _, s := range w.steps {
		if rapid.IntRange(0, 3).Draw(rt, "fails "+s.name) == 0 {
			w.fails[s.name] = true
		}
		w.rejects[s.name] = rapid.IntRange(0, 4).Draw(rt, "rejects "+s.name) == 0
	}
	was := w.state()
	if was != nil && was.Status == state.StatusComplete {
		w.points, w.valid, w.last = map[string]*point{}, map[string]bool{}, nil // a new session begins with the records of the complete one
	}
	conflict := rapid.SampledFrom([]plan.OnConflict{plan.ConflictKeep, plan.ConflictRestore}).Draw(rt, "on conflict")
	atStart := w.tree()
	w.ran = nil
	var transitions []transition
	var planned *plan.Plan
	ending := w.run(conflict, func(p *plan.Plan) { planned = p }, func(c state.Commit) {
		for _, e := range c.Events {
			rt.Logf("%d %s %+v", c.Seq, e.Kind(), e)
			if made, ok := e.(state.CheckpointCreated); ok && made.Trigger == state.TriggerPhaseTransition {
				transitions = append(transitions, transition{made.ID, w.tree()})
			}
		}
	})
	is := w.state()
	w.judgeBuild(was, is, planned, ending)
	for _, made := range transitions {
		w.remember(made.id, made.tree)
	}
	for _, ref := range is.Checkpoints {
		switch {
		case w.points[ref.ID] != nil:
		case ref.Trigger == state.TriggerStart:
			w.remember(ref.ID, atStart)
		case ref.ID == is.Current && ref.Capture != nil && ref.Capture.Seq == ref.Seq:
			w.remember(ref.ID, w.tree())
		default:
			w.remember(ref.ID, nil) // its files are those of an earlier capture, with the artifacts made since
		}
	}
}

// transition is a checkpoint between two phases, while no task runs.
type transition struct {
	id   string
	tree files
}

// edit changes a file that no workstream makes.
func (w *world) edit() {
	name := rapid.SampledFrom([]string{"src/i0", "src/i1", "src/i2", "src/a", "src/d", "src/d/x", "src/e/y", "src/new\nline", "src/bad\xff"}).Draw(w.t, "file")
	path := filepath.Join(w.dir, name)
	above := filepath.Dir(path)
	if info, err := os.Lstat(above); err == nil && !info.IsDir() {
		w.must(os.Remove(above)) // a file becomes a directory
	}
	w.must(os.MkdirAll(above, 0o755))
	if info, err := os.Lstat(path); err == nil && (info.IsDir() || info.Mode()&os.ModeSymlink != 0) {
		w.must(os.RemoveAll(path))
	}
	switch kind := rapid.IntRange(0, 7).Draw(w.t, "edit"); kind {
	case 0:
		w.must(os.RemoveAll(path))
	case 1:
		w.must(os.RemoveAll(path))
		w.must(os.Symlink("to/"+rapid.StringN(1, 3, 8).Filter(isPlain).Draw(w.t, "target"), path))
	case 2:
		if _, err := os.Lstat(path); err == nil {
			w.must(os.Chmod(path, rapid.SampledFrom([]os.FileMode{0o600, 0o644, 0o755}).Draw(w.t, "mode")))
		}
	default:
		w.must(os.WriteFile(path, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(w.t, "bytes"), 0o644))
	}
}

func isPlain(s string) bool {
	return !slices.Contains([]byte(s), 0) && !slices.Contains([]byte(s), '/')
}

// meddle edits or removes an artifact of a workstream.
func (w *world) meddle() {
	s := rapid.SampledFrom(w.steps).Draw(w.t, "whose")
	path := filepath.Join(w.dir, s.artifact())
	if _, err := os.Lstat(path); err != nil {
		return
	}
	if rapid.Bool().Draw(w.t, "removed") {
		w.must(os.Remove(path))
	} else {
		w.must(os.WriteFile(path, []byte("meddled with"), 0o600))
	}
	w.meddled[s.name] = true
}

// rollback rolls back to a random valid checkpoint.
func (w *world) rollback() {
	var ids []string
	for _, ref := range w.state().Checkpoints {
		if w.valid[ref.ID] {
			ids = append(ids, ref.ID)
		}
	}
	scope := rapid.SampledFrom([]state.RollbackScope{
		state.RollbackAll, state.RollbackAll, state.RollbackState, state.RollbackFiles,
	}).Draw(w.t, "scope")
	w.goBack(rapid.SampledFrom(ids).Draw(w.t, "to"), scope)
}

// undo undoes one of the rollbacks so far.
func (w *world) undo() {
	var ids []string
	st := w.state()
	for _, r := range st.Rollbacks {
		if slices.ContainsFunc(st.Checkpoints, func(ref *state.CheckpointRef) bool { return ref.ID == r.Safety }) {
			ids = append(ids, r.Safety)
		}
	}
	if len(ids) > 0 {
		w.goBack(rapid.SampledFrom(ids).Draw(w.t, "undoes"), state.RollbackAll)
	}
}

// cut rolls back while the disk fails, and then lets the next owner finish the rollback.
func (w *world) cut() {
	was, tree, known := w.state(), w.tree(), maps.Clone(w.valid)
	var ids []string
	for _, ref := range was.Checkpoints {
		if w.valid[ref.ID] {
			ids = append(ids, ref.ID)
		}
	}
	id := rapid.SampledFrom(ids).Draw(w.t, "to")
	x, err := w.store.Lock(w.ctx, "PRD-001", state.Actor{})
	w.must(err)
	w.writes.Store(int64(rapid.IntRange(0, 60).Draw(w.t, "writes")))
	_, failed := rollback.Run(w.ctx, x, w.files, rollback.Options{To: id})
	failed = errors.Join(failed, x.Close())
	w.writes.Store(-1)
	var begun *state.RollbackStarted
	w.locked(func(x *checkpoint.Session) error {
		begun = x.State().Rollback
		_, err := rollback.Finish(w.ctx, x, w.files)
		return err
	})
	is := w.state()
	gone := len(is.Rollbacks) > len(was.Rollbacks) && is.Rollbacks[len(is.Rollbacks)-1].Error == ""
	if (failed == nil || begun != nil) && !gone {
		w.t.Fatalf("a rollback that was begun (%v) was not finished: %v", begun, failed)
	}
	for _, ref := range is.Checkpoints {
		if known[ref.ID] || w.points[ref.ID] != nil {
			continue
		}
		w.remember(ref.ID, tree)
		w.points[ref.ID].summary = summaryOf(was)
		w.points[ref.ID].valid = known
	}
	if gone {
		w.wentBack(id, is)
		return
	}
	w.sameFiles("a rollback that could not begin", tree)
	w.sameSummary("a rollback that could not begin", summaryOf(is), summaryOf(was), is)
}

// wentBack compares the result of a rollback with the model.
func (w *world) wentBack(id string, is *state.State) {
	to := w.points[id]
	switch {
	case is.Rollbacks[len(is.Rollbacks)-1].StateSeq != 0:
		w.wentFurtherBack(id, is)
		w.invalidate(to, is)
		return
	case to.tree != nil:
		w.sameFiles("a rollback to "+id, to.tree)
	case to.state.Checkpoints[len(to.state.Checkpoints)-1].Trigger != state.TriggerConflictStart: // this checkpoint keeps edits
		w.artifactsOf(to.state)
	}
	w.sameSummary("a rollback to "+id, summaryOf(is), to.summary, is)
	w.invalidate(to, is)
}

// wentFurtherBack checks a rollback that took the state of an earlier moment, because the
// files of the checkpoint don't prove its state. Done work must have its artifacts, and
// must have been done at the checkpoint.
func (w *world) wentFurtherBack(id string, is *state.State) {
	to := w.points[id]
	if to.tree != nil {
		w.t.Fatalf("a rollback to %s took an earlier state, though its files were captured for it", id)
	}
	w.artifactsOf(is)
	further := false
	for _, s := range w.steps {
		was, now := to.state.Workstream(s.name).Status, is.Workstream(s.name).Status
		if now == state.Completed && was != state.Completed {
			w.t.Fatalf("a rollback to %s left %s completed, which was %s", id, s.name, was)
		}
		further = further || now != was
	}
	if !further {
		w.t.Fatalf("a rollback to %s took an earlier state without need", id)
	}
}

// goBack rolls back, and compares the result with the model.
func (w *world) goBack(id string, scope state.RollbackScope) {
	to, was, tree := w.points[id], w.state(), w.tree()
	var done *rollback.Result
	w.locked(func(x *checkpoint.Session) (err error) {
		done, err = rollback.Run(w.ctx, x, w.files, rollback.Options{To: id, Scope: scope, Reason: "because"})
		return err
	})
	is := w.state()
	w.remember(done.Safety, tree)
	w.points[done.Safety].summary = summaryOf(was)
	w.points[done.Safety].valid = maps.Clone(w.valid)
	w.valid[done.Safety] = true
	switch scope {
	case state.RollbackAll:
		w.wentBack(id, is)
	case state.RollbackState:
		w.sameFiles("a rollback of the state", tree)
		w.sameSummary("a rollback of the state", summaryOf(is), to.summary, is)
		w.invalidate(to, is)
	case state.RollbackFiles:
		if to.tree != nil {
			w.sameFiles("a rollback of the files", to.tree)
		}
		w.sameSummary("a rollback of the files", summaryOf(is), summaryOf(was), is)
	}
}

// forward tries to go forward to an invalid checkpoint after a rollback, which must be
// refused.
func (w *world) forward() {
	var ids []string
	for _, ref := range w.state().Checkpoints {
		if !w.valid[ref.ID] {
			ids = append(ids, ref.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	id, tree := rapid.SampledFrom(ids).Draw(w.t, "forward to"), w.tree()
	w.refused(rollback.ErrForward, func(x *checkpoint.Session) error {
		_, err := rollback.Run(w.ctx, x, w.files, rollback.Options{To: id})
		return err
	})
	w.sameFiles("a refused rollback", tree)
}

func (w *world) create() {
	w.locked(func(x *checkpoint.Session) error {
		ref, err := x.Create(w.ctx, w.files, "asked for")
		if err == nil {
			w.remember(ref.ID, w.tree())
			w.valid[ref.ID] = true
		}
		return err
	})
}

func (w *world) pin() {
	ref := rapid.SampledFrom(w.state().Checkpoints).Draw(w.t, "pinned")
	w.locked(func(x *checkpoint.Session) error {
		_, _, err := x.Pin(w.ctx, ref.ID, !ref.Pinned, state.Actor{}, "")
		return err
	})
}

// prune removes old checkpoints and the objects that only they needed.
func (w *world) prune() {
	was := w.state()
	age := time.Duration(rapid.IntRange(1, 12).Draw(w.t, "hours")) * time.Hour
	w.locked(func(x *checkpoint.Session) error {
		_, err := prune.Run(w.ctx, x, prune.Options{OlderThan: age})
		return err
	})
	kept := map[string]bool{}
	for _, ref := range w.state().Checkpoints {
		kept[ref.ID] = true
	}
	newest := ""
	for _, ref := range was.Checkpoints {
		if ref.Valid {
			newest = ref.ID
		}
		if !kept[ref.ID] && (ref.Pinned || w.now.Sub(ref.CreatedAt) < age) {
			w.t.Fatalf("%s was pruned: pinned %t, made %s", ref.ID, ref.Pinned, ref.CreatedAt)
		}
	}
	if !kept[newest] {
		w.t.Fatalf("%s was pruned, although it is the newest valid checkpoint", newest)
	}
	if _, err := prune.Collect(w.ctx, w.store, w.files); err != nil {
		w.t.Fatal(err)
	}
}

// resolve resolves an uncertain step as done.
func (w *world) resolve() {
	for _, s := range w.steps {
		if rec := w.state().Workstream(s.name); rec != nil && rec.Status == state.Uncertain {
			w.locked(func(x *checkpoint.Session) error {
				x.Add(state.WorkstreamResolved{Workstream: s.name, Resolution: state.ResolvedDone})
				return nil
			})
			return
		}
	}
}
