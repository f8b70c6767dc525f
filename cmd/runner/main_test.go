package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"runner": checkedRunner, "leak": leak, "peak": peak, "sqlite": sqlite, "serve": servingProgram, "get": get})
}

// TestScripts runs the scripts testdata/script/<command>_<case>.txtar. Each script tests
// one behaviour of one command from outside. $FORMATS has a directory for each format
// version. Besides those of testscript, scripts have these commands:
//
//	exits N command...             runs a command, which must exit with code N
//	untouched N command...         is exits for a command that must change no files
//	remember NAME REGEXP           sets $NAME to the match of the first group in stdout
//	cut-short MODE PRD CHECKPOINT  leaves an unfinished rollback, as after a kill
func TestScripts(t *testing.T) {
	t.Parallel()
	formats, err := filepath.Abs("../../checkpoint/testdata/format")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cut-short": scriptCutShort,
			"exits":     scriptExits,
			"remember":  scriptRemember,
			"untouched": scriptUntouched,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("FORMATS", formats) // state directories that each format version wrote
			env.Setenv("EXAMPLES", examples)
			// GORACE can shorten the second that a command with the race detector sleeps at its end.
			env.Setenv("GORACE", os.Getenv("GORACE"))
			if dir, err := os.UserCacheDir(); err == nil { // without it, a script that runs go compiles the standard library
				env.Setenv("GOCACHE", cmp.Or(os.Getenv("GOCACHE"), filepath.Join(dir, "go-build")))
			}
			return os.MkdirAll(env.WorkDir+"/home", 0o755)
		},
	})
}

// scriptExits runs a command and checks its exit code. The `! exec` of testscript accepts
// any code except 0.
func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("run %s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("exit code %d instead of %d", got, want)
	}
}

// scriptRemember sets a variable to a part of the last standard output.
func scriptRemember(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: remember NAME REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	found := re.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("%s matches nothing, or has no group", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// scriptUntouched runs a command, and checks its exit code and that it changed nothing in
// the directory of the script.
func scriptUntouched(ts *testscript.TestScript, neg bool, args []string) {
	before := scriptFiles(ts)
	scriptExits(ts, neg, args)
	if what := treeDiff(before, scriptFiles(ts)); len(what) > 0 {
		ts.Fatalf("%s", strings.Join(what, "\n"))
	}
}

// scriptFiles returns a description of everything in the directory of a script, by path.
// Regular files have their times, too.
func scriptFiles(ts *testscript.TestScript) map[string]string {
	all, err := describeTree(ts.Getenv("WORK"), func(info fs.FileInfo) string {
		if info.Mode().IsRegular() {
			return info.ModTime().String()
		}
		return ""
	})
	ts.Check(err)
	return all
}
