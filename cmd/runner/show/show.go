// Package show prints what commands answer on a terminal: listings, previews, differences and
// the status of sessions.
//
// A function that prints for people belongs here. It gets a value, mostly one of package
// info, and a writer. Nothing here opens a store, takes a lock, reads a flag or asks; the
// clock is an argument. How a run is shown while it lasts is package runner/view. Where to
// begin:
//
//   - JSON prints a value of package info;
//   - Status and StatusTable print what `runner status` says;
//   - RollbackPreview and RolledBack print a rollback before and after it. Every other operation
//     has a function named after the answer;
//   - Checkpoints prints `checkpoint list`, and Checkpoint prints `checkpoint show`;
//   - newPage begins an answer: title, facts, sections and tables look alike in all;
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
	"prdrunner/runner/view"
)

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

// shortCommit returns the beginning of a commit's id.
func shortCommit(commit string) string {
	const most = 10
	if len(commit) > most {
		return commit[:most]
	}
	return commit
}
