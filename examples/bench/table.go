package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// printTable prints the targets of a JSON report as Markdown.
func printTable(file string, w io.Writer) error {
	r, err := readReport(file)
	if err == nil {
		_, err = io.WriteString(w, r.table())
	}
	return err
}

func readReport(file string) (report, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return report{}, err
	}
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		return report{}, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// table returns the machine, the commit and the targets of the report as Markdown.
func (r report) table() string {
	var b strings.Builder
	row := func(cells ...string) { _, _ = fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	_, _ = fmt.Fprintf(&b, "%s, at commit %s:\n\n", r.Machine, r.Machine.Commit)
	row(headings()...)
	row("---", "---", "---", "---", "---")
	for _, m := range r.Targets {
		row(m.cells(r.Small)...)
	}
	if left := r.unmeasured(); len(left) > 0 {
		_, _ = fmt.Fprintf(&b, "\nNot measured: %s.\n", strings.Join(left, "; "))
	}
	return b.String()
}

// unmeasured returns the targets without a figure in the report.
func (r report) unmeasured() []string {
	var left []string
	for _, t := range targets(full()) {
		if !slices.ContainsFunc(r.Targets, func(m measured) bool { return m.What == t.what }) {
			left = append(left, t.what)
		}
	}
	return left
}
