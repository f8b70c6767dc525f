package checkpoint

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
)

// within is a session in a git work tree, whose last workstream was not followed by a
// capture.
type within struct {
	*scoped
	name     string // of the workstream
	captured uint64 // the commit as of which the files were captured before it
	after    string // the checkpoint that was made when it was complete
}

// newWithin has a workstream write some files, of which those that are declared are
// recorded as its artifacts.
func newWithin(t *testing.T, files, declared map[string]string) *within {
	t.Helper()
	ctx := context.Background()
	s := &within{scoped: newScoped(t, map[string]string{"list": "start"})}
	s.captured = s.x.State().FilesAsOf()
	s.put(files)
	s.put(declared)
	var paths []string
	for path := range declared {
		paths = append(paths, path)
	}
	entries, leftOut, err := s.w.Keep(ctx, paths)
	must(t, err)
	var artifacts []state.Artifact
	for _, e := range entries {
		artifacts = append(artifacts, state.Artifact{Path: state.Text(e.Path), Size: e.Size, Mode: e.Mode, Digest: e.Digest, LeftOut: slices.Contains(leftOut, e.Path)})
	}
	s.name = s.x.State().Phases[1].Workstreams[0].Name
	produce(t, s.x, s.name, artifacts...)
	s.after = mark(t, s.x, state.TriggerWorkstreamComplete)
	return s
}

// TestStateGoesToTheCapture: where a workstream may have left more than what comes back,
// a rollback takes the state of the capture before it.
func TestStateGoesToTheCapture(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files, declared map[string]string
		then            func(s *within)
		scope           state.RollbackScope
		reason          string // "": the state is the target's
	}{
		"an undeclared file":           {files: map[string]string{"list": "more"}, reason: "list was modified, and is no artifact"},
		"a new one":                    {files: map[string]string{"new": "new"}, reason: "new was added, and is no artifact"},
		"one that is gone":             {files: map[string]string{"list": ""}, reason: "list was deleted, and is no artifact"},
		"beside a declared one":        {files: map[string]string{"list": "more"}, declared: map[string]string{"out": "out"}, reason: "list was modified"},
		"an artifact of an earlier":    {files: map[string]string{"a.sql": "more"}, reason: "a.sql was added"},
		"a sensitive artifact":         {declared: map[string]string{".env": "secret"}, reason: "the bytes of .env are not kept"},
		"nothing":                      {},
		"a declared file":              {declared: map[string]string{"out": "out"}},
		"a declared one that it edits": {declared: map[string]string{"list": "more"}},
		"the state alone":              {files: map[string]string{"list": "more"}, scope: state.RollbackState},
		"the files alone":              {files: map[string]string{"list": "more"}, scope: state.RollbackFiles},
		"what is edited later": {
			declared: map[string]string{"out": "out"},
			then:     func(s *within) { s.put(map[string]string{"list": "mine"}) }, reason: "list was modified",
		},
		"what the next one declares": {
			declared: map[string]string{"out": "out"},
			then:     func(s *within) { s.next("next") },
		},
		"what it edits, and the next one declares": {
			files: map[string]string{"list": "more"},
			then:  func(s *within) { s.next("list") }, reason: "list was modified",
		},
		"what is captured next, and changes afterwards": {
			declared: map[string]string{"out": "out"},
			then: func(s *within) {
				s.checkpoint()
				s.put(map[string]string{"list": "mine"})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := newWithin(t, c.files, c.declared)
			if c.then != nil {
				c.then(s)
			}
			r, err := planRollback(ctx, s.x.store, s.w, s.x.State(), RollbackOptions{To: s.after, Scope: c.scope})
			must(t, err)
			if c.reason == "" {
				if r.Earlier != nil {
					t.Fatalf("it goes to commit %d: %s", r.Earlier.Seq, r.Earlier.Reason)
				}
				return
			}
			if r.Earlier == nil || r.Earlier.Seq != s.captured || !strings.Contains(r.Earlier.Reason, c.reason) {
				t.Fatalf("it goes to %+v, want commit %d: %s", r.Earlier, s.captured, c.reason)
			}
			if again := r.Earlier.Again; len(again) != 1 || again[0].Name != s.name {
				t.Errorf("%v run again", again)
			}
			_, err = RunRollback(ctx, s.x, s.w, RollbackOptions{To: s.after})
			must(t, err)
			if w := s.x.State().Workstream(s.name); w.Status != state.Pending {
				t.Errorf("%s is %s", w.Name, w.Status)
			}
			s.holds("gone back", map[string]string{"list": "start", "new": ""})
		})
	}
}

// TestVouchedByACapture: a capture vouches for what is on record by then, also where it
// found nothing changed.
func TestVouchedByACapture(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newWithin(t, nil, nil)
	events := s.x.State().Capture.Seq
	id := s.checkpoint()
	s.put(map[string]string{"list": "later"})
	r, err := planRollback(ctx, s.x.store, s.w, s.x.State(), RollbackOptions{To: id})
	must(t, err)
	if r.Earlier != nil || s.x.State().Capture.Seq != events {
		t.Errorf("it goes to %+v, with the files of commit %d", r.Earlier, s.x.State().Capture.Seq)
	}
	if st := s.x.State(); st.FilesAsOf() <= s.captured || st.Captures.Behind != 0 {
		t.Errorf("files are as of commit %d, %d behind", st.FilesAsOf(), st.Captures.Behind)
	}
}

// TestEarlierStateIsFinished: a rollback to an earlier state that was cut short is
// planned and finished as it began, whether the journal or a checkpoint has that state.
func TestEarlierStateIsFinished(t *testing.T) {
	t.Parallel()
	for name, anew := range map[string]bool{"from the journal": false, "from a checkpoint": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := newWithin(t, map[string]string{"list": "more"}, map[string]string{"out": "out"})
			if anew {
				s.beginJournalAnew()
			}
			plan, err := planRollback(ctx, s.x.store, s.w, s.x.State(), RollbackOptions{To: s.after})
			must(t, err)
			must(t, s.x.WithExclusiveLock(ctx, func() error { return beginRollback(ctx, s.x, s.w, plan, RollbackOptions{}) }))
			if b := s.x.State().Rollback; b.StateSeq != s.captured || b.ToSeq <= b.StateSeq {
				t.Fatalf("began %+v", b)
			}
			var kept *KeptError
			if _, err := s.x.Delete(ctx, DeleteOptions{References: []string{s.to}, Force: true}); !errors.As(err, &kept) {
				t.Errorf("delete the checkpoint that has the state: %v", err)
			}
			f, err := planFinish(ctx, s.x.store, s.w, s.x.State())
			must(t, err)
			if len(f.Edited) > 0 || f.After.Workstream(s.name).Status != state.Pending {
				t.Errorf("edited %v, %s", f.Edited, f.After.Workstream(s.name).Status)
			}
			done, err := FinishRollback(ctx, s.x, s.w)
			must(t, err)
			if done.StateSeq != s.captured || done.To != s.after || s.x.State().Workstream(s.name).Status != state.Pending {
				t.Errorf("done %+v", done.RollbackRecord)
			}
			s.holds("finished", map[string]string{"list": "start", "out": ""})
			if _, err := RunRollback(ctx, s.x, s.w, RollbackOptions{To: done.Safety}); err != nil {
				t.Fatal(err)
			}
			s.holds("undone", map[string]string{"list": "more", "out": "out"})
			if w := s.x.State().Workstream(s.name); w.Status != state.Completed {
				t.Errorf("%s is %s", w.Name, w.Status)
			}
		})
	}
}

// beginJournalAnew has the journal begin with the newest checkpoint, as after damage.
func (s *within) beginJournalAnew() {
	s.t.Helper()
	must(s.t, s.x.Close())
	s.damageJournal()
	_, err := s.open().RebuildJournal(s.t.Context(), "PRD-009", by)
	must(s.t, err)
	s.x = s.lock()
}

// next has WS3 write a file, which it has as its artifact.
func (s *within) next(path string) {
	s.put(map[string]string{path: "next"})
	kept, _, err := s.w.Keep(context.Background(), []string{path})
	must(s.t, err)
	produce(s.t, s.x, "WS3", state.Artifact{Path: state.Text(path), Size: kept[0].Size, Mode: kept[0].Mode, Digest: kept[0].Digest})
	s.checkpoint()
}
