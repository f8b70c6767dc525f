package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// contest is one workload, and the contestants that do it in turns.
type contest struct {
	name        string
	rounds      int
	contestants []contestant
	// shared prepares the one directory that all contestants use in all rounds. If it is nil,
	// each run gets a new directory.
	shared func(dir string) error
}

// contestant is one way to do the workload of a contest.
type contestant struct {
	name    string
	missing string                          // why it does not take part, such as a tool that is not installed; "" if it does
	prepare func(dir string) error          // runs before each run, not measured; may be nil
	command func(dir string) *exec.Cmd      // the measured command; it must succeed
	check   func(dir, shown string) error   // returns an error if the work was not done; may be nil
	fsyncs  func(dir string) (int64, error) // returns the number of fsyncs; nil if they are not counted
}

// sample holds what one run of a contestant used.
type sample struct {
	Seconds float64 `json:"seconds"`                 // wall-clock time
	CPU     float64 `json:"cpu_seconds"`             // CPU time of the command and of all processes that it waited for
	Memory  int64   `json:"memory_bytes"`            // peak memory of the largest of these processes; 0: not known
	Written int64   `json:"written_bytes,omitempty"` // bytes written to the disk; 0: not known
	Fsyncs  int64   `json:"fsyncs,omitempty"`        // 0: not known
}

// result holds the samples of a contestant, one for each round.
type result struct {
	Name    string   `json:"name"`
	Samples []sample `json:"samples,omitempty"`
	Missing string   `json:"missing,omitempty"`
}

// race runs each contestant once in each round, one after the other. It removes no files
// below the directory until the end, because the removal of thousands of files slows down
// the runs that follow.
func (c contest) race(below string, log io.Writer) ([]result, error) {
	home := ""
	if c.shared != nil {
		home = filepath.Join(below, "shared")
		if err := os.Mkdir(home, 0o755); err != nil {
			return nil, err
		}
		if err := c.shared(home); err != nil {
			return nil, fmt.Errorf("%s: lay it out: %w", c.name, err)
		}
	}
	results := make([]result, len(c.contestants))
	for i, who := range c.contestants {
		results[i] = result{Name: who.name, Missing: who.missing}
	}
	for round := range c.rounds {
		for i, who := range c.contestants {
			if who.missing != "" {
				continue
			}
			dir := home
			if dir == "" {
				dir = filepath.Join(below, fmt.Sprintf("round%d-%d", round+1, i+1))
				if err := os.Mkdir(dir, 0o755); err != nil {
					return nil, err
				}
			}
			s, err := who.run(dir)
			if err != nil {
				return nil, fmt.Errorf("%s, round %d: %s: %w", c.name, round+1, who.name, err)
			}
			_, _ = fmt.Fprintf(log, "  %s, round %d: %s: %.3f s\n", c.name, round+1, who.name, s.Seconds)
			results[i].Samples = append(results[i].Samples, s)
		}
	}
	return results, nil
}

// run measures one run. It first has the system write all pending data to the disk.
// Otherwise a contestant that fsyncs would also wait for data that an earlier one left
// unwritten.
func (c contestant) run(dir string) (sample, error) {
	if c.prepare != nil {
		if err := c.prepare(dir); err != nil {
			return sample{}, fmt.Errorf("prepare: %w", err)
		}
	}
	syncDisk()
	cmd := c.command(dir)
	var shown, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &shown, &complaint
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("%s: %w\n%s%s", cmd, err, tail(shown.String()), tail(complaint.String()))
	}
	s := sample{Seconds: time.Since(begin).Seconds(), Memory: peakMemory(cmd.ProcessState), Written: written(cmd.ProcessState)}
	s.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if c.check != nil {
		if err := c.check(dir, shown.String()); err != nil {
			return sample{}, fmt.Errorf("%s did not do the work: %w", cmd, err)
		}
	}
	if c.fsyncs != nil {
		var err error
		if s.Fsyncs, err = c.fsyncs(dir); err != nil {
			return sample{}, fmt.Errorf("%s: %w", cmd, err)
		}
	}
	return s, nil
}

// tail returns the end of a program's output, where the program says why it stopped.
func tail(s string) string { return s[max(0, len(s)-2000):] }

// median returns the median of one figure of the samples, the lower of the two middle
// values if their number is even. There must be samples.
func (r result) median(of func(sample) float64) float64 {
	figures := make([]float64, len(r.Samples))
	for i, s := range r.Samples {
		figures[i] = of(s)
	}
	slices.Sort(figures)
	return figures[(len(figures)-1)/2]
}

func seconds(s sample) float64          { return s.Seconds }
func cpu(s sample) float64              { return s.CPU }
func megabytes(s sample) float64        { return float64(s.Memory) / 1e6 }
func fsyncs(s sample) float64           { return float64(s.Fsyncs) }
func megabytesWritten(s sample) float64 { return float64(s.Written) / 1e6 }
func bytesWritten(s sample) float64     { return float64(s.Written) }
