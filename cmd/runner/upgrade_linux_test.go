package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// formats is the directory with state directories of every version of the format.
const formats = "../../checkpoint/testdata/format"

// eachFormat runs a subtest for each of these state directories, with a workspace that
// has a copy of it. ended says how its session ended.
func eachFormat(t *testing.T, test func(t *testing.T, dir, prd, ended string)) {
	t.Helper()
	states, err := filepath.Glob(filepath.Join(formats, "*", "*"))
	if err != nil || len(states) < 7 {
		t.Fatalf("found only %d state directories: %v", len(states), err)
	}
	for _, from := range states {
		ended := filepath.Base(from)
		t.Run(filepath.Base(filepath.Dir(from))+", "+ended, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			to := filepath.Join(dir, ".runner")
			if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			err := filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
				if err != nil || !e.IsDir() {
					return err
				}
				return os.Chmod(path, 0o700) //nolint:gosec // a directory
			})
			documents, globbed := filepath.Glob(filepath.Join(to, "PRD-*.json"))
			if err != nil || globbed != nil || len(documents) != 1 {
				t.Fatalf("%v, %v: %v", err, globbed, documents)
			}
			test(t, dir, strings.TrimSuffix(filepath.Base(documents[0]), ".json"), ended)
		})
	}
}

// TestAnUpgradeGoesOn builds in the state directories of earlier versions. Runner must
// resume an unfinished session, and never start a new session in its place without being
// told to (block/spirit 1071). After a complete session, a build must start a new one.
func TestAnUpgradeGoesOn(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, dir, prd, ended string) {
		session := sessionOf(t, dir, prd)
		pipeline := `
pipeline "` + prd + `" {
  phase "all" {
    workstream "other" { command = ["true"] }
  }
}
`
		if err := os.WriteFile(filepath.Join(dir, prd+".hcl"), []byte(pipeline), 0o600); err != nil {
			t.Fatal(err)
		}
		if ended == "complete" {
			run(t, dir, 0, "build", prd, "--resume") // the pipeline has changed: a new session
			run(t, dir, 6, "build", prd, "--resume")
			run(t, dir, 0, "build", prd, "--resume=auto")
		} else {
			run(t, dir, 2, "build", prd) // refused, because the session is unfinished
			run(t, dir, 0, "plan", prd, "--resume")
			cmd := exec.CommandContext(t.Context(), "runner", "build", prd, "--resume", "--on-stale", "proceed", "--on-conflict", "keep")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Resuming "+prd) {
				t.Errorf("the build does not resume the session: %v\n%s", err, out)
			}
		}
		if is := sessionOf(t, dir, prd); (is != session) != (ended == "complete") { // a new session only after a complete one
			t.Errorf("the session was %s and is now %s", session, is)
		}
		if n := archived(t, dir); n != 0 {
			t.Errorf("%d sessions were archived, want none", n)
		}
		run(t, dir, 0, "checkpoint", "list", prd)
	})
}

// sessionOf returns the id of the session in the journal.
func sessionOf(t *testing.T, dir, prd string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, ".runner", prd, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`"session":"([^"]+)"`).FindSubmatch(data)
	if found == nil {
		t.Fatalf("the journal names no session: %.200s", data)
	}
	return string(found[1])
}

// filesIn returns the regular files below a directory by path, except locks and the audit
// log.
func filesIn(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Base(filepath.Dir(path)) == "locks" || e.Name() == "audit.log" {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
