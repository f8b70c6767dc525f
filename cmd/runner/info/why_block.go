package info

import (
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/why"
)

// WhyBlockReport is what `why --json` prints of the instances of a workstream with for_each.
type WhyBlockReport struct {
	FormatVersion string       `json:"format_version"`
	PRD           string       `json:"prd"`
	Status        state.Status `json:"status,omitempty"` // of the session; "": there is none
	Name          string       `json:"name"`
	Groups        []WhyGroup   `json:"groups"`   // in the order of their first instances
	Commands      []state.Text `json:"commands"` // to type next
}

// WhyGroup are instances that have the same explanation. The texts are those of one instance, without
// its name.
type WhyGroup struct {
	Instances []string   `json:"instances"`
	Outdated  state.Text `json:"outdated,omitempty"`
	Now       state.Text `json:"now,omitempty"`  // what they do in the run that is on
	Kept      state.Text `json:"kept,omitempty"` // what keeps them from starting, or kept them
	Next      state.Text `json:"next"`           // what the next build does with them
	Last      state.Text `json:"last_run,omitempty"`
}

// NewWhyBlockReport returns the JSON form of the explanations of instances.
func NewWhyBlockReport(cmdline advice.CommandLine, prd string, status state.Status, name string, explained []why.Explanation, next []advice.Suggestion) WhyBlockReport {
	r := WhyBlockReport{FormatVersion: FormatVersion, PRD: prd, Status: status, Name: name, Groups: []WhyGroup{}, Commands: []state.Text{}}
	for _, e := range explained {
		g := groupOf(e)
		i := slices.IndexFunc(r.Groups, func(other WhyGroup) bool {
			return g.Now == other.Now && g.Outdated == other.Outdated && g.Kept == other.Kept && g.Next == other.Next && g.Last == other.Last
		})
		if i < 0 {
			i = len(r.Groups)
			r.Groups = append(r.Groups, g)
		}
		r.Groups[i].Instances = append(r.Groups[i].Instances, e.Name)
	}
	for _, s := range next {
		r.Commands = append(r.Commands, state.Text(cmdline.Command(s.Command)))
	}
	return r
}

// groupOf returns the group of an instance, without the instance.
func groupOf(e why.Explanation) WhyGroup {
	bare := func(c *why.Cause) state.Text {
		if c == nil {
			return ""
		}
		return state.Text(strings.TrimPrefix(c.Chain(), e.Name+" "))
	}
	g := WhyGroup{Outdated: state.Text(e.Outdated), Kept: bare(e.Kept), Next: bare(e.Next)}
	if e.Now != nil {
		g.Now = state.Text(e.Now.Does)
	}
	if e.Last != nil {
		g.Last = bare(e.Last.Cause)
		if e.Last.Ended != "" {
			g.Last += ", " + e.Last.Ended
		}
	}
	return g
}

// Says returns the one line about a group.
func (g WhyGroup) Says() string {
	switch {
	case g.Now != "":
		return string(g.Now + "; " + g.Last)
	case g.Kept != "":
		return string(g.Kept)
	case g.Last != "":
		return string(g.Next + "; last run: " + g.Last)
	}
	return string(g.Next)
}
