package checkpoint

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// ErrDocument says that a document breaks a rule of its format.
var ErrDocument = errors.New("the document breaks a rule")

// Validate reports every rule of the format that the document breaks. Nil as
// the pattern of a PRD id stands for the default.
func (d Document) Validate(pattern *regexp.Regexp) error {
	if pattern == nil {
		pattern = regexp.MustCompile(defaultIDPattern)
	}
	v := &violations{}
	v.check(matchesWhole(pattern, d.PRD), "prd must match %s, not %q", pattern, d.PRD)
	v.check(isTimestamp(d.Timestamp), "timestamp must be an ISO 8601 time, not %q", d.Timestamp)
	v.check(d.CurrentPhase >= 0, "current_phase must not be negative")
	v.distinct("workstream", d.Completed, d.InProgress, d.Pending)
	v.distinct("gate", d.GatesPassed, d.GatesPending)
	for name := range d.Artifacts {
		v.check(slices.Contains(d.Completed, name), "artifacts of %q, which is not completed", name)
	}
	v.status(d)
	v.review(d.Review)
	return errors.Join(v.found...)
}

// Matches reports where the document does not name each workstream and gate of
// a pipeline exactly once, but for those that are skipped.
func (d Document) Matches(s *State) error {
	v := &violations{}
	var workstreams, gates []string
	var skipped []string
	if d.Runner != nil {
		skipped = d.Runner.Skipped
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			workstreams = append(workstreams, w.Name)
			gates = appendLabels(gates, w.Gates)
		}
		gates = appendLabels(gates, p.Gates)
	}
	v.equal("workstreams", slices.Concat(d.Completed, d.InProgress, d.Pending, skipped), workstreams)
	v.equal("gates", slices.Concat(d.GatesPassed, d.GatesPending), gates)
	return errors.Join(v.found...)
}

func appendLabels(labels []string, gates []*Gate) []string {
	for _, g := range gates {
		if g.Status != Skipped {
			labels = append(labels, g.Label)
		}
	}
	return labels
}

// violations collects what is wrong.
type violations struct{ found []error }

func (v *violations) check(ok bool, format string, args ...any) {
	if !ok {
		v.found = append(v.found, fmt.Errorf("%w: "+format, append([]any{ErrDocument}, args...)...))
	}
}

func (v *violations) distinct(what string, lists ...[]string) {
	seen := map[string]bool{}
	for _, name := range slices.Concat(lists...) {
		v.check(!seen[name], "%s %q is named twice", what, name)
		seen[name] = true
	}
}

func (v *violations) equal(what string, got, want []string) {
	slices.Sort(got)
	slices.Sort(want)
	v.check(slices.Equal(got, want), "its %s are %q, those of the pipeline %q", what, got, want)
}

// status checks the rules that depend on the status.
func (v *violations) status(d Document) {
	switch d.Status {
	case StatusInitialized, StatusPaused, StatusComplete:
		v.check(len(d.InProgress) == 0, "nothing is in progress when the status is %s", d.Status)
		v.check(d.Error == nil, "there is no error when the status is %s", d.Status)
	case StatusInProgress:
		v.check(len(d.InProgress) > 0, "something is in progress when the status is %s", d.Status)
		v.check(d.Error == nil, "there is no error when the status is %s", d.Status)
	case StatusFailed:
		v.check(len(d.InProgress) == 0, "nothing is in progress when the status is %s", d.Status)
		v.check(d.Error != nil && d.Error.Workstream != "" && d.Error.Message != "",
			"an error with workstream and message is required when the status is %s", d.Status)
	default:
		v.check(false, "status must be initialized, in_progress, paused, failed or complete, not %q", d.Status)
	}
	if d.Status == StatusComplete {
		v.check(len(d.Pending) == 0, "all workstreams are done when the status is %s", d.Status)
		v.check(len(d.GatesPending) == 0, "all gates have passed when the status is %s", d.Status)
	}
}

func (v *violations) review(r *AdversarialReview) {
	if r == nil {
		return
	}
	switch r.Verdict {
	case ReviewShip, ReviewShipWithGates, ReviewDoNotShip:
	case ReviewOverridden:
		v.check(r.OverrideReason != "", "adversarial_review: override_reason is required when the verdict is overridden")
	default:
		v.check(false, "adversarial_review: %q is not a verdict", r.Verdict)
	}
	v.check(r.P0Count >= 0 && r.P1Count >= 0, "adversarial_review: counts must not be negative")
	v.check(r.Attempt == 1 || r.Attempt == 2, "adversarial_review: attempt must be 1 or 2, not %d", r.Attempt)
}

// isTimestamp accepts the forms of ISO 8601 that people and programs write.
func isTimestamp(s string) bool {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "20060102T150405Z0700", "2006-01-02"} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}
