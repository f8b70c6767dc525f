package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// imported reports the rules that the imported part of a document breaks.
func (v *violations) imported(d File) {
	i := d.Imported
	if i == nil {
		return
	}
	const field = "imported"
	v.require(i.Format != "", field, "imported needs a format: the tool whose checkpoint it is")
	for name, at := range map[string]string{"created_at": i.CreatedAt, "phase_started_at": i.PhaseStartedAt} {
		v.require(at == "" || isTimestamp(at), joinField(field, name), "imported.%s must be an ISO 8601 time, not %q", name, at)
	}
	v.require(i.PhaseAttempt >= 0, "imported.phase_attempt", "imported.phase_attempt must not be negative")
	v.require(i.IterationCount >= 0, "imported.iteration_count", "imported.iteration_count must not be negative")
	for _, name := range slices.Sorted(maps.Keys(i.Results)) {
		path := joinField("imported.results", name)
		v.require(slices.Contains(d.Completed, name), path, "%s is the result of a workstream that is not completed", path)
		at := i.Results[name].CompletedAt
		v.require(at == "" || isTimestamp(at), joinField(path, "completed_at"), "%s.completed_at must be an ISO 8601 time, not %q", path, at)
	}
	for n, name := range i.Uncertain {
		at := fmt.Sprintf("imported.uncertain[%d]", n)
		v.require(slices.Contains(d.Pending, name) || slices.Contains(d.InProgress, name), at, "%s is %q, which is not pending or in progress", at, name)
	}
	for _, name := range slices.Sorted(maps.Keys(i.Metrics)) {
		v.require(isMetric(i.Metrics[name]), joinField("imported.metrics", name), "imported.metrics.%s must be a number, a text, true or false", name)
	}
	if i.Issue != nil {
		v.require(i.Issue.Title != "", "imported.issue", "imported.issue needs a title")
	}
}

func isMetric(value any) bool {
	switch value.(type) {
	case json.Number, string, bool:
		return true
	}
	return false
}
