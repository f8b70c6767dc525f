package transfer_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/transfer"
)

// payments is a pipeline with two workstreams that must happen only once, and one that may
// happen again.
func payments() state.Shape {
	return state.Shape{Phases: []state.PhaseShape{{Name: "all", Workstreams: []state.WorkstreamShape{
		{Name: "pay", Batch: 1, Once: true}, {Name: "mail", Batch: 1, Once: true}, {Name: "build", Batch: 1},
	}}}}
}

// ran begins a session of PRD-009 and completes the given workstreams of payments.
func ran(p *checkpointtest.Project, session string, done ...string) {
	p.T.Helper()
	x := p.Lock()
	checkpointtest.Must(p.T, x.Start(checkpointtest.Started(session, payments())))
	checkpointtest.Commit(p.T, x, state.PhaseStarted{Phase: "all"})
	for _, name := range done {
		checkpointtest.Produce(p.T, x, name)
	}
	checkpointtest.Must(p.T, x.Close())
}

// archivedBy archives the session of PRD-009 under failed/, and returns its directory there.
func archivedBy(p *checkpointtest.Project) string {
	p.T.Helper()
	x := p.Lock()
	dir, err := x.Abandon(state.SessionAbandoned{By: checkpointtest.By})
	checkpointtest.Must(p.T, err)
	checkpointtest.Must(p.T, x.Close())
	return dir
}

// TestImportRemembersWhatHappenedHere imports a session in which "pay" is done. It must
// remember what other sessions of the PRD have done only once and, if one can't be read,
// that each workstream that is still to be done may have happened there.
func TestImportRemembersWhatHappenedHere(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	ran(p, "session-1", "pay")
	archive := checkpointtest.Exported(p)
	const wreck = "failed/PRD-009-20240101T100000Z"
	for name, test := range map[string]struct {
		prepare func(q *checkpointtest.Project)
		mailed  bool
		unread  state.Text
	}{
		"nothing is here":            {func(*checkpointtest.Project) {}, false, ""},
		"one has mailed":             {func(q *checkpointtest.Project) { ran(q, "S2", "mail", "build"); archivedBy(q) }, true, ""},
		"the current one has mailed": {func(q *checkpointtest.Project) { ran(q, "S2", "mail") }, true, ""},
		"one has done nothing":       {func(q *checkpointtest.Project) { ran(q, "S2"); archivedBy(q) }, false, ""},
		"one can't be read":          {func(q *checkpointtest.Project) { q.Write(wreck+"/journal.jsonl", []byte("no\nno\n")) }, true, wreck},
		"one could not be read, and is gone": {func(q *checkpointtest.Project) {
			ran(q, "S2")
			archivedBy(q)
			checkpointtest.Must(q.T, q.Open().Layout().AddActs("PRD-009", nil, []state.Text{wreck}))
		}, true, wreck + ", since removed"},
		"the current one can't be read": {func(q *checkpointtest.Project) {
			ran(q, "S2")
			damageJournal(q.Fixture)
		}, true, "PRD-009"},
		"one has mailed, and another can't be read": {func(q *checkpointtest.Project) {
			ran(q, "S2", "mail")
			archivedBy(q)
			q.Write(wreck+"/journal.jsonl", []byte("no\nno\n"))
		}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := checkpointtest.NewProject(t, store.NewMemory())
			q.Options.Now = checkpointtest.NewTick().Now
			checkpointtest.Must(t, checkpointtest.LockPRD(t, q.Open(), "PRD-007").Close()) // makes the state directory
			test.prepare(q)
			_, err := checkpointtest.TakeIn(q.Open(), archive, true)
			checkpointtest.Must(t, err)
			acts := q.State().KnownActs()
			var names []string
			for _, a := range acts {
				names = append(names, a.Workstream)
			}
			want := []string{"pay"}
			if test.mailed {
				want = []string{"mail", "pay"}
			}
			if slices.Sort(names); !slices.Equal(names, want) {
				t.Fatalf("the imported session knows of %q, want %q", names, want)
			}
			if a := state.NewestAct(acts, "mail"); a != nil && (a.Unread != test.unread || a.Uncertain != (test.unread != "")) {
				t.Errorf("the imported session knows of %+v, want it from the unreadable %q", *a, test.unread)
			}
		})
	}
}

// TestImportOfAnOlderCopyIsUncertain imports an archive over the same session, which has
// paid since. Opening the archive must say so, and in the imported session the payment
// must be uncertain. What may happen again must not be.
func TestImportOfAnOlderCopyIsUncertain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		aside, again bool
		attempts     int
	}{
		"the copy is the current session":         {false, false, 2},
		"the copy is archived":                    {true, false, 2},
		"one is archived, and another is current": {true, true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := checkpointtest.NewProject(t, store.NewMemory())
			p.Options.Now = checkpointtest.NewTick().Now
			ran(p, "session-1")
			archive := checkpointtest.Exported(p)
			pay := func(times int) {
				x := p.Lock()
				for range times {
					checkpointtest.Produce(t, x, "pay")
					checkpointtest.Produce(t, x, "build")
				}
				checkpointtest.Must(t, x.Close())
			}
			pay(2)
			if test.aside {
				archivedBy(p)
			}
			if test.again {
				_, err := checkpointtest.TakeIn(p.Open(), archive, true)
				checkpointtest.Must(t, err)
				pay(1)
			}
			s := p.Open()
			i, err := transfer.OpenImport(t.Context(), s, bytes.NewReader(archive), "it.tar", bundle.Limits{})
			checkpointtest.Must(t, err)
			if got, pending := i.Uncertain(), i.Pending(); !slices.Equal(got, []string{"pay"}) || !slices.Equal(pending, []string{"pay", "mail"}) {
				t.Errorf("uncertain are %q, want pay; pending are %q, want pay and mail", got, pending)
			}
			placed, err := i.Place(t.Context(), checkpointtest.By, transfer.PlaceOptions{Replace: true})
			checkpointtest.Must(t, errors.Join(err, i.Close()))
			if w := p.State().Workstream("pay"); !slices.Equal(placed.Uncertain, []string{"pay"}) || w.Status != state.Uncertain || w.Attempts != test.attempts {
				t.Errorf("uncertain are %q, want pay; its status is %s after %d attempts, want %d", placed.Uncertain, w.Status, w.Attempts, test.attempts)
			}
		})
	}
}

// TestImportThatContinuesIsCertain imports an archive that continues the session here. No
// workstream may become uncertain.
func TestImportThatContinuesIsCertain(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	ran(p, "session-1", "pay")
	here := checkpointtest.NewProject(t, p.FS.(*store.Memory).Crash())
	x := p.Lock()
	checkpointtest.Produce(t, x, "mail")
	checkpointtest.Must(t, x.Close())
	placed, err := checkpointtest.TakeIn(here.Open(), checkpointtest.Exported(p), false)
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "the state", here.State(), p.State())
	if len(placed.Uncertain) > 0 {
		t.Errorf("uncertain are %q", placed.Uncertain)
	}
}

// TestPreviewImport: a preview must verify the archive and compare it with the session
// here, write nothing into the state directory, and refuse to be placed.
func TestPreviewImport(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	ran(p, "session-1")
	archive := checkpointtest.Exported(p)
	x := p.Lock()
	checkpointtest.Produce(t, x, "pay")
	checkpointtest.Must(t, x.Close())
	before := checkpointtest.Everything(t, p.FS, p.Dir)
	preview := func(data []byte) (*transfer.Import, error) {
		return transfer.PreviewImport(t.Context(), p.Open(), bytes.NewReader(data), "it.tar", t.TempDir(), bundle.Limits{})
	}
	i, err := preview(archive)
	checkpointtest.Must(t, err)
	if i.Session != "session-1" || !slices.Equal(i.Uncertain(), []string{"pay"}) {
		t.Errorf("a preview found the session %s, and uncertain %q", i.Session, i.Uncertain())
	}
	if _, err := i.Place(t.Context(), checkpointtest.By, transfer.PlaceOptions{Replace: true}); err == nil {
		t.Error("a preview was placed")
	}
	checkpointtest.Must(t, i.Close())
	var damaged *bundle.DamagedError
	if _, err := preview(archive[:len(archive)/2]); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "it.tar") {
		t.Errorf("a preview of half an archive returned %v", err)
	}
	checkpointtest.Untouched(t, "the state directory", checkpointtest.Everything(t, p.FS, p.Dir), before)
	x = p.Lock()
	i, err = preview(archive) // needs no lock
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, i.Close())
	checkpointtest.Must(t, x.Close())
}
