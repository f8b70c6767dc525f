//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const crashPipeline = `pipeline "PRD-001" {
  phase "one" {
    workstream "make" {
      artifacts = ["gen/made.txt"]
      script    = "mkdir -p gen && echo made > gen/made.txt && echo make >> ../ran"
    }
    workstream "once" {
      depends_on = [workstream.make]
      effect     = "once"
      script     = "echo once >> ../ran"
    }
  }
  phase "two" {
    workstream "more" {
      artifacts = ["gen/more.txt"]
      script    = "echo more > gen/more.txt; echo more >> ../ran"

      gate "allowed" { command = ["test", "-e", "go"] }
    }
    gate "sign-off" {
      approval { message = "Go on?" }
    }
  }
}
`

// crashConfig turns off the checkpoints of batches and workstreams, because Runner writes
// them in the same way as the other checkpoints.
const crashConfig = `workspace:
  include: ["src/**"]
checkpoint:
  triggers:
    batch_complete: false
    workstream_complete: false
`

// crashOperation is a command that changes something, and the situation in which it
// starts.
type crashOperation struct {
	name      string
	prd       string // of the session; "" means PRD-001
	args      []string
	code      int                      // exit code of the command without a fault
	runs      bool                     // the command is a build
	validity  int                      // exit code of validate --deep afterwards; an older session has no objects
	steps     bool                     // the command has several steps; between them readers may show other states
	undoes    bool                     // a failed command leaves all files old or all new, unless a later command is to finish the work
	record    string                   // kind of the event with which the request is done; "" if there is none
	prepare   func(*crashSite)         // makes the situation
	again     func(*crashSite)         // finishes the work after the command failed
	shown     func(*crashSite, string) // checks what the command printed before it was killed
	checkAlso func(*crashSite)         // checks files outside of the session and the workspace
	always    []string                 // faults that once showed a bug; they are tried each time
}

// crashOperations returns all operations, the slowest first.
func crashOperations() []crashOperation {
	build := []string{"--output", "json", "build", "PRD-001", "--resume=auto"}
	return []crashOperation{
		{name: "build in git", args: build, code: 1, runs: true, prepare: (*crashSite).beginInGit, again: goOn(1)},
		{name: "build", args: build, code: 1, runs: true, prepare: (*crashSite).begin, again: goOn(1)},
		{name: "build to a pause", args: build, code: 3, runs: true, prepare: (*crashSite).failed, again: goOn(3)},
		{name: "build to the end", args: build, runs: true, prepare: (*crashSite).approved, again: goOn(0, 6)},
		{name: "build of a protected workstream that fails", args: build, code: 1, runs: true, prepare: (*crashSite).protected, again: goOn(1), checkAlso: (*crashSite).safetyIsWhole},
		{name: "build of a protected workstream", args: build, runs: true, prepare: (*crashSite).protectedAndRight, again: goOn(0, 6), checkAlso: (*crashSite).safetyIsWhole},
		{
			name: "the rollback of a protected workstream", args: []string{"checkpoint", "unpin", "PRD-001", "0"},
			prepare: (*crashSite).protectedAndKilled, again: repeated(0), steps: true, checkAlso: (*crashSite).safetyIsWhole,
		},
		{name: "build of isolated workstreams", args: build, runs: true, prepare: (*crashSite).isolated, again: goOn(0, 6), checkAlso: (*crashSite).noWorkTrees, always: []string{"ENOSPC@1:create/same"}},
		{name: "build of isolated workstreams in git", args: build, code: 1, runs: true, prepare: (*crashSite).isolatedInGit, again: goOn(1), checkAlso: (*crashSite).noWorkTrees},
		{
			name: "the return of a result", args: []string{"checkpoint", "unpin", "PRD-001", "0"},
			prepare: (*crashSite).isolatedAndKilled, again: repeated(0), steps: true,
		},
		{name: "abandon in mid-return", args: []string{"abandon", "PRD-001", "--yes"}, prepare: (*crashSite).isolatedAndKilled, again: repeated(0, 2), steps: true},
		{name: "build with what runs after failures", args: build, code: 1, runs: true, prepare: (*crashSite).outcomes, again: goOn(1)},
		{name: "build after such a failure", args: build, runs: true, prepare: (*crashSite).outcomesFixed, again: goOn(0, 6)},
		{name: "build of what a result gives", args: build, code: 1, runs: true, prepare: (*crashSite).results, again: goOn(1)},
		{name: "build with a service", args: build, runs: true, prepare: (*crashSite).service, again: goOn(0, 6)},
		{name: "recovery", args: build, code: 1, runs: true, prepare: (*crashSite).torn, again: goOn(1)},
		{
			name: "rollback", args: []string{"checkpoint", "rollback", "PRD-001", "0", "--yes"},
			prepare: (*crashSite).changed, again: nextThenAgain(0), steps: true, undoes: true,
		},
		{
			name: "rollback in git", args: []string{"checkpoint", "rollback", "PRD-001", "0", "--yes"},
			prepare: (*crashSite).changedInGit, again: nextThenAgain(0), steps: true, undoes: true,
		},
		{
			name: "the end of a rollback", args: []string{"checkpoint", "unpin", "PRD-001", "0"},
			prepare: (*crashSite).rollbackCutShort, again: repeated(0), steps: true,
			always: []string{"EIO@1:remove", "EIO@2:remove", "EIO@3:remove"},
		},
		{
			name: "import", args: []string{"checkpoint", "import", "../out/it.tar", "--yes"},
			prepare: (*crashSite).exported, again: nextThenAgain(0, 2), steps: true,
		},
		{
			name: "the end of an import", args: []string{"checkpoint", "unpin", "PRD-001", "0"},
			prepare: (*crashSite).importCutShort, again: repeated(0), steps: true,
		},
		{
			name: "export", args: []string{"checkpoint", "export", "PRD-001", "-o", "../out/it.tar"},
			prepare: (*crashSite).failed, again: (*crashSite).exportLater, checkAlso: (*crashSite).archiveIsWhole,
		},
		{
			name: "create", args: []string{"checkpoint", "create", "PRD-001", "--json"},
			prepare: (*crashSite).failed, again: repeated(0), shown: (*crashSite).isListed, record: "checkpoint.created",
			always: []string{"EIO@1:sync", "EIO@2:sync", "EIO@3:sync", "EIO@4:sync"},
		},
		{
			name: "create in git", args: []string{"checkpoint", "create", "PRD-001", "--json"},
			prepare: (*crashSite).changedInGit, again: repeated(0), shown: (*crashSite).isListed, record: "checkpoint.created",
		},
		{
			name: "safety create", args: []string{"safety", "create", "src/**", "gen/**", "--json"},
			prepare: (*crashSite).failed, again: repeated(0), shown: (*crashSite).isVerified, checkAlso: (*crashSite).safetyIsWhole,
		},
		{
			name: "safety create in git", args: []string{"safety", "create", "src/**", "gen/**", "--json"},
			prepare: (*crashSite).changedInGit, again: repeated(0), shown: (*crashSite).isVerified, checkAlso: (*crashSite).safetyIsWhole,
		},
		{
			name: "safety restore", args: []string{"safety", "restore", "latest", "--yes"},
			prepare: (*crashSite).changedAfterCopy, again: repeated(0), checkAlso: (*crashSite).safetyIsWhole,
		},
		{
			name: "safety restore in git", args: []string{"safety", "restore", "latest", "--yes"},
			prepare: (*crashSite).changedAfterCopyInGit, again: repeated(0), checkAlso: (*crashSite).safetyIsWhole,
		},
		{
			name: "the end of a safety restore", args: []string{"safety", "restore", "latest", "--yes"},
			prepare: (*crashSite).safetyCutShort, again: repeated(0), checkAlso: (*crashSite).safetyIsWhole,
		},
		{
			name: "safety delete in git", args: []string{"safety", "delete", "latest", "--yes"},
			prepare: (*crashSite).changedAfterCopyInGit, again: repeated(0, 2), checkAlso: (*crashSite).safetyIsWhole,
		},
		{
			name: "prune", args: []string{"checkpoint", "prune", "PRD-001", "--older-than", "1ms", "--yes"},
			prepare: (*crashSite).complete, again: repeated(0), steps: true,
		},
		{
			name: "prune in git", args: []string{"checkpoint", "prune", "PRD-001", "--older-than", "1ms", "--yes"},
			prepare: (*crashSite).completeInGit, again: repeated(0), steps: true,
		},
		{name: "start afresh", args: []string{"--output", "json", "build", "PRD-001", "--fresh"}, code: 1, runs: true, steps: true,
			prepare: (*crashSite).failedBeforeOnce, again: goOn(1)},
		{name: "go on after a complete session", args: build, code: 3, runs: true, steps: true, prepare: (*crashSite).completeAndChanged, again: goOn(3)},
		{name: "archive", args: []string{"checkpoint", "archive", "PRD-001"}, prepare: (*crashSite).failed, again: repeated(0, 2)},
		{name: "abandon", args: []string{"abandon", "PRD-001", "--yes"}, prepare: (*crashSite).failed, again: repeated(0, 2)},
		{name: "delete", args: []string{"checkpoint", "delete", "PRD-001", "0", "--yes"}, prepare: (*crashSite).complete, again: repeated(0, 2), steps: true, record: "checkpoints.removed"},
		{
			name: "delete a session", args: []string{"checkpoint", "delete", "PRD-001", "--session", "--yes"},
			prepare: (*crashSite).failed, again: repeated(0, 2), steps: true,
		},
		{
			name: "rebuild", args: []string{"checkpoint", "rebuild", "PRD-001", "--yes"},
			prepare: (*crashSite).damaged, again: repeated(0), steps: true,
		},
		{
			name: "rebuild the journal", args: []string{"checkpoint", "rebuild", "PRD-001", "--journal", "--yes"},
			prepare: (*crashSite).damagedJournal, again: repeated(0, 2), steps: true,
		},
		{name: "migrate", prd: "PRD-010", validity: 5, args: []string{"checkpoint", "migrate", "PRD-010"}, prepare: (*crashSite).old, again: repeated(0), steps: true},
		{name: "pin", args: []string{"checkpoint", "pin", "PRD-001", "0"}, prepare: (*crashSite).failed, again: repeated(0), record: "checkpoint.pinned"},
		{name: "approve", args: []string{"approve", "PRD-001", "sign-off"}, prepare: (*crashSite).paused, again: repeated(0, 2), record: "gate.approved"},
	}
}

// repeated returns a function that repeats the command and expects one of these exit
// codes.
func repeated(codes ...int) func(*crashSite) {
	return func(s *crashSite) { s.exits(codes, s.op.args...) }
}

// nextThenAgain returns a function that repeats the command. At every other crash point,
// if there is a session, the function first runs another command on it. That command must
// finish or undo the interrupted one: the session must be as before or as after the
// interrupted command.
func nextThenAgain(codes ...int) func(*crashSite) {
	return func(s *crashSite) {
		if s.at()%2 == 1 && s.glance("before the next command").codes[0] == 0 {
			s.exits([]int{0}, "checkpoint", "unpin", "PRD-001", "latest")
			l := s.glance("after the next command")
			if l.view != s.before.view && l.view != s.after.view {
				s.failf("the next command left\n%s\nbefore:\n%s\nafter:\n%s", l.view, s.before.view, s.after.view)
			}
			if l.view == s.after.view {
				s.checkOutcome("after the next command")
			}
		}
		s.exits(codes, s.op.args...)
	}
}

// goOn returns a function that resumes the build until it exits with one of these codes.
// If it is uncertain whether the workstream once has happened, the function looks into
// the file ran and resolves that.
func goOn(codes ...int) func(*crashSite) {
	return func(s *crashSite) {
		args := []string{"--output", "json", "build", "PRD-001", "--resume=auto"}
		if s.uncertain() || s.run("", args...).code == 3 && s.uncertain() {
			how := "--rerun"
			if s.counts()["once"] > 0 {
				how = "--done"
			}
			s.exits([]int{0}, "resolve", "PRD-001", "once", how)
		}
		s.exits(codes, args...)
	}
}

func (s *crashSite) uncertain() bool {
	r := s.run("", "status", "PRD-001", "--json")
	var st struct {
		Uncertain []any `json:"uncertain"`
	}
	return json.Unmarshal([]byte(r.stdout), &st) == nil && len(st.Uncertain) > 0
}

func (s *crashSite) write(name, text string) {
	s.t.Helper()
	s.must(os.MkdirAll(filepath.Dir(s.path("w/"+name)), 0o755))
	s.must(os.WriteFile(s.path("w/"+name), []byte(text), 0o644))
}

// begin makes a workspace in which nothing has run.
func (s *crashSite) begin() {
	s.write("PRD-001.hcl", crashPipeline)
	s.write("runner.yaml", crashConfig)
	for _, name := range []string{"changed", "gone/deleted", "sub/mode"} {
		s.write("src/"+name, name+"\n")
	}
}

func (s *crashSite) beginInGit() {
	s.begin()
	s.command("git", "-C", "w", "init", "-q")
	s.command("git", "-C", "w", "add", "-A")
	s.command("git", "-C", "w", "commit", "-q", "-m", "first")
}

var crashBuild = []string{"build", "PRD-001", "--resume=auto"}

// failed makes a session that failed at a gate, and then the file with which the gate
// passes.
func (s *crashSite) failed() {
	s.begin()
	s.exits([]int{1}, crashBuild...)
	s.write("go", "")
}

func (s *crashSite) paused() {
	s.failed()
	s.exits([]int{3}, crashBuild...)
}

func (s *crashSite) approved() {
	s.paused()
	s.exits([]int{0}, "approve", "PRD-001", "sign-off")
}

func (s *crashSite) complete() {
	s.approved()
	s.exits([]int{0}, crashBuild...)
}

// completeAndChanged makes a complete session, deletes one of its artifacts and adds a
// workstream to its pipeline.
func (s *crashSite) completeAndChanged() {
	s.complete()
	s.write("PRD-001.hcl", strings.Replace(crashPipeline, "    gate \"sign-off\"", "    workstream \"added\" { script = \"echo added >> ../ran\" }\n    gate \"sign-off\"", 1))
	if err := os.Remove(filepath.Join(s.dir, "w", "gen", "made.txt")); err != nil {
		s.t.Fatal(err)
	}
}

// failedBeforeOnce makes a session that failed before the workstream once started.
// Because once can't have happened, build --fresh needs no decision about it.
func (s *crashSite) failedBeforeOnce() {
	s.begin()
	s.write("PRD-001.hcl", strings.Replace(crashPipeline, "mkdir -p gen", "test -e gen || exit 1; mkdir -p gen", 1))
	s.exits([]int{1}, crashBuild...)
	s.begin()
}

func (s *crashSite) completeInGit() {
	s.failedInGit()
	s.exits([]int{3}, crashBuild...)
	s.exits([]int{0}, "approve", "PRD-001", "sign-off")
	s.exits([]int{0}, crashBuild...)
}

// changed makes a failed session and then changes, deletes and adds files.
func (s *crashSite) changed() {
	s.failed()
	s.change()
}

func (s *crashSite) changedInGit() {
	s.failedInGit()
	s.change()
}

func (s *crashSite) failedInGit() {
	s.beginInGit()
	s.exits([]int{1}, crashBuild...)
	s.write("go", "")
}

func (s *crashSite) change() {
	s.write("src/changed", "changed later\n")
	s.must(os.RemoveAll(s.path("w/src/gone")))
	s.must(os.Chmod(s.path("w/src/sub/mode"), 0o755))
	s.write("src/new/made", "made later\n")
	s.write("gen/made.txt", "made otherwise\n")
}

// cut runs a command with a failpoint, which must kill the command.
func (s *crashSite) cut(failpoint string, args ...string) {
	s.t.Helper()
	if r := s.run(failpoint, args...); r.code != -1 {
		s.t.Fatalf("%v with the failpoint %s was not killed: exit code %d\n%s", args, failpoint, r.code, r.told)
	}
}

// torn makes a session whose journal ends in half a line, as after a kill in mid-write.
func (s *crashSite) torn() {
	s.begin()
	s.exits([]int{1}, crashBuild...)
	writes := 0
	for _, op := range s.logged() {
		if strings.HasPrefix(op, "write ") {
			writes++
			if strings.HasSuffix(op, "/journal.jsonl") && writes > 8 {
				break
			}
		}
	}
	for _, name := range []string{"w", "ran"} {
		s.must(os.RemoveAll(s.path(name)))
	}
	s.must(os.Mkdir(s.path("w"), 0o755))
	s.begin()
	s.cut(fmt.Sprintf("torn@%d:write", writes), crashBuild...)
	if data, err := os.ReadFile(s.path("w/.runner/PRD-001/journal.jsonl")); err != nil || strings.HasSuffix(string(data), "\n") {
		s.t.Fatalf("the journal is not torn (%v)", err)
	}
}

func (s *crashSite) rollbackCutShort() {
	s.changed()
	s.origin = &origin{s.glance("before the rollback").view, readTree(s.t, s.path("w"))}
	s.cut("kill@3:change", "checkpoint", "rollback", "PRD-001", "0", "--yes")
}

// exported makes a workspace without a session, and the archive of a session in out/.
func (s *crashSite) exported() {
	s.changed()
	s.exits([]int{0}, "checkpoint", "create", "PRD-001")
	s.exits([]int{0}, "checkpoint", "export", "PRD-001", "-o", "../out/it.tar")
	s.must(os.RemoveAll(s.path("w")))
	s.must(os.Mkdir(s.path("w"), 0o755))
	s.write("own", "of this workspace\n")
}

func (s *crashSite) importCutShort() {
	s.exported()
	s.cut("kill@3:change", "checkpoint", "import", "../out/it.tar", "--yes")
}

// exportLater makes the files in out/ so old that no export can be writing them any more,
// and repeats the export.
func (s *crashSite) exportLater() {
	for name := range s.everything("out") {
		long := time.Now().Add(-24 * time.Hour)
		s.must(os.Chtimes(s.path("out/"+name), long, long))
	}
	s.exits([]int{0}, s.op.args...)
}

func (s *crashSite) archiveIsWhole() {
	if all := keysOf(s.everything("out")); len(all) != 2 {
		s.failf("out/ has not only the archive: %v", all)
	}
	s.must(os.MkdirAll(s.path("tmp/elsewhere"), 0o755))
	s.exits([]int{0}, "-C", s.path("tmp/elsewhere"), "checkpoint", "import", s.path("out/it.tar"), "--dry-run")
	s.must(os.RemoveAll(s.path("tmp/elsewhere")))
}

func (s *crashSite) isListed(shown string) {
	var made struct {
		Checkpoint struct {
			ID string `json:"id"`
		} `json:"checkpoint"`
	}
	if err := json.Unmarshal([]byte(shown), &made); err != nil {
		return // the command was killed while it printed
	}
	if r := s.exits([]int{0}, "checkpoint", "list", "PRD-001", "--json"); !strings.Contains(r.stdout, made.Checkpoint.ID) {
		s.failf("the command printed checkpoint %s, which is not in the list of checkpoints", made.Checkpoint.ID)
	}
}

// changedAfterCopy makes a safety checkpoint, and then changes, deletes and adds files.
func (s *crashSite) changedAfterCopy() {
	s.failed()
	s.exits([]int{0}, "safety", "create", "src/**", "gen/**")
	s.change()
}

func (s *crashSite) changedAfterCopyInGit() {
	s.failedInGit()
	s.exits([]int{0}, "safety", "create", "src/**", "gen/**")
	s.change()
	s.command("git", "-C", "w", "add", "-A")
}

// safetyCutShort restores a safety checkpoint, which is killed after it has changed some of
// the files.
func (s *crashSite) safetyCutShort() {
	s.changedAfterCopyInGit()
	s.cut("kill@3:change", "safety", "restore", "latest", "--yes")
}

const crashProtected = `pipeline "PRD-001" {
  phase "one" {
    workstream "migrate" {
      script = file("migrate.sh")
      protect { scope = ["src/**"] }
      gate "allowed" { command = ["test", "-e", "go"] }
    }
  }
}
`

// protected makes a workspace with a protected workstream whose gate fails.
func (s *crashSite) protected() {
	s.begin()
	s.write("PRD-001.hcl", crashProtected)
	s.write("migrate.sh", "echo migrate >> ../ran; echo later > src/changed; rm -r src/gone; chmod 755 src/sub/mode; mkdir src/new; echo made > src/new/made")
}

func (s *crashSite) protectedAndRight() {
	s.protected()
	s.write("go", "")
}

// protectedAndKilled makes a session whose protected workstream killed its runner after it
// had changed the files.
func (s *crashSite) protectedAndKilled() {
	s.protected()
	s.write("migrate.sh", "echo later > src/changed; rm -r src/gone; chmod 755 src/sub/mode; mkdir src/new; echo made > src/new/made; kill -KILL $PPID; sleep 60")
	s.cut("", crashBuild...)
}

const crashIsolated = `pipeline "PRD-001" {
  phase "one" {
    workstream "patch" {
      script    = "echo patch >> $RUNNER_STATE_DIR/../../ran; echo dropped > src/changed; echo new > out/new; echo two > out/changed; rm out/deleted"
      artifacts = ["out/**"]
      isolate { from = FROM }
      gate "patched" { command = ["test", "-e", "src/gone/deleted"] }
    }
    workstream "ungated" {
      script    = "echo ungated >> $RUNNER_STATE_DIR/../../ran; echo ungated > ungated"
      artifacts = ["ungated"]
      isolate {}
    }
    workstream "other" {
      depends_on = [workstream.ungated]
      script     = "echo other >> $RUNNER_STATE_DIR/../../ran; echo dropped > src/changed; echo other > other"
      artifacts  = ["other"]
      isolate {}
      gate "allowed" { command = ["test", "-e", "go"] }
    }
  }
}
`

// isolated makes a workspace with workstreams that run in work trees.
func (s *crashSite) isolated() {
	s.begin()
	s.isolateFrom("copy")
	s.write("go", "")
}

// isolatedAndKilled makes a session whose runner was killed when it had put one file of a result
// into the workspace.
func (s *crashSite) isolatedAndKilled() {
	s.begin()
	s.write("PRD-001.hcl", strings.Replace(crashIsolated, "FROM", `"copy"`, 1))
	s.write("out/deleted", "deleted\n")
	s.write("out/changed", "changed\n")
	s.write("out/same", "same\n")
	s.cut("kill@2:change/out", crashBuild...)
}

// isolatedInGit makes such a workspace in git. The gate of one workstream fails.
func (s *crashSite) isolatedInGit() {
	s.beginInGit()
	s.isolateFrom("git")
}

func (s *crashSite) isolateFrom(from string) {
	s.write("PRD-001.hcl", strings.Replace(crashIsolated, "FROM", `"`+from+`"`, 1))
	for _, name := range []string{"changed", "deleted", "same"} {
		s.write("out/"+name, name+"\n")
	}
}

// noWorkTrees checks that neither the user's cache nor git has a work tree left.
func (s *crashSite) noWorkTrees() {
	for name, is := range s.everything("cache") {
		if !strings.HasPrefix(is, "d") {
			s.failf("a work tree has %s (%s) left", name, is)
		}
	}
	if left, err := os.ReadDir(s.path("w/.git/worktrees")); err == nil && len(left) > 0 {
		s.failf("git has the work tree %s left", left[0].Name())
	}
}

const crashOutcomes = `pipeline "PRD-001" {
  phase "one" {
    workstream "lint" {
      script        = "echo lint >> ../ran; exit 1"
      allow_failure = true
    }
    workstream "test" {
      depends_on = [workstream.lint]
      script     = "echo test >> ../ran; test -e go"
    }
    workstream "undo" {
      depends_on = [workstream.test]
      run_on     = "failed"
      script     = "echo undo >> ../ran"
    }
    workstream "package" {
      depends_on = [workstream.test]
      script     = "echo package >> ../ran"
    }
  }
  phase "two" {
    workstream "deploy" { script = "echo deploy >> ../ran" }
  }
  phase "end" {
    run_on = "always"
    workstream "cleanup" { script = "echo cleanup >> ../ran" }
  }
}
`

// outcomes makes a workspace with workstreams that run after a failure, and one that may fail.
func (s *crashSite) outcomes() {
	s.begin()
	s.write("PRD-001.hcl", crashOutcomes)
}

func (s *crashSite) outcomesFixed() {
	s.outcomes()
	s.exits([]int{1}, crashBuild...)
	s.write("go", "")
}

const crashResults = `pipeline "PRD-001" {
  phase "one" {
    workstream "split" {
      inputs = ["names.txt"]
      script = "echo split >> ../ran; cat names.txt >> $RUNNER_OUTPUT"
    }
  }
  phase "two" {
    workstream "page" {
      for_each  = toset(split(",", workstream.split.outputs.names))
      artifacts = ["gen/${each.key}.txt"]
      script    = "echo 'page[\"${each.key}\"]' >> ../ran; test ${each.key} != bad; mkdir -p gen; echo ${each.key} > gen/${each.key}.txt"
    }
  }
}
`

// results makes a workspace with a workstream whose instances come from a result.
func (s *crashSite) results() {
	s.begin()
	s.write("PRD-001.hcl", crashResults)
	s.write("names.txt", "names=a,bad\n")
}

const crashService = `pipeline "PRD-001" {
  service "db" {
    script = "echo ready; exec sleep 600"
    ready {
      log      = "ready"
      interval = "1ms"
    }
  }
  phase "one" {
    workstream "test" {
      script   = "echo test >> ../ran"
      services = [service.db]
    }
  }
}
`

// service makes a workspace with a workstream that needs a service.
func (s *crashSite) service() {
	s.begin()
	s.write("PRD-001.hcl", crashService)
}

// isVerified checks that a safety checkpoint that was printed exists and is whole.
func (s *crashSite) isVerified(shown string) {
	var made struct {
		Checkpoint struct {
			ID string `json:"id"`
		} `json:"checkpoint"`
	}
	if json.Unmarshal([]byte(shown), &made) == nil { // else the command was killed while it printed
		s.exits([]int{0}, "safety", "verify", made.Checkpoint.ID)
	}
}

// safetyIsWhole checks that every safety checkpoint is whole, and that git has references of
// these alone.
func (s *crashSite) safetyIsWhole() {
	s.t.Helper()
	s.exits([]int{0}, "safety", "prune", "--yes") // removes what was cut short
	var list struct {
		Checkpoints []struct {
			ID string `json:"id"`
		} `json:"checkpoints"`
		Damaged []any `json:"damaged"`
	}
	r := s.exits([]int{0}, "safety", "list", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list.Damaged) > 0 {
		s.failf("the safety checkpoints: %v\n%s", err, r.stdout)
	}
	known := map[string]bool{}
	for _, c := range list.Checkpoints {
		known[c.ID] = true
		s.exits([]int{0}, "safety", "verify", c.ID)
	}
	dirs, err := filepath.Glob(s.path("w/.runner/safety/*"))
	s.must(err)
	refs, err := filepath.Glob(s.path("w/.git/refs/runner/safety/*"))
	s.must(err)
	for _, path := range append(dirs, refs...) {
		if !known[filepath.Base(path)] {
			s.failf("%s is left of no safety checkpoint", path)
		}
	}
}

// damaged makes a failed session with two damaged checkpoint files and a missing one.
func (s *crashSite) damaged() {
	s.failed()
	names, err := filepath.Glob(s.path("w/.runner/PRD-001/checkpoints/CP-*"))
	s.must(err)
	slices.Sort(names)
	for i, name := range names[:3] {
		if i == 2 {
			s.must(os.Remove(name))
			continue
		}
		s.must(os.Chmod(name, 0o600))
		s.must(os.WriteFile(name, []byte("x"), 0o600))
	}
}

func (s *crashSite) damagedJournal() {
	s.failed()
	s.edit("w/.runner/PRD-001/journal.jsonl", "start", "stort")
}

func (s *crashSite) edit(name, from, to string) {
	data, err := os.ReadFile(s.path(name))
	s.must(err)
	lines := strings.SplitAfter(string(data), "\n")
	lines[1] = strings.Replace(lines[1], from, to, 1)
	s.must(os.WriteFile(s.path(name), []byte(strings.Join(lines, "")), 0o600))
}

// old makes a session of format version 1.0.
func (s *crashSite) old() {
	from := filepath.Join("..", "..", "checkpoint", "testdata", "format", "1.0", "complete")
	from, err := filepath.Abs(from)
	s.must(err)
	s.must(os.MkdirAll(s.path("w/.runner"), 0o700))
	s.command("cp", "-a", from+"/.", s.path("w/.runner"))
	s.write("PRD-010.hcl", "pipeline \"PRD-010\" {\n  phase \"prepare\" {\n    workstream \"make\" { script = \"true\" }\n  }\n}\n")
}
