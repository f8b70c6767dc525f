package main

import (
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
	testscript.Main(suite{m}, map[string]func(){"runner": main, "leak": leak, "peak": peak})
}

// TestScripts runs testdata/script/<command>_<case>.txtar: each is one
// behaviour of one command, seen from outside. `exits N command...` holds a
// command to its exit code; `remember NAME REGEXP` keeps in $NAME what the
// first group matched in the last standard output; `untouched N command...` is
// `exits` for a command that must leave every file and directory as it was;
// `cut-short MODE PRD CHECKPOINT` leaves a rollback as one that was killed;
// $FORMATS has a directory for each version of the format.
func TestScripts(t *testing.T) {
	t.Parallel()
	formats, err := filepath.Abs("../../checkpoint/testdata/format")
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
			env.Setenv("FORMATS", formats) // states that each version of the format wrote
			// Else each command that is run with the race detector sleeps for a second.
			env.Setenv("GORACE", os.Getenv("GORACE"))
			return os.MkdirAll(env.WorkDir+"/home", 0o755)
		},
	})
}

// scriptExits runs a command and holds it to an exit code, where testscript's
// own `! exec` takes any but 0.
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

// scriptRemember keeps a part of the last standard output in a variable.
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

// scriptUntouched holds a command to its exit code, and to changing nothing
// anywhere in the script's directory.
func scriptUntouched(ts *testscript.TestScript, neg bool, args []string) {
	before := scriptFiles(ts)
	scriptExits(ts, neg, args)
	if what := moved(before, scriptFiles(ts)); len(what) > 0 {
		ts.Fatalf("%s", strings.Join(what, "\n"))
	}
}

// scriptFiles is what stands in the directory of a script, with the times of the
// files.
func scriptFiles(ts *testscript.TestScript) map[string]string {
	all, err := standing(ts.Getenv("WORK"), func(info fs.FileInfo) string {
		if info.Mode().IsRegular() {
			return info.ModTime().String()
		}
		return ""
	})
	ts.Check(err)
	return all
}
