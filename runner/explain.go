package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
)

// What is on record of a definition is its digest. What it said stands in the file of
// the pipeline, of which each capture holds the bytes. They are evaluated again, and
// believed where they give the digest that is on record.

// maxVersions is how many versions of a pipeline are evaluated to explain one plan.
const maxVersions = 16

// maxSource bounds the file that is read from a capture.
const maxSource = 16 << 20

// earlierSource is the file of the pipeline in the last run; nil where it is the same,
// or can't be read from the capture. It is for people, so that what can't be read is no
// error.
func (s *surveyor) earlierSource(ctx context.Context, st *checkpoint.State) []byte {
	if st == nil || s.ended == nil || st.Pipeline.Digest == s.p.Digest {
		return nil
	}
	i := slices.IndexFunc(s.ended.Entries, func(e workspace.Entry) bool { return e.Path == string(st.Pipeline.Path) })
	if i < 0 {
		return nil
	}
	source, err := s.readEntry(ctx, s.ended.Entries[i])
	if sum := sha256.Sum256(source); err != nil || "sha256:"+hex.EncodeToString(sum[:]) != st.Pipeline.Digest {
		return nil
	}
	return source
}

func (s *surveyor) readEntry(ctx context.Context, e workspace.Entry) ([]byte, error) {
	r, err := s.files.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxSource))
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read %s as it was: %w", e.Path, err)
	}
	return data, nil
}

// explain says of the steps of a plan what changed in a definition or a variable, as
// far as the file of the last run tells.
func (pl *planner) explain(plan *Plan) {
	for i := range plan.Phases {
		for j := range plan.Phases[i].Steps {
			if s := &plan.Phases[i].Steps[j]; len(s.Changes) > 0 {
				s.Changes = pl.explained(s)
			}
		}
	}
}

// earlier is the pipeline as it was when a step ran, as far as that is known: with the
// file of the last run, and for the variables that changed the values that are on record,
// else their defaults.
func (pl *planner) earlier(s *Step) *pipeline.Pipeline {
	before := make(map[string]string)
	var key strings.Builder
	for _, c := range s.Changes {
		if c.Component == "variables" {
			before[string(c.Name)] = pl.st.Variables.Value(string(c.Name), c.Old)
			fmt.Fprintf(&key, "%s %s\n", c.Name, c.Old)
		}
	}
	if pl.facts.earlier == nil && len(before) == 0 {
		return nil
	}
	p, known := pl.versions[key.String()]
	if !known && len(pl.versions) < maxVersions {
		if pl.versions == nil {
			pl.versions = make(map[string]*pipeline.Pipeline)
		}
		p = pl.p.Earlier(pl.facts.earlier, before)
		pl.versions[key.String()] = p
	}
	return p
}

func (pl *planner) explained(s *Step) []Change {
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

func (pl *planner) explainedVariable(s *Step, c Change) Change {
	text, sum := pl.p.ValueOf(string(c.Name))
	if sum == "" || sum != c.New {
		return c
	}
	c.NewText = pl.shown(text)
	if was := pl.st.Variables.Value(string(c.Name), c.Old); was != "" {
		c.OldText = pl.shown(was)
	} else if was := pl.earlier(s); was != nil {
		if text, sum := was.ValueOf(string(c.Name)); sum == c.Old {
			c.OldText = pl.shown(text)
		}
	}
	return c
}

// explainedDefinition is the change of a definition, one for each thing in it that
// changed, where the earlier one can be had.
func (pl *planner) explainedDefinition(s *Step, c Change) []Change {
	was := pl.earlier(s)
	if was == nil {
		return []Change{c}
	}
	var found []pipeline.Difference
	if s.Kind == GateStep {
		found = pl.gateDifferences(gateOf(was, s.Name), gateOf(pl.p, s.Name), c)
	} else if before, now := was.Workstream(s.Name), pl.p.Workstream(s.Name); before != nil && now != nil {
		r := pl.results(before.NeedsResults() || now.NeedsResults(), 0)
		if inv, diags := before.Invocation(r); !diags.HasErrors() && inv.Definition == c.Old {
			found = now.DifferencesFrom(before, r)
		}
	}
	if len(found) == 0 {
		return []Change{c}
	}
	all := make([]Change, len(found))
	for i, d := range found {
		all[i] = c
		all[i].Name, all[i].OldText, all[i].NewText = pl.shown(d.Name), pl.shown(d.Old), pl.shown(d.New)
	}
	return all
}

func (pl *planner) gateDifferences(before, now *pipeline.Gate, c Change) []pipeline.Difference {
	if before == nil || now == nil {
		return nil
	}
	r := pl.results(true, 0)
	if definition, diags := before.Definition(r); diags.HasErrors() || definition != c.Old {
		return nil
	}
	return now.DifferencesFrom(before, r)
}

// shown is a text that is put into a plan: without values that must not be shown.
func (pl *planner) shown(text string) checkpoint.Text {
	if pl.facts.mask != nil {
		text = pl.facts.mask(text)
	}
	return checkpoint.Text(text)
}
