//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const rollbackPipeline = `pipeline "PRD-001" {
  phase "one" {
    workstream "make" {
      artifacts = ["gen/made.txt"]
      script    = "mkdir -p gen && echo made > gen/made.txt"
    }
  }
  phase "two" {
    workstream "more" {
      artifacts = ["gen/more.txt"]
      script    = "test -e go && echo more > gen/more.txt"
    }
  }
}
`

// TestKillRollback kills rollbacks of 1,000 files with SIGKILL at random moments. After
// each kill, readers must work and report the unfinished rollback. The next command that
// changes anything must finish the rollback. Then the state and the files must be those
// of the checkpoint, or those before the rollback if that was not on record yet.
func TestKillRollback(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the test takes a minute; left out with -short")
	}
	count := *killCount / 2 // half of the kills in git, half outside
	if count == 0 {
		count = 2
	}
	binary := buildBinary(t)
	for _, inGit := range []bool{false, true} {
		name := "files"
		if inGit {
			name = "git"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killRollbacks(t, binary, inGit, count, seedOr(*killSeed))
		})
	}
}

// killRollbacks kills count rollbacks, at moments that follow from the seed.
func killRollbacks(t *testing.T, binary string, inGit bool, count int, seed uint64) {
	t.Helper()
	t.Logf("%d kills, -kill.seed=%d", count, seed)
	r := &rollbackKiller{t: t, binary: binary, dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // moments of a test need no secrecy
	r.prepare(inGit)
	for r.kills < count {
		r.round()
	}
	t.Logf("%d kills: %d before the intent was on record, %d in the middle, %d with files of both moments; %d finished edits",
		r.kills, r.before, r.unfinished, r.mixed, r.edits)
	if count >= 20 && (r.unfinished == 0 || r.mixed == 0) {
		t.Error("no rollback was killed in its middle: the test proves nothing")
	}
}

// tree is the content of a workspace: the mode and the bytes of each file, or the target
// of each link, by path.
type tree map[string]string

// moment is the state of the session and the files at one time.
type moment struct {
	tree   tree
	status string
	done   int // number of completed workstreams
}

// rollbackKiller rolls one session back and forth between two moments, and kills the
// rollbacks.
type rollbackKiller struct {
	t           *testing.T
	binary, dir string
	random      *rand.Rand
	span        time.Duration // how long a rollback takes without a kill
	// early is the latest kill so far before the rollback was on record, late the
	// earliest kill so far after that.
	early, late time.Duration

	old, first moment // the moments of the checkpoints oldID and firstID
	oldID      string // older than firstID, for a second rollback after a kill
	firstID    string
	now        moment // the moment before the next rollback

	// kills counts the kills so far; before, those before the rollback was on record;
	// unfinished, those in the middle of a rollback; mixed, those that left files of both
	// moments; edits, those after which the test edited files.
	kills, before, unfinished, mixed, edits int
}

// sessionView holds the fields of `status --json` that the checks need.
type sessionView struct {
	Status string `json:"status"`
	Counts struct {
		Done int `json:"done"`
	} `json:"workstreams"`
}

// prepare completes the session, with 1,000 files that changed since the first moment.
// It measures how long a rollback takes.
func (r *rollbackKiller) prepare(inGit bool) {
	r.t.Helper()
	r.write("PRD-001.hcl", rollbackPipeline, 0o644)
	r.write("runner.yaml", "workspace:\n  include: [\"**\"]\n", 0o644)
	r.write("notes", "old", 0o600)
	if inGit {
		r.git("init", "-q")
		r.git("add", "-A")
		r.git("commit", "-q", "-m", "first")
	}
	r.exits(1, "build", "PRD-001")
	r.oldID = r.create()
	r.old = r.look()
	r.fill()
	if inGit {
		r.git("add", "tree/d1", "tree/d2", "tree/d3")
	}
	r.firstID = r.create()
	r.first = r.look()
	r.change()
	r.write("go", "", 0o644)
	r.exits(0, "build", "PRD-001", "--resume")
	r.now = r.look()
	if r.first.status != "failed" || r.now.status != "complete" {
		r.t.Fatalf("the session was %s and is %s", r.first.status, r.now.status)
	}
	began := time.Now()
	undo := r.rollback(r.firstID)
	r.span = time.Since(began)
	r.late = r.span
	r.is("after a rollback", r.first)
	r.rollback(undo)
	r.is("after it was undone", r.now)
}

// fill writes the files of the first moment.
func (r *rollbackKiller) fill() {
	for i := range 750 {
		r.write(file(i), strings.Repeat(fmt.Sprint("first ", i, "\n"), 1+i%100), []os.FileMode{0o644, 0o755, 0o600}[i%3])
	}
	for i := range 20 {
		r.must(os.Symlink("../"+fmt.Sprint("first", i), r.path(fmt.Sprint("tree/d1/link", i))))
	}
	r.must(os.Mkdir(r.path("tree/empty"), 0o750))
}

// change makes 1,000 changes: it modifies, deletes and creates 250 files each, and gives
// the rest another mode or replaces them with links, directories and files.
func (r *rollbackKiller) change() {
	for i := range 250 {
		r.write(file(i), fmt.Sprint("later ", i), 0)
		r.must(os.Remove(r.path(file(250 + i))))
		r.write(fmt.Sprintf("tree/new%d/f%d", i%7, i), fmt.Sprint("new ", i), 0o644)
		name := file(500 + i)
		switch i % 5 {
		case 0, 1:
			r.must(os.Chmod(r.path(name), 0o700))
		case 2:
			r.must(os.Remove(r.path(name)))
			r.must(os.Symlink("nowhere", r.path(name)))
		case 3:
			r.must(os.Remove(r.path(name)))
			r.write(name+"/in/it", "below", 0o640)
		case 4:
			r.must(os.Remove(r.path(name)))
			r.must(os.Mkdir(r.path(name), 0o700))
		}
	}
	for i := range 20 {
		name := fmt.Sprint("tree/d1/link", i)
		r.must(os.Remove(r.path(name)))
		if i%2 == 0 {
			r.must(os.Symlink("elsewhere", r.path(name)))
		} else {
			r.write(name, "a file now", 0o600)
		}
	}
	r.must(os.Remove(r.path("tree/empty")))
	r.write("tree/empty", "no directory now", 0o644)
	r.must(os.Mkdir(r.path("tree/hollow"), 0o705))
}

func file(i int) string { return fmt.Sprintf("tree/d%d/f%d", i%10, i) }

// round rolls the session back to the first moment and undoes that. It kills both
// rollbacks.
func (r *rollbackKiller) round() {
	later := r.now
	undo := r.killed(r.firstID, r.first)
	if undo == "" {
		return // the rollback was killed before it was on record
	}
	if again := r.killed(undo, later); again == "" {
		r.rollback(undo)
	}
	r.now = later
	r.is("after it was undone", later)
}

// killed starts a rollback, kills it, and lets another command finish it. It returns the
// checkpoint that undoes the rollback, or "" if the rollback was not on record yet.
func (r *rollbackKiller) killed(to string, target moment) (undo string) {
	t := r.t
	t.Helper()
	from := r.now
	begun, _, _ := r.rollbacks()
	after := r.moment()
	ended := r.kill(after, "checkpoint", "rollback", "PRD-001", to, "--yes")
	if now, _, _ := r.rollbacks(); now == begun {
		r.early = max(r.early, after)
	} else {
		r.late = min(r.late, after)
	}
	if ended {
		r.now = target
		r.is("after a rollback that was not killed", target)
		return r.lastUndo()
	}
	r.kills++
	return r.recovered(begun, from, target)
}

// moment returns a random time after which to kill a rollback: half of the times
// anywhere, else soon after the rollback is on record, in the short time in which the
// files change.
func (r *rollbackKiller) moment() time.Duration {
	if r.random.IntN(2) == 0 {
		return time.Duration(r.random.Int64N(int64(r.span * 11 / 10)))
	}
	return (r.early+r.late)/2 + time.Duration(r.random.Int64N(int64(r.span/5)))
}

// recovered lets another command finish an interrupted rollback. begun is the number of
// rollbacks on record before. It returns the checkpoint that undoes the rollback, or ""
// if the rollback is not on record.
func (r *rollbackKiller) recovered(begun int, from, target moment) (undo string) {
	r.t.Helper()
	now, undo, ended := r.rollbacks()
	switch {
	case now == begun:
		r.before++
		r.is("killed before anything was recorded", from)
		r.exits(0, "checkpoint", "pin", "PRD-001", r.firstID)
		r.is("after a command that had nothing to finish", from)
		return ""
	case ended:
		r.now = target
		r.is("after a rollback that was killed at its end", target)
		return undo
	}
	r.unfinished++
	if found := r.tree(); !maps.Equal(found, from.tree) && !maps.Equal(found, target.tree) {
		r.mixed++
	}
	r.readers()
	edited, had := r.edit(from, target), len(r.keptEdits())
	r.finish(target)
	r.edited(edited, had)
	return undo
}

// readers checks that commands which change nothing work and report the unfinished
// rollback.
func (r *rollbackKiller) readers() {
	r.t.Helper()
	before := r.journal()
	for _, args := range [][]string{{"status", "PRD-001"}, {"checkpoint", "list", "PRD-001"}} {
		shown, told := r.run(0, args...)
		if !strings.Contains(shown+told, "was cut short") {
			r.t.Fatalf("%v does not report the unfinished rollback:\n%s%s", args, shown, told)
		}
	}
	if !bytes.Equal(before, r.journal()) {
		r.t.Fatal("a reader wrote to the journal")
	}
}

// finish runs a random command, which must finish the rollback and then do its own work.
func (r *rollbackKiller) finish(target moment) {
	r.t.Helper()
	r.now = target
	code := map[string]int{"failed": 1, "complete": 6}[target.status] // exit code of a build that resumes the target
	switch how := r.random.IntN(5); how {
	case 0:
		r.exits(code, "build", "PRD-001", "--resume")
		r.is("finished by build", target)
	case 1:
		r.create()
		r.is("finished by create", target)
	case 2:
		r.exits(0, "checkpoint", "pin", "PRD-001", r.oldID)
		r.exits(0, "checkpoint", "unpin", "PRD-001", r.oldID)
		r.is("finished by pin", target)
	case 3:
		undo := r.rollback(r.oldID)
		r.is("finished by another rollback", r.old)
		r.rollback(undo)
		r.is("after that was undone", target)
	case 4: // a second kill, while the rollback is being finished
		r.kill(time.Duration(r.random.Int64N(int64(r.span))), "checkpoint", "pin", "PRD-001", r.oldID)
		r.exits(0, "checkpoint", "unpin", "PRD-001", r.oldID)
		r.exits(0, "checkpoint", "pin", "PRD-001", r.oldID)
		r.is("finished after a second kill", target)
	}
}

// edit edits files of an unfinished rollback, one time out of three. It returns the files
// after the edit, or nil without an edit.
func (r *rollbackKiller) edit(from, target moment) tree {
	if r.random.IntN(3) > 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(from.tree))
	names = slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Lstat(r.path(name))
		return !strings.HasPrefix(name, "tree/") || target.tree[name] == "" || err != nil || !info.Mode().IsRegular()
	})
	r.write(names[r.random.IntN(len(names))], "edited meanwhile", 0)
	r.write("tree/meanwhile/new", "edited meanwhile", 0o600)
	r.edits++
	return r.tree()
}

// keptEdits returns the checkpoints that hold edits which the user made while a rollback
// was unfinished.
func (r *rollbackKiller) keptEdits() (ids []string) {
	for _, c := range r.checkpoints() {
		if c.Trigger == "pre_rollback" && strings.Contains(c.Reason, "edited") {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// edited checks that a checkpoint holds the edits that were made before the rollback was
// finished. had is the number of such checkpoints before. A second kill may lead to more
// checkpoints; then the first one has the edits.
func (r *rollbackKiller) edited(edited tree, had int) {
	r.t.Helper()
	if edited == nil {
		return
	}
	all := r.keptEdits()
	if len(all) == had {
		r.t.Fatal("no checkpoint holds the edits")
	}
	kept := all[had]
	back := r.rollback(kept)
	for name, want := range edited {
		if strings.HasSuffix(want, "edited meanwhile") && r.tree()[name] != want {
			r.t.Fatalf("%s is %.40q, want %q", name, r.tree()[name], want)
		}
	}
	r.rollback(back)
	r.is("after a rollback to the edits was undone", r.now)
}

// is checks that the session and all files are those of a moment, and that no rollback is
// unfinished.
func (r *rollbackKiller) is(when string, want moment) {
	r.t.Helper()
	got := r.look()
	if got.status != want.status || got.done != want.done {
		r.t.Fatalf("%s (kill %d): the session is %s with %d workstreams done, want %s with %d", when, r.kills, got.status, got.done, want.status, want.done)
	}
	if diff := got.tree.diff(want.tree); diff != "" {
		r.t.Fatalf("%s (kill %d): %s", when, r.kills, diff)
	}
	if begun, _, ended := r.rollbacks(); begun > 0 && !ended {
		r.t.Fatalf("%s (kill %d): a rollback is not finished", when, r.kills)
	}
}

// look returns the current moment.
func (r *rollbackKiller) look() moment {
	r.t.Helper()
	var s sessionView
	out := r.exits(0, "status", "PRD-001", "--json")
	r.must(json.Unmarshal([]byte(out), &s))
	return moment{tree: r.tree(), status: s.Status, done: s.Counts.Done}
}

// diff describes the first ten differences in one line.
func (got tree) diff(want tree) string {
	var all []string
	for name := range got {
		if want[name] == "" {
			all = append(all, fmt.Sprintf("%q should not be there", name))
		} else if got[name] != want[name] {
			all = append(all, fmt.Sprintf("%q is %.40q, want %.40q", name, got[name], want[name]))
		}
	}
	for name := range want {
		if got[name] == "" {
			all = append(all, fmt.Sprintf("%q is missing", name))
		}
	}
	slices.Sort(all)
	return strings.Join(all[:min(len(all), 10)], "; ")
}

// tree reads the workspace without .git and .runner. Of the directories only the empty
// ones are listed.
func (r *rollbackKiller) tree() tree {
	r.t.Helper()
	return readTree(r.t, r.dir)
}

func readTree(t *testing.T, dir string) tree {
	t.Helper()
	all := tree{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == "." {
			return err
		}
		if rel == ".git" || rel == ".runner" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.IsDir():
			entries, err := os.ReadDir(path)
			if err != nil || len(entries) > 0 {
				return err
			}
		case info.Mode()&os.ModeSymlink != 0:
			if content, err = os.Readlink(path); err != nil {
				return err
			}
			all[rel] = "link " + content
			return nil
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		}
		all[rel] = info.Mode().String() + " " + content
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// journalRollback holds the fields of a commit that concern rollbacks.
type journalRollback struct {
	Events []struct {
		Kind   string `json:"kind"`
		Safety string `json:"safety_checkpoint"`
	} `json:"events"`
}

// rollbacks returns the number of rollbacks on record, the checkpoint that undoes the
// last one, and whether the last one has ended.
func (r *rollbackKiller) rollbacks() (begun int, undo string, ended bool) {
	for line := range bytes.Lines(r.journal()) {
		var c journalRollback
		if err := json.Unmarshal(line, &c); err != nil {
			break // the last line is torn
		}
		for _, e := range c.Events {
			switch e.Kind {
			case "rollback.started":
				begun, undo, ended = begun+1, e.Safety, false
			case "rollback.completed":
				ended = true
			case "rollback.failed":
				r.t.Fatalf("rollback %d failed: %s", begun, line)
			}
		}
	}
	return begun, undo, ended
}

func (r *rollbackKiller) lastUndo() string {
	_, undo, _ := r.rollbacks()
	return undo
}

func (r *rollbackKiller) journal() []byte {
	r.t.Helper()
	data, err := os.ReadFile(r.path(".runner/PRD-001/journal.jsonl"))
	r.must(err)
	return data
}

type listedCheckpoint struct {
	ID      string `json:"id"`
	Trigger string `json:"trigger"`
	Reason  string `json:"reason"`
	Valid   bool   `json:"valid"`
}

func (r *rollbackKiller) checkpoints() []listedCheckpoint {
	r.t.Helper()
	var list struct {
		Checkpoints []listedCheckpoint `json:"checkpoints"`
	}
	r.must(json.Unmarshal([]byte(r.exits(0, "checkpoint", "list", "PRD-001", "--json")), &list))
	return list.Checkpoints
}

func (r *rollbackKiller) create() string {
	r.t.Helper()
	return madeCheckpoint(r.t, []byte(r.exits(0, "checkpoint", "create", "PRD-001", "--json")))
}

// madeCheckpoint returns the id in the output of `checkpoint create --json`.
func madeCheckpoint(t *testing.T, out []byte) string {
	t.Helper()
	var made struct {
		Checkpoint struct {
			ID string `json:"id"`
		} `json:"checkpoint"`
	}
	if err := json.Unmarshal(out, &made); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return made.Checkpoint.ID
}

func (r *rollbackKiller) rollback(to string) (undo string) {
	r.t.Helper()
	r.exits(0, "checkpoint", "rollback", "PRD-001", to, "--yes")
	return r.lastUndo()
}

// kill runs a command, and kills it and its child processes after the given time. It
// reports whether the command had ended before.
func (r *rollbackKiller) kill(after time.Duration, args ...string) (ended bool) {
	r.t.Helper()
	cmd := exec.Command(r.binary, args...)
	cmd.Dir = r.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	r.must(cmd.Start())
	timer := time.AfterFunc(after, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	timer.Stop()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == -1 {
		return false
	}
	if err != nil {
		r.t.Fatalf("%v failed before the kill: %v\n%s", args, err, stderr.Bytes())
	}
	return true
}

// exits runs a command and checks its exit code.
func (r *rollbackKiller) exits(code int, args ...string) (stdout string) {
	r.t.Helper()
	stdout, _ = r.run(code, args...)
	return stdout
}

func (r *rollbackKiller) run(code int, args ...string) (stdout, stderr string) {
	r.t.Helper()
	cmd := exec.Command(r.binary, args...)
	cmd.Dir = r.dir
	var told bytes.Buffer
	cmd.Stderr = &told
	out, err := cmd.Output()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		r.t.Fatalf("kill %d: %v: %v, want exit code %d\n%s%s", r.kills, args, err, code, out, told.Bytes())
	}
	return string(out), told.String()
}

func (r *rollbackKiller) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=u", "-c", "user.email=u@localhost"}, args...)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (r *rollbackKiller) path(name string) string { return filepath.Join(r.dir, name) }

// write writes a file. The mode 0 keeps the mode of an existing file.
func (r *rollbackKiller) write(name, text string, mode os.FileMode) {
	r.t.Helper()
	r.must(os.MkdirAll(filepath.Dir(r.path(name)), 0o755))
	r.must(os.WriteFile(r.path(name), []byte(text), 0o600))
	if mode != 0 {
		r.must(os.Chmod(r.path(name), mode))
	}
}

func (r *rollbackKiller) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}
