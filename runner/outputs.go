package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
)

// maxOutputs bounds the file that a workstream writes its outputs into.
const maxOutputs = 16 << 20

// outputs holds the values that a workstream wrote to RUNNER_OUTPUT.
type outputs struct {
	values   map[string]string
	metrics  map[string]any
	summary  string
	location string
}

// clearOutputs removes the files of RUNNER_OUTPUT and RUNNER_REPORT before an attempt, so
// that they have only what this attempt writes.
func clearOutputs(paths ...string) error {
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

// with returns the outputs and those of other. Where both have one, that of other counts.
func (o outputs) with(other outputs) outputs {
	for name, value := range o.values {
		if _, has := other.values[name]; !has {
			_ = other.setValue(name, value)
		}
	}
	for name, value := range o.metrics {
		if _, has := other.metrics[name]; !has {
			if other.metrics == nil {
				other.metrics = make(map[string]any)
			}
			other.metrics[name] = value
		}
	}
	other.summary, other.location = cmp.Or(other.summary, o.summary), cmp.Or(other.location, o.location)
	return other
}

// readOutputs reads and removes the file of RUNNER_OUTPUT. If there is no such file, it
// returns no outputs.
func readOutputs(path string) (outputs, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return outputs{}, nil
	}
	if err != nil {
		return outputs{}, fmt.Errorf("read the outputs: %w", err)
	}
	defer func() { _ = os.RemoveAll(path) }()
	if !info.Mode().IsRegular() {
		return outputs{}, errors.New("RUNNER_OUTPUT is not a regular file any more")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|workspace.NonBlock, 0)
	if err != nil {
		return outputs{}, fmt.Errorf("read the outputs: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxOutputs+1))
	if err != nil {
		return outputs{}, fmt.Errorf("read the outputs: %w", err)
	}
	if len(text) > maxOutputs {
		return outputs{}, fmt.Errorf("the outputs are larger than %d MiB", maxOutputs>>20)
	}
	return parseOutputs(string(text))
}

// parseOutputs reads lines of name=value, and blocks of name<<MARK that end
// with a line holding only the mark.
func parseOutputs(text string) (outputs, error) {
	var out outputs
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
				return outputs{}, err
			}
			if err := out.setValue(line[:here], value); err != nil {
				return outputs{}, fmt.Errorf("line %d of RUNNER_OUTPUT: %w", i+1, err)
			}
			i = end
		case eq >= 0:
			if err := out.setValue(line[:eq], line[eq+1:]); err != nil {
				return outputs{}, fmt.Errorf("line %d of RUNNER_OUTPUT: %w", i+1, err)
			}
		default:
			return outputs{}, fmt.Errorf("line %d of RUNNER_OUTPUT is neither name=value nor name<<MARK", i+1)
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

func (o *outputs) setValue(name, value string) error {
	metric, isMetric := strings.CutPrefix(name, "metric.")
	switch {
	case isMetric && validName(metric):
		if o.metrics == nil {
			o.metrics = make(map[string]any)
		}
		o.metrics[metric] = metricValue(value)
	case name == "summary":
		o.summary = value
	case name == "location":
		o.location = value
	case validName(name):
		if o.values == nil {
			o.values = make(map[string]string)
		}
		o.values[name] = value
	default:
		return fmt.Errorf("%q is not a name (letters, digits, _ and -, beginning with a letter or _)", name)
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
