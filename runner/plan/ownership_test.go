package plan_test

import (
	"slices"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// owners is a pipeline whose workstreams make files of the same directories.
const owners = `
phase "one" {
  workstream "a" {
    artifacts = ["out/*.txt"]
    script    = "a"
  }
  workstream "b" {
    depends_on = [workstream.a]
    artifacts  = ["out/b*"]
    script     = "b"
  }
  workstream "c" {
    depends_on = [workstream.b]
    artifacts  = ["*/shared"]
    script     = "c"
    gate "lint" { command = ["lint"] }
  }
  workstream "d" { script = "d" }
  gate "check" { command = ["check"] }
}
phase "two" {
  workstream "e" {
    artifacts = ["out/b.txt"]
    script    = "e"
  }
}
`

// linked is a set of links that adds the pattern link/extra. Tests set what State
// returns.
type linked struct {
	changes int
	adds    bool
}

func (l *linked) Extend(patterns []string) []string {
	return append(slices.Clone(patterns), "link/extra")
}

func (l *linked) State() (changes int, adds bool) { return l.changes, l.adds }

func makers(o *plan.Ownership, path string) []string {
	all := func(*pipeline.Workstream) bool { return true }
	return o.MakersAmong(all, []state.Artifact{artifact(path, "1")})
}

func TestMakers(t *testing.T) {
	t.Parallel()
	s := newSession(t, owners)
	o := plan.NewOwnership(s.p, nil)
	for path, want := range map[string][]string{
		"out/a.txt":  {"a"},
		"out/b.txt":  {"a", "b", "e"},
		"out/b":      {"b"},
		"any/shared": {"c"},
		"out/shared": {"c"},
		"out/c":      nil,
		"src":        nil,
	} {
		if got := makers(o, path); !slices.Equal(got, want) {
			t.Errorf("%s is made by %q, want %q", path, got, want)
		}
	}
	none := newSession(t, "phase \"one\" {\n workstream \"a\" { script = \"a\" }\n}\n")
	if got := makers(plan.NewOwnership(none.p, nil), "out"); got != nil {
		t.Errorf("no artifacts are declared, but %q make the file", got)
	}
}

// TestMakersBehindLinks: patterns that links add are computed anew when the links change.
func TestMakersBehindLinks(t *testing.T) {
	t.Parallel()
	s := newSession(t, owners)
	links := &linked{}
	o := plan.NewOwnership(s.p, links)
	if got := makers(o, "link/extra"); got != nil {
		t.Errorf("no links are known, but %q make the file", got)
	}
	links.changes, links.adds = 1, true
	if got, want := makers(o, "link/extra"), []string{"a", "b", "c", "e"}; !slices.Equal(got, want) {
		t.Errorf("%q make the file, want %q", got, want)
	}
	if !o.Makes(o.ScopeOf(s.p.Workstream("a")), "link/extra") {
		t.Error("link/extra is not reported as an artifact of a")
	}
	links.adds = false
	if got := makers(o, "link/extra"); len(got) != 4 {
		t.Errorf("the links are unchanged, but only %q make the file", got)
	}
	links.changes = 2
	if got := makers(o, "link/extra"); got != nil {
		t.Errorf("links add no patterns any more, but %q make the file", got)
	}
}

func TestMakersAmong(t *testing.T) {
	t.Parallel()
	s := newSession(t, owners)
	o := plan.NewOwnership(s.p, nil)
	all := func(*pipeline.Workstream) bool { return true }
	files := []state.Artifact{artifact("out/a.txt", "1"), artifact("out/b", "1")}
	if got, want := o.MakersAmong(all, files, []state.Artifact{artifact("out/b.txt", "1")}), []string{"a", "b", "e"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	notA := func(ws *pipeline.Workstream) bool { return ws.Name != "a" }
	if got, want := o.MakersAmong(notA, files), []string{"b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestScope: for a step, a file is final if all workstreams that may write the file
// always end before the step.
func TestScope(t *testing.T) {
	t.Parallel()
	s := newSession(t, owners)
	o := plan.NewOwnership(s.p, nil)
	scopes := map[string]plan.Scope{
		"a": o.ScopeOf(s.p.Workstream("a")), "b": o.ScopeOf(s.p.Workstream("b")), "c": o.ScopeOf(s.p.Workstream("c")),
		"d": o.ScopeOf(s.p.Workstream("d")), "e": o.ScopeOf(s.p.Workstream("e")), "lint (c)": o.ScopeOfGate(s.p.Gate("lint (c)")), "check (one)": o.ScopeOfGate(s.p.Gate("check (one)")),
	}
	for _, tt := range []struct {
		step, path           string
		makes, shared, ended bool
	}{
		{"a", "out/a.txt", true, true, false},
		{"b", "out/a.txt", false, false, true},
		{"c", "out/a.txt", false, false, true},
		{"d", "out/a.txt", false, true, false},
		{"e", "out/a.txt", false, false, true},
		{"b", "out/b.txt", true, true, true},
		{"c", "out/b.txt", false, true, true},
		{"e", "out/b.txt", true, true, true},
		{"b", "out/shared", false, true, false},
		{"c", "out/shared", true, true, false},
		{"lint (c)", "out/shared", false, false, true},
		{"lint (c)", "out/b.txt", false, true, true},
		{"check (one)", "out/a.txt", false, false, true},
		{"check (one)", "out/b.txt", false, true, true},
		{"a", "src", false, false, false},
	} {
		makes := o.Makes(scopes[tt.step], tt.path)
		shared, ended := o.Shared(scopes[tt.step], tt.path)
		if makes != tt.makes || shared != tt.shared || ended != tt.ended {
			t.Errorf("%s, as %s sees it: made by the step itself %t, by one that may run %t, by one that has ended %t", tt.path, tt.step, makes, shared, ended)
		}
	}
	if pl := s.planner(); !pl.Makes(s.p.Workstream("a"), "out/a.txt") || pl.Makes(s.p.Workstream("b"), "out/a.txt") {
		t.Error("want out/a.txt to be an artifact of a, and not of b")
	}
}
