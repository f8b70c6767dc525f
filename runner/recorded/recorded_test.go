package recorded_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/recorded"
)

func files(pathsAndContents ...string) []state.Artifact {
	var all []state.Artifact
	for _, each := range pathsAndContents {
		path, content, _ := strings.Cut(each, "=")
		all = append(all, state.Artifact{Path: state.Text(path), Digest: "sha256:" + content})
	}
	return all
}

// TestEditsAmong: a file that matches a pattern is an edit if it differs from what its gate
// judged last or from what its maker recorded last, or if it is gone.
func TestEditsAmong(t *testing.T) {
	t.Parallel()
	r := recorded.New()
	r.SetArtifacts("A", []string{"out/**"}, files("out/a=1", "out/deep/b=1"))
	r.SetArtifacts("B", []string{"c"}, files("c=1"))
	r.SetJudged("lint (A)", files("out/a=1", "src=1"))
	for name, tt := range map[string]struct {
		patterns []string
		now      []state.Artifact
		want     []recorded.Edit
	}{
		"as recorded":   {[]string{"**"}, files("out/a=1", "out/deep/b=1", "c=1", "src=1"), nil},
		"changed":       {[]string{"c"}, files("c=2"), []recorded.Edit{{Path: "c", Maker: "B", Change: "changed", Digest: "sha256:2"}}},
		"judged, too":   {[]string{"out/a"}, files("out/a=2"), []recorded.Edit{{Path: "out/a", Gate: "lint (A)", Maker: "A", Change: "changed", Digest: "sha256:2"}}},
		"judged only":   {[]string{"s*"}, files("src=2"), []recorded.Edit{{Path: "src", Gate: "lint (A)", Change: "changed", Digest: "sha256:2"}}},
		"deleted":       {[]string{"out/**"}, files("out/a=1"), []recorded.Edit{{Path: "out/deep/b", Maker: "A", Change: "deleted"}}},
		"not on record": {[]string{"new"}, files("new=1"), nil},
		"elsewhere":     {[]string{"other/*"}, nil, nil},
	} {
		if diff := cmp.Diff(tt.want, r.EditsAmong(tt.patterns, tt.now, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if left := r.EditsAmong([]string{"c"}, nil, func(string) bool { return true }); left != nil {
		t.Errorf("a deleted file that is left out is an edit: %v", left)
	}
}

// TestLastMakerCounts: what another workstream writes over is recorded for that one, and is no
// edit of what the first made or what a gate judged.
func TestLastMakerCounts(t *testing.T) {
	t.Parallel()
	r := recorded.New()
	r.SetArtifacts("A", []string{"f"}, files("f=1"))
	r.SetJudged("lint (A)", files("f=1"))
	r.SetArtifacts("B", []string{"f"}, files("f=2"))
	if _, maker, ok := r.Artifact("f"); !ok || maker != "B" {
		t.Errorf("it is recorded for %q", maker)
	}
	if edits := r.EditsAmong([]string{"f"}, files("f=2"), nil); edits != nil {
		t.Errorf("what the last maker wrote is an edit: %v", edits)
	}
	r.ForgetArtifacts(&state.Workstream{Name: "A", Artifacts: files("f=1")})
	if !r.AnyMatch([]string{"*"}) {
		t.Error("the file of another maker is forgotten")
	}
	r.ForgetArtifacts(&state.Workstream{Name: "B", Artifacts: files("f=2")})
	if r.AnyMatch([]string{"*"}) {
		t.Error("the file of a skipped workstream is still on record")
	}
}

// TestEditsSinceJudged: an added file is an edit, unless a workstream made it.
func TestEditsSinceJudged(t *testing.T) {
	t.Parallel()
	r := recorded.New()
	r.AddArtifacts("A", files("made=1"))
	r.SetJudged("lint (A)", files("src/a=1"))
	got := r.EditsSinceJudged("lint (A)", files("src/a=2", "src/b=1", "made=1"))
	want := []recorded.Edit{
		{Path: "src/a", Gate: "lint (A)", Change: "changed", Digest: "sha256:2"},
		{Path: "src/b", Gate: "lint (A)", Change: "added", Digest: "sha256:1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.ForgetJudged("lint (A)"); r.HasJudged("lint (A)") {
		t.Error("the verdict is still on record")
	}
}
