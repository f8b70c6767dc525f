package show_test

import (
	"io"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/show"
)

// TestRollbackScripts compares scripts that restore files by hand with a file in testdata.
// The tests of the command run such scripts.
func TestRollbackScripts(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	checkpointtest.Must(t, f.Lock().Close())
	store := f.Open()
	kept := checkpointtest.Put(t, store, "kept", "bytes").Digest
	f.Compress(true)
	compressed := checkpointtest.Put(t, f.Open(), "compressed", strings.Repeat("bytes ", 1000)).Digest
	entry := func(path string, mode uint32, digest string) *workspace.Entry {
		return &workspace.Entry{Path: path, Mode: mode, Digest: digest}
	}
	change := func(path string, from, to *workspace.Entry) workspace.Change {
		kind := workspace.Modified
		switch {
		case from == nil:
			kind = workspace.Added
		case to == nil:
			kind = workspace.Deleted
		}
		return workspace.Change{Path: path, Kind: kind, From: from, To: to}
	}
	in := func(path string) *workspace.Entry { return entry(path, 0o644, "sha256:now") }
	blob := entry("b", 0o644, "sha256:b")
	blob.Blob = "abc"
	plan := func(scope state.RollbackScope, changes ...workspace.Change) *rollback.Plan {
		return &rollback.Plan{Target: ref("C1", 1, "WS1"), Scope: scope, Changes: changes}
	}
	full := plan(
		state.RollbackAll,
		change("a b/new", nil, entry("a b/new", 0o755, kept)), change("compressed", in("c"), entry("c", 0o644, compressed)), change("b", in("b"), blob),
		change("link", in("l"), entry("l", workspace.ModeSymlink|0o777, kept)), change("mode", entry("m", 0o644, kept), entry("m", 0o755, kept)),
		change("relinked", entry("r", workspace.ModeSymlink, kept), entry("r", workspace.ModeSymlink, kept)),
		change("gone/deep/file", in("g"), nil), change("emptydir", entry("e", workspace.ModeDir|0o755, ""), nil), change("newdir/x", nil, entry("n", workspace.ModeDir|0o700, "")),
		change("was-dir", entry("w", workspace.ModeDir|0o755, ""), entry("w", 0o644, kept)), change("gone/dir", entry("g", workspace.ModeDir|0o755, ""), nil),
		change("lost", in("l"), entry("l", 0o644, checkpointtest.DigestText("lost"))), change("missing", in("m"), entry("m", 0o644, kept)), change("blocked", in("b"), entry("b", 0o644, kept)),
	)
	full.Missing = []workspace.Missing{{Path: "missing", Reason: "its bytes\nare lost"}}
	full.Obstacles = []workspace.Obstacle{{Path: "blocked", Reason: "blocked/x is in the way"}, {Path: "blocked", Reason: "so is blocked/y"}}
	full.Finish = &rollback.FinishPlan{Edited: []string{"e"}}
	ignores := plan(
		state.RollbackFiles,
		change("sub/deep/.gitignore", in(".gitignore"), nil), change("sub/.gitignore", in(".gitignore"), entry("", 0o644, kept)), change("other/.gitignore", in("x"), entry("", workspace.ModeSymlink|0o777, kept)),
		change("built", in("built"), nil), change("also", in("also"), nil), change("sub", in("sub"), nil),
	)
	removed := plan(state.RollbackFiles, change(".gitignore", in(".gitignore"), nil), change("sub/.gitignore", in("x"), nil), change("built", in("built"), nil))
	added := plan(state.RollbackFiles, change(".gitignore", nil, entry("", 0o644, kept)), change("x", in("x"), entry("x", 0o644, kept)))
	earlier := plan(state.RollbackAll)
	earlier.Earlier = &rollback.EarlierState{}
	var answers []answer
	for _, each := range []struct {
		name string
		plan *rollback.Plan
	}{
		{"everything", full}, {"with files that are ignored", ignores}, {"with rules that go", removed}, {"with rules that come", added}, {"of an earlier state", earlier},
		{"of the state", plan(state.RollbackState)}, {"of nothing", plan(state.RollbackFiles)},
	} {
		answers = append(answers, answer{each.name, func(w io.Writer) error {
			return show.RollbackScript(w, "/my ws", store.Objects(), "PRD-009", each.plan)
		}})
	}
	compareAnswers(t, "manual.txt", answers)
}
