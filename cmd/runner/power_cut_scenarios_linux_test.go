package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cutScenarios returns commands that change something.
func cutScenarios() []cutScenario {
	return []cutScenario{
		{"build in files", func(c *cutter) { c.prepareBuild("off") }, (*cutter).built},
		{"build in git", func(c *cutter) { c.prepareBuild("ref") }, (*cutter).built},
		{"build with commits", func(c *cutter) { c.prepareBuild("commit") }, (*cutter).built},
		{"rollback in files", func(c *cutter) { c.prepareRollback(false) }, (*cutter).rolledBack},
		{"rollback in git", func(c *cutter) { c.prepareRollback(true) }, (*cutter).rolledBack},
		{"create in files", func(c *cutter) { c.prepareCreate(false) }, (*cutter).created},
		{"create in git", func(c *cutter) { c.prepareCreate(true) }, (*cutter).created},
		{"prune in files", func(c *cutter) { c.preparePrune(false) }, (*cutter).pruned},
		{"prune in git", func(c *cutter) { c.preparePrune(true) }, (*cutter).pruned},
		{"import", (*cutter).prepareImport, (*cutter).imported},
	}
}

// cutPipeline has workstreams of every kind. Each adds a line to its file in the ledger,
// which no power cut touches. The workstreams tell and announce must run only once; the
// verify command of announce tells Runner whether announce has run.
const cutPipeline = `
pipeline "PRD-001" {
  phase "one" {
    max_parallel = 2
    workstream "copy" {
      for_each  = toset(["a", "b", "c"])
      inputs    = ["seed/*"]
      artifacts = ["gen/${each.key}/*"]
      script    = <<-EOT
        echo . >> LEDGER/copy
        mkdir -p gen/${each.key}
        for f in seed/*; do cp $f gen/${each.key}/; done
      EOT
    }
    workstream "join" {
      depends_on = [workstream.copy]
      inputs     = ["gen/a/*", "gen/b/*", "gen/c/*"]
      artifacts  = ["joined"]
      script     = "echo . >> LEDGER/join; cat gen/*/* > .new; mv .new joined"
    }
    workstream "announce" {
      depends_on = [workstream.copy]
      effect     = "once"
      script     = "echo . >> LEDGER/announce"
      verify     = ["test", "-e", "LEDGER/announce"]
    }
    gate "joined" { command = ["test", "-s", "joined"] }
  }
  phase "two" {
    workstream "tell" {
      effect = "once"
      script = "echo . >> LEDGER/tell"
    }
    workstream "last" {
      depends_on = [workstream.tell]
      artifacts  = ["last/*"]
      script     = "echo . >> LEDGER/last; mkdir -p last; sort joined > last/sorted; wc joined > last/count"
    }
  }
}
`

// prepareBuild makes a workspace of about a hundred files and no session. Without a cut,
// it runs the build once to get the wanted artifacts.
func (c *cutter) prepareBuild(mode string) {
	c.t.Helper()
	c.write("PRD-001.hcl", strings.ReplaceAll(cutPipeline, "LEDGER", c.ledger()), 0o644)
	c.write("runner.yaml", "checkpoint: { git: { mode: "+mode+" } }\nworkspace: { include: [\"**\"] }\n", 0o644)
	for i := range 5 {
		c.write(fmt.Sprint("seed/", i), strings.Repeat(fmt.Sprint("seed ", i, "\n"), 1+300*i), 0o644)
	}
	for i := range 100 {
		c.write(file(i), fmt.Sprint("file ", i), 0o644)
	}
	c.write("joined", "what was there before", 0o644)
	if mode != "off" {
		c.git("init", "-q")
		c.git("add", "-A")
		c.git("commit", "-q", "-m", "first")
	}
	c.args = []string{"--output", "json", "build", "PRD-001", "--resume=auto"}
	before := c.disk.save()
	c.exits(0, c.args...)
	c.wanted = c.artifacts()
	c.disk.load(before, "")
}

// artifacts returns the digests of the artifacts by path.
func (c *cutter) artifacts() map[string]string {
	c.t.Helper()
	sums := map[string]string{}
	for name, content := range c.tree() {
		if name == "joined" || strings.HasPrefix(name, "gen/") || strings.HasPrefix(name, "last/") {
			sums[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
		}
	}
	return sums
}

// built completes a build after a cut, sometimes with more cuts, and checks that the
// artifacts are those of an undisturbed build.
func (c *cutter) built(r cutRun) {
	c.t.Helper()
	shown := map[string]bool{}
	for c.onRecord(shown, r); r.code != 0 && c.at == 0 && c.random.IntN(3) == 0; c.onRecord(shown, r) {
		r = c.disk.run(c.command(), c.moment(), uint32(1+c.random.IntN(2))) //nolint:gosec // 1 or 2
		c.counts["cut while it resumed"]++
		c.kills++
	}
	c.resumeToEnd()
	c.onRecord(shown, cutRun{})
	c.ranOnce()
	if got := c.artifacts(); !maps.Equal(got, c.wanted) {
		c.t.Fatalf("%s: the artifacts are %v, want %v", c.what, got, c.wanted)
	}
}

// onRecord adds the events that a build printed to shown. It checks that all shown events
// are on record, and that commands that read the session work.
func (c *cutter) onRecord(shown map[string]bool, r cutRun) {
	c.t.Helper()
	for line := range bytes.Lines(r.stdout) {
		if event, ok := shownEvent(line); ok {
			shown[event] = true
		}
	}
	journal := readJournal(c.t, c.path(".runner/PRD-001/journal.jsonl"))
	recorded := recordedEvents(journal)
	for event := range shown {
		if !recorded[event] {
			c.t.Fatalf("%s: %q was printed and is not on record", c.what, event)
		}
	}
	if journal == nil {
		return
	}
	c.exits(0, "status", "PRD-001", "--json")
	c.exits(0, "checkpoint", "list", "PRD-001", "--json")
	c.whole()
}

// resumeToEnd resumes the session until it is complete, and does what the error messages
// tell the user to do.
func (c *cutter) resumeToEnd() {
	c.t.Helper()
	var more []string
	for range 5 {
		cmd := c.command(more...)
		out, err := cmd.CombinedOutput()
		switch code := cmd.ProcessState.ExitCode(); code {
		case 0:
			return
		case 3: // the user must decide
			c.counts["uncertain"]++
			if c.unlock(out) {
				continue
			}
			if !bytes.Contains(out, []byte("runner resolve")) {
				c.t.Fatalf("%s: the build pauses and does not name runner resolve:\n%s", c.what, out)
			}
			decision := "--rerun"
			if c.did("tell") > 0 {
				decision = "--done"
			}
			c.exits(0, "resolve", "PRD-001", "tell", decision)
		case 5:
			if !bytes.Contains(out, []byte("--on-conflict restore")) {
				c.t.Fatalf("%s: the build exits with 5 and does not name --on-conflict restore: %v\n%s", c.what, err, out)
			}
			c.counts["artifacts lost"]++
			more = []string{"--on-conflict", "restore"}
		default:
			c.t.Fatalf("%s: the build exits with %d: %v\n%s", c.what, code, err, out)
		}
	}
	c.t.Fatalf("%s: the session is not complete after 5 builds", c.what)
}

// unlock removes a lock that git left at the power cut, with the rm command that out
// names. It reports whether out names such a command.
func (c *cutter) unlock(out []byte) bool {
	c.t.Helper()
	command := regexp.MustCompile(`where no git is at work: (rm [^ ")\n]+)`).FindSubmatch(out)
	if command == nil {
		return false
	}
	c.counts["git's lock left"]++
	remove := exec.Command("sh", "-c", string(command[1]))
	remove.Dir = c.dir
	if out, err := remove.CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %s: %v\n%s", c.what, command[1], err, out)
	}
	return true
}

// did returns how often a workstream ran, according to the ledger.
func (c *cutter) did(step string) int {
	data, err := os.ReadFile(filepath.Join(c.ledger(), step))
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}

// ranOnce checks that announce and tell ran exactly once, and that no completed
// workstream ran again.
func (c *cutter) ranOnce() {
	c.t.Helper()
	for _, step := range []string{"announce", "tell"} {
		if n := c.did(step); n != 1 {
			c.t.Fatalf("%s: %s ran %d times, want 1", c.what, step, n)
		}
	}
	noReruns(c.t, c.what, readJournal(c.t, c.path(".runner/PRD-001/journal.jsonl")))
}

// noReruns checks that, according to the journal, no completed workstream started again
// or was invalidated.
func noReruns(t *testing.T, what string, journal []journalLine) {
	t.Helper()
	done := map[string]bool{}
	for _, commit := range journal {
		for _, e := range commit.Events {
			switch e.Kind {
			case "workstream.completed", "workstream.succeeded":
				done[e.Workstream] = true
			case "workstream.started":
				if done[e.Workstream] {
					t.Fatalf("%s: %s was done and started again, in commit %d", what, e.Workstream, commit.Seq)
				}
			case "workstream.invalidated":
				t.Fatalf("%s: commit %d invalidated %s, although nothing changed", what, commit.Seq, e.Workstream)
			}
		}
	}
}

// prepareRollback makes a complete session, in which a thousand files have changed since
// the checkpoint that the rollback goes back to.
func (c *cutter) prepareRollback(inGit bool) {
	c.t.Helper()
	c.prepare(inGit)
	c.begun, _, _ = c.rollbacks()
	c.args = []string{"checkpoint", "rollback", "PRD-001", c.firstID, "--yes"}
}

// rolledBack finishes an interrupted rollback, and checks that the state and the files
// are both as before the rollback or both as at the checkpoint.
func (c *cutter) rolledBack(r cutRun) {
	c.t.Helper()
	if r.said() {
		c.now = c.first
		c.is(c.what, c.first)
		return
	}
	c.recovered(c.begun, c.baseNow, c.first)
	c.counts["not begun"], c.counts["in the middle"], c.counts["files of both moments"] = c.before, c.unfinished, c.mixed
}

// prepareCreate edits a hundred files after the last checkpoint.
func (c *cutter) prepareCreate(inGit bool) {
	c.t.Helper()
	c.prepare(inGit)
	for i := range 100 {
		c.write(fmt.Sprintf("tree/new%d/f%d", i%7, i), fmt.Sprint("edited ", i), 0)
	}
	c.now = c.look()
	c.args = []string{"checkpoint", "create", "PRD-001", "--json"}
}

// created checks that the checkpoint which the command reported has the files of that
// time. If the command reported none, created makes one, and checks that.
func (c *cutter) created(r cutRun) {
	c.t.Helper()
	c.is(c.what, c.baseNow)
	id := ""
	if r.said() {
		id = madeCheckpoint(c.t, r.stdout)
	} else {
		id = c.create()
	}
	for i := range 100 {
		c.write(fmt.Sprintf("tree/new%d/f%d", i%7, i), "edited later", 0)
	}
	c.rollback(id)
	c.is(c.what, c.baseNow)
}

// preparePrune makes checkpoints of which the retention keeps only some.
func (c *cutter) preparePrune(inGit bool) {
	c.t.Helper()
	c.prepare(inGit)
	for round := range 5 {
		for i := range 20 {
			c.write(fmt.Sprintf("tree/new%d/f%d", i%7, i), fmt.Sprint("round ", round, i), 0)
		}
		c.firstID = c.create()
	}
	c.first = c.look()
	c.write("notes", "edited after the last checkpoint", 0)
	c.now = c.look()
	c.list = len(c.checkpoints())
	c.args = []string{"checkpoint", "prune", "PRD-001", "--yes"}
	c.env = []string{"PRDRUNNER_CHECKPOINT_RETENTION_MANUAL=2"}
}

// pruned completes an interrupted prune. It checks that checkpoints were removed, and
// that a checkpoint which must be kept can still be restored.
func (c *cutter) pruned(r cutRun) {
	c.t.Helper()
	c.whole()
	c.is(c.what, c.baseNow)
	left := len(c.checkpoints())
	if r.said() && left >= c.list {
		c.t.Fatalf("%s: prune reported success, but all %d checkpoints are still listed", c.what, left)
	}
	out, err := c.command().CombinedOutput()
	for err != nil && c.unlock(out) { // git locks each ref that it deletes in one transaction
		out, err = c.command().CombinedOutput()
	}
	if err != nil {
		c.t.Fatalf("%s: the second prune failed: %v\n%s", c.what, err, out)
	}
	if left = len(c.checkpoints()); left >= c.list {
		c.t.Fatalf("%s: after the second prune, all %d checkpoints are still listed", c.what, left)
	}
	c.rollback(c.firstID)
	c.is(c.what, c.first)
}

// prepareImport makes an archive of a session, and an empty workspace.
func (c *cutter) prepareImport() {
	c.t.Helper()
	c.write("PRD-001.hcl", rollbackPipeline, 0o644)
	c.write("runner.yaml", "workspace:\n  include: [\"**\"]\n", 0o644)
	c.exits(1, "build", "PRD-001")
	c.fill()
	c.create()
	c.first = c.look()
	c.exits(0, "checkpoint", "export", "PRD-001", "-o", "../it.tar")
	c.must(os.RemoveAll(c.dir))
	c.must(os.Mkdir(c.dir, 0o755))
	c.args = []string{"checkpoint", "import", "../it.tar"}
}

// imported completes an interrupted import, or repeats an import of which nothing is on
// record. It checks that the session and the files are those of the archive.
func (c *cutter) imported(r cutRun) {
	c.t.Helper()
	_, err := os.Lstat(c.path(".runner/PRD-001/journal.jsonl"))
	switch {
	case r.said():
	case err == nil:
		c.counts["in the middle"]++
		if diff := c.tree().diff(c.first.tree); diff != "" {
			if _, told := c.run(0, "checkpoint", "list", "PRD-001"); !strings.Contains(told, "was cut short: files may be missing") {
				c.t.Fatalf("%s: %s, but checkpoint list does not say that files may be missing: %q", c.what, diff, told)
			}
		}
		c.create()
	default:
		c.exits(0, c.args...)
	}
	c.is(c.what, c.first)
}
