package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	cutCount  = flag.Int("cut.count", 0, "how often the power is cut at a random moment; 0: twice for every third command")
	cutPoints = flag.Int("cut.points", 0, "at how many operations on the disk the power is cut, for each command; 0: one, for every third command")
	cutSeed   = flag.Uint64("cut.seed", 0, "seed of the moments; 0: a seed that follows from the commit")
)

// cutOptions returns the mount options to try. By default, ext4 writes the content of a
// file to disk before a rename of that file that replaces another file. This hides a
// missing fsync; noauto_da_alloc turns it off.
func cutOptions() []string { return []string{"", "noauto_da_alloc"} }

// TestPowerCut runs commands that change something on ext4 and cuts the power at random
// moments and at their end. The file system then keeps what was synced, and may lose the
// rest, wholly or in part. After the restart, all that a command had reported must be on
// record, the interrupted command must be completed, and every object must be whole.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the test takes seconds; left out with -short")
	}
	count, seed := *cutCount, seedOr(*cutSeed)
	scenarios := cutScenarios()
	if count == 0 {
		count = 2 * len(scenarios)
	}
	t.Logf("%d cuts, -cut.seed=%d", count, seed)
	binary := buildBinary(t)
	for i, s := range scenarios {
		if *cutCount == 0 && !inSample(i, 3) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			cutAtMoments(t, binary, s, (count+i)/len(scenarios), seed)
		})
	}
}

// cutAtMoments cuts the power of one command count times, at moments that follow from the
// seed.
func cutAtMoments(t *testing.T, binary string, s cutScenario, count int, seed uint64) {
	t.Helper()
	c := newCutter(t, binary, s, seed)
	c.measure()
	for n := range count {
		after := c.moment()
		if n%8 == 0 { // when the command ends, which shows whether its last fsync is missing
			after = unmountTime
		}
		c.cutOnce(after, c.random.IntN(2), c.random.IntN(2), fmt.Sprint("after ", after))
	}
	if count >= 16 && c.counts["had ended"] == count {
		t.Errorf("all %d cuts came after the end of the command: the test proves nothing", count)
	}
	t.Log(c.figures())
}

// TestPowerCutAtOperations does the same as TestPowerCut at exact moments: before
// -cut.points of the operations that change the disk, evenly spread, or before each
// operation if there are fewer.
func TestPowerCutAtOperations(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the test takes seconds; left out with -short")
	}
	points, seed := max(1, *cutPoints), seedOr(*cutSeed)
	t.Logf("-cut.points=%d -cut.seed=%d", points, seed)
	binary := buildBinary(t, "failpoint")
	for i, s := range cutScenarios() {
		if *cutPoints == 0 && !inSample(i+1, 3) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			c := newCutter(t, binary, s, seed)
			operations := c.operations()
			every := max(1, operations/points)
			for n := 1 + int(seed%uint64(every)); n <= operations; n += every { //nolint:gosec // it fits
				c.at = n
				c.cutOnce(-1, c.random.IntN(2), c.random.IntN(2), fmt.Sprintf("at operation %d of %d", n, operations))
			}
			t.Logf("of %d operations: %s", operations, c.figures())
		})
	}
}

// cutScenario is a command during which the power is cut.
type cutScenario struct {
	name string
	// prepare makes the workspace in which the command starts, and sets the
	// arguments and the environment of the command.
	prepare func(*cutter)
	// after runs when the machine has restarted. It completes the interrupted
	// work and checks the result.
	after func(*cutter, cutRun)
}

// cutter runs one command many times from the same state, and cuts the power each time.
type cutter struct {
	rollbackKiller
	scenario cutScenario
	disk     *cutDisk
	base     diskImage
	baseNow  moment
	args     []string
	env      []string
	spent    time.Duration // how long the command takes without a cut
	at       int           // the number of the operation at which the command cuts the power itself
	what     string        // description of the current cut, for failure messages

	wanted map[string]string // digests of the artifacts of an undisturbed build
	begun  int               // number of rollbacks on record before the cut
	list   int               // number of checkpoints before the cut

	cuts   map[string]int // number of cuts by flag and mount option
	counts map[string]int // how often each situation was found after a cut
}

func newCutter(t *testing.T, binary string, s cutScenario, seed uint64) *cutter {
	t.Helper()
	disk := newCutDisk(t)
	c := &cutter{
		scenario: s, disk: disk,
		cuts: map[string]int{}, counts: map[string]int{},
	}
	random := rand.New(rand.NewPCG(seed, uint64(len(s.name)))) //nolint:gosec // moments of a test need no secrecy
	c.rollbackKiller = rollbackKiller{t: t, binary: binary, dir: filepath.Join(disk.dir, "workspace"), random: random}
	c.must(os.Mkdir(c.ledger(), 0o755))
	c.must(os.Mkdir(c.dir, 0o755))
	s.prepare(c)
	c.base, c.baseNow = disk.save(), c.now
	return c
}

// ledger returns a directory outside of the disk, which no power cut touches. There the
// workstreams record that they ran.
func (c *cutter) ledger() string { return filepath.Join(c.disk.home, "ledger") }

// reset restores the state in which the command starts.
func (c *cutter) reset(option string) {
	c.t.Helper()
	c.must(os.RemoveAll(c.ledger()))
	c.must(os.Mkdir(c.ledger(), 0o755))
	c.disk.load(c.base, option)
	c.now = c.baseNow
}

func (c *cutter) command(more ...string) *exec.Cmd {
	cmd := exec.Command(c.binary, append(slices.Clone(c.args), more...)...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	return cmd
}

// measure finds out how long the command takes without a cut.
func (c *cutter) measure() {
	c.t.Helper()
	c.reset("")
	began := time.Now()
	if out, err := c.command().CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %v\n%s", c.args, err, out)
	}
	c.spent = time.Since(began)
}

// moment returns a random time after which to cut the power. Some are later than the end
// of the command, and the power is cut at the end, to show a missing last fsync.
func (c *cutter) moment() time.Duration {
	return time.Duration(c.random.Int64N(int64(c.spent * 12 / 10)))
}

// operations returns how many operations of the command change the disk.
func (c *cutter) operations() int {
	c.t.Helper()
	c.reset("")
	log := filepath.Join(c.disk.home, "operations")
	cmd := c.command()
	cmd.Env = append(cmd.Env, "RUNNER_FAILPOINT_LOG="+log)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %v\n%s", c.args, err, out)
	}
	return strings.Count(string(read(c.t, log)), "\n")
}

// cutOnce cuts the power once, and checks the state after the restart. If after is
// negative, the command cuts the power itself, at operation c.at.
func (c *cutter) cutOnce(after time.Duration, flag, option int, when string) {
	c.t.Helper()
	with := cutOptions()[option]
	c.what = fmt.Sprintf("%s: cut %s with flag %d, mounted with %q", c.scenario.name, when, flag+1, with)
	defer func() {
		if c.t.Failed() {
			c.t.Log(c.what)
		}
	}()
	c.reset(with)
	cmd := c.command()
	if after < 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("RUNNER_FAILPOINT=cut%d@%d", flag+1, c.at), "RUNNER_FAILPOINT_CUT="+c.disk.dir)
	}
	r := c.disk.run(cmd, after, uint32(flag+1)) //nolint:gosec // 1 or 2
	if after >= 0 && r.before && r.code != 0 {
		c.t.Fatalf("%v failed before the cut, with exit code %d\n%s", c.args, r.code, r.stderr)
	}
	if after >= 0 && r.before {
		c.spent = r.took // the machine may be busier or less busy than before
	}
	c.kills++
	c.cuts[fmt.Sprintf("flag %d %s", flag+1, with)]++
	if r.said() {
		c.counts["had ended"]++
	}
	c.scenario.after(c, r)
	c.whole()
}

// whole checks every object, capture and checkpoint that is on record.
func (c *cutter) whole() {
	c.t.Helper()
	c.exits(0, "checkpoint", "validate", "PRD-001", "--deep")
}

func (c *cutter) figures() string {
	cuts := 0
	for _, n := range c.cuts {
		cuts += n
	}
	return fmt.Sprintf("%s: %d cuts %s; %s", c.scenario.name, cuts, inOrder(c.cuts), inOrder(c.counts))
}

func inOrder(counts map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s: %d", strings.TrimSpace(name), counts[name]))
	}
	return strings.Join(all, ", ")
}
