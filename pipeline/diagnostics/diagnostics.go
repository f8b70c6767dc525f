// Package diagnostics shows the diagnostics of pipelines: WriteText writes them for people,
// and NewReport makes the report that programs read as JSON. Both take the sources by file
// name, and point into them, and both name the Code by which a diagnostic can be looked up.
//
// How diagnostics are ordered, identified and cut from the source belongs here. What is a
// mistake, and what its message says, is decided where it is found, mostly in package
// pipeline, of which this package knows nothing.
package diagnostics

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// ordered sorts diagnostics by place: files in the order of their first diagnostic, then
// by line. Diagnostics without a place come first. Duplicates are left out; they arise
// when callers join the diagnostics of Parse and Pipeline, or those of several pipelines
// that include the same file.
func ordered(diags hcl.Diagnostics) hcl.Diagnostics {
	type mistake struct {
		severity        hcl.DiagnosticSeverity
		summary, detail string
		place           hcl.Range
	}
	seen := make(map[mistake]bool, len(diags))
	var kept hcl.Diagnostics
	for _, diag := range diags {
		if diag == nil {
			continue
		}
		m := mistake{severity: diag.Severity, summary: diag.Summary, detail: diag.Detail}
		if diag.Subject != nil {
			m.place = *diag.Subject
		}
		if !seen[m] {
			seen[m] = true
			kept = append(kept, diag)
		}
	}
	files := map[string]int{}
	place := func(diag *hcl.Diagnostic) (file, offset int) {
		if diag.Subject == nil {
			return 0, 0
		}
		if files[diag.Subject.Filename] == 0 {
			files[diag.Subject.Filename] = len(files) + 1
		}
		return files[diag.Subject.Filename], diag.Subject.Start.Byte
	}
	for _, diag := range kept {
		place(diag) // numbers the files
	}
	slices.SortStableFunc(kept, func(a, b *hcl.Diagnostic) int {
		fileA, offsetA := place(a)
		fileB, offsetB := place(b)
		return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(offsetA, offsetB))
	})
	return kept
}

// Code returns the stable identifier of the diagnostics with a summary: the summary in lower
// case, with dashes. Programs compare it, and `runner explain` takes it.
func Code(summary string) string {
	words := strings.FieldsFunc(strings.ToLower(summary), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	})
	return strings.Join(words, "-")
}
