package compare

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// ValueChange is a value that differs. A missing value is nil.
type ValueChange struct {
	Name string `json:"name"`
	From any    `json:"from"`
	To   any    `json:"to"`
}

// StepChange is a phase, a workstream or a gate that differs. A missing step has an empty
// status.
type StepChange struct {
	Name         string           `json:"name"`
	From         state.StepStatus `json:"from,omitempty"`
	To           state.StepStatus `json:"to,omitempty"`
	FromAttempts int              `json:"from_attempts"`
	ToAttempts   int              `json:"to_attempts"`
	// Changed lists the components of a workstream's digest that differ, or "definition"
	// and "judged" of a gate.
	Changed []string `json:"changed,omitempty"`
}

// ArtifactChange is a recorded artifact that differs.
type ArtifactChange struct {
	Path       state.Text           `json:"path"`
	Workstream string               `json:"workstream"` // the workstream that recorded it
	Kind       workspace.ChangeKind `json:"change"`
}

// compareStates compares everything except files.
func (c *Comparison) compareStates(a, b *state.State) {
	c.State = compareFields(a, b)
	c.Phases = compareSteps(phaseFacts(a), phaseFacts(b))
	c.Workstreams = compareSteps(workstreamFacts(a), workstreamFacts(b))
	c.Gates = compareSteps(gateFacts(a), gateFacts(b))
	c.Metrics = compareValues(metricValues(a), metricValues(b))
	c.Outputs = compareValues(outputValues(a), outputValues(b))
	c.Artifacts = compareArtifacts(a, b)
}

func compareFields(a, b *state.State) []ValueChange {
	fields := func(s *state.State) []ValueChange {
		var document, issue, labels, review, failure string
		if s.Document != nil {
			document = s.Document.Digest
		}
		if s.Issue != nil {
			issue, labels = s.Issue.Digest, strings.Join(s.Issue.Labels, " ")
		}
		if s.Review != nil {
			review = string(s.Review.Verdict)
		}
		if s.Error != nil {
			failure = string(s.Error.Message)
		}
		return []ValueChange{
			{Name: "status", From: string(s.Status)}, {Name: "phase", From: s.PhaseName()}, {Name: "current_step", From: s.CurrentStep()},
			{Name: "iteration_count", From: s.IterationOf(s.PhaseName())}, {Name: "resumes", From: s.Resumes}, {Name: "pipeline", From: s.Pipeline.Digest},
			{Name: "document", From: document}, {Name: "issue", From: issue}, {Name: "issue_labels", From: labels}, {Name: "review", From: review},
			{Name: "error", From: state.Text(failure)},
		}
	}
	var changes []ValueChange
	to := fields(b)
	for i, f := range fields(a) {
		if f.From != to[i].From {
			changes = append(changes, ValueChange{f.Name, absent(f.From), absent(to[i].From)})
		}
	}
	return changes
}

// absent returns nil for an empty string.
func absent(v any) any {
	if v == "" || v == state.Text("") {
		return nil
	}
	return v
}

// stepFacts holds the comparable parts of a step.
type stepFacts struct {
	name     string
	status   state.StepStatus
	attempts int
	parts    map[string]any // by component
}

func phaseFacts(s *state.State) []stepFacts {
	var list []stepFacts
	for _, p := range s.Phases {
		list = append(list, stepFacts{name: p.Name, status: p.Status, attempts: p.Attempt})
	}
	return list
}

func workstreamFacts(s *state.State) []stepFacts {
	var list []stepFacts
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			d := w.Digest
			list = append(list, stepFacts{w.Name, w.Status, w.Attempts, map[string]any{
				"definition": d.Definition, "inputs": d.Inputs, "upstream": d.Upstream, "variables": maps.Clone(d.Variables),
			}})
		}
	}
	return list
}

func gateFacts(s *state.State) []stepFacts {
	var list []stepFacts
	add := func(gates []*state.Gate) {
		for _, g := range gates {
			list = append(list, stepFacts{g.Label, g.Status, g.Attempts, map[string]any{"definition": g.Definition, "judged": g.Judged}})
		}
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			add(w.Gates)
		}
		add(p.Gates)
	}
	return list
}

// compareSteps compares steps by name, in the order of the second point's pipeline. Steps
// that exist only in the first point come last.
func compareSteps(from, to []stepFacts) []StepChange {
	had := map[string]stepFacts{}
	for _, f := range from {
		had[f.name] = f
	}
	var changes []StepChange
	for _, t := range to {
		f := had[t.name]
		delete(had, t.name)
		change := StepChange{Name: t.name, From: f.status, To: t.status, FromAttempts: f.attempts, ToAttempts: t.attempts}
		if f.attempts > 0 && t.attempts > 0 {
			change.Changed = changedParts(f.parts, t.parts)
		}
		if f.status != t.status || f.attempts != t.attempts || len(change.Changed) > 0 {
			changes = append(changes, change)
		}
	}
	for _, f := range from {
		if gone, left := had[f.name]; left {
			changes = append(changes, StepChange{Name: f.name, From: gone.status, FromAttempts: gone.attempts})
		}
	}
	return changes
}

func changedParts(from, to map[string]any) []string {
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if !reflect.DeepEqual(from[name], to[name]) {
			changed = append(changed, name)
		}
	}
	return changed
}

func metricValues(s *state.State) map[string]any {
	values := map[string]any{}
	for name, m := range s.Metrics {
		values[name] = m.Value
	}
	for _, name := range []string{ledger.MetricCostUSD, ledger.MetricTokensIn, ledger.MetricTokensOut} {
		if sum, _ := s.Spent.Metric(name); sum != "0" {
			values[name] = sum
		}
	}
	return values
}

func outputValues(s *state.State) map[string]any {
	values := map[string]any{}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			for name, value := range w.Outputs {
				values[w.Name+"."+name] = value
			}
		}
	}
	return values
}

// compareValues compares values by name.
func compareValues(from, to map[string]any) []ValueChange {
	names := slices.Collect(maps.Keys(to))
	for name := range from {
		if _, both := to[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var changes []ValueChange
	for _, name := range names {
		if !reflect.DeepEqual(from[name], to[name]) {
			changes = append(changes, ValueChange{name, from[name], to[name]})
		}
	}
	return changes
}

// compareArtifacts compares the recorded artifacts of workstreams.
func compareArtifacts(a, b *state.State) []ArtifactChange {
	type owned struct{ workstream, digest string }
	recorded := func(s *state.State) map[state.Text]owned {
		all := map[state.Text]owned{}
		for _, p := range s.Phases {
			for _, w := range p.Workstreams {
				for _, file := range w.Artifacts {
					all[file.Path] = owned{w.Name, file.Digest}
				}
			}
		}
		return all
	}
	from, to := recorded(a), recorded(b)
	var changes []ArtifactChange
	for path, t := range to {
		f, had := from[path]
		switch {
		case !had:
			changes = append(changes, ArtifactChange{path, t.workstream, workspace.Added})
		case f.digest != t.digest:
			changes = append(changes, ArtifactChange{path, t.workstream, workspace.Modified})
		}
	}
	for path, f := range from {
		if _, has := to[path]; !has {
			changes = append(changes, ArtifactChange{path, f.workstream, workspace.Deleted})
		}
	}
	slices.SortFunc(changes, func(x, y ArtifactChange) int { return cmp.Compare(x.Path, y.Path) })
	return changes
}
