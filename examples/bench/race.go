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

// contest is one piece of work, and those that do it in turns.
type contest struct {
	name        string
	rounds      int
	contestants []contestant
	// shared lays out the one directory that all have in all rounds. Without it
	// each run has a new directory of its own.
	shared func(dir string) error
}

// contestant is one way to do the work.
type contestant struct {
	name    string
	missing string                          // why it does not take part
	prepare func(dir string) error          // before each run, and not measured; may be nil
	command func(dir string) *exec.Cmd      // which must succeed
	check   func(dir, shown string) error   // that the work was done; may be nil
	fsyncs  func(dir string) (int64, error) // how many it took, where that is counted; else nil
}

// sample is what one run needed.
type sample struct {
	Seconds float64 `json:"seconds"`                 // by the clock
	CPU     float64 `json:"cpu_seconds"`             // of it and of all that it waited for
	Memory  int64   `json:"memory_bytes"`            // of the largest of these, at its peak; 0 where that is not known
	Written int64   `json:"written_bytes,omitempty"` // to the disk, likewise
	Fsyncs  int64   `json:"fsyncs,omitempty"`        // likewise
}

// result is what a contestant needed, round by round.
type result struct {
	Name    string   `json:"name"`
	Samples []sample `json:"samples,omitempty"`
	Missing string   `json:"missing,omitempty"`
}

// race has each contestant do the work once in each round, one after the other,
// below a directory on which nothing is removed meanwhile: having removed
// thousands of files slows down whatever comes next.
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

// run measures one run, which begins with nothing left to be written: else who makes
// something durable would wait for what another one left to the system.
func (c contestant) run(dir string) (sample, error) {
	if c.prepare != nil {
		if err := c.prepare(dir); err != nil {
			return sample{}, fmt.Errorf("prepare: %w", err)
		}
	}
	settle()
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

// tail is the end of a text, where a program says why it stopped.
func tail(s string) string { return s[max(0, len(s)-2000):] }

// median is the middle one of some figure of the samples, of an even number of
// them the lower one of the two. There must be samples.
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
