package survey_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner/survey"
)

// once has a workstream that must happen only once.
const once = `
phase "one" {
  workstream "pay" {
    script = "true"
    effect = "once"
  }
  workstream "ship" {
    script = "true"
    effect = "once"
  }
  workstream "make" { script = "true" }
}
`

func describeActs(acts []state.Act) string {
	var all []string
	for _, a := range acts {
		text := a.Workstream + " in " + a.Session
		if a.Unread != "" {
			text = a.Workstream + " perhaps in a session that can't be read"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// TestKnownActs: pay has happened in session S1, and S2 is the current session. The
// earlier sessions are read if S2 is new, or did not know pay as once.
func TestKnownActs(t *testing.T) {
	t.Parallel()
	harmless := strings.ReplaceAll(once, `effect = "once"`, "")
	none := func(*project) {}
	damage := func(p *project) { p.damage("S1") }
	for _, tt := range []struct {
		name    string
		current string // the pipeline of S2
		next    string // the pipeline when the acts are asked for
		play    func(*project)
		resumes bool
		want    string
	}{
		{"a new session", once, once, none, false, "pay in S1"},
		{"a resumed session that knew pay as once", once, once, none, true, ""},
		{"a resumed session that did not know pay as once", harmless, once, none, true, "pay in S1"},
		{"a pipeline without once workstreams", harmless, harmless, none, false, ""},
		{"a session that can't be read", once, once, damage, false,
			"pay perhaps in a session that can't be read, ship perhaps in a session that can't be read"},
		{"a session that can't be read, and pay has happened in another one", once, once, func(p *project) {
			p.damage("S1")
			p.complete("pay")
		}, false, "pay in S2, ship perhaps in a session that can't be read"},
		{"a resumed session that did not know pay as once, and S1 can't be read", harmless, once, damage, true,
			"pay perhaps in a session that can't be read, ship perhaps in a session that can't be read"},
		{"a resumed session whose acts are on record", once, once, func(p *project) { p.complete("ship") }, true, "ship in S2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, once)
			p.complete("pay")
			p.record(state.SessionCompleted{})
			p.rewrite(tt.current)
			p.start("S2")
			p.rewrite(tt.next)
			tt.play(p)
			acts, err := survey.KnownActs(p.store, p.p, p.state(), tt.resumes)
			must(t, err)
			same(t, "acts", describeActs(acts), tt.want)
		})
	}
}

// damage damages the journal of an archived session.
func (p *project) damage(session string) {
	p.T.Helper()
	dirs, err := p.store.Layout().SessionDirs("PRD-009")
	must(p.T, err)
	for _, d := range dirs {
		if filepath.Base(d.Dir) == session {
			must(p.T, store.WriteFile(p.FS, filepath.Join(d.Dir, disk.JournalName), []byte("damaged\n")))
			return
		}
	}
	p.T.Fatalf("there is no archived session %s", session)
}

// TestKnownActsWithoutStore: there is no state directory, so only the given state counts.
func TestKnownActsWithoutStore(t *testing.T) {
	t.Parallel()
	p := newProject(t, once)
	p.complete("pay")
	acts, err := survey.KnownActs(nil, p.p, p.state(), false)
	must(t, err)
	same(t, "acts", describeActs(acts), "pay in S1")
	acts, err = survey.KnownActs(nil, p.p, nil, false)
	must(t, err)
	same(t, "acts without a state", describeActs(acts), "")
}

// TestEarlierRuns: only workstreams with a cache have results of earlier runs. A result is
// usable if the bytes of all its artifacts are stored.
func TestEarlierRuns(t *testing.T) {
	t.Parallel()
	const cached = `
phase "one" {
  workstream "make" {
    script    = "true"
    artifacts = ["*.txt"]
    effect    = "pure"
    cache     = true
  }
  workstream "other" { script = "true" }
}
`
	lost := state.Artifact{Path: "l.txt", Mode: 0o644, Digest: "sha256:" + strings.Repeat("0", 64)}
	for _, tt := range []struct {
		name string
		more func(kept state.Artifact) []state.Artifact // the artifacts besides a.txt
		want string
	}{
		{"all are stored", func(state.Artifact) []state.Artifact { return nil }, "S1 a.txt=one"},
		{"one is lost", func(state.Artifact) []state.Artifact { return []state.Artifact{lost} }, ""},
		{"one is left out", func(kept state.Artifact) []state.Artifact {
			kept.Path, kept.LeftOut = "b.txt", true
			return []state.Artifact{kept}
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, cached)
			p.save("a.txt", "one")
			kept := p.keep("a.txt")
			p.complete("make", append(kept, tt.more(kept[0])...)...)
			p.complete("other")
			p.record(state.SessionCompleted{})
			p.start("S2")
			earlier := survey.EarlierRuns(p.store, p.p, p.files)()
			var got []string
			for _, r := range earlier["make"] {
				got = append(got, fmt.Sprintf("%s %s", r.Session, p.show(r.Work.Artifacts)))
			}
			same(t, "results", strings.Join(got, ", "), tt.want)
			if _, known := earlier["other"]; known {
				t.Error("a workstream without a cache has earlier results")
			}
		})
	}
	p := newProject(t, cached)
	if survey.EarlierRuns(nil, p.p, p.files) != nil {
		t.Error("there are earlier runs without a state directory")
	}
	p.rewrite(makers)
	if survey.EarlierRuns(p.store, p.p, p.files) != nil {
		t.Error("there are earlier runs, but no workstream has a cache")
	}
}
