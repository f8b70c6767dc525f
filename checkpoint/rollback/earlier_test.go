package rollback

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
)

// within is a session in a git work tree. Its last workstream has completed, and no
// capture was made since.
type within struct {
	*gitProject
	name     string // of the workstream
	captured uint64 // the commit of the last capture, before the workstream ran
	after    string // the checkpoint at its completion
}

// newWithin lets a workstream write files and declared, and records declared as its
// artifacts.
func newWithin(t *testing.T, files, declared map[string]string) *within {
	t.Helper()
	ctx := context.Background()
	s := &within{gitProject: newGitProject(t, map[string]string{"list": "start"})}
	s.captured = s.Session.State().FilesAsOf()
	s.Put(files)
	s.Put(declared)
	var paths []string
	for path := range declared {
		paths = append(paths, path)
	}
	entries, leftOut, err := s.Workspace.Keep(ctx, paths)
	checkpointtest.Must(t, err)
	var artifacts []state.Artifact
	for _, e := range entries {
		artifacts = append(artifacts, state.Artifact{Path: state.Text(e.Path), Size: e.Size, Mode: e.Mode, Digest: e.Digest, LeftOut: slices.Contains(leftOut, e.Path)})
	}
	s.name = s.Session.State().Phases[1].Workstreams[0].Name
	checkpointtest.Produce(t, s.Session, s.name, artifacts...)
	s.after = checkpointtest.Mark(t, s.Session, state.TriggerWorkstreamComplete)
	return s
}

// TestStateGoesToTheCapture: if a workstream may have changed files that a rollback to
// its completion can't restore, the rollback must take the state of the capture before
// the workstream, so that the workstream runs again.
func TestStateGoesToTheCapture(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files, declared map[string]string
		then            func(s *within)
		scope           state.RollbackScope
		reason          string // "": the state is the target's
	}{
		"an undeclared file":           {files: map[string]string{"list": "more"}, reason: "list was modified, and is not recorded as an artifact"},
		"a new one":                    {files: map[string]string{"new": "new"}, reason: "new was added, and is not recorded as an artifact"},
		"one that is gone":             {files: map[string]string{"list": ""}, reason: "list was deleted, and is not recorded as an artifact"},
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
			then:     func(s *within) { s.Put(map[string]string{"list": "mine"}) }, reason: "list was modified",
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
				s.Put(map[string]string{"list": "mine"})
			},
		},
		"what is captured next, and changes before the capture after that": {
			declared: map[string]string{"out": "out"},
			then: func(s *within) {
				s.checkpoint()
				s.Put(map[string]string{"list": "mine"})
				s.checkpoint()
			},
		},
		"what changes before the next capture, and back after it": {
			declared: map[string]string{"out": "out"},
			then: func(s *within) {
				s.Put(map[string]string{"list": "mine"})
				s.checkpoint()
				s.Put(map[string]string{"list": "start"})
				s.checkpoint()
			}, reason: "list was modified",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := newWithin(t, c.files, c.declared)
			if c.then != nil {
				c.then(s)
			}
			r, err := planTo(ctx, s.Session.Store(), s.Workspace, s.Session.State(), Options{To: s.after, Scope: c.scope})
			checkpointtest.Must(t, err)
			if c.reason == "" {
				if r.Earlier != nil {
					t.Fatalf("the rollback takes the state of commit %d: %s", r.Earlier.Seq, r.Earlier.Reason)
				}
				return
			}
			if r.Earlier == nil || r.Earlier.Seq != s.captured || !strings.Contains(r.Earlier.Reason, c.reason) {
				t.Fatalf("the rollback takes the state of %+v, want commit %d: %s", r.Earlier, s.captured, c.reason)
			}
			if again := r.Earlier.Again; len(again) != 1 || again[0].Name != s.name {
				t.Errorf("%v run again", again)
			}
			_, err = Run(ctx, s.Session, s.Workspace, Options{To: s.after})
			checkpointtest.Must(t, err)
			if w := s.Session.State().Workstream(s.name); w.Status != state.Pending {
				t.Errorf("%s is %s", w.Name, w.Status)
			}
			s.Holds("rolled back", map[string]string{"list": "start", "new": ""})
		})
	}
}

// TestVouchedByACapture captures after a workstream that changed no files. The capture
// must count for the state at that time, so that a rollback to it takes that state,
// although the capture found nothing to record.
func TestVouchedByACapture(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newWithin(t, nil, nil)
	events := s.Session.State().Capture.Seq
	id := s.checkpoint()
	s.Put(map[string]string{"list": "later"})
	r, err := planTo(ctx, s.Session.Store(), s.Workspace, s.Session.State(), Options{To: id})
	checkpointtest.Must(t, err)
	if r.Earlier != nil || s.Session.State().Capture.Seq != events {
		t.Errorf("the rollback takes the state of %+v, with the files of commit %d", r.Earlier, s.Session.State().Capture.Seq)
	}
	if st := s.Session.State(); st.FilesAsOf() <= s.captured || st.Captures.Behind != 0 {
		t.Errorf("files are as of commit %d, %d behind", st.FilesAsOf(), st.Captures.Behind)
	}
}

// TestEarlierStateIsFinished interrupts a rollback that takes an earlier state, which the
// journal or only a checkpoint has. The plan to finish the rollback, and Finish, must
// take the same state, and the checkpoint that has the state can't be deleted meanwhile.
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
			plan, err := planTo(ctx, s.Session.Store(), s.Workspace, s.Session.State(), Options{To: s.after})
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, s.Session.WithExclusiveLock(ctx, func() error { return begin(ctx, s.Session, s.Workspace, plan, Options{}) }))
			if b := s.Session.State().Rollback; b.StateSeq != s.captured || b.ToSeq <= b.StateSeq {
				t.Fatalf("the rollback began as %+v", b)
			}
			var kept *prune.KeptError
			if _, err := prune.Delete(ctx, s.Session, prune.DeleteOptions{References: []string{s.Target}, Force: true}); !errors.As(err, &kept) {
				t.Errorf("delete the checkpoint that has the state: %v", err)
			}
			f, err := planFinish(ctx, s.Session.Store(), s.Workspace, s.Session.State())
			checkpointtest.Must(t, err)
			if len(f.Edited) > 0 || f.After.Workstream(s.name).Status != state.Pending {
				t.Errorf("edited %v, %s", f.Edited, f.After.Workstream(s.name).Status)
			}
			done, err := Finish(ctx, s.Session, s.Workspace)
			checkpointtest.Must(t, err)
			if done.StateSeq != s.captured || done.To != s.after || s.Session.State().Workstream(s.name).Status != state.Pending {
				t.Errorf("done %+v", done.RollbackRecord)
			}
			s.Holds("finished", map[string]string{"list": "start", "out": ""})
			if _, err := Run(ctx, s.Session, s.Workspace, Options{To: done.Safety}); err != nil {
				t.Fatal(err)
			}
			s.Holds("undone", map[string]string{"list": "more", "out": "out"})
			if w := s.Session.State().Workstream(s.name); w.Status != state.Completed {
				t.Errorf("%s is %s", w.Name, w.Status)
			}
		})
	}
}

// TestInspectNamesTheState: an inspection must name the earlier state that a rollback to
// the checkpoint takes, or say why the rollback is refused.
func TestInspectNamesTheState(t *testing.T) {
	t.Parallel()
	more := map[string]string{"list": "more"}
	for name, c := range map[string]struct {
		files            map[string]string
		then             func(s *within)
		noWorkspace      bool
		damaged          bool // an object of the checkpoint is lost
		earlier, refused bool // what the inspection names
	}{
		"an undeclared file":            {files: more, earlier: true},
		"without a workspace":           {files: more, noWorkspace: true},
		"nothing undeclared":            {},
		"the checkpoint of the capture": {files: more, then: func(s *within) { s.after = s.Target }},
		"a lost artifact":               {files: more, then: func(s *within) { s.loseObject("out") }, damaged: true},
		"a discarded checkpoint": {files: more, then: func(s *within) {
			_, err := Run(context.Background(), s.Session, s.Workspace, Options{To: s.Target})
			checkpointtest.Must(s.T, err)
		}},
		"the state is in no journal and no checkpoint": {files: more, then: func(s *within) {
			_, err := prune.Delete(context.Background(), s.Session, prune.DeleteOptions{References: []string{s.Target}, Force: true})
			checkpointtest.Must(s.T, err)
			s.beginJournalAnew()
		}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := newWithin(t, c.files, map[string]string{"out": "out"})
			if c.then != nil {
				c.then(s)
			}
			id, w := s.after, s.Workspace
			if c.noWorkspace {
				w = nil
			}
			found, err := Inspect(ctx, s.Open(), w, "PRD-009", id)
			checkpointtest.Must(t, err)
			if found.Intact() == c.damaged || found.Check.Ref.ID != id {
				t.Errorf("inspected %+v", found.Check)
			}
			if found.Earlier != nil != c.earlier || c.earlier && found.Earlier.Seq != s.captured {
				t.Errorf("the rollback takes the state of %+v", found.Earlier)
			}
			if found.EarlierGone != nil != c.refused {
				t.Errorf("the refusal of the rollback: %v", found.EarlierGone)
			}
			if !c.refused {
				return
			}
			want := EarlierGoneError{To: id, Seq: s.captured, Reason: "list was modified, and is not recorded as an artifact", Err: found.EarlierGone.Err}
			checkpointtest.Same(t, "the refusal", found.EarlierGone, want)
			var gone *EarlierGoneError
			if _, err := PlanTo(ctx, s.Open(), w, "PRD-009", Options{To: id}); !errors.As(err, &gone) || gone.Error() != found.EarlierGone.Error() {
				t.Errorf("the plan: %v, want %v", err, found.EarlierGone)
			}
		})
	}
}

// loseObject removes the object with the content text.
func (s *within) loseObject(text string) {
	s.T.Helper()
	path, _, err := s.Session.Store().Objects().Path(checkpointtest.DigestText(text))
	checkpointtest.Must(s.T, err)
	checkpointtest.Must(s.T, s.FS.Remove(path))
}

// beginJournalAnew damages and rebuilds the journal, which then begins with the newest
// checkpoint.
func (s *within) beginJournalAnew() {
	s.T.Helper()
	checkpointtest.Must(s.T, s.Session.Close())
	lines := bytes.SplitAfter(s.Read("PRD-009/journal.jsonl"), []byte("\n"))
	lines[1][len(lines[1])/2] ^= 1
	s.Write("PRD-009/journal.jsonl", bytes.Join(lines, nil))
	_, err := repair.RebuildJournal(s.T.Context(), s.Open(), "PRD-009", checkpointtest.By)
	checkpointtest.Must(s.T, err)
	s.Session = s.Lock()
}

// next lets WS3 write a file and record it as its artifact, and captures the files.
func (s *within) next(path string) {
	s.Put(map[string]string{path: "next"})
	kept, _, err := s.Workspace.Keep(context.Background(), []string{path})
	checkpointtest.Must(s.T, err)
	checkpointtest.Produce(s.T, s.Session, "WS3", state.Artifact{Path: state.Text(path), Size: kept[0].Size, Mode: kept[0].Mode, Digest: kept[0].Digest})
	s.checkpoint()
}
