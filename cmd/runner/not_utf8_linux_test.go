package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notTextPipeline is a pipeline whose workstreams read, write, print and report bytes
// that are not UTF-8. The second phase fails if there is no file named ok; its error
// message is not UTF-8 either.
const notTextPipeline = `
pipeline "PRD-001" {
  document = "prd.md"
  phase "one" {
    workstream "make" {
      inputs    = ["in/*"]
      artifacts = ["gen/*"]
      script    = "mkdir -p gen; cp in/* gen; cat in/*; printf 'name=out\\377put\\nsummary=sum\\377mary\\nlocation=loc\\377ation\\n' >$RUNNER_OUTPUT"
      gate "check" { command = ["sh", "-c", "printf 'ver\\377dict\\n'; test -s gen/in*"] }
    }
  }
  phase "two" {
    workstream "mend" {
      script = "test -e ok || { printf 'error: mes\\377sage\\n'; exit 1; }"
    }
  }
}
`

// notText returns a place with a failed session of notTextPipeline. The names of the
// workspace, of the state directory and of files are not UTF-8.
func notText(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	ws := filepath.Join(p.root, "work\xffspace")
	p = p.at(ws, os.Rename(p.ws, ws))
	p.environ = append(p.environ, "PRDRUNNER_CHECKPOINT_STORAGE_LOCATION=sta\xffte")
	p.write("PRD-001.hcl", notTextPipeline)
	p.write("prd.md", "# What to do\n")
	p.write("runner.yaml", "workspace:\n  include: [\"**\"]\n")
	p.write("in/in\xffput", "con\xfftent\n")
	p.write("in/o\xffther", "con\xfftent\n")
	p.write("ex\xfftra", "by\xfftes\n")
	p.run(1, "build", "PRD-001")
	return p
}

// values runs a command, checks its exit code, and returns the JSON values on its
// standard output.
func (p *place) values(want int, args ...string) []any {
	p.t.Helper()
	cmd := p.command("runner", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output() // the exit code is checked below
	if code := cmd.ProcessState.ExitCode(); code != want {
		p.t.Errorf("runner %q: exit code %d instead of %d\n%s%s", args, code, want, out, stderr.Bytes())
	}
	var all []any
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var v any
		if err := d.Decode(&v); err != nil {
			p.t.Fatalf("runner %q: %v\n%s", args, err, out)
		}
		all = append(all, v)
	}
	return all
}

// stringsIn returns all strings in a JSON value, including the names of its fields. An
// object {"base64":"…"} counts as one string, the decoded bytes.
func stringsIn(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, stringsIn(e)...)
		}
		return all
	case map[string]any:
		if coded, ok := v["base64"].(string); ok && len(v) == 1 {
			b, err := base64.StdEncoding.DecodeString(coded)
			if err != nil {
				return []string{err.Error() + "\ufffd"}
			}
			return []string{string(b)}
		}
		var all []string
		for name, e := range v {
			all = append(append(all, name), stringsIn(e)...)
		}
		return all
	}
	return nil
}

// holdsBytes checks that no string in these JSON values has lost bytes, and that each
// element of want is in one of them.
func (p *place) holdsBytes(what string, values []any, want ...string) {
	p.t.Helper()
	all := stringsIn(values)
	for _, s := range all {
		if strings.Contains(s, "\ufffd") {
			p.t.Errorf("%s: %q lost bytes", what, s)
		}
	}
	for _, w := range want {
		if !slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, w) }) {
			p.t.Errorf("%s: no string contains %q", what, w)
		}
	}
}

// TestBytesThatAreNotUTF8AreInEveryJSONOutput runs every command with JSON output on
// sessions whose names and texts are not UTF-8. The output must have the exact bytes
// (design, section 4).
func TestBytesThatAreNotUTF8AreInEveryJSONOutput(t *testing.T) {
	t.Parallel()
	type output struct { // what a command must print
		args string
		code int
		want []string
	}
	made := []string{"gen/in\xffput", "out\xffput", "sum\xffmary", "loc\xffation"}
	for name, situation := range map[string]struct {
		prepare func(p *place)
		outputs []output
	}{
		"failed": {func(*place) {}, []output{
			{"status PRD-001 --json", 0, []string{"sum\xffmary", "mes\xffsage"}},
			{"status --json", 0, nil},
			{"checkpoint list PRD-001 --json", 0, []string{"sta\xffte"}},
			{"checkpoint list --all --json", 0, []string{"sta\xffte"}},
			{"checkpoint show PRD-001 --json", 0, made},
			{"checkpoint diff PRD-001 0 latest --json --files", 0, []string{"gen/in\xffput"}},
			{"checkpoint diff PRD-001 0 --json --files", 0, nil},
			{"checkpoint validate PRD-001 --deep --json", 0, []string{"sta\xffte"}},
			{"checkpoint rollback PRD-001 0 --dry-run --json", 0, []string{"gen/in\xffput"}},
			{"checkpoint delete PRD-001 0 --dry-run --force --json", 0, nil},
			{"checkpoint delete PRD-001 --session --dry-run --json", 0, nil},
			{"checkpoint prune --dry-run --older-than 1ns --json", 0, nil},
			{"checkpoint migrate --dry-run --json", 0, nil},
			{"checkpoint rebuild PRD-001 --dry-run --json", 0, nil},
			{"checkpoint create PRD-001 -m no\xffte --json", 0, []string{"no\xffte"}},
			{"checkpoint export PRD-001 -o arch\xffive.tar.gz --json", 0, []string{"arch\xffive"}},
			{"checkpoint import arch\xffive.tar.gz --dry-run --replace --yes --json", 0, nil},
			{"graph PRD-001 --format json", 0, nil},
			{"config --json", 0, []string{"sta\xffte"}},
			{"validate PRD-001 --json", 0, nil},
		}},
		"edited": {func(p *place) {
			p.write("in/in\xffput", "edi\xffted\n")
			p.remove("gen/o\xffther")
			p.write("gen/in\xffput", "edi\xffted\n")
			p.write("ad\xffded", "")
		}, []output{
			{"plan PRD-001 --resume --json", 0, []string{"in/in\xffput", "gen/o\xffther"}},
			{"plan PRD-001 --resume --on-conflict restore --json", 0, []string{"gen/o\xffther"}},
			{"checkpoint diff PRD-001 latest workspace --json --files", 0, []string{"in/in\xffput"}},
			{"checkpoint rollback PRD-001 0 --dry-run --json", 0, []string{"in/in\xffput"}},
			{"build PRD-001 --resume --on-conflict restore --output json", 1, []string{"in/in\xffput", "mes\xffsage"}},
		}},
		"with lost objects": {func(p *place) {
			p.remove("sta\xffte/objects")
			p.write("in/in\xffput", "edi\xffted\n")
			p.remove("gen/in\xffput")
			p.remove("ex\xfftra")
		}, []output{
			{"checkpoint validate PRD-001 --deep --json", 5, nil},
			{"checkpoint export PRD-001 -o arch\xffive.tar.gz --force --json", 0, []string{"gen/in\xffput"}},
			{"checkpoint rollback PRD-001 latest --dry-run --force --json", 5, nil},
			{"checkpoint rebuild PRD-001 latest --dry-run --json", 5, nil},
			{"plan PRD-001 --resume --json", 0, []string{"in/in\xffput"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := notText(t)
			situation.prepare(p)
			for _, o := range situation.outputs {
				p.holdsBytes(o.args, p.values(o.code, strings.Fields(o.args)...), o.want...)
			}
		})
	}
}

// TestBytesThatAreNotUTF8GoRound writes bytes that are not UTF-8 to everything that
// Runner reads again: a saved plan, the state, a rollback that is undone, and an export
// that is imported. Names and contents must have the same bytes as before.
func TestBytesThatAreNotUTF8GoRound(t *testing.T) {
	t.Parallel()
	p := notText(t)
	p.write("in/in\xffput", "edi\xffted\n")
	p.remove("gen/o\xffther")
	p.run(0, "plan", "PRD-001", "--resume", "-o", "pl\xffan.json")
	p.write("ok", "")
	p.run(0, "build", "PRD-001", "--plan", "pl\xffan.json")
	p.stateHolds("gen/in\xffput", "out\xffput", "sum\xffmary", "loc\xffation", "mes\xffsage", "pl\xffan")

	undo := p.undoOf(p.run(0, "checkpoint", "rollback", "PRD-001", "0", "--yes"))
	if got := p.read("in/in\xffput"); got != "con\xfftent\n" || p.exists("gen/in\xffput") {
		t.Errorf("after the rollback the input is %q, or the artifact still exists", got)
	}
	p.run(0, "checkpoint", "rollback", "PRD-001", undo, "--yes")
	if got := p.read("gen/in\xffput"); got != "edi\xffted\n" {
		t.Errorf("after the rollback was undone, the artifact is %q", got)
	}
	q := waysToMove()["by an export"](p)
	for name, want := range map[string]string{"in/in\xffput": "edi\xffted\n", "gen/o\xffther": "con\xfftent\n", "ex\xfftra": "by\xfftes\n"} {
		if got := q.read(name); got != want {
			t.Errorf("after the import, %q is %q, want %q", name, got, want)
		}
	}
	if out := q.run(0, "plan", "PRD-001", "--resume", "--json", "--invalidate", "mend"); !strings.Contains(out, `"reuse"`) || strings.Contains(out, "inputs changed") {
		t.Errorf("after the import, the plan does not reuse the results:\n%s", out)
	}
	q.stateHolds("gen/in\xffput", "out\xffput", "sum\xffmary", "loc\xffation")
}

// stateHolds checks that no JSON file in the state directory has lost bytes, and that
// each element of want is in one of them. stateHolds skips the PRD document, whose format
// has only strings: there Runner replaces bytes that are not UTF-8.
func (p *place) stateHolds(want ...string) {
	p.t.Helper()
	var values []any
	err := filepath.WalkDir(filepath.Join(p.ws, "sta\xffte"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Base(path) == "PRD-001.json" {
			return err
		}
		data, err := os.ReadFile(path)
		for d := json.NewDecoder(bytes.NewReader(data)); err == nil; {
			var v any
			if d.Decode(&v) != nil { // the end, or no JSON: a log, or an object
				break
			}
			values = append(values, v)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.holdsBytes("the state", values, want...)
}

// undoOf returns the checkpoint that, according to the output of a rollback, undoes the
// rollback.
func (p *place) undoOf(said string) string {
	p.t.Helper()
	found := regexp.MustCompile(`checkpoint rollback PRD-001 (CP-\S+)`).FindStringSubmatch(said)
	if found == nil {
		p.t.Fatalf("the rollback does not say how to undo it:\n%s", said)
	}
	return found[1]
}

// TestRollbackOnABranchWhoseNameIsNotUTF8 rolls back past a commit in mode commit, on a
// branch whose name is not UTF-8. Runner must recognize the branch and reset it, and the
// undo of the rollback must restore the second commit.
func TestRollbackOnABranchWhoseNameIsNotUTF8(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("PRD-001.hcl", notTextPipeline)
	p.write("prd.md", "# What to do\n")
	p.write("in/input", "first\n")
	p.write("runner.yaml", "checkpoint:\n  git: { mode: commit }\n")
	p.git("init", "-q")
	p.git("checkout", "-q", "-b", "br\xffanch")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "mes\xffsage")
	p.run(1, "build", "PRD-001")
	first := p.git("rev-parse", "HEAD")
	p.write("in/input", "second\n")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "sec\xffond")
	preview := p.values(0, "checkpoint", "rollback", "PRD-001", "latest", "--dry-run", "--json")
	p.holdsBytes("the preview", preview, "br\xffanch")
	p.holdsBytes("the difference", p.values(0, "checkpoint", "diff", "PRD-001", "latest", "workspace", "--json"), "br\xffanch")
	undo := p.undoOf(p.run(0, "checkpoint", "rollback", "PRD-001", "latest", "--yes"))
	if got := p.git("rev-parse", "HEAD"); got != first || p.read("in/input") != "first\n" {
		t.Errorf("after the rollback, the branch is at %s instead of %s, or the files differ", got, first)
	}
	p.run(0, "checkpoint", "rollback", "PRD-001", undo, "--yes")
	if p.read("in/input") != "second\n" {
		t.Error("the rollback was not undone")
	}
}

// TestMetricThatIsNotUTF8IsRefused runs a workstream that reports a metric whose value is
// not UTF-8. The workstream must fail: after the state is read again the value would
// differ, and Runner would judge the gates of the metric again.
func TestMetricThatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("PRD-001.hcl", strings.ReplaceAll(notTextPipeline, "name=out", "metric.m=out"))
	p.write("in/input", "first\n")
	p.write("prd.md", "# What to do\n")
	if out := p.run(1, "build", "PRD-001"); !strings.Contains(out, "the metric m is not UTF-8") {
		t.Error(out)
	}
}
