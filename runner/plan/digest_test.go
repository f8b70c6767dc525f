package plan_test

import (
	"fmt"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// TestDigestFiles: the digest of files covers paths, contents and modes, except for the
// read and write permissions of group and others.
func TestDigestFiles(t *testing.T) {
	t.Parallel()
	file := func(path string, mode uint32, digest string) string {
		return plan.DigestFiles([]state.Artifact{{Path: state.Text(path), Mode: mode, Digest: digest}})
	}
	same := file("a", 0o644, "1")
	for name, other := range map[string]string{
		"another path":      file("b", 0o644, "1"),
		"another content":   file("a", 0o644, "2"),
		"an executable":     file("a", 0o744, "1"),
		"moved boundaries":  file("a6", 0o44, "1"),
		"no file":           plan.DigestFiles(nil),
		"the file, doubled": plan.DigestFiles([]state.Artifact{{Path: "a", Mode: 0o644, Digest: "1"}, {Path: "a", Mode: 0o644, Digest: "1"}}),
	} {
		if other == same {
			t.Errorf("%s has the same digest", name)
		}
	}
	if same != "sha256:418eda6c25605d2e2da86d7e1709a14d1ef078d42e90ff6852f1a5261f33434c" { // existing records have this digest
		t.Errorf("the digest of a file is %s", same)
	}
	if file("a", 0o600, "1") != same || file("a", 0o666, "1") != same {
		t.Error("what others may do with a file changes its digest")
	}
}

// TestDigestLists: a digest lists files and upstream workstreams if they are few. Of
// many, the digest has only a checksum.
func TestDigestLists(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, state.MaxInline, state.MaxInline + 1} {
		s := newSession(t, fmt.Sprintf(`
phase "one" {
  workstream "up" {
    for_each = toset([for i in range(%d) : tostring(i)])
    script   = "up"
  }
  workstream "a" {
    depends_on = [workstream.up]
    inputs     = ["src/*"]
    script     = "a"
  }
}
`, n))
		for i := range n {
			s.write(fmt.Sprintf("src/%d", i), "1")
		}
		s.build()
		d := s.st.Workstream("a").Digest
		listed := n
		if n > state.MaxInline {
			listed = 0
		}
		if len(d.Files) != listed || len(d.Results) != listed || d.Inputs == "" || d.Upstream == "" {
			t.Errorf("of %d, the digest lists %d files and %d results", n, len(d.Files), len(d.Results))
		}
		if d := s.st.Workstream(`up["0"]`).Digest; d.Inputs != "" || d.Upstream != "" || d.Seen != nil {
			t.Errorf("without inputs and upstream workstreams, the digest is %+v", d)
		}
	}
}

// TestDigestSeen: a digest lists the files that others may write if they are few, and
// none if they are many.
func TestDigestSeen(t *testing.T) {
	t.Parallel()
	for _, n := range []int{state.MaxSeen, state.MaxSeen + 1} {
		s := newSession(t, "phase \"one\" {\n workstream \"a\" {\n inputs = [\"*\"]\n script = \"a\"\n }\n workstream \"b\" {\n artifacts = [\"*\"]\n script = \"b\"\n }\n}\n")
		for i := range n {
			s.write(fmt.Sprint(i), "1")
		}
		listed := n
		if n > state.MaxSeen {
			listed = 0
		}
		if got := len(s.planner().DigestOrRecorded(s.p.Workstream("a")).Seen.Files); got != listed {
			t.Errorf("of %d files, the digest lists %d", n, got)
		}
	}
}

// TestUpstreamResults: a workstream depends on the outputs and artifacts of its upstream
// workstreams and, unless they are pure, on which run made them.
func TestUpstreamResults(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  workstream "a" {
    artifacts = ["out"]
    effect    = "pure"
    script    = "a"
  }
  workstream "b" {
    depends_on = [workstream.a]
    run_on     = "always"
    script     = "b"
  }
}
`
	ran := func(s *session) {
		s.makes["a"], s.gives["a"] = map[string]string{"out": "1"}, map[string]string{"id": "1", "n": "1"}
		s.build()
	}
	tell(t, []story{
		{"a pure one ran again", source, func(s *session) { ran(s); s.run("a") }, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed`},
		{"a pure one made another artifact", source, func(s *session) { ran(s); s.makes["a"]["out"] = "2"; s.run("a") }, `
			a: reuse: nothing changed since it completed
			b: rerun: upstream changed: a`},
		{"a pure one gave another output", source, func(s *session) { ran(s); s.gives["a"]["id"] = "2"; s.run("a") }, `
			a: reuse: nothing changed since it completed
			b: rerun: upstream changed: a`},
		{"another one ran again", source, func(s *session) { s.edit("pure", "idempotent"); ran(s); s.run("a") }, `
			a: reuse: nothing changed since it completed
			b: rerun: upstream changed: a`},
		{"it was skipped", source, func(s *session) { ran(s); s.edit(`"a"`+"\n  }", "\"a\"\n when = false\n }") }, `
			a: skipped: its when is false
			b: rerun: upstream changed: a`},
		{"it was skipped then", source, func(s *session) { s.edit(`"a"`+"\n  }", "\"a\"\n when = false\n }"); ran(s) }, `
			a: skipped: its when is false
			b: reuse: nothing changed since it completed`},
	})
}

// TestRecordedDigest: if the present digest can't be evaluated, the recorded digest
// counts.
func TestRecordedDigest(t *testing.T) {
	t.Parallel()
	s := newSession(t, "phase \"one\" {\n workstream \"a\" { script = \"a\" }\n}\nphase \"two\" {\n workstream \"b\" { command = [workstream.a.outputs.id] }\n}\n")
	s.start()
	if d := s.planner().DigestOrRecorded(s.p.Workstream("b")); d != nil {
		t.Errorf("b has never run, but has the digest %+v", d)
	}
	s.gives["a"] = map[string]string{"id": "1"}
	s.build()
	had := s.st.Workstream("b").Digest.Definition
	s.edit("outputs.id", "outputs.none")
	d := s.planner().DigestOrRecorded(s.p.Workstream("b"))
	if d == nil || d.Definition != had {
		t.Fatalf("got %+v, want the recorded digest", d)
	}
	d.Definition = "changed"
	if s.st.Workstream("b").Digest.Definition != had {
		t.Error("a change of the returned digest has changed the record")
	}
	if plan.RecordedDigest(nil) != nil || plan.RecordedDigest(&state.Workstream{}) != nil {
		t.Error("a digest was returned, although none is recorded")
	}
}

// TestIdempotencyKey: a key is the same for all attempts with one digest.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	ws, d := &pipeline.Workstream{Name: "a"}, state.Digest{Definition: "d", Variables: map[string]string{"x": "1", "y": "2"}}
	key := plan.IdempotencyKey("S1", ws, d, 1)
	if key != plan.IdempotencyKey("S1", ws, d, 1) || len(key) != 32 {
		t.Errorf("got the key %s", key)
	}
	inputs, variable := d, d
	inputs.Inputs, variable.Variables = "i", map[string]string{"x": "1", "y": "3"}
	for name, other := range map[string]string{
		"another session":    plan.IdempotencyKey("S2", ws, d, 1),
		"another workstream": plan.IdempotencyKey("S1", &pipeline.Workstream{Name: "b"}, d, 1),
		"other inputs":       plan.IdempotencyKey("S1", ws, inputs, 1),
		"another value":      plan.IdempotencyKey("S1", ws, variable, 1),
	} {
		if other == key {
			t.Errorf("%s has the same key", name)
		}
	}
}
