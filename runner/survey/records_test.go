package survey_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// makers has a workstream that makes a.txt and b.txt, and one that may write over them.
const makers = `
phase "one" {
  workstream "make" {
    script    = "true"
    artifacts = ["?.txt"]
  }
}
phase "two" {
  workstream "over" {
    script    = "true"
    artifacts = ["a.txt"]
  }
}
`

// projectWithRecords returns a project of makers in which make has recorded a.txt and b.txt.
func projectWithRecords(t *testing.T) *project {
	t.Helper()
	p := newProject(t, makers)
	p.save("a.txt", "one")
	p.save("b.txt", "two")
	p.complete("make", p.keep("a.txt", "b.txt")...)
	return p
}

// describeRecords describes what the facts say about the artifacts of a workstream.
func (p *project) describeRecords(f *plan.Facts, workstream string) string {
	var all []string
	for _, c := range f.Conflicts[workstream] {
		text := fmt.Sprintf("conflict %s=%s", c.Path, p.text(c.Found))
		if !c.Kept {
			text += " not kept"
		}
		all = append(all, text)
	}
	for _, a := range f.Partial[workstream] {
		all = append(all, fmt.Sprintf("partial %s=%s", a.Path, p.text(a.Found)))
	}
	if current := f.Current[workstream]; len(current) > 0 {
		all = append(all, "current "+p.show(current))
	}
	return strings.Join(all, "; ")
}

// TestArtifacts: make has recorded a.txt=one and b.txt=two. The facts say what has
// happened to these files since.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		play func(*project)
		want string
	}{
		{"nothing happened", func(*project) {}, "current a.txt=one b.txt=two"},
		{"edited", func(p *project) { p.save("a.txt", "edit") }, "conflict a.txt=edit; current a.txt=edit b.txt=two"},
		{"removed", func(p *project) { p.remove("a.txt") }, "conflict a.txt=missing; current b.txt=two"},
		{"a directory now", func(p *project) {
			p.remove("a.txt")
			p.save("a.txt/x", "x")
		}, "conflict a.txt=not a file; current b.txt=two"},
		{"another workstream has recorded it since", func(p *project) {
			p.save("a.txt", "new")
			p.complete("over", p.keep("a.txt")...)
		}, "current b.txt=two"},
		{"another workstream failed and left it changed", func(p *project) {
			p.save("a.txt", "left")
			p.fail("over", p.keep("a.txt")...)
		}, "current a.txt=left b.txt=two"},
		{"it was edited after that", func(p *project) {
			p.save("a.txt", "left")
			p.fail("over", p.keep("a.txt")...)
			p.save("a.txt", "edit")
		}, "conflict a.txt=edit; current a.txt=edit b.txt=two"},
		{"another workstream failed and removed it", func(p *project) {
			p.remove("a.txt")
			p.fail("over", state.Artifact{Path: "a.txt"})
		}, "current b.txt=two"},
		{"it was written again after that", func(p *project) {
			p.fail("over", state.Artifact{Path: "a.txt"})
		}, "current b.txt=two"},
		{"it was written again after that, by a workstream that was killed", func(p *project) {
			p.fail("over", state.Artifact{Path: "a.txt"})
			p.save("a.txt", "half")
			p.record(state.WorkstreamStarted{Workstream: "over", Attempt: 2})
		}, "partial a.txt=half; current b.txt=two"},
		{"another workstream was killed while it wrote", func(p *project) {
			p.save("a.txt", "half")
			p.record(state.WorkstreamStarted{Workstream: "over", Attempt: 1})
		}, "partial a.txt=half; current b.txt=two"},
		{"another workstream was killed before it wrote", func(p *project) {
			p.record(state.WorkstreamStarted{Workstream: "over", Attempt: 1})
		}, "current a.txt=one b.txt=two"},
		{"another workstream was killed after it removed the file", func(p *project) {
			p.remove("a.txt")
			p.record(state.WorkstreamStarted{Workstream: "over", Attempt: 1})
		}, "partial a.txt=missing; current b.txt=two"},
		{"another workstream was interrupted, and the run captured what it wrote", func(p *project) {
			p.record(state.WorkstreamStarted{Workstream: "over", Attempt: 1})
			p.save("a.txt", "half")
			p.record(state.WorkstreamInterrupted{Workstream: "over", Attempt: 1})
			p.end("**")
		}, "partial a.txt=half; current b.txt=two"},
		{"the file was edited after that capture", func(p *project) {
			p.record(state.WorkstreamStarted{Workstream: "over", Attempt: 1})
			p.save("a.txt", "half")
			p.record(state.WorkstreamInterrupted{Workstream: "over", Attempt: 1})
			p.end("**")
			p.save("a.txt", "edit")
		}, "conflict a.txt=edit; current a.txt=edit b.txt=two"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := projectWithRecords(t)
			tt.play(p)
			f := p.gather()
			same(t, "facts", p.describeRecords(f, "make"), tt.want)
			ctx, again := context.Background(), plan.NewFacts(p.state())
			s, _ := p.gatherAs(plan.ConflictAsk, true)
			must(t, s.Workstream(ctx, again, p.p.Workstream("make"), p.state().Workstream("make")))
			same(t, "facts for the workstream alone", p.describeRecords(again, "make"), tt.want)
		})
	}
}

// TestArtifactsOfWorkNotDone: a workstream whose work is not done, or that made nothing,
// has no facts about artifacts.
func TestArtifactsOfWorkNotDone(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*project){
		"not run": func(*project) {},
		"failed after an earlier success": func(p *project) {
			p.complete("make", p.keep("a.txt")...)
			p.fail("make")
		},
		"made nothing": func(p *project) { p.complete("make") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, makers)
			p.save("a.txt", "one")
			play(p)
			p.save("a.txt", "edit")
			s, f := p.gatherAs(plan.ConflictAsk, true)
			must(t, s.Workstream(context.Background(), f, p.p.Workstream("make"), p.state().Workstream("make")))
			if _, gathered := f.Current["make"]; gathered {
				t.Errorf("got %q, want no facts", p.describeRecords(f, "make"))
			}
		})
	}
}

// TestObjectOfArtifactMissing: the bytes of an artifact were not stored, so a conflict
// says that Runner cannot restore it.
func TestObjectOfArtifactMissing(t *testing.T) {
	t.Parallel()
	p := newProject(t, makers)
	p.complete("make", state.Artifact{Path: "a.txt", Mode: 0o644, Digest: "sha256:" + strings.Repeat("0", 64)})
	same(t, "facts", p.describeRecords(p.gather(), "make"), "conflict a.txt=missing not kept")
}

// chain has a workstream that reads what another one makes.
const chain = `
phase "one" {
  workstream "make" {
    script    = "true"
    artifacts = ["a.txt"]
    when      = true
  }
}
phase "two" {
  workstream "read" {
    script = "true"
    inputs = ["*.txt"]
  }
}
`

// TestRestored: make has recorded a.txt=one, and the file has changed since. The inputs of
// read are as they will be after Runner has restored the artifacts that it restores before
// anything starts.
func TestRestored(t *testing.T) {
	t.Parallel()
	lost := state.Artifact{Path: "a.txt", Mode: 0o644, Digest: "sha256:" + strings.Repeat("0", 64)}
	edit := func(p *project) { p.save("a.txt", "edit") }
	remove := func(p *project) { p.remove("a.txt") }
	for _, tt := range []struct {
		name     string
		play     func(*project)
		recorded []state.Artifact // nil: a.txt as it is
		choice   plan.OnConflict
		restored bool
		inputs   string
		makers   string
	}{
		{name: "missing", play: remove, restored: true, inputs: "a.txt=one z.txt=z", makers: "make"},
		{name: "edited, and the user has not chosen", play: edit, inputs: "a.txt=edit z.txt=z", makers: "make"},
		{name: "edited, and the user restores", play: edit, choice: plan.ConflictRestore, restored: true, inputs: "a.txt=one z.txt=z", makers: "make"},
		{name: "edited, and the user keeps", play: edit, choice: plan.ConflictKeep, inputs: "a.txt=edit z.txt=z", makers: "make"},
		{name: "missing, and its bytes are lost", play: remove, recorded: []state.Artifact{lost}, inputs: "z.txt=z", makers: "make"},
		{name: "edited, and its bytes are lost", play: edit, recorded: []state.Artifact{lost}, choice: plan.ConflictRestore, inputs: "a.txt=edit z.txt=z", makers: "make"},
		{name: "missing, and its workstream is disabled now", play: func(p *project) {
			p.remove("a.txt")
			p.rewrite(strings.Replace(chain, "when      = true", "when      = false", 1))
		}, inputs: "z.txt=z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, chain)
			p.save("a.txt", "one")
			p.save("z.txt", "z")
			if tt.recorded == nil {
				tt.recorded = p.keep("a.txt")
			}
			p.complete("make", tt.recorded...)
			tt.play(p)
			s, f := p.gatherAs(tt.choice, true)
			if _, restored := f.Restored["a.txt"]; restored != tt.restored {
				t.Errorf("restored: got %t", restored)
			}
			same(t, "inputs", p.show(f.Inputs["read"].Files), tt.inputs)
			same(t, "makers", strings.Join(f.Makers["read"], " "), tt.makers)
			s.MarkRestored()
			must(t, s.Workstream(context.Background(), f, p.p.Workstream("read"), nil))
			now := "z.txt=z"
			if _, err := os.Lstat(filepath.Join(p.Root, "a.txt")); err == nil {
				now = "a.txt=edit z.txt=z"
			}
			same(t, "inputs when nothing is to be restored", p.show(f.Inputs["read"].Files), now)
		})
	}
}

// TestLeftArtifactsRestored: a failed attempt of over changed a.txt, and the file was
// removed later. Runner restores the content that the attempt left.
func TestLeftArtifactsRestored(t *testing.T) {
	t.Parallel()
	p := projectWithRecords(t)
	p.save("a.txt", "left")
	p.fail("over", p.keep("a.txt")...)
	p.remove("a.txt")
	s, f := p.gatherAs(plan.ConflictAsk, true)
	if open := f.Restored["a.txt"]; open == nil {
		t.Fatal("it is not restored")
	}
	same(t, "record", p.show([]state.Artifact{*s.Recorded(p.state(), "make", "a.txt")}), "a.txt=left")
	same(t, "record of another file", p.show([]state.Artifact{*s.Recorded(p.state(), "make", "b.txt")}), "b.txt=two")
	if got := s.Recorded(p.state(), "make", "c.txt"); got != nil {
		t.Errorf("a file that is not on record: got %v", got)
	}
	if got := s.Recorded(p.state(), "nobody", "b.txt"); got != nil {
		t.Errorf("a workstream that is not on record: got %v", got)
	}
}

// TestRecordedRemovedByFailure: a failed attempt removed an artifact. Its record still has
// the content that its workstream made.
func TestRecordedRemovedByFailure(t *testing.T) {
	t.Parallel()
	p := projectWithRecords(t)
	p.fail("over", state.Artifact{Path: "a.txt"})
	s, _ := p.gatherAs(plan.ConflictAsk, true)
	same(t, "record", p.show([]state.Artifact{*s.Recorded(p.state(), "make", "a.txt")}), "a.txt=one")
}

// TestOwners: the workstream that recorded a file last owns the file.
func TestOwners(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		play            func(*project)
		owners, sharers string
		makes, overs    string // the current artifacts of the workstreams
	}{
		{"one workstream", func(*project) {}, "map[a.txt:make b.txt:make]", "map[]", "a.txt=one b.txt=two", ""},
		{"the later one wrote last", func(p *project) {
			p.save("a.txt", "new")
			p.complete("over", p.keep("a.txt")...)
		}, "map[a.txt:over b.txt:make]", "map[a.txt:[make over]]", "b.txt=two", "a.txt=new"},
		{"the earlier one wrote last", func(p *project) {
			p.complete("over", p.keep("a.txt")...)
			p.complete("make", p.keep("a.txt", "b.txt")...)
		}, "map[a.txt:make b.txt:make]", "map[a.txt:[make over]]", "a.txt=one b.txt=two", ""},
		{"both were recorded by one commit", func(p *project) {
			var events []state.Event
			for _, name := range []string{"over", "make"} {
				events = append(events, state.WorkstreamStarted{Workstream: name, Attempt: 2},
					state.WorkstreamCompleted{Workstream: name, Work: &state.Work{Attempt: 2, Artifacts: p.keep("a.txt")}})
			}
			p.record(events...)
		}, "map[a.txt:over]", "map[a.txt:[make over]]", "", "a.txt=one"},
		{"the later one failed and left a file that no workstream recorded", func(p *project) {
			p.save("c.txt", "left")
			p.fail("over", p.keep("c.txt")...)
		}, "map[a.txt:make b.txt:make]", "map[]", "a.txt=one b.txt=two", ""},
		{"the later one failed", func(p *project) { p.fail("over") }, "map[a.txt:make b.txt:make]", "map[]", "a.txt=one b.txt=two", ""},
		{"the later one failed and left a change", func(p *project) {
			p.save("a.txt", "left")
			p.fail("over", p.keep("a.txt")...)
		}, "map[a.txt:make b.txt:make]", "map[]", "a.txt=left b.txt=two", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := projectWithRecords(t)
			tt.play(p)
			s, f := p.gatherAs(plan.ConflictAsk, true)
			same(t, "owners", fmt.Sprint(s.Owners(p.state())), tt.owners)
			same(t, "sharers", fmt.Sprint(f.Sharers), tt.sharers)
			same(t, "artifacts of make", p.show(s.CurrentArtifacts(p.state().Workstream("make"))), tt.makes)
			same(t, "artifacts of over", p.show(s.CurrentArtifacts(p.state().Workstream("over"))), tt.overs)
		})
	}
}

// TestOverwritten: a workstream was stopped while it ran. The artifacts of other
// workstreams that match its patterns are returned with the content that they had before.
func TestOverwritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		play     func(*project)
		stopped  string
		patterns []string
		want     string
	}{
		{"a pattern of another workstream", func(*project) {}, "over", []string{"a.txt"}, "a.txt=one"},
		{"a pattern that matches nothing", func(*project) {}, "over", []string{"c.txt"}, ""},
		{"its own artifacts", func(*project) {}, "make", []string{"*.txt"}, ""},
		{"an earlier attempt left a change", func(p *project) {
			p.save("a.txt", "left")
			p.fail("over", p.keep("a.txt")...)
		}, "over", []string{"a.txt"}, "a.txt=left"},
		{"an artifact without content on record", func(p *project) {
			p.complete("make", append(p.keep("a.txt"), state.Artifact{Path: "c.txt"})...)
		}, "over", []string{"?.txt"}, "a.txt=one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := projectWithRecords(t)
			tt.play(p)
			s := p.surveyor()
			all := s.Overwritten(p.state(), s.Owners(p.state()), tt.stopped, tt.patterns)
			same(t, "overwritten", p.show(state.SortByPath(all)), tt.want)
		})
	}
}

// TestDifferences: an edit of an artifact is shown line by line if the recorded bytes are
// stored, with sensitive values masked, for at most 20 artifacts.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		alter func(*plan.Conflict)
		edit  string
		want  string // part of the difference; "": no difference
	}{
		{"text", func(*plan.Conflict) {}, "edit", "+edit"},
		{"a sensitive value", func(*plan.Conflict) {}, "a secret", "+a ***"},
		{"no text", func(*plan.Conflict) {}, "a\x00b", "binary"},
		{"the recorded bytes are lost", func(c *plan.Conflict) { c.Kept = false }, "edit", ""},
		{"the file is missing", func(c *plan.Conflict) { c.Found = "" }, "edit", ""},
		{"the file is not on record", func(c *plan.Conflict) { c.Path = "c.txt" }, "edit", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := projectWithRecords(t)
			p.save("a.txt", tt.edit)
			p.save("c.txt", "c")
			s, f := p.gatherAs(plan.ConflictAsk, true)
			tt.alter(&f.Conflicts["make"][0])
			s.Differences(context.Background(), p.state(), f.Conflicts["make"])
			got := string(f.Conflicts["make"][0].Difference)
			if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			many := slices.Repeat(f.Conflicts["make"], 21)
			for i := range many {
				many[i].Difference = ""
			}
			s.Differences(context.Background(), p.state(), many)
			if many[20].Difference != "" || many[19].Difference == "" && tt.want != "" {
				t.Errorf("of 21 artifacts, the last two show %q and %q", many[19].Difference, many[20].Difference)
			}
		})
	}
}
