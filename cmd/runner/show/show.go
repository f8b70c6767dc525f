// Package show prints what commands answer: listings, reports, previews, differences and
// the status of sessions, each as text for people and as JSON for programs.
//
// A function that prints belongs here, with the struct that is its JSON form. The
// functions get values, such as a state, a plan or a report of an operation, and a
// writer. They open no store, take no lock, read no flag and ask nobody; the clock is an
// argument. How a run is shown while it lasts is package runner/view. Where to begin:
//
//   - JSON prints a report; FormatVersion is the version of all reports;
//   - SessionStatus is what `runner status` says, and Status and StatusTable print it;
//   - RollbackPreview and RolledBack print a rollback before and after it;
//     RollbackPreviewReport and RollbackReport are their JSON forms. Every other operation
//     has the same pair: a function named after the answer, and a report;
//   - Checkpoints prints `checkpoint list`, and Checkpoint prints `checkpoint show`;
//   - newPage begins an answer for people: title, facts, sections and tables look alike in all;
//   - Screen is a stream to a terminal: it makes text harmless that comes from outside.
package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/view"
)

// FormatVersion is the version of what commands print with --json.
const FormatVersion = "1.0"

// joined joins texts into one line.
func joined(list []state.Text) string {
	all := make([]string, len(list))
	for i, t := range list {
		all[i] = string(t)
	}
	return strings.Join(all, "; ")
}

// JSON writes the one JSON object that a command prints with --json.
func JSON(w io.Writer, v any) error {
	if s, ok := w.(*Screen); ok && s.neutralizer() != nil {
		w = jsonInCI{w}
	}
	enc := json.NewEncoder(view.JSONCleaner{W: w})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// jsonInCI is a writer for JSON in the log of a CI system. Only a string can hold ##[, which GitHub
// takes for a command; written in another way it is the same string.
type jsonInCI struct{ w io.Writer }

// Write implements io.Writer.
func (c jsonInCI) Write(b []byte) (int, error) {
	if _, err := c.w.Write(bytes.ReplaceAll(b, []byte("##["), []byte(`##\u005b`))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// stepLabel returns the number and the name of a checkpoint's step.
func stepLabel(c *state.CheckpointRef) string {
	return stepNamed(c.Step, c.StepName)
}

func stepNamed(number int, name string) string {
	if name == "" {
		return strconv.Itoa(number)
	}
	return strconv.Itoa(number) + " - " + view.OneLine(name)
}

// Size formats a number of bytes for people.
func Size(bytes int64) string {
	const kilo = 1024
	switch {
	case bytes < kilo:
		return fmt.Sprintf("%d B", bytes)
	case bytes < kilo*kilo:
		return fmt.Sprintf("%.1f KB", float64(bytes)/kilo)
	case bytes < kilo*kilo*kilo:
		return fmt.Sprintf("%.1f MB", float64(bytes)/kilo/kilo)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/kilo/kilo/kilo)
}

func changeMark(kind workspace.ChangeKind) string {
	switch kind {
	case workspace.Added:
		return "+"
	case workspace.Deleted:
		return "-"
	case workspace.Modified:
	}
	return "~"
}

// shortCommit returns the beginning of a commit's id.
func shortCommit(commit string) string {
	const most = 10
	if len(commit) > most {
		return commit[:most]
	}
	return commit
}
