package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestParseEnvLine: each line gives a variable, nothing, or a reason that holds nothing of
// the line.
func TestParseEnvLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]string{
		`A=b`:                       {"A", "b"},
		"  A = b c \r":              {"A", "b c"},
		`export A=b`:                {"A", "b"},
		"export\tA=b":               {"A", "b"},
		"export \t A = b":           {"A", "b"},
		"export\tA":                 {"", "there is no ="},
		"export\t9=b":               {"", "no name"},
		`export=b`:                  {"export", "b"},
		``:                          {},
		`  # A=b`:                   {},
		`A=`:                        {"A", ""},
		`A= # comment`:              {"A", ""},
		`A=b # comment`:             {"A", "b"},
		"A=b\t# it's a comment":     {"A", "b"},
		`A=p#ss#word`:               {"A", "p#ss#word"},
		`A=p#ss # word # more`:      {"A", "p#ss"},
		`A="b # c" # d`:             {"A", "b # c"},
		`A='b # c'#d`:               {"A", "b # c#d"},
		`A="b\" # c"`:               {"A", `b" # c`},
		`A=grün # ü`:                {"A", "grün"},
		`A=ü # a comment`:           {"A", "ü"},
		`A=$HOME ${B} $(c) \n`:      {"A", `$HOME ${B} $(c) \n`},
		`A="$HOME ${B}\n\u00fc\\"`:  {"A", "$HOME ${B}\nü\\"},
		`A='$HOME \n "x"'`:          {"A", `$HOME \n "x"`},
		`A="b"'c'd`:                 {"A", "bcd"},
		`A=b=c==`:                   {"A", "b=c=="},
		"A=\xff\xfe":                {"A", "\xff\xfe"},
		`s3cret`:                    {"", "there is no ="},
		`=s3cret`:                   {"", "no name"},
		`9s3cret=x`:                 {"", "no name"},
		`s3cret word=x`:             {"", "no name"},
		`A="s3cret`:                 {"", "a quote is not closed"},
		`A=it's3cret`:               {"", "a quote is not closed"},
		`A="s3cret\q"`:              {"", "a backslash that begins no escape"},
		"A=s3cret\x01":              {"", "a control character"},
		"A=s3cret\x7f":              {"", "a control character"},
		"export A":                  {"", "there is no ="},
		`A="s3cret # no end`:        {"", "a quote is not closed"},
		`A=s3cret" # "in quotes" x`: {"", "a quote is not closed"},
	} {
		name, value, reason := parseEnvLine([]byte(line))
		if want[0] == "" && want[1] != "" {
			if !strings.Contains(reason, want[1]) || strings.Contains(reason, "s3cret") || name+value != "" {
				t.Errorf("%q: %q, %q, reason %q", line, name, value, reason)
			}
			continue
		}
		if name != want[0] || value != want[1] || reason != "" {
			t.Errorf("%q: %q = %q, reason %q, want %q", line, name, value, reason, want)
		}
	}
}

const envFilePipeline = `
pipeline "PRD-001" {
  defaults {
    env_file = "base.env"
    env      = { D = "defaults" }
  }
  phase "a" {
    workstream "x" {
      command  = ["x"]
      env_file = ["one.env", "two.env"]
      env      = { C = "own", GONE = null }
      verify   = ["v"]
      effect   = "once"
      gate "g" { command = ["g"] }
    }
  }
}`

// TestEnvFiles: the variables of dotenv files reach a process. Later files have precedence
// over earlier ones, and env over the files of the same block.
func TestEnvFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "base.env", "A=from-base\nB=from-base\nC=from-base\nD=from-base\nGONE=from-base\n")
	writeFile(t, dir, "one.env", "B=from-one\nC=from-one\nD=from-one\nPORT=80\nDEBUG=True\n")
	writeFile(t, dir, "two.env", "C=from-two\nB=from-two\n")
	p := build(t, envFilePipeline, Inputs{Workspace: dir})
	if diff := cmp.Diff([]string{"base.env", "one.env", "two.env"}, p.EnvFiles); diff != "" || !p.HasSecrets() {
		t.Error(diff)
	}
	all := map[string]string{"A": "from-base", "B": "from-two", "C": "own", "D": "from-one", "PORT": "80", "DEBUG": "True"}
	ofDefaults := map[string]string{"A": "from-base", "B": "from-base", "C": "from-base", "D": "defaults", "GONE": "from-base"}
	ws := p.Workstream("x")
	inv, diags := ws.Invocation(Results{})
	verify, _, more := ws.Verify(Results{})
	gate, evenMore := ws.Gates[0].Invocation(Results{})
	if diags.HasErrors() || more.HasErrors() || evenMore.HasErrors() {
		t.Fatal(diags, more, evenMore)
	}
	for name, test := range map[string]struct {
		want map[string]string
		got  Invocation
	}{"workstream": {all, inv}, "verify": {all, verify}, "gate": {ofDefaults, gate}} {
		if diff := cmp.Diff(test.want, test.got.Env); diff != "" || test.got.EnvFileError != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", name, test.got.EnvFileError, diff)
		}
	}
	hidden := map[string]bool{}
	for _, secret := range inv.Hidden {
		hidden[secret.Value] = true
	}
	if diff := cmp.Diff(map[string]bool{"from-base": true, "from-one": true, "from-two": true}, hidden); diff != "" {
		t.Error(diff)
	}
	if got := p.EnvFileSecrets(); len(got) != len(inv.Hidden) {
		t.Errorf("before anything runs, %d values are known, then %d", len(got), len(inv.Hidden))
	}
}

// TestDefinitionOfEnvFiles: paths and names count, values do not.
func TestDefinitionOfEnvFiles(t *testing.T) {
	t.Parallel()
	of := func(file, body string) string {
		dir := t.TempDir()
		writeFile(t, dir, "a.env", file)
		writeFile(t, dir, "b.env", file)
		return definition(t, "", "command = [\"x\"]\n"+body, Inputs{Workspace: dir}, Results{})
	}
	first := of("TOKEN=one\nPORT=80\n", `env_file = "a.env"`)
	for name, test := range map[string]struct {
		definition string
		same       bool
	}{
		"other values, in another order": {of("PORT=8080\nTOKEN=two\n", `env_file = "a.env"`), true},
		"in a list":                      {of("TOKEN=one\nPORT=80\n", `env_file = ["./a.env"]`), true},
		"another name":                   {of("TOKEN=one\nPORT=80\nMORE=1\n", `env_file = "a.env"`), false},
		"another file":                   {of("TOKEN=one\nPORT=80\n", `env_file = "b.env"`), false},
		"with env":                       {of("TOKEN=one\nPORT=80\n", "env_file = \"a.env\"\nenv = { MODE = 1 }"), false},
	} {
		if (test.definition == first) != test.same {
			t.Errorf("%s: the same: %v", name, !test.same)
		}
	}
}

// TestEnvFileErrors: a file that can't be used is no mistake of the pipeline, and the
// reason holds nothing of its content.
func TestEnvFileErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, text string
		want       EnvFileError
	}{
		"missing":      {"none.env", "", EnvFileError{"none.env", 0, "there is no such file"}},
		"a directory":  {"dir", "", EnvFileError{"dir", 0, "not a regular file"}},
		"a mistake":    {"a.env", "A=1\n\nB='s3cret\n", EnvFileError{"a.env", 3, "a quote is not closed"}},
		"a name of us": {"a.env", "RUNNER_PRD=s3cret", EnvFileError{"a.env", 1, "RUNNER_PRD: names that begin with RUNNER_"}},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "dir"), 0o700); err != nil {
			t.Fatal(err)
		}
		if test.text != "" {
			writeFile(t, dir, test.path, test.text)
		}
		p := build(t, `pipeline "PRD-001" {
  phase "a" {
    workstream "x" {
      command  = ["x"]
      env_file = "`+test.path+`"
    }
  }
}`, Inputs{Workspace: dir})
		inv, diags := p.Workstream("x").Invocation(Results{})
		got := inv.EnvFileError
		if diags.HasErrors() || got == nil || got.Path != test.want.Path || got.Line != test.want.Line || !strings.Contains(got.Reason, test.want.Reason) || strings.Contains(got.Error(), "s3cret") {
			t.Errorf("%s: %v, %v", name, diags, got)
		}
		if secrets := p.EnvFileSecrets(); secrets != nil {
			t.Errorf("%s: %d values are known", name, len(secrets))
		}
	}
}
