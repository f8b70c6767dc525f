package plan

import (
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
)

// A definition is recorded as a digest. To explain a change, the pipeline file of the
// last run is read from its capture and evaluated again. The result is used only if it
// has the recorded digest.

// maxVersions is how many versions of a pipeline are evaluated to explain one plan.
const maxVersions = 16

// explain says of the steps of a plan what changed in a definition or a variable, as
// far as the file of the last run tells.
func (pl *Planner) explain(plan *Plan) {
	for i := range plan.Phases {
		for j := range plan.Phases[i].Steps {
			if s := &plan.Phases[i].Steps[j]; len(s.Changes) > 0 {
				s.Changes = pl.explained(s)
			}
		}
	}
}

// earlier is the pipeline as it was when a workstream ran, as far as that is known.
// Variables that changed have their recorded values, or else their defaults.
func (pl *Planner) earlier(s *Step) *pipeline.Pipeline {
	before := make(map[string]string)
	for _, c := range s.Changes {
		if c.Component == "variables" {
			before[string(c.Name)] = pl.st.Variables.Value(string(c.Name), c.Old)
		}
	}
	return pl.version(before)
}

// version is the pipeline with the file and the files of the last run, and some
// variables with other values than now; nil where it is the one of now, or can't be
// evaluated.
func (pl *Planner) version(variables map[string]string) *pipeline.Pipeline {
	if pl.facts.Earlier == nil && len(pl.facts.Before) == 0 && len(variables) == 0 {
		return nil
	}
	key := fmt.Sprintf("%q", variables)
	p, known := pl.versions[key]
	if !known && len(pl.versions) < maxVersions {
		if pl.versions == nil {
			pl.versions = make(map[string]*pipeline.Pipeline)
		}
		p = pl.p.Earlier(pl.facts.Earlier, variables, pl.facts.Before)
		pl.versions[key] = p
	}
	return p
}

func (pl *Planner) explained(s *Step) []Change {
	var all []Change
	for _, c := range s.Changes {
		switch c.Component {
		case "variables":
			all = append(all, pl.explainedVariable(s, c))
		case "definition":
			all = append(all, pl.explainedDefinition(s, c)...)
		default:
			all = append(all, c)
		}
	}
	return all
}

func (pl *Planner) explainedVariable(s *Step, c Change) Change {
	name := string(c.Name)
	text, sum := pl.p.ValueOf(name)
	if c.New != "" && sum != c.New || pl.p.Hides(name) {
		return c
	}
	if c.New != "" {
		c.NewText = pl.shown(pipeline.Readable(text))
	}
	if was := pl.st.Variables.Value(name, c.Old); was != "" {
		c.OldText = pl.shown(pipeline.Readable(was))
	} else if was := pl.earlier(s); was != nil {
		if text, sum := was.ValueOf(name); sum == c.Old {
			c.OldText = pl.shown(pipeline.Readable(text))
		}
	}
	return c
}

// explainedDefinition is the change of a definition, one for each thing in it that
// changed, where the earlier one can be had.
func (pl *Planner) explainedDefinition(s *Step, c Change) []Change {
	found := pl.differences(s, c.Old)
	if len(found) == 0 {
		if over := slices.DeleteFunc(pl.over(s), changedVariable(s)); len(over) > 0 && pl.st.Pipeline.Digest == pl.p.Digest { // one of them changed
			c.Name = pl.shown("over " + strings.Join(over, ", "))
		}
		return []Change{c}
	}
	all := make([]Change, len(found))
	for i, d := range found {
		all[i] = c
		all[i].Name, all[i].OldText, all[i].NewText = pl.shown(d.Name), pl.shown(d.Old), pl.shown(d.New)
	}
	return all
}

// changedVariable reports whether something that a step refers to is a variable of which
// it is said that it changed.
func changedVariable(s *Step) func(name string) bool {
	said := slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Component == "variables" })
	return func(name string) bool { return said && strings.HasPrefix(name, "var.") }
}

// over lists what the definition of a step refers to and reads.
func (pl *Planner) over(s *Step) []string {
	if g := GateOf(pl.p, s.Name); s.Kind == GateStep && g != nil {
		return g.Over()
	}
	if ws := pl.p.Workstream(s.Name); s.Kind == WorkstreamStep && ws != nil {
		return ws.Over()
	}
	return nil
}

// differences are those from the definition that has a digest; none where it can't be
// had.
func (pl *Planner) differences(s *Step, definition string) []pipeline.Difference {
	if s.Kind == GateStep {
		return pl.gateDifferences(s.Name, definition)
	}
	was := pl.earlier(s)
	if was == nil {
		return nil
	}
	before, now := was.Workstream(s.Name), pl.p.Workstream(s.Name)
	if before == nil || now == nil {
		return nil
	}
	r := pl.Results(before.NeedsResults() || now.NeedsResults(), 0)
	if inv, diags := before.Invocation(r); diags.HasErrors() || inv.Definition != definition {
		return nil
	}
	return now.DifferencesFrom(before, r)
}

// gateDifferences looks for the values that variables had when a gate was judged:
// which these were is not on record of a gate.
func (pl *Planner) gateDifferences(label, definition string) []pipeline.Difference {
	now, r := GateOf(pl.p, label), pl.Results(true, 0)
	for n := range checkpoint.MaxGivenValues + 1 {
		variables := pl.st.Variables.Ago(n)
		for name := range pl.p.Given() {
			if _, had := variables[name]; !had {
				variables[name] = ""
			}
		}
		was := pl.version(variables)
		if was == nil {
			continue
		}
		before := GateOf(was, label)
		if before == nil || now == nil {
			return nil
		}
		if sum, diags := before.Definition(r); !diags.HasErrors() && sum == definition {
			return now.DifferencesFrom(before, r)
		}
	}
	return nil
}

// shown is a text that is put into a plan: without values that must not be shown.
func (pl *Planner) shown(text string) checkpoint.Text {
	if pl.facts.Mask != nil {
		text = pl.facts.Mask(text)
	}
	return checkpoint.Text(text)
}
