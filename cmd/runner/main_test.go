package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"runner": main, "leak": leak})
}

// TestScripts runs testdata/script/<command>_<case>.txtar: each is one
// behaviour of one command, seen from outside. `exits N command...` holds a
// command to its exit code; `remember NAME REGEXP` keeps in $NAME what the
// first group matched in the last standard output; `untouched N command...` is
// `exits` for a command that must leave every file and directory as it was;
// `cut-short MODE PRD CHECKPOINT` leaves a rollback as one that was killed.
func TestScripts(t *testing.T) {
	t.Parallel()
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
	before := standing(ts)
	scriptExits(ts, neg, args)
	after := standing(ts)
	for path, is := range after {
		if was, had := before[path]; !had {
			ts.Fatalf("%s is new", path)
		} else if was != is {
			ts.Fatalf("%s is %q, and was %q", path, is, was)
		}
	}
	for path := range before {
		if _, has := after[path]; !has {
			ts.Fatalf("%s is gone", path)
		}
	}
}

// standing describes all that is in the directory of a script: kind, mode, and
// what a file holds or a link leads to.
func standing(ts *testscript.TestScript) map[string]string {
	all := map[string]string{}
	root := ts.Getenv("WORK")
	ts.Check(filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		is := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			is += " " + info.ModTime().String() + " " + string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			is += " " + target
		}
		name, err := filepath.Rel(root, path)
		all[name] = is
		return err
	}))
	return all
}
