package survey_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/runner/plan"
	"prdrunner/runner/survey"
)

// behind declares inputs behind the link in.
const behind = `
phase "one" {
  workstream "make" {
    script    = "true"
    artifacts = ["real/*", "!real/skip"]
  }
}
phase "two" {
  workstream "read" {
    script = "true"
    inputs = ["in/*", "secret/*"]
  }
}
`

// TestLinks: read declares files behind links. Facts name the files that the links lead
// to, and the links that lead out of the workspace, which are told once.
func TestLinks(t *testing.T) {
	t.Parallel()
	p := newProject(t, behind)
	out := p.T.TempDir()
	p.save("real/a", "one")
	p.link("real", "in")
	p.link(out, "secret")
	s, f := p.gatherAs(plan.ConflictAsk, true)
	same(t, "inputs", p.show(f.Inputs["read"].Files), "in=real real/a=one")
	same(t, "makers", strings.Join(f.Makers["read"], " "), "make")
	same(t, "patterns", strings.Join(s.Extend([]string{"in/*"}), " "), "in/* in real/*")
	same(t, "no patterns", strings.Join(s.Extend(nil), " "), "")
	same(t, "links out", strings.Join(f.LinksOut, " "), "*** (to "+out+")")
	told := map[string]bool{}
	same(t, "links out, for the first time", strings.Join(s.LinksOut(told), " "), "secret (to "+out+")")
	same(t, "links out, for the second time", strings.Join(s.LinksOut(told), " "), "")

	p.remove("in")
	p.save("other/b", "two")
	p.link("other", "in")
	must(t, s.Workstream(context.Background(), f, p.p.Workstream("read"), nil))
	same(t, "inputs after the link has changed", p.show(f.Inputs["read"].Files), "in=other other/b=two")
	same(t, "patterns after the link has changed", strings.Join(s.Extend([]string{"in/*"}), " "), "in/* in other/*")

	p.remove("in")
	must(t, s.GatherAll(context.Background(), f, nil, nil, plan.ConflictAsk, true))
	same(t, "patterns after the link was removed", strings.Join(s.Extend([]string{"in/*"}), " "), "in/*")
}

// TestUnchangedLinkKnown: the same link is found again, so what was extended does not
// change. Without links nothing is extended.
func TestUnchangedLinkKnown(t *testing.T) {
	t.Parallel()
	p := newProject(t, behind)
	if _, adds := p.gather().Links.State(); adds {
		t.Error("there is no link, but patterns are added")
	}
	p.save("real/a", "one")
	p.link("real", "in")
	s, f := p.gatherAs(plan.ConflictAsk, true)
	before, adds := f.Links.State()
	must(t, s.Workstream(context.Background(), f, p.p.Workstream("read"), nil))
	if after, _ := f.Links.State(); after != before || !adds {
		t.Errorf("the links count %d changes, then %d; they add patterns: %t", before, after, adds)
	}
}

// TestRestoredLink: a workstream made a link, and the link is missing. Files behind it are
// found as if Runner had restored the link already.
func TestRestoredLink(t *testing.T) {
	t.Parallel()
	p := newProject(t, `
phase "one" {
  workstream "make" {
    script    = "true"
    artifacts = ["in"]
  }
}
phase "two" {
  workstream "read" {
    script = "true"
    inputs = ["in/*"]
  }
}
`)
	p.save("real/a", "one")
	p.link("real", "in")
	p.complete("make", p.keep("in")...)
	must(t, os.Remove(filepath.Join(p.Root, "in")))
	f := p.gather()
	if open, restored := f.Restored["in"]; !restored || open != nil {
		t.Errorf("the link is restored: %t; its content can be opened: %t", restored, open != nil)
	}
	same(t, "inputs", p.show(f.Inputs["read"].Files), "in=real real/a=one")
}

// TestDeclared: the declared patterns are those of workstreams and of all gates. Patterns
// that lead out of the workspace are not among them.
func TestDeclared(t *testing.T) {
	t.Parallel()
	p := newProject(t, `
phase "one" {
  workstream "make" {
    script    = "true"
    inputs    = ["in"]
    artifacts = ["out"]
    gate "g" {
      inputs = ["judged"]
      script = "true"
    }
  }
  gate "h" {
    inputs = ["judged, too"]
    script = "true"
  }
}
`)
	same(t, "declared", strings.Join(survey.Declared(p.p), ";"), "in;in/**;out;out/**;judged;judged/**;judged, too;judged, too/**")
	same(t, "local", strings.Join(survey.Local("a", "", "../b", "/c", "d/../e"), ";"), "a;d/../e")
}
