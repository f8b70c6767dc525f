// Command bench measures Runner against the tools that people would use instead, on equal
// workloads, in turns, on this machine: GNU Make, ninja, go-task and Snakemake on graphs of
// commands that do nothing; restic and git on trees of files; the cashier example against
// its own commands typed by hand. It prints medians and ratios, and writes them as JSON. A
// tool that is not installed is listed as left out.
//
// Run it in the root of the repository:
//
//	go run ./examples/bench
//
// Only the ratios can be compared with other machines; the times hold for this machine on
// this day. The contests write below -dir. Choose a directory on the kind of file system
// that you want to measure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
)

// sizes are the sizes of the workloads, and how often each contest is repeated.
type sizes struct {
	wide, fewest, few, many int // steps without dependencies, in graphs of four sizes
	chain                   int // steps in graphs with dependencies
	inputs                  int // input files of one step
	files                   tree
	changed                 int // how many of the files change
	crowd                   crowd
	rounds                  int
	fewRounds               int // for contests that take minutes
	moreRounds              int // for contests in which two rounds differ by a tenth, or by half if they write much
	manyRounds              int // for contests so short that two rounds differ by a fifth
}

// full returns the sizes for which the targets hold.
func full() sizes {
	return sizes{
		wide: 10_000, fewest: 100, few: 1_000, many: 100_000, chain: 2_000,
		inputs: 50_000, files: tree{files: 5_000, size: 20 << 10, big: 512 << 20}, changed: 50,
		crowd: crowd{sessions: 20, each: 500}, rounds: 5, fewRounds: 3, moreRounds: 9, manyRounds: 21,
	}
}

// small returns sizes that only show that every contest runs.
func small() sizes {
	return sizes{
		wide: 40, fewest: 5, few: 10, many: 60, chain: 30,
		inputs: 100, files: tree{files: 40, size: 2 << 10, big: 1 << 20}, changed: 5,
		crowd: crowd{sessions: 2, each: 25}, rounds: 1, fewRounds: 1, moreRounds: 1, manyRounds: 3,
	}
}

func main() {
	if done, err := runItself(os.Args[1:]); done {
		exit(err)
	}
	var o options
	flag.BoolVar(&o.small, "small", false, "run everything once at a small size, which shows that it works")
	flag.StringVar(&o.only, "only", "", "run the contests whose name matches `REGEXP`")
	flag.StringVar(&o.dir, "dir", "", "work below `DIR`, and not in the directory for temporary files")
	flag.StringVar(&o.json, "json", "", "write the figures to `FILE`, too")
	flag.StringVar(&o.table, "table", "", "race nothing, but print the targets in `FILE`, which -json wrote, as Markdown")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.table != "" {
		exit(printTable(o.table, os.Stdout))
	}
	exit(bench(ctx, o, os.Stdout, os.Stderr))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

type options struct {
	small                  bool
	only, dir, json, table string
}

func bench(ctx context.Context, o options, out, log io.Writer) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(o.dir, "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // a leftover temporary directory does no harm
	if err := equip(work); err != nil {
		return err
	}
	n := full()
	if o.small {
		n = small()
	}
	r := report{Machine: thisMachine(work), Small: o.small}
	for i, c := range contests(n) {
		if !only.MatchString(c.name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		results, err := c.hold(filepath.Join(work, strconv.Itoa(i)), log)
		if err != nil {
			return err
		}
		r.Contests = append(r.Contests, contestReport{Name: c.name, Results: results})
	}
	r.Targets = r.measure(targets(n))
	r.print(out)
	if o.json == "" {
		return nil
	}
	return r.write(o.json)
}

// contests returns all contests.
func contests(n sizes) []contest {
	var all []contest
	all = append(all, runs(n)...)
	all = append(all, durable(n)...)
	all = append(all, constructs(n)...)
	all = append(all, idle(n)...)
	all = append(all, backups(n)...)
	all = append(all, checkpoints(n)...)
	return append(all, cashier(n))
}

// hold runs the contest in a new directory, which it removes afterwards.
func (c contest) hold(dir string, log io.Writer) ([]result, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	results, err := c.race(dir, log)
	return results, errors.Join(err, os.RemoveAll(dir))
}

// equip builds Runner and the bare program, and sets the environment so that commands find
// them and that restic and git use no settings of the user.
func equip(work string) error {
	bin := filepath.Join(work, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", bin, "./cmd/runner", "./examples/bench/bare")
	if shown, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, shown)
	}
	return errors.Join(
		os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH")),
		os.Setenv("RESTIC_PASSWORD", "bench"),
		os.Setenv("RESTIC_CACHE_DIR", filepath.Join(work, "restic-cache")),
		os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull),
		os.Setenv("GIT_CONFIG_SYSTEM", os.DevNull),
	)
}
