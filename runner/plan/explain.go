package plan

import (
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// The state records a definition as a digest. To explain a change, Runner reads the
// pipeline file of the last run from its capture and evaluates it again. It uses the
// result only if the result has the recorded digest.

// maxVersions is how many versions of a pipeline are evaluated to explain one plan.
const maxVersions = 16

// explain adds to the changes of a plan's steps what changed in a definition or a
// variable, as far as the pipeline file of the last run shows it.
func (pl *Planner) explain(plan *Plan) {
	for i := range plan.Phases {
		for j := range plan.Phases[i].Steps {
			s := &plan.Phases[i].Steps[j]
			s.Changes = pl.explainChanges(s)
		}
	}
}

// earlierPipeline returns the pipeline of the run that made a workstream, nil if it is
// not known. Variables that changed have their recorded values, or their defaults if no
// value is recorded.
func (pl *Planner) earlierPipeline(s *Step) *pipeline.Pipeline {
	before := make(map[string]string)
	for _, c := range s.Changes {
		if c.Component == "variables" {
			before[string(c.Name)] = pl.st.Variables.Value(string(c.Name), c.Old)
		}
	}
	return pl.evaluateVersion(before)
}

// evaluateVersion returns the pipeline evaluated with the pipeline file and the files of
// the last run and with other values of some variables. It returns nil if nothing differs
// from now, the issue included, or if the evaluation fails.
func (pl *Planner) evaluateVersion(variables map[string]string) *pipeline.Pipeline {
	if pl.facts.EarlierPipeline == nil && len(pl.facts.EarlierFiles) == 0 && len(variables) == 0 {
		if pl.issue() != pl.st.Issue {
			return pl.p // only the issue may differ
		}
		return nil
	}
	key := fmt.Sprintf("%q", variables)
	p, known := pl.versions[key]
	if !known && len(pl.versions) < maxVersions {
		if pl.versions == nil {
			pl.versions = make(map[string]*pipeline.Pipeline)
		}
		p = pl.p.Earlier(pl.facts.EarlierPipeline, variables, pl.facts.EarlierFiles)
		pl.versions[key] = p
	}
	return p
}

func (pl *Planner) explainChanges(s *Step) []Change {
	var all []Change
	for _, c := range s.Changes {
		switch c.Component {
		case "variables":
			all = append(all, pl.explainVariable(s, c))
		case "definition":
			all = append(all, pl.explainDefinition(s, c)...)
		default:
			all = append(all, c)
		}
	}
	return all
}

func (pl *Planner) explainVariable(s *Step, c Change) Change {
	name := string(c.Name)
	if pl.p.Hides(name) {
		return c
	}
	if text, _ := pl.p.ValueOf(name); c.New != "" {
		c.NewText = pl.maskText(pipeline.Readable(text))
	}
	if was := pl.st.Variables.Value(name, c.Old); was != "" {
		c.OldText = pl.maskText(pipeline.Readable(was))
	} else if was := pl.earlierPipeline(s); was != nil {
		if text, sum := was.ValueOf(name); sum == c.Old {
			c.OldText = pl.maskText(pipeline.Readable(text))
		}
	}
	return c
}

// explainDefinition splits the change of a definition into one change for each thing in
// it that changed, if the earlier definition can be evaluated again.
func (pl *Planner) explainDefinition(s *Step, c Change) []Change {
	found := pl.differences(s, c.Old)
	if len(found) == 0 {
		if over := slices.DeleteFunc(pl.referencedValues(s), isChangedVariable(s)); len(over) > 0 && pl.st.Pipeline.Digest == pl.p.Digest { // the file is unchanged, so a value that the definition uses changed
			c.Name = pl.maskText("over " + strings.Join(over, ", "))
		}
		return []Change{c}
	}
	all := make([]Change, len(found))
	for i, d := range found {
		all[i] = c
		all[i].Name, all[i].OldText, all[i].NewText = pl.maskText(d.Name), pl.maskText(d.Old), pl.maskText(d.New)
	}
	return all
}

// isChangedVariable returns a function that reports whether a name is that of a
// variable. If the step lists no changed variable, the function always returns false.
func isChangedVariable(s *Step) func(name string) bool {
	said := slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Component == "variables" })
	return func(name string) bool { return said && strings.HasPrefix(name, "var.") }
}

// referencedValues lists the values that the definition of a step refers to and the files
// that it reads.
func (pl *Planner) referencedValues(s *Step) []string {
	if s.Kind == GateStep {
		return pl.p.Gate(s.Name).Over()
	}
	return pl.p.Workstream(s.Name).Over()
}

// differences returns how the definition of a step differs from the earlier definition
// with the given digest. It returns nothing if that definition cannot be evaluated again.
func (pl *Planner) differences(s *Step, definition string) []pipeline.Difference {
	if s.Kind == GateStep {
		return pl.gateDifferences(s.Name, definition)
	}
	was := pl.earlierPipeline(s)
	if was == nil {
		return nil
	}
	before, now := was.Workstream(s.Name), pl.p.Workstream(s.Name)
	if before == nil {
		return nil
	}
	r := pl.Results(before.NeedsResults() || now.NeedsResults(), 0)
	then := pl.resultsBefore(r)
	if inv, diags := before.Invocation(then); diags.HasErrors() || inv.Definition != definition {
		return nil
	}
	return now.DifferencesFrom(before, then, r)
}

// resultsBefore returns results with the issue as the last run recorded it.
func (pl *Planner) resultsBefore(r pipeline.Results) pipeline.Results {
	r.Issue = IssueValues(pl.st.Issue)
	return r
}

// gateDifferences returns how the definition of a gate differs from the earlier definition
// with the given digest. The record of a gate does not name the values of variables, so
// gateDifferences tries the values that they had before until the digest agrees.
func (pl *Planner) gateDifferences(label, definition string) []pipeline.Difference {
	now, r := pl.p.Gate(label), pl.Results(true, 0)
	then := pl.resultsBefore(r)
	for n := range state.MaxGivenValues + 1 {
		variables := pl.st.Variables.Ago(n)
		for name := range pl.p.Given() {
			if _, had := variables[name]; !had {
				variables[name] = ""
			}
		}
		was := pl.evaluateVersion(variables)
		if was == nil {
			continue
		}
		before := was.Gate(label)
		if before == nil {
			return nil
		}
		if sum, diags := before.Definition(then); !diags.HasErrors() && sum == definition {
			return now.DifferencesFrom(before, then, r)
		}
	}
	return nil
}

// maskText hides sensitive values in a text that is put into a plan.
func (pl *Planner) maskText(text string) state.Text {
	if pl.facts.Mask != nil {
		text = pl.facts.Mask(text)
	}
	return state.Text(text)
}
