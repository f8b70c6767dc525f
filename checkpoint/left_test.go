package checkpoint

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// TestLeftIsNeeded: what an attempt that failed left is kept as long as the state or a
// checkpoint has it on record, by whoever collects, and no longer.
func TestLeftIsNeeded(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.lock()
	must(t, x.Start(startedOf("PRD-009", "S1", 2)))
	commit(t, x, state.PhaseStarted{Phase: "all"})
	made := put(t, f.open(), "out", "made")
	produce(t, x, "w0", made)
	one, two, gone := put(t, f.open(), "out", "left by 1"), put(t, f.open(), "out", "left by 2"), state.Artifact{Path: "other"}
	no := state.Failure{Workstream: "w1", Message: "no"}
	commit(t, x, state.WorkstreamStarted{Workstream: "w1", Attempt: 1}, state.WorkstreamAttemptFailed{Workstream: "w1", Attempt: 1, Error: no, Left: []state.Artifact{gone, one}})
	old := mark(t, x, state.TriggerManual)
	commit(t, x, state.WorkstreamStarted{Workstream: "w1", Attempt: 2}, state.WorkstreamFailed{Workstream: "w1", Error: no, Left: []state.Artifact{two}})
	tidy := func(x *Session, want string) {
		t.Helper()
		sameSpans(t, x)
		_, err := x.Tidy(context.Background(), nil)
		must(t, err)
		if got := has(t, f.open(), made, one, two); got != want {
			t.Fatalf("there are %s of made, left by 1 and by 2, want %s", got, want)
		}
	}
	tidy(x, "111")
	_, err := x.Delete(context.Background(), DeleteOptions{References: []string{old}, Force: true})
	must(t, err)
	tidy(x, "101")
	must(t, x.Close())
	_, err = f.open().Collect(context.Background(), nil)
	must(t, err)
	x = f.lock()
	tidy(x, "101")
	produce(t, x, "w1")
	tidy(x, "100")
	must(t, x.Close())
}

// TestLeftIsExported: an archive has the bytes of what was left, and an import needs them.
func TestLeftIsExported(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	x := lockPRD(t, p.open(), "PRD-009")
	left := put(t, p.open(), "gen/a.txt", "left")
	commit(t, x, state.SessionResumed{By: by}, state.WorkstreamStarted{Workstream: "w1", Attempt: 1},
		state.WorkstreamFailed{Workstream: "w1", Error: state.Failure{Workstream: "w1"}, Left: []state.Artifact{left}},
		state.SessionFailed{Error: state.Failure{Workstream: "w1"}})
	must(t, x.Close())

	q := newProject(t, store.NewMemory())
	_, err := takeIn(q.open(), p.export(), false)
	must(t, err)
	same(t, "state", q.stands(), p.stands())
	needsWhole(t, q.open(), "PRD-009")
	if has(t, q.open(), left) != "1" {
		t.Error("the bytes of what was left are not in the archive")
	}
}

// TestLeft: what the last attempt that ended left is on record until the workstream is
// done or begins anew, or the artifacts are recorded anew.
func TestLeft(t *testing.T) {
	t.Parallel()
	of := func(text string) []state.Artifact { return []state.Artifact{{Path: "out", Digest: digestText(text)}} }
	first, second := state.Digest{Definition: digestText("1")}, state.Digest{Definition: digestText("2")}
	started := func(attempt int, d state.Digest) state.Event {
		return state.WorkstreamStarted{Workstream: "w1", Attempt: attempt, Digest: d}
	}
	again := state.WorkstreamAttemptFailed{Workstream: "w1", Attempt: 1, Left: of("again")}
	failed := state.WorkstreamFailed{Workstream: "w1", Left: of("failed")}
	for name, c := range map[string]struct {
		events []state.Event
		want   string // the text that is left, "" for nothing
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
			f := inMemory(t)
			x := f.lock()
			must(t, x.Start(startedOf("PRD-009", "S1", 2)))
			commit(t, x, state.PhaseStarted{Phase: "all"})
			produce(t, x, "w0", of("made")...)
			commit(t, x, started(1, first))
			for _, e := range c.events {
				commit(t, x, e)
			}
			s := x.State()
			a, _ := s.Workstream("w1").LeftIn(s.Workstream("w0"), "out")
			want := state.Artifact{}
			if c.want != "" {
				want = of(c.want)[0]
			}
			same(t, "left", a, want)
			if c.want != "" {
				recorded := state.RecordedFiles(s)
				if !slices.ContainsFunc(recorded, func(e workspace.Entry) bool { return e.Path == "out" && e.Digest == want.Digest }) {
					t.Error(cmp.Diff(nil, recorded))
				}
			}
			must(t, x.Close())
		})
	}
}
