package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var (
	stormRunners = flag.Int("storm.runners", 12, "how many runners start at once")
	stormRounds  = flag.Int("storm.rounds", 1, "how often that many runners start at once, in each of several situations")
	stormSeed    = flag.Uint64("storm.seed", 0, "seed of the order in which runners start; 0: a seed that follows from the commit")
)

// storm is a group of runners that wait at a gate, a named pipe, and then start at once.
type storm struct {
	t      *testing.T
	dir    string
	gate   string
	random *rand.Rand
	crowd  []*launched
}

func newStorm(t *testing.T, dir string) *storm {
	t.Helper()
	seed := seedOr(*stormSeed)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again: go test ./cmd/runner -run '%s' -storm.runners=%d -storm.rounds=%d -storm.seed=%d", t.Name(), *stormRunners, *stormRounds, seed)
		}
	})
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	return &storm{t: t, dir: dir, gate: gate, random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // an order needs no secrecy
}

// join adds a runner that waits at the gate: opening a named pipe for reading blocks
// until a process opens the pipe for writing.
func (s *storm) join(args ...string) *launched {
	s.t.Helper()
	script := `exec 9< "$0"; exec 9<&-; exec runner "$@"`
	l := launchCommand(s.t, s.dir, exec.CommandContext(s.t.Context(), "sh", append([]string{"-c", script, s.gate}, args...)...))
	s.crowd = append(s.crowd, l)
	return l
}

// open lets all runners start. The gate stays open until the test ends.
func (s *storm) open() {
	s.t.Helper()
	gate, err := os.OpenFile(s.gate, os.O_RDWR, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = gate.Close() })
}

// shuffled returns the command lines in an order that follows from the seed.
func (s *storm) shuffled(lines [][]string) [][]string {
	s.random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return lines
}

// events returns the number of events of the session by kind. It checks that there is
// only one session and that the session is undamaged.
func (s *storm) events() map[string]int {
	s.t.Helper()
	run(s.t, s.dir, 0, "checkpoint", "validate", "PRD-001", "--deep")
	counts := map[string]int{}
	for line := range strings.Lines(journalOf(s.t, s.dir)) {
		var c struct{ Events []struct{ Kind string } }
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			s.t.Fatal(err)
		}
		for _, e := range c.Events {
			counts[e.Kind]++
		}
	}
	for _, other := range []string{"failed", "PRD-001/history"} {
		if entries, err := os.ReadDir(filepath.Join(s.dir, ".runner", other)); err == nil && len(entries) > 0 {
			s.t.Errorf("%s holds %d sessions", other, len(entries))
		}
	}
	if counts["session.started"] != 1 {
		s.t.Errorf("%d sessions were started in one journal", counts["session.started"])
	}
	return counts
}

var lockedMessage = regexp.MustCompile(`(?m)^Error: PRD-001 is locked by another runner: host (\S+), pid (\d+), since \d{4}-\d\d-\d\dT[0-9:]+(Z|[+-][0-9:]+)$`)

// oneOwner waits until all runners but one have ended. It returns the last one, and
// checks that the others had exit code 4 and named that one as the owner.
func (s *storm) oneOwner() *launched {
	s.t.Helper()
	var owner *launched
	await(s.t, "all runners but one have ended", func() bool {
		owner = nil
		alive := 0
		for _, l := range s.crowd {
			select {
			case <-l.ended:
			default:
				alive++
				owner = l
			}
		}
		return alive <= 1
	})
	if owner == nil {
		for _, l := range s.crowd {
			s.t.Logf("exit %d: %s", l.cmd.ProcessState.ExitCode(), l.stderr.String())
		}
		s.t.Fatal("no runner got the lock")
	}
	host, err := os.Hostname()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, l := range s.crowd {
		if l == owner {
			continue
		}
		said := l.exits(exitLocked)
		if m := lockedMessage.FindStringSubmatch(said); m == nil || m[1] != host || m[2] != fmt.Sprint(owner.cmd.Process.Pid) {
			s.t.Errorf("the owner is pid %d of host %s, but another runner said %q", owner.cmd.Process.Pid, host, said)
		}
	}
	return owner
}

// rounds runs a test as often as -storm.rounds says.
func rounds(t *testing.T, test func(t *testing.T)) {
	for i := range *stormRounds {
		t.Run(fmt.Sprint(i), test)
	}
}

// TestManyRunnersAtOnceHaveOneOwner starts many builds of one PRD at the same moment. One
// must run the pipeline, and all others must exit with 4 and name the owner. Nothing may
// run twice, and there must be one session.
func TestManyRunnersAtOnceHaveOneOwner(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, dir string)
		args    []string
		ran     int // how often WS1 runs in all
		resumed int // how often the session is resumed
	}{
		"start":          {func(*testing.T, string) {}, []string{"build", "PRD-001"}, 1, 0},
		"auto":           {func(*testing.T, string) {}, []string{"build", "PRD-001", "--resume=auto"}, 1, 0},
		"after a kill":   {killedSession, []string{"build", "PRD-001", "--resume"}, 2, 1},
		"after a cancel": {cancelledSession, []string{"build", "PRD-001", "--resume"}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rounds(t, func(t *testing.T) {
				dir := newWorkspace(t, heldPipeline())
				tt.prepare(t, dir)
				s := newStorm(t, dir)
				for range *stormRunners {
					s.join(tt.args...)
				}
				s.open()
				owner := s.oneOwner()
				write(t, dir, "go")
				owner.exits(0)
				counts := s.events()
				if ran, after := lines(t, dir, "ran"), lines(t, dir, "ran2"); ran != tt.ran || after != 1 {
					t.Errorf("WS1 ran %d times, WS2 %d times", ran, after)
				}
				if counts["workstream.completed"] != 2 || counts["session.completed"] != 1 || counts["session.resumed"] != tt.resumed {
					t.Errorf("the journal has %v", counts)
				}
			})
		})
	}
}

// killedSession makes a session whose runner was killed.
func killedSession(t *testing.T, dir string) {
	t.Helper()
	l := launch(t, dir, "build", "PRD-001")
	awaitPID(t, dir, "pid")
	l.signal(syscall.SIGKILL)
	l.exits(-1)
}

// cancelledSession makes a session whose runner was interrupted by SIGTERM.
func cancelledSession(t *testing.T, dir string) {
	t.Helper()
	l := launch(t, dir, "build", "PRD-001")
	awaitPID(t, dir, "pid")
	l.signal(syscall.SIGTERM)
	l.exits(exitTerminated)
}
