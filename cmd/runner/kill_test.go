package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	killCount = flag.Int("kill.count", 0, "how often the cashier example is killed; 0: twice")
	killSeed  = flag.Uint64("kill.seed", 0, "seed of the moments at which it is killed; 0: a seed that follows from the commit")
)

// journalLine holds the parts of a commit in the journal that the tests need.
type journalLine struct {
	Seq    uint64         `json:"seq"`
	Events []journalEvent `json:"events"`
}

// journalEvent holds the parts of an event that the tests need.
type journalEvent struct {
	Kind       string `json:"kind"`
	Workstream string `json:"workstream"`
	Gate       string `json:"gate"`
	Phase      string `json:"phase"`
	Allowed    bool   `json:"allowed"` // of a failure
	Held       any    `json:"held"`
}

// TestKill kills builds of the cashier example with SIGKILL at random moments and resumes
// them. Every event that was printed must be on record, no workstream that is on record
// as done may run again, and the artifacts must be the same as without kills.
func TestKill(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a minute; left out with -short")
	}
	count := *killCount
	if count == 0 {
		count = 2
	}
	killBuilds(t, buildBinary(t), count, seedOr(*killSeed))
}

// killBuilds kills builds of the cashier example count times, at moments that the seed
// chooses.
func killBuilds(t *testing.T, binary string, count int, seed uint64) {
	t.Helper()
	t.Logf("%d kills, -kill.seed=%d", count, seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // moments of a test need no secrecy

	k := &killer{t: t, binary: binary, dir: copyExample(t, "cashier"), acknowledged: map[string]bool{}}
	k.run(exec.Command(binary, "validate", "PRD-009"))
	began := time.Now()
	k.finish()
	k.want = k.artifacts()
	span := time.Since(began)
	began = time.Now()
	k.restart()
	k.finish()
	span = min(span, time.Since(began)) // the second run has a warm Go build cache

	for kills := 0; kills < count; {
		k.restart()
		for kills < count {
			moment := time.Duration(random.Int64N(int64(span)))
			if ended := k.killAfter(moment); ended {
				break
			}
			kills++
			k.check()
		}
		k.finish()
		if got := k.artifacts(); !maps.Equal(got, k.want) {
			t.Fatalf("after %d kills the artifacts are %v, want %v", kills, got, k.want)
		}
	}
	k.noProcesses()
	const picture = "docs/run.svg" // README.md begins with it
	want, err := os.ReadFile(picture)
	if got := k.run(exec.Command(binary, "graph", "PRD-009", "--format", "svg")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what `runner graph PRD-009 --format svg` prints of the cashier example: %v", picture, err)
	}
}

// killer starts, kills and resumes builds in one workspace.
type killer struct {
	t            *testing.T
	binary, dir  string
	want         map[string]string // digests of the artifacts without kills
	acknowledged map[string]bool   // "seq kind name", as printed in the current session
}

// restart removes the state and what was built, so that the next run begins a new
// session.
func (k *killer) restart() {
	k.t.Helper()
	for _, name := range []string{"gen", "build"} {
		if err := os.RemoveAll(filepath.Join(k.dir, name)); err != nil {
			k.t.Fatal(err)
		}
	}
	clear(k.acknowledged)
	state := filepath.Join(k.dir, ".runner")
	if err := os.RemoveAll(state); err != nil {
		k.t.Fatal(err)
	}
}

func (k *killer) run(cmd *exec.Cmd) []byte {
	k.t.Helper()
	cmd.Dir = k.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		k.t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, stderr.Bytes())
	}
	return out
}

// killAfter starts a build and kills it at a moment. It reports whether the build ended
// before.
func (k *killer) killAfter(moment time.Duration) (ended bool) {
	k.t.Helper()
	cmd := exec.Command(k.binary, "--output", "json", "build", "PRD-009", "--resume=auto")
	cmd.Dir = k.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	timer := time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if event, ok := shownEvent(lines.Bytes()); ok {
			k.acknowledged[event] = true
		}
	}
	err = cmd.Wait()
	if timer.Stop() || err == nil {
		if err != nil {
			k.t.Fatalf("the build failed without a kill: %v\n%s", err, stderr.Bytes())
		}
		return true
	}
	return false
}

// check checks that every event that builds printed is on record.
func (k *killer) check() {
	k.t.Helper()
	recorded := recordedEvents(k.journal())
	for shown := range k.acknowledged {
		if !recorded[shown] {
			k.t.Fatalf("%q was printed and is not on record", shown)
		}
	}
}

func (k *killer) journal() []journalLine {
	k.t.Helper()
	return readJournal(k.t, filepath.Join(k.dir, ".runner", "PRD-009", "journal.jsonl"))
}

// shownEvent returns "seq kind name" of an event in the JSON output of a build. For other
// lines, ok is false.
func shownEvent(line []byte) (event string, ok bool) {
	var shown struct {
		Seq        uint64 `json:"seq"`
		Kind       string `json:"kind"`
		Workstream string `json:"workstream"`
		Gate       string `json:"gate"`
		Phase      string `json:"phase"`
	}
	if err := json.Unmarshal(line, &shown); err != nil || shown.Seq == 0 {
		return "", false
	}
	return fmt.Sprint(shown.Seq, " ", shown.Kind, " ", shown.Workstream, shown.Gate, shown.Phase), true
}

// recordedEvents returns "seq kind name" of all events of a journal.
func recordedEvents(commits []journalLine) map[string]bool {
	recorded := map[string]bool{}
	for _, c := range commits {
		for _, e := range c.Events {
			recorded[fmt.Sprint(c.Seq, " ", e.Kind, " ", e.Workstream, e.Gate, e.Phase)] = true
		}
	}
	return recorded
}

// readJournal reads a journal up to its last whole line. A journal that does not exist
// has no lines.
func readJournal(t *testing.T, path string) []journalLine {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var commits []journalLine
	for line := range bytes.Lines(data) {
		var c journalLine
		if err := json.Unmarshal(line, &c); err != nil {
			break
		}
		commits = append(commits, c)
	}
	return commits
}

// finish runs the session until it is complete, and checks that no completed workstream
// ran again.
func (k *killer) finish() {
	k.t.Helper()
	k.run(exec.Command(k.binary, "--output", "json", "build", "PRD-009", "--resume=auto"))
	k.check()
	done := map[string]bool{}
	for _, c := range k.journal() {
		for _, e := range c.Events {
			switch e.Kind {
			case "workstream.completed", "workstream.succeeded":
				done[e.Workstream] = true
			case "workstream.started":
				if done[e.Workstream] {
					k.t.Fatalf("%s was done and ran again, in commit %d", e.Workstream, c.Seq)
				}
			case "workstream.invalidated":
				k.t.Fatalf("%s was invalidated in commit %d, though nothing changed", e.Workstream, c.Seq)
			}
		}
	}
	var status struct {
		Status string `json:"status"`
	}
	out := k.run(exec.Command(k.binary, "status", "PRD-009", "--json"))
	if err := json.Unmarshal(out, &status); err != nil || status.Status != "complete" {
		k.t.Fatalf("the session is %q (%v)\n%s", status.Status, err, out)
	}
}

// artifacts returns the digest of each artifact that the PRD document names, by path. The
// document must say that all workstreams are complete.
func (k *killer) artifacts() map[string]string {
	k.t.Helper()
	var doc struct {
		Status    string              `json:"status"`
		Completed []string            `json:"completed_workstreams"`
		Artifacts map[string][]string `json:"artifacts"`
	}
	data, err := os.ReadFile(filepath.Join(k.dir, ".runner", "PRD-009.json"))
	if err != nil {
		k.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		k.t.Fatal(err)
	}
	if want := []string{"WS1", "WS2", "WS3", "WS4", "WS5"}; doc.Status != "complete" || !slices.Equal(doc.Completed, want) {
		k.t.Fatalf("the PRD document does not say that all is complete: %s", data)
	}
	sums := map[string]string{}
	for _, paths := range doc.Artifacts {
		for _, p := range paths {
			content, err := os.ReadFile(filepath.Join(k.dir, filepath.FromSlash(p)))
			if err != nil {
				k.t.Fatal(err)
			}
			sums[p] = fmt.Sprintf("%x", sha256.Sum256(content))
		}
	}
	return sums
}

// noProcesses checks that no process of a workstream or gate is left running.
func (k *killer) noProcesses() {
	k.t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		k.t.Fatal(err)
	}
	for _, name := range environs {
		env, err := os.ReadFile(name)
		if err == nil && bytes.Contains(env, []byte("RUNNER_SESSION=")) && bytes.Contains(env, []byte(k.dir)) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			k.t.Errorf("a process is left: %s %q", name, cmdline)
		}
	}
}

// copyExample copies an example, without the files that runs have made, which its .gitignore
// names, and returns the copy.
func copyExample(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "examples", name)
	ignored, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for line := range strings.Lines(string(ignored)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "/"); ok {
			made = append(made, strings.TrimSuffix(path, "/"))
		}
	}
	return copyTree(t, dir, made...)
}

// copyTree copies a directory to a temporary one of the same name, and returns its path.
// It leaves out the state, and the directories and files in without.
func copyTree(t *testing.T, from string, without ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		left := rel == ".runner" || slices.Contains(without, rel)
		switch {
		case left && d.IsDir():
			return fs.SkipDir
		case left:
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
