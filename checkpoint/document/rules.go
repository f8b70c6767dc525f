package document

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
)

// ErrRules says that a document breaks a rule of its format.
var ErrRules = errors.New("the document breaks a rule")

// Violation is one rule of the format that a document breaks.
type Violation struct {
	Line    int // of the document's file, from 1; 0 where that is not known
	Message string
}

// Error names the line, where it is known, and the rule.
func (v Violation) Error() string {
	if v.Line == 0 {
		return v.Message
	}
	return fmt.Sprintf("line %d: %s", v.Line, v.Message)
}

// Is reports whether the target is ErrRules.
func (v Violation) Is(target error) bool { return target == ErrRules }

// RulesError lists every rule that a document written by hand breaks.
type RulesError struct {
	Path       string // of the document; "" where it did not come from a file
	Violations []Violation
}

// Error gives each violation a line of its own.
func (e *RulesError) Error() string {
	var b strings.Builder
	path := e.Path
	if path == "" {
		path = "the PRD document"
	}
	fmt.Fprintf(&b, "%s breaks rules of its format:", path)
	for _, v := range e.Violations {
		b.WriteString("\n  " + v.Error())
	}
	return b.String()
}

// Is reports whether the target is ErrRules.
func (e *RulesError) Is(target error) bool { return target == ErrRules }

// Validate reports every rule of the format that the document breaks. A nil pattern stands
// for state.DefaultIDPattern.
func (d File) Validate(pattern *regexp.Regexp) error {
	if pattern == nil {
		pattern = regexp.MustCompile(state.DefaultIDPattern)
	}
	v := newViolations(d)
	v.checkRules(d, pattern)
	found := make([]error, len(v.found))
	for i := range v.found {
		found[i] = fmt.Errorf("%w: %w", ErrRules, v.found[i])
	}
	return errors.Join(found...)
}

// CheckWritten returns a *RulesError if a document written by hand breaks a rule.
// If shape is given, the document must also name each workstream and gate of the pipeline
// exactly once. A gate is named by its label, or by its bare name, which stands for all
// gates of that name.
func (d File) CheckWritten(prd string, shape *state.Shape) error {
	v := newViolations(d)
	v.checkRules(d, regexp.MustCompile(regexp.QuoteMeta(prd)))
	if shape != nil {
		v.checkShape(d, *shape)
	}
	if len(v.found) == 0 {
		return nil
	}
	slices.SortStableFunc(v.found, func(a, b Violation) int { return a.Line - b.Line })
	return &RulesError{Path: d.source.path, Violations: v.found}
}

// Matches reports where the document does not name each workstream and gate of a state
// exactly once. Skipped ones may be absent.
func (d File) Matches(s *state.State) error {
	var workstreams, gates []string
	var unlisted []string
	if d.Runner != nil {
		unlisted = slices.Concat(d.Runner.Skipped, d.Runner.Failed)
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			workstreams = append(workstreams, w.Name)
			gates = appendLabels(gates, judgedGates(w))
		}
		gates = appendLabels(gates, p.Gates)
	}
	return errors.Join(
		equalNames("workstreams", slices.Concat(d.Completed, d.InProgress, d.Pending, unlisted), workstreams),
		equalNames("gates", slices.Concat(d.GatesPassed, d.GatesPending), gates))
}

func equalNames(what string, got, want []string) error {
	slices.Sort(got)
	slices.Sort(want)
	if slices.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("%w: its %s are %q, those of the pipeline %q", ErrRules, what, got, want)
}

func appendLabels(labels []string, gates []*state.Gate) []string {
	for _, g := range gates {
		if g.Status != state.Skipped {
			labels = append(labels, g.Label)
		}
	}
	return labels
}

// violations collects the rules that a document breaks.
type violations struct {
	lines  lineIndex
	unread map[string]bool // fields whose value could not be decoded; no rule is checked for them
	found  []Violation
}

// newViolations starts with the values that could not be decoded.
func newViolations(d File) *violations {
	v := &violations{lines: d.source.index, unread: map[string]bool{}}
	for _, m := range d.source.mistakes {
		v.unread[m.field] = true
		v.found = append(v.found, m.Violation)
	}
	return v
}

// require notes a violation at the line of a field unless ok is true. A field that could
// not be decoded has no violations but that.
func (v *violations) require(ok bool, field, format string, args ...any) {
	if !ok && !v.unread[field] {
		v.found = append(v.found, Violation{Line: v.lines[field], Message: fmt.Sprintf(format, args...)})
	}
}

// checkRules checks every rule that needs no pipeline.
func (v *violations) checkRules(d File, pattern *regexp.Regexp) {
	if v.unread[""] { // it has no fields at all
		return
	}
	v.require(state.MatchesWhole(pattern, d.PRD), "prd", "prd must %s, not %q", state.IDRule(pattern.String()), d.PRD)
	v.require(isTimestamp(d.Timestamp), "timestamp", "timestamp must be an ISO 8601 time, not %q", d.Timestamp)
	v.require(d.CurrentPhase >= 0, "current_phase", "current_phase must not be negative")
	v.distinct("workstream", workstreamLists(d))
	v.distinct("gate", gateLists(d))
	for _, name := range slices.Sorted(maps.Keys(d.Artifacts)) {
		field := joinField("artifacts", name)
		v.require(slices.Contains(d.Completed, name), field, "artifacts of %q, which is not completed", name)
		for i, path := range d.Artifacts[name] {
			at := fmt.Sprintf("%s[%d]", field, i)
			v.require(filepath.IsLocal(filepath.FromSlash(path)), at, "%s is %q, which is no path in the workspace", at, path)
		}
	}
	v.status(d)
	v.review(d.Review)
	v.imported(d)
}

// unreadIn reports whether one of the fields could not be decoded.
func (v *violations) unreadIn(fields ...string) bool {
	return slices.ContainsFunc(fields, func(field string) bool { return v.unread[field] })
}

// namedList is a list of the document, with the name of its field.
type namedList struct {
	field string
	names []string
}

func (l namedList) element(i int) string { return fmt.Sprintf("%s[%d]", l.field, i) }

func workstreamLists(d File) []namedList {
	return []namedList{{"completed_workstreams", d.Completed}, {"in_progress_workstreams", d.InProgress}, {"pending_workstreams", d.Pending}}
}

func gateLists(d File) []namedList {
	return []namedList{{"gates_passed", d.GatesPassed}, {"gates_pending", d.GatesPending}}
}

func (v *violations) distinct(what string, lists []namedList) {
	seen := map[string]bool{}
	for _, l := range lists {
		for i, name := range l.names {
			v.require(!seen[name], l.element(i), "%s %q is named twice", what, name)
			seen[name] = true
		}
	}
}

// checkShape checks that the document names everything of the pipeline and nothing else.
func (v *violations) checkShape(d File, shape state.Shape) {
	if v.unread[""] {
		return
	}
	v.require(d.CurrentPhase <= len(shape.Phases), "current_phase", "current_phase must be at most %d, the number of phases of the pipeline, not %d", len(shape.Phases), d.CurrentPhase)
	var workstreams []string
	var gates []gateName
	for _, p := range shape.Phases {
		for _, w := range p.Workstreams {
			workstreams = append(workstreams, w.Name)
			gates = appendGateNames(gates, w.Gates, w.Name)
		}
		gates = appendGateNames(gates, p.Gates, p.Name)
	}
	named := v.checkNames("workstream", workstreamLists(d), func(name string) bool { return slices.Contains(workstreams, name) })
	unread := v.unreadIn("completed_workstreams", "in_progress_workstreams", "pending_workstreams")
	for _, name := range workstreams {
		v.require(named[name] || unread, "pending_workstreams", "workstream %q of the pipeline is missing: name it as completed, in progress or pending", name)
	}
	named = v.checkNames("gate", gateLists(d), func(name string) bool {
		return slices.ContainsFunc(gates, func(g gateName) bool { return g.labelText() == name || g.name == name })
	})
	unread = v.unreadIn("gates_passed", "gates_pending")
	for _, g := range gates {
		v.require(named[g.labelText()] || named[g.name] || unread, "gates_pending", "gate %q of the pipeline is missing: name it as passed or pending", g.labelText())
	}
}

// checkNames checks that the pipeline has each name of the lists, and returns the names.
func (v *violations) checkNames(what string, lists []namedList, has func(name string) bool) map[string]bool {
	named := map[string]bool{}
	for _, l := range lists {
		for i, name := range l.names {
			v.require(has(name), l.element(i), "the pipeline has no %s %q", what, name)
			named[name] = true
		}
	}
	return named
}

// gateName is the bare name of a gate and what owns it, a workstream or a phase.
type gateName struct{ name, owner string }

func (g gateName) labelText() string { return g.name + " (" + g.owner + ")" }

func appendGateNames(gates []gateName, names []string, owner string) []gateName {
	for _, name := range names {
		gates = append(gates, gateName{name, owner})
	}
	return gates
}

// status checks the rules that depend on the status.
func (v *violations) status(d File) {
	switch d.Status {
	case state.StatusInitialized, state.StatusPaused, state.StatusComplete:
		v.require(len(d.InProgress) == 0, "in_progress_workstreams", "nothing is in progress when the status is %s", d.Status)
		v.require(d.Error == nil, "error", "there is no error when the status is %s", d.Status)
	case state.StatusInProgress:
		v.require(len(d.InProgress) > 0, "in_progress_workstreams", "something is in progress when the status is %s", d.Status)
		v.require(d.Error == nil, "error", "there is no error when the status is %s", d.Status)
	case state.StatusFailed:
		v.require(len(d.InProgress) == 0, "in_progress_workstreams", "nothing is in progress when the status is %s", d.Status)
		told := d.Error != nil && d.Error.Workstream != "" && d.Error.Message != ""
		v.require(told || v.unreadIn("error", "error.workstream", "error.message"), "status",
			"an error with workstream and message is required when the status is %s", d.Status)
	default:
		v.require(false, "status", "status must be initialized, in_progress, paused, failed or complete, not %q", d.Status)
	}
	if d.Status == state.StatusComplete {
		v.require(len(d.Pending) == 0, "pending_workstreams", "all workstreams are done when the status is %s", d.Status)
		v.require(len(d.GatesPending) == 0, "gates_pending", "all gates have passed when the status is %s", d.Status)
	}
}

func (v *violations) review(r *state.AdversarialReview) {
	if r == nil {
		return
	}
	const review = "adversarial_review"
	switch r.Verdict {
	case state.VerdictShip, state.VerdictShipWithGates, state.VerdictDoNotShip:
	case state.VerdictOverridden:
		v.require(r.OverrideReason != "", review, "adversarial_review: override_reason is required when the verdict is overridden")
	default:
		v.require(false, review+".verdict", "adversarial_review: %q is not a verdict", r.Verdict)
	}
	v.require(r.P0Count >= 0 && r.P1Count >= 0, review, "adversarial_review: counts must not be negative")
	v.require(r.Attempt == 1 || r.Attempt == 2, review+".attempt", "adversarial_review: attempt must be 1 or 2, not %d", r.Attempt)
}

// isTimestamp accepts the forms of ISO 8601 that people and programs write.
func isTimestamp(s string) bool {
	_, ok := state.ParseTimestamp(s)
	return ok
}
