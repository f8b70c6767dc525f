// Package outputs reads what an attempt at a workstream declares as its result: values, metrics,
// a summary and a location, in the file RUNNER_OUTPUT or in reports. pipeline/SPEC.md describes
// both for the authors of workstreams.
//
// Masking, and what of it is recorded when, belongs in package runner; how reports come in, in
// package report. Begin with Read.
package outputs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
)

// maxSize bounds the file that a workstream writes its outputs into.
const maxSize = 16 << 20

// Set holds what an attempt declared as its result.
type Set struct {
	Values   map[string]string
	Metrics  map[string]any // json.Number, bool or string
	Summary  string
	Location string
}

// Clear removes the files of RUNNER_OUTPUT and RUNNER_REPORT before an attempt, so
// that they have only what this attempt writes.
func Clear(paths ...string) error {
	for _, path := range paths {
		if path == "" {
			continue
		}
		_, err := os.Lstat(path)
		if err == nil {
			err = os.RemoveAll(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("make way for the outputs: %w", err)
		}
	}
	return nil
}

// With returns the outputs and those of other. Where both have one, that of other counts.
func (s Set) With(other Set) Set {
	for name, value := range s.Values {
		if _, has := other.Values[name]; !has {
			_ = other.Add(name, value)
		}
	}
	for name, value := range s.Metrics {
		if _, has := other.Metrics[name]; !has {
			if other.Metrics == nil {
				other.Metrics = make(map[string]any)
			}
			other.Metrics[name] = value
		}
	}
	other.Summary, other.Location = cmp.Or(other.Summary, s.Summary), cmp.Or(other.Location, s.Location)
	return other
}

// Read reads and removes the file of RUNNER_OUTPUT. If there is no such file, it
// returns no outputs.
func Read(path string) (Set, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Set{}, nil
	}
	if err != nil {
		return Set{}, fmt.Errorf("read the outputs: %w", err)
	}
	defer func() { _ = os.RemoveAll(path) }()
	if !info.Mode().IsRegular() {
		return Set{}, errors.New("RUNNER_OUTPUT is not a regular file any more")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|workspace.NonBlock, 0)
	if err != nil {
		return Set{}, fmt.Errorf("read the outputs: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return Set{}, fmt.Errorf("read the outputs: %w", err)
	}
	if len(text) > maxSize {
		return Set{}, fmt.Errorf("the outputs are larger than %d MiB", maxSize>>20)
	}
	return parse(string(text))
}

// parse reads lines of name=value, and blocks of name<<MARK that end
// with a line holding only the mark.
func parse(text string) (Set, error) {
	var out Set
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSuffix(lines[i], "\r")
		if strings.TrimSpace(line) == "" {
			continue
		}
		eq, here := strings.IndexByte(line, '='), strings.Index(line, "<<")
		switch {
		case here >= 0 && (eq < 0 || here < eq):
			end, value, err := readBlock(lines, i, line[here+2:])
			if err != nil {
				return Set{}, err
			}
			if err := out.Add(line[:here], value); err != nil {
				return Set{}, fmt.Errorf("line %d of RUNNER_OUTPUT: %w", i+1, err)
			}
			i = end
		case eq >= 0:
			if err := out.Add(line[:eq], line[eq+1:]); err != nil {
				return Set{}, fmt.Errorf("line %d of RUNNER_OUTPUT: %w", i+1, err)
			}
		default:
			return Set{}, fmt.Errorf("line %d of RUNNER_OUTPUT is neither name=value nor name<<MARK", i+1)
		}
	}
	return out, nil
}

func readBlock(lines []string, start int, mark string) (end int, value string, err error) {
	if mark == "" {
		return 0, "", fmt.Errorf("line %d of RUNNER_OUTPUT names no mark after <<", start+1)
	}
	for i := start + 1; i < len(lines); i++ {
		if strings.TrimSuffix(lines[i], "\r") == mark {
			return i, strings.Join(lines[start+1:i], "\n"), nil
		}
	}
	return 0, "", fmt.Errorf("line %d of RUNNER_OUTPUT begins a block that no line %q ends", start+1, mark)
}

// Add adds a value as a line name=value of RUNNER_OUTPUT does.
func (s *Set) Add(name, value string) error {
	metric, isMetric := strings.CutPrefix(name, "metric.")
	switch {
	case isMetric && validName(metric):
		if s.Metrics == nil {
			s.Metrics = make(map[string]any)
		}
		s.Metrics[metric] = metricValue(value)
	case name == "summary":
		s.Summary = value
	case name == "location":
		s.Location = value
	case validName(name):
		if s.Values == nil {
			s.Values = make(map[string]string)
		}
		s.Values[name] = value
	default:
		return fmt.Errorf("%q is not a name (letters, digits, _ and -, beginning with a letter or _)", name)
	}
	return nil
}

// AddReported adds a metric or an output. In the report, a metric gets the value that is
// recorded with the result.
func (s *Set) AddReported(r *ledger.Report) error {
	switch r.Type {
	case ledger.TypeMetric:
		r.Value = metricValue(fmt.Sprint(r.Value))
		if ledger.CountsSpending(r.Name) { // it counts whether or not the attempt succeeds
			return nil
		}
		if s.Metrics == nil {
			s.Metrics = make(map[string]any)
		}
		s.Metrics[r.Name] = r.Value
	case ledger.TypeOutput:
		return s.Add(r.Name, string(r.Text()))
	case ledger.TypeNote, ledger.TypeMessage, ledger.TypeConflict, ledger.TypeKnowledge, ledger.TypeState, ledger.TypeCheckpoint:
	}
	return nil
}

// validName reports whether an expression can refer to the name.
func validName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

// metricValue parses a metric: a decimal number, true or false, or else text.
func metricValue(s string) any {
	s = strings.TrimSpace(s)
	switch s {
	case "true":
		return true
	case "false":
		return false
	}
	if n, ok := pipeline.ParseNumber(s); ok {
		return n
	}
	return s
}
