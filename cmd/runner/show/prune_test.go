package show_test

import (
	"errors"
	"io"
	"testing"

	"prdrunner/checkpoint/prune"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

// TestPruneAnswers compares how removals are shown with a file in testdata.
func TestPruneAnswers(t *testing.T) {
	t.Parallel()
	some := &prune.Pruned{
		PRD: "PRD-009", Checkpoints: []prune.RemovedCheckpoint{{CheckpointRef: ref("C1", 1, "WS1"), Why: "is too old", Bytes: 10}},
		Sessions: []prune.RemovedSession{{ID: "failed/x", EndedAt: at(1), Why: "is too old", Bytes: 3 << 20}}, Kept: 1,
		Keeps: []prune.KeptCheckpoint{{CheckpointRef: ref("C2", 2, "WS2"), Why: "is pinned"}},
		Lost:  []string{"step 1 can no longer be reached"}, Freed: 2048, Over: 5 << 30, Doubted: 2, Warnings: []string{"x could not be read"},
	}
	one := &prune.Pruned{PRD: "PRD-010", Checkpoints: []prune.RemovedCheckpoint{{CheckpointRef: ref("C1", 1, "WS1"), Why: "is too old"}}}
	session := &prune.Pruned{PRD: "PRD-011", Sessions: []prune.RemovedSession{{ID: "failed/x", Complete: true, Bytes: 1023}}}
	collected := info.Collection{Done: prune.Collected{Objects: 1, Leftovers: 1, Bytes: 1024, Refs: []string{"r"}, Kept: 3}}
	onlyRefs := info.Collection{Done: prune.Collected{Refs: []string{"r", "s"}}}
	discarded := info.Collection{Done: prune.Collected{Discarded: 1}}
	foreign := []prune.ForeignRefs{{ID: "d1", Refs: []string{"a", "b"}, Kept: []string{"b"}}}
	full := &info.Prune{
		Pruned: []*prune.Pruned{some, one}, Objects: collected, Foreign: foreign, DryRun: true, Reasons: true,
		Owned: map[string]error{"PRD-010": errors.New("it is locked")},
	}
	locked := &info.Prune{Owned: map[string]error{"PRD-012": errors.New("it is locked")}, Objects: info.Collection{Why: "a run is using them"}}
	write := func(name string, p *info.Prune, ahead bool) answer {
		return answer{name, func(w io.Writer) error { return show.Prune(w, cmdline, p, ahead) }}
	}
	deleted := func(name string, objects info.Collection, dryRun bool, resume ...advice.Suggestion) answer {
		return answer{name, func(w io.Writer) error { return show.Deleted(w, cmdline, one, &objects, dryRun, resume...) }}
	}
	compareAnswers(t, "prune.txt", []answer{
		write("nothing", &info.Prune{}, false), asJSON("nothing", (&info.Prune{}).Report()),
		write("ahead", full, true), write("done", full, false), asJSON("done", full.Report()),
		write("only a session", &info.Prune{Pruned: []*prune.Pruned{session}}, false),
		write("only references", &info.Prune{Objects: onlyRefs}, false), write("only directories", &info.Prune{Objects: discarded}, false),
		write("in use", locked, false), asJSON("in use", locked.Report()),
		plain("by retention", func(w io.Writer) { show.Retention(w, some) }), plain("by retention, only a session", func(w io.Writer) { show.Retention(w, session) }),
		{"of another state directory", func(w io.Writer) error { return show.PrunedRefs(w, foreign[0], false) }},
		{"of another state directory, ahead", func(w io.Writer) error { return show.PrunedRefs(w, foreign[0], true) }},
		asJSON("of another state directory", info.NewPrunedRefsReport(foreign[0], true)),
		{"ahead of a deletion", func(w io.Writer) error { return show.DeletePreview(w, one) }},
		deleted("deleted", collected, false, advice.Suggest("build PRD-010 --resume", "")), deleted("would be deleted", info.Collection{}, true),
		asJSON("deleted", info.NewDeleteReport(one, &collected, false)),
		{"a session", func(w io.Writer) error { return show.DeletedSession(w, "PRD-009", "paused", &collected, false) }},
		{"a session, ahead", func(w io.Writer) error { return show.DeletedSession(w, "PRD-009", "paused", &collected, true) }},
		asJSON("a session", info.NewDeletedSessionReport("PRD-009", "s1", &collected, true)),
	})
	if checkpoints, sessions := full.Count(); checkpoints != 2 || sessions != 1 {
		t.Errorf("%d checkpoints and %d sessions", checkpoints, sessions)
	}
}
