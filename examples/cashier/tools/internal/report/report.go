// Package report is the record of a test run: testcover writes it, testcheck
// judges it.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"cashier/artifact"
)

// The outcomes of a test, as go test names them.
const (
	Pass = "pass"
	Fail = "fail"
	Skip = "skip"
)

// Test is a test or a subtest that ended.
type Test struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
}

// Report is a test run. It has no times in it, so that equal runs give equal bytes.
type Report struct {
	Tests      []Test  `json:"tests"` // sorted by name when written
	Statements int     `json:"statements"`
	Covered    int     `json:"covered"`
	Coverage   float64 `json:"coverage"` // per cent
}

// Count returns how many tests ended with an outcome.
func (r Report) Count(outcome string) int {
	count := 0
	for _, test := range r.Tests {
		if test.Outcome == outcome {
			count++
		}
	}
	return count
}

// Write writes the report to a file.
func (r Report) Write(path string) error {
	slices.SortFunc(r.Tests, func(a, b Test) int { return cmp.Compare(a.Name, b.Name) })
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	return artifact.Write(path, append(text, '\n'))
}

// Read reads a report that Write has written.
func Read(path string) (Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Report{}, fmt.Errorf("reading the report: %w", err)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return Report{}, fmt.Errorf("reading the report %s: %w", path, err)
	}
	return r, nil
}
