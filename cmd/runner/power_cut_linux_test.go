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
	cutSeed   = flag.Uint64("cut.seed", 0, "of the moments; 0: one of the commit")
)

// cutOptions are what the file system is mounted with: by default ext4 writes
// a file's content before a rename that replaces another file is on disk, which
// hides that somebody forgot to sync it.
func cutOptions() []string { return []string{"", "noauto_da_alloc"} }

// TestPowerCut cuts the power of the real binary on an ext4, at random moments
// of what changes something, and at its end: a file system that is shut down
// keeps what was synced, and loses, whole or in part, what was not. Whatever
// was said must be on record after the machine was started again; what was cut
// short must end as if nothing had happened; and every object must be whole.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds; left out with -short")
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

// cutAtMoments cuts the power of one command so many times, at moments that
// follow from the seed.
func cutAtMoments(t *testing.T, binary string, s cutScenario, count int, seed uint64) {
	t.Helper()
	c := newCutter(t, binary, s, seed)
	c.measure()
	for n := range count {
		after := c.moment()
		if n%8 == 0 { // at its end, which is where a last sync may be missing
			after = unmountTime
		}
		c.cutOnce(after, c.random.IntN(2), c.random.IntN(2), fmt.Sprint("after ", after))
	}
	if count >= 16 && c.counts["had ended"] == count {
		t.Errorf("all of %d cuts came after the end: that proves nothing", count)
	}
	t.Log(c.figures())
}

// TestPowerCutAtOperations does the same at exact moments: before -cut.points
// of the operations that change the disk, evenly spread, or before each.
func TestPowerCutAtOperations(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds; left out with -short")
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

// cutScenario is a command whose power is cut.
type cutScenario struct {
	name string
	// prepare leaves the workspace as the command finds it, and says which
	// command that is.
	prepare func(*cutter)
	// after is the oracle, once the machine was started again: it completes
	// what was cut short.
	after func(*cutter, cutRun)
}

// cutter cuts the power of one command, again and again from the same moment.
type cutter struct {
	rollbackKiller
	scenario cutScenario
	disk     *cutDisk
	base     diskImage
	baseNow  moment
	args     []string
	env      []string
	spent    time.Duration // by the command when nothing happens to it
	at       int           // the operation at which it cuts by itself
	what     string        // happens

	wanted map[string]string // digests of what the steps make
	begun  int               // rollbacks before the cut
	list   int               // checkpoints before the cut

	cuts   map[string]int // by flag and option
	counts map[string]int // what was found afterwards
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

// ledger is a directory that no power cut touches: what steps did to the world.
func (c *cutter) ledger() string { return filepath.Join(c.disk.home, "ledger") }

// reset puts everything back to where the command finds it.
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

// measure learns how long the command takes when nothing happens to it.
func (c *cutter) measure() {
	c.t.Helper()
	c.reset("")
	began := time.Now()
	if out, err := c.command().CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %v\n%s", c.args, err, out)
	}
	c.spent = time.Since(began)
}

// moment is one at which the power is cut. Some come when the command has
// ended, which is where a last sync may be missing.
func (c *cutter) moment() time.Duration {
	return time.Duration(c.random.Int64N(int64(c.spent * 12 / 10)))
}

// operations counts those of the command that change the disk.
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

// cutOnce cuts the power once, and checks what is left.
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
		c.t.Fatalf("%v failed by itself: %d\n%s", c.args, r.code, r.stderr)
	}
	if after >= 0 && r.before {
		c.spent = r.took // how busy the machine is may have changed
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
