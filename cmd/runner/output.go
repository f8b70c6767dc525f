package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// outputFormat is the version of what commands print with --json.
const outputFormat = "1.0"

// joined joins texts into one line.
func joined(list []state.Text) string {
	all := make([]string, len(list))
	for i, t := range list {
		all[i] = string(t)
	}
	return strings.Join(all, "; ")
}

// writeJSON writes the one JSON object that a command prints with --json.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(view.JSONCleaner{W: w})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
