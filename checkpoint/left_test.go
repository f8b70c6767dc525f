package checkpoint_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// TestLeftIsNeeded lets two attempts fail and leave files. Tidy and Collect must keep the
// objects of those files as long as the state or a checkpoint records them, and no
// longer.
func TestLeftIsNeeded(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 2)))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	made := checkpointtest.Put(t, f.Open(), "out", "made")
	checkpointtest.Produce(t, x, "w0", made)
	one, two, gone := checkpointtest.Put(t, f.Open(), "out", "left by 1"), checkpointtest.Put(t, f.Open(), "out", "left by 2"), state.Artifact{Path: "other"}
	no := state.Failure{Workstream: "w1", Message: "no"}
	checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "w1", Attempt: 1}, state.WorkstreamAttemptFailed{Workstream: "w1", Attempt: 1, Error: no, Left: []state.Artifact{gone, one}})
	old := checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "w1", Attempt: 2}, state.WorkstreamFailed{Workstream: "w1", Error: no, Left: []state.Artifact{two}})
	tidy := func(x *checkpoint.Session, want string) {
		t.Helper()
		checkpointtest.SameSpans(t, x)
		_, err := prune.Tidy(context.Background(), x, nil)
		checkpointtest.Must(t, err)
		if got := checkpointtest.Has(t, f.Open(), made, one, two); got != want {
			t.Fatalf("objects of: made, left by attempt 1, left by attempt 2: %s, want %s", got, want)
		}
	}
	tidy(x, "111")
	_, err := prune.Delete(context.Background(), x, prune.DeleteOptions{References: []string{old}, Force: true})
	checkpointtest.Must(t, err)
	tidy(x, "101")
	checkpointtest.Must(t, x.Close())
	_, err = prune.Collect(context.Background(), f.Open(), nil)
	checkpointtest.Must(t, err)
	x = f.Lock()
	tidy(x, "101")
	checkpointtest.Produce(t, x, "w1")
	tidy(x, "100")
	checkpointtest.Must(t, x.Close())
}

// TestReplacedIsNeeded: until a held result is in the workspace, the objects of the files that it
// replaces must be kept, and be in an archive.
func TestReplacedIsNeeded(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	x := checkpointtest.LockPRD(t, p.Open(), "PRD-009")
	made, replaced := checkpointtest.Put(t, p.Open(), "gen/a.txt", "made"), checkpointtest.Put(t, p.Open(), "gen/a.txt", "replaced")
	checkpointtest.Commit(t, x, state.SessionResumed{By: checkpointtest.By}, state.WorkstreamStarted{Workstream: "w1", Attempt: 1},
		state.WorkstreamSucceeded{Workstream: "w1", Work: state.Work{Attempt: 1, Artifacts: []state.Artifact{made}}, Held: &state.Held{Before: []state.Artifact{replaced, {Path: "gen/new"}}}})
	tidy := func(want string) {
		t.Helper()
		checkpointtest.SameSpans(t, x)
		_, err := prune.Tidy(context.Background(), x, nil)
		checkpointtest.Must(t, err)
		if got := checkpointtest.Has(t, p.Open(), made, replaced); got != want {
			t.Fatalf("objects of: the result, what it replaces: %s, want %s", got, want)
		}
	}
	tidy("11")
	checkpointtest.Must(t, x.Close())

	q := checkpointtest.NewProject(t, store.NewMemory())
	_, err := checkpointtest.TakeIn(q.Open(), checkpointtest.Exported(p), false)
	checkpointtest.Must(t, err)
	if got := checkpointtest.Has(t, q.Open(), made, replaced); got != "11" {
		t.Errorf("the archive has objects of the result, and of what it replaces: %s", got)
	}

	x = checkpointtest.LockPRD(t, p.Open(), "PRD-009")
	checkpointtest.Commit(t, x, state.WorkstreamCompleted{Workstream: "w1"})
	tidy("10")
	checkpointtest.Must(t, x.Close())
}

// TestLeftIsExported: an archive must contain the objects of the files that a failed
// attempt left.
func TestLeftIsExported(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	x := checkpointtest.LockPRD(t, p.Open(), "PRD-009")
	left := checkpointtest.Put(t, p.Open(), "gen/a.txt", "left")
	checkpointtest.Commit(t, x, state.SessionResumed{By: checkpointtest.By}, state.WorkstreamStarted{Workstream: "w1", Attempt: 1},
		state.WorkstreamFailed{Workstream: "w1", Error: state.Failure{Workstream: "w1"}, Left: []state.Artifact{left}},
		state.SessionFailed{Error: state.Failure{Workstream: "w1"}})
	checkpointtest.Must(t, x.Close())

	q := checkpointtest.NewProject(t, store.NewMemory())
	_, err := checkpointtest.TakeIn(q.Open(), checkpointtest.Exported(p), false)
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "state", q.State(), p.State())
	checkpointtest.NeedsWhole(t, q.Open(), "PRD-009")
	if checkpointtest.Has(t, q.Open(), left) != "1" {
		t.Error("the archive lacks the file that the failed attempt left")
	}
}

// TestLeft: the state must record the files that the last ended attempt of w1 left, until
// w1 completes, is skipped or invalidated, or starts with another definition, or until w0
// records the artifact again.
func TestLeft(t *testing.T) {
	t.Parallel()
	of := func(text string) []state.Artifact {
		return []state.Artifact{{Path: "out", Digest: checkpointtest.DigestText(text)}}
	}
	first, second := state.Digest{Definition: checkpointtest.DigestText("1")}, state.Digest{Definition: checkpointtest.DigestText("2")}
	started := func(attempt int, d state.Digest) state.Event {
		return state.WorkstreamStarted{Workstream: "w1", Attempt: attempt, Digest: d}
	}
	again := state.WorkstreamAttemptFailed{Workstream: "w1", Attempt: 1, Left: of("again")}
	failed := state.WorkstreamFailed{Workstream: "w1", Left: of("failed")}
	for name, c := range map[string]struct {
		events []state.Event
		want   string // the content of the recorded file, "" for none
	}{
		"repeated":              {[]state.Event{again}, "again"},
		"failed":                {[]state.Event{failed}, "failed"},
		"runs again":            {[]state.Event{again, started(2, first)}, "again"},
		"then interrupted":      {[]state.Event{again, started(2, first), state.WorkstreamInterrupted{Workstream: "w1", Attempt: 2}}, "again"},
		"then failed":           {[]state.Event{again, started(2, first), failed}, "failed"},
		"nothing left then":     {[]state.Event{again, started(2, first), state.WorkstreamFailed{Workstream: "w1"}}, ""},
		"called off":            {[]state.Event{again, state.WorkstreamFailed{Workstream: "w1"}}, "again"},
		"another definition":    {[]state.Event{again, started(2, second)}, ""},
		"done":                  {[]state.Event{again, started(2, first), state.WorkstreamCompleted{Workstream: "w1", Work: &state.Work{Attempt: 2}}}, ""},
		"skipped":               {[]state.Event{failed, state.WorkstreamSkipped{Workstream: "w1"}}, ""},
		"invalidated":           {[]state.Event{failed, state.WorkstreamInvalidated{Workstream: "w1"}}, ""},
		"made anew":             {[]state.Event{failed, state.WorkstreamStarted{Workstream: "w0", Attempt: 2}, state.WorkstreamCompleted{Workstream: "w0", Work: &state.Work{Attempt: 2, Artifacts: of("made")}}}, ""},
		"an edit that was kept": {[]state.Event{failed, state.WorkstreamEdited{Workstream: "w0", Artifacts: of("edited")}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.InMemory(t)
			x := f.Lock()
			checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 2)))
			checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
			checkpointtest.Produce(t, x, "w0", of("made")...)
			checkpointtest.Commit(t, x, started(1, first))
			for _, e := range c.events {
				checkpointtest.Commit(t, x, e)
			}
			s := x.State()
			a, _ := s.Workstream("w1").LeftIn(s.Workstream("w0"), "out")
			want := state.Artifact{}
			if c.want != "" {
				want = of(c.want)[0]
			}
			checkpointtest.Same(t, "left", a, want)
			if c.want != "" {
				recorded := state.RecordedFiles(s)
				if !slices.ContainsFunc(recorded, func(e workspace.Entry) bool { return e.Path == "out" && e.Digest == want.Digest }) {
					t.Error(cmp.Diff(nil, recorded))
				}
			}
			checkpointtest.Must(t, x.Close())
		})
	}
}
