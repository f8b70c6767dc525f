package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

func TestConfirm(t *testing.T) {
	t.Parallel()
	at := func(typed string) *view.Terminal {
		return view.NewTerminal(strings.NewReader(typed), &bytes.Buffer{}, state.Actor{}, false)
	}
	for name, test := range map[string]struct {
		person *view.Terminal
		yes    bool
		want   error
	}{
		"--yes":            {nil, true, nil},
		"yes":              {at("y\n"), false, nil},
		"no":               {at("n\n"), false, runner.ErrDeclined},
		"end of the input": {at(""), false, runner.ErrDeclined},
	} {
		if err := Confirm(t.Context(), test.person, test.yes, "Delete it?"); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if err := Confirm(t.Context(), nil, false, "Delete it?"); !advice.IsA[*advice.UsageError](err) || advice.Of(advice.CommandLine{}, "", err) != "add --yes" {
		t.Errorf("without a terminal: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Confirm(ctx, at("y\n"), false, "Delete it?"); !errors.Is(err, context.Canceled) {
		t.Errorf("after a signal: %v", err)
	}
}

func TestEnum(t *testing.T) {
	t.Parallel()
	var value string
	e := NewEnum(&value, "a", "b")
	if err := e.Set("c"); err == nil || err.Error() != "must be a or b" || value != "" {
		t.Errorf("c was set to %q: %v", value, err)
	}
	if err := e.Set("b"); err != nil || value != "b" || e.String() != "b" {
		t.Errorf("b was set to %q: %v", value, err)
	}
	if (&Enum{}).String() != "" { // pflag asks for it
		t.Error("the zero value has a value")
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	env := &Environment{CommandLine: advice.CommandLine{Workdir: "/ws"}, Environ: []string{"AB=1", "A=2", "B="}}
	for name, want := range map[string][2]string{ // Path, InWorkspace
		"":         {"/ws", ""},
		"a/../b":   {"/ws/b", "b"},
		"..":       {"/", ""},
		"/ws/a/":   {"/ws/a", "a"},
		"/other/a": {"/other/a", ""},
		"../wsx":   {"/wsx", ""},
	} {
		if got := [2]string{env.Path(name), env.InWorkspace(name)}; got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"A": "2", "B": "", "C": ""} {
		if got := env.Lookup(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestTerminals: Runner asks and colours only where someone reads, and where that is
// wanted.
func TestTerminals(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	var out, in bytes.Buffer
	stdout, stderr := show.NewScreen(&out), show.NewScreen(&out)
	for _, test := range []struct {
		terminals  []any // the streams that are terminals
		environ    []string
		noColor    bool
		ask, color bool
	}{
		{[]any{&in, stdout, stderr}, nil, false, true, true},
		{[]any{&in, stdout}, nil, false, false, false},
		{[]any{stdout, stderr}, nil, false, false, true},
		{[]any{&in, stderr}, []string{"NO_COLOR=1"}, false, true, false},
		{[]any{&in, stderr}, []string{"NO_COLOR="}, false, true, true},
		{[]any{&in, stderr}, []string{"TERM=dumb"}, false, true, false},
		{[]any{&in, stderr}, nil, true, true, false},
		{[]any{&in, stderr}, []string{"CLICOLOR=0"}, false, true, false},
		{[]any{&in, stderr}, []string{"CLICOLOR=1"}, false, true, true},
		{nil, []string{"CLICOLOR=1"}, false, false, false},
		{nil, []string{"FORCE_COLOR=1", "TERM=dumb"}, false, false, true},
		{nil, []string{"CLICOLOR_FORCE=1", "CLICOLOR=0"}, false, false, true},
		{nil, []string{"FORCE_COLOR=0", "CLICOLOR_FORCE=0"}, false, false, false},
		{nil, []string{"FORCE_COLOR=1", "NO_COLOR=1"}, false, false, false},
		{nil, []string{"FORCE_COLOR=1"}, true, false, false},
	} {
		env := &Environment{Stdin: &in, Stdout: stdout, Stderr: stderr, Environ: test.environ, Options: Options{NoColor: test.noColor}}
		env.IsTerminal = func(stream any) bool {
			for _, terminal := range test.terminals {
				if stream == terminal {
					return true
				}
			}
			return false
		}
		if got := env.Terminal() != nil; got != test.ask {
			t.Errorf("%+v: it asks %v", test, got)
		}
		if got := env.Color(stderr); got != test.color {
			t.Errorf("%+v: it colours %v", test, got)
		}
		if got := env.Width(stderr); got != 80 {
			t.Errorf("%d columns", got)
		}
		movable := slices.Contains(test.terminals, any(stderr)) && env.Lookup("TERM") != "dumb"
		if got := env.TerminalSize(stderr) != nil; got != movable {
			t.Errorf("%+v: the cursor can be moved: %v", test, got)
		}
	}
	env := &Environment{Stdin: null, Stderr: stderr, IsTerminal: func(any) bool { return true }}
	if env.Terminal() == nil {
		t.Error("a terminal that controls no process lets Runner read, and is not asked at")
	}
	if ThisProcess().IsTerminal(null) || isTerminal(show.NewScreen(&out)) {
		t.Error("what is no terminal is taken for one")
	}
}

// TestBytesOut: the contents of files can't steer a terminal, and reach a program as
// they are.
func TestBytesOut(t *testing.T) {
	t.Parallel()
	for terminal, want := range map[bool]string{true: `a\x1b[2J`, false: "a\x1b[2J"} {
		var out bytes.Buffer
		env := &Environment{Stdout: show.NewScreen(&out), IsTerminal: func(any) bool { return terminal }}
		if _, err := env.BytesOut().Write([]byte("a\x1b[2J")); err != nil || out.String() != want {
			t.Errorf("at a terminal %v: %q, want %q: %v", terminal, out.String(), want, err)
		}
	}
}

func TestPrintDiagnostics(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	env := &Environment{Stderr: show.NewScreen(&out), IsTerminal: func(any) bool { return false }}
	if err := env.PrintDiagnostics(nil, nil); err != nil || env.Report != nil || out.Len() > 0 {
		t.Errorf("without any: %q, %v, %v", out.String(), env.Report, err)
	}
	diags := hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Bad thing", Detail: "No."}}
	if err := env.PrintDiagnostics(nil, diags); err != nil || env.Report == nil || !strings.HasPrefix(out.String(), "Error: Bad thing") {
		t.Errorf("%q, %v, %v", out.String(), env.Report, err)
	}
}

// TestLoadConfig: it reads once, from the file that --config names if there is one, and
// the hint against mistakes names the keys.
func TestLoadConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("runner.yaml", "parallel: 3\n")
	write("other.yaml", "parallel: 4\n")
	write("bad.yaml", "paralllel: 4\n")
	in := func(file string) *Environment {
		return &Environment{CommandLine: advice.CommandLine{Workdir: dir, ConfigFlag: file}}
	}
	for file, want := range map[string]int{"": 3, "other.yaml": 4, filepath.Join(dir, "other.yaml"): 4} {
		env := in(file)
		one, err := env.LoadConfig()
		if err != nil || one.Parallel != want {
			t.Errorf("--config %q: %+v, %v", file, one, err)
		}
		if again, err := env.LoadConfig(); again != one || err != nil {
			t.Errorf("it was read twice: %v", err)
		}
	}
	write("runner.json", "{}")
	for file, want := range map[string]string{"bad.yaml": "`runner config --defaults` lists every key", "": ""} {
		_, err := in(file).LoadConfig()
		if got := advice.Of(advice.CommandLine{}, "", err); err == nil || got != want {
			t.Errorf("--config %q: %v, hint %q", file, err, got)
		}
	}
}
