// Package artifact is how the tools of the pipeline hand over what they made:
// files that are never half written, and outputs for the runner.
package artifact

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Write makes or replaces a file in one step, so that a tool killed at any
// moment leaves the old file or the new one.
func Write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	if err := os.WriteFile(temporary, data, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// Output is a result that the runner records: a plain name, or metric.name,
// or one of the names it knows, such as summary.
type Output struct {
	Name  string
	Value any
}

// Report appends outputs to the file that RUNNER_OUTPUT names, and prints
// them. Started by hand, without a runner, it only prints them.
func Report(outputs ...Output) error {
	var lines strings.Builder
	for _, o := range outputs {
		fmt.Fprintf(&lines, "%s=%v\n", o.Name, o.Value)
	}
	fmt.Print(lines.String())
	path := os.Getenv("RUNNER_OUTPUT")
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("reporting outputs: %w", err)
	}
	if _, err := file.WriteString(lines.String()); err != nil {
		file.Close()
		return fmt.Errorf("reporting outputs: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("reporting outputs: %w", err)
	}
	return nil
}
