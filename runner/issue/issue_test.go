package issue

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
	"prdrunner/pipeline"
)

func plain(text string) string { return text }

func TestParse(t *testing.T) {
	t.Parallel()
	issue := func(number int, title, body string, labels, assignees []string) *state.Issue {
		i := &state.Issue{Number: number, Labels: labels, Assignees: assignees}
		i.SetText(title, body)
		return i
	}
	none := []string{}
	for name, test := range map[string]struct {
		data  string
		want  *state.Issue
		error string
	}{
		"of GitHub": {`{"number": 42, "title": "T", "body": "B", "labels": [{"name": "b", "color": "f"}, {"name": "a"}], "assignees": [{"login": "ana", "name": "Ana"}]}`,
			issue(42, "T", "B", []string{"a", "b"}, []string{"ana"}), ""},
		"of GitLab": {`{"iid": 7, "title": "T", "description": "B", "labels": ["a", "a"], "assignees": [{"username": "ana", "name": "Ana"}]}`,
			issue(7, "T", "B", []string{"a"}, []string{"ana"}), ""},
		"only a title":       {`{"title": "T"}`, issue(0, "T", "", none, none), ""},
		"null":               {`{"title": "T", "body": null, "labels": null}`, issue(0, "T", "", none, none), ""},
		"no title":           {`{"number": 42}`, nil, `it has no "title"`},
		"a blank title":      {`{"title": " "}`, nil, `it has no "title"`},
		"negative":           {`{"number": -1, "title": "T"}`, nil, "-1 is no number of an issue"},
		"a list":             {`[]`, nil, `not an issue in JSON: it is a list, and must be an object with "title"`},
		"a title of digits":  {`{"title": 5}`, nil, `"title" is a number, and must be a text`},
		"labels in a text":   {`{"title": "T", "labels": "a"}`, nil, `"labels" is a text, and must be a list`},
		"half a number":      {`{"title": "T", "number": 1.5}`, nil, `"number" is a number, and must be a whole number`},
		"nothing":            {``, nil, "not an issue in JSON"},
		"a label of numbers": {`{"title": "T", "labels": [1]}`, nil, "a label or an assignee must be a text, or an object"},
		"a nameless label":   {`{"title": "T", "labels": [{"id": 1}]}`, nil, `or an object with "name"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse([]byte(test.data), plain)
			if test.error != "" {
				if err == nil || !strings.Contains(err.Error(), test.error) {
					t.Fatalf("error %v, want %q", err, test.error)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("error %v, difference (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestLongBody: only the first part of a long body is recorded, and a change behind it
// still counts.
func TestLongBody(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", state.MaxIssueBody)
	var was, is state.Issue
	was.SetText("T", long+"1")
	is.SetText("T", long+"2")
	if len(was.Body) > state.MaxIssueBody || was.Body != is.Body || was.Digest == is.Digest {
		t.Errorf("%d bytes, digests %s and %s", len(was.Body), was.Digest, is.Digest)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("issue.json", `{"title": "the secret", "labels": ["b"]}`)
	write("numbered.json", `{"number": 9, "title": "T"}`)
	write("large.json", `{"title": "`+strings.Repeat("a", maxSize)+`"}`)
	if err := os.Symlink(filepath.Join(t.TempDir(), "outside.json"), filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	files, err := workspace.Open(workspace.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	read := func(commander git.Commander, block string) (*state.Issue, error) {
		source := `pipeline "PRD-001" {
  issue {
    ` + block + `
    labels = { one = "a", two = "b" }
  }
  phase "one" {
    workstream "w" { command = ["true"] }
  }
  phase "two" {
    workstream "v" { command = ["true"] }
  }
}
`
		file, diags := pipeline.Parse([]byte(source), "p.hcl")
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		p, diags := file.Pipeline(pipeline.Inputs{Workspace: dir})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return Reader{Pipeline: p, Files: files, Workspace: dir, Commander: commander, Hide: func([]pipeline.Secret) error { return nil }, Mask: func(s string) string { return strings.ReplaceAll(s, "secret", "***") }}.Read(t.Context())
	}
	for _, block := range []string{`file = "issue.json"`, `command = ["cat", "issue.json"]`, `script = "cat $NAME.json"
    env = { NAME = "issue" }`} {
		got, err := read(gittest.Commander{}, block)
		if err != nil {
			t.Errorf("%s: %v", block, err)
			continue
		}
		if got.Title != "the ***" || got.Phase != "two" || got.StateLabel != "b" {
			t.Errorf("%s: %+v", block, got)
		}
	}
	for block, want := range map[string]int{"file = \"issue.json\"\n    number = 7": 7, "file = \"numbered.json\"\n    number = 9": 9, "file = \"numbered.json\"": 9} {
		if got, err := read(gittest.Commander{}, block); err != nil || got.Number != want {
			t.Errorf("%s: %+v, error %v, want the number %d", block, got, err, want)
		}
	}
	for block, want := range map[string]string{
		"file = \"numbered.json\"\n    number = 7": "numbered.json: it is issue 9, and the pipeline works on issue 7",
		"command = [\"cat\"]\n    dir = \"out\"":   "its directory out is not in the workspace, since the link out leads to ",
		`file = "none.json"`:                       "read the issue: ",
		`file = "link.json"`:                       "path escapes",
		`file = "large.json"`:                      "large.json has more than 1 MiB",
		`command = ["cat", "large.json"]`:          "read the issue: cat prints more than 1024 KiB",
		`script = "echo the secret; exit"`:         "the output of sh: not an issue in JSON",
	} {
		if _, err := read(gittest.Commander{}, block); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", block, err, want)
		}
	}
	if _, err := read(endless{}, "command = [\"x\"]\n    timeout = \"1ms\""); err == nil || !strings.Contains(err.Error(), "x did not end within its timeout of 1ms") {
		t.Errorf("error %v, want one about the timeout", err)
	}
}

// endless is a Commander whose programs run until their context ends.
type endless struct{}

func (endless) Run(ctx context.Context, _ git.Command) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		return errors.New("it was not cancelled")
	}
}
