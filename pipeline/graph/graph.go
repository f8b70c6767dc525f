// Package graph draws the shape of a pipeline: phases, workstreams with their
// dependencies, and gates. New returns a Graph, which is plain data, with the JSON form
// that `runner graph --format json` prints. Each of the other forms of text is one file.
//
// Layout lays a Graph out as a Picture, which WriteSVG draws, with the statuses of a session
// if the caller has them. What a status means is not known here: a Mark is a sign and the
// class of a colour.
package graph

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"prdrunner/pipeline"
)

// FormatVersion is the version of the JSON form.
const FormatVersion = "1.0"

// Graph is the shape of a pipeline.
type Graph struct {
	FormatVersion string  `json:"format_version"`
	PRD           string  `json:"prd"`
	Title         string  `json:"title"`
	Review        bool    `json:"review,omitempty"` // there is a review before the first phase
	Phases        []Phase `json:"phases"`           // in the order in which they run
}

// Phase is a stage. It begins when the phase before has completed.
type Phase struct {
	Name        string       `json:"name"`
	Title       string       `json:"title"`
	Number      int          `json:"number"`                 // from 1
	MaxParallel int          `json:"max_parallel,omitempty"` // 0: no limit
	RunOn       string       `json:"run_on,omitempty"`       // "": it runs when the phases before have passed
	Repeat      *Repeat      `json:"repeat,omitempty"`       // nil: it runs once
	Workstreams []Workstream `json:"workstreams"`
	Gates       []Gate       `json:"gates"` // gates of the phase, without those of its workstreams
}

// Repeat says how often a phase runs.
type Repeat struct {
	Max   int    `json:"max"`
	Until string `json:"until,omitempty"` // the condition as in the file; "": until everything passes
}

// Workstream is a node.
type Workstream struct {
	Name      string   `json:"name"`
	Title     string   `json:"title"`
	Batch     int      `json:"batch"`      // depth inside the phase, from 1
	DependsOn []string `json:"depends_on"` // the workstreams in depends_on
	Uses      []string `json:"uses"`       // other workstreams whose results its expressions use
	Effect    string   `json:"effect"`
	RunOn     string   `json:"run_on,omitempty"` // "": it runs when all in depends_on have completed
	MayFail   bool     `json:"allow_failure,omitempty"`
	Services  []string `json:"services,omitempty"` // that it needs
	Agent     string   `json:"agent,omitempty"`    // the agent that does it
	Isolate   string   `json:"isolate,omitempty"`  // from what its work tree is made: copy or git; "": it runs in the workspace
	Calls     string   `json:"calls,omitempty"`    // the file of the pipeline that it calls
	Gates     []Gate   `json:"gates"`
}

// Gate is a check on a workstream or a phase.
type Gate struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Pause bool   `json:"pause,omitempty"` // stops for a review after the gate has passed
}

// New returns the graph of a pipeline.
func New(p *pipeline.Pipeline) *Graph {
	g := &Graph{FormatVersion: FormatVersion, PRD: p.ID, Title: p.Title, Phases: []Phase{}}
	g.Review = p.Review != nil
	for _, phase := range p.Phases {
		node := Phase{
			Name: phase.Name, Title: phase.Title, Number: phase.Number, MaxParallel: phase.MaxParallel,
			Workstreams: []Workstream{}, Gates: newGates(phase.Gates),
		}
		if phase.RunOn != pipeline.RunOnSucceeded {
			node.RunOn = string(phase.RunOn)
		}
		if r := phase.Repeat; r != nil {
			node.Repeat = &Repeat{Max: r.Max, Until: r.Until()}
		}
		for _, w := range phase.Workstreams {
			node.Workstreams = append(node.Workstreams, newWorkstream(w))
		}
		g.Phases = append(g.Phases, node)
	}
	return g
}

func newWorkstream(w *pipeline.Workstream) Workstream {
	node := Workstream{
		Name: w.Name, Title: w.Title, Batch: w.Batch, Effect: string(w.Effect), Gates: newGates(w.Gates),
		DependsOn: append([]string{}, w.DependsOn...), Uses: []string{}, MayFail: w.AllowFailure, Services: w.Services, Calls: w.Calls,
	}
	if w.RunOn != pipeline.RunOnSucceeded {
		node.RunOn = string(w.RunOn)
	}
	if w.Agent != nil {
		node.Agent = w.Agent.Name
	}
	if w.Isolate != nil {
		node.Isolate = string(w.Isolate.From)
	}
	for _, name := range w.Upstream {
		if !slices.Contains(w.DependsOn, name) {
			node.Uses = append(node.Uses, name)
		}
	}
	return node
}

func newGates(from []*pipeline.Gate) []Gate {
	nodes := []Gate{}
	for _, gate := range from {
		nodes = append(nodes, Gate{Name: gate.Name, Kind: string(gate.Kind), Pause: gate.Pause})
	}
	return nodes
}

// upstream returns all workstreams for which the workstream waits.
func (w Workstream) upstream() []string { return slices.Concat(w.DependsOn, w.Uses) }

// label returns the number and the name of the phase, and how often it repeats.
func (p Phase) label() string {
	label := fmt.Sprintf("%d %s", p.Number, nodeLabel(p.Name, p.Title)) + runOnLabel(p.RunOn)
	switch {
	case p.Repeat == nil:
		return label
	case p.Repeat.Until == "":
		return fmt.Sprintf("%s (at most %d times, until everything passes)", label, p.Repeat.Max)
	}
	return fmt.Sprintf("%s (at most %d times, until %s)", label, p.Repeat.Max, sanitized(p.Repeat.Until))
}

// label returns the name and the title of the workstream, and the agent that does it.
func (w Workstream) label() string {
	label := nodeLabel(w.Name, w.Title)
	if w.Agent != "" {
		label += " (" + sanitized(w.Agent) + ")"
	}
	if w.Calls != "" {
		label += " (calls " + sanitized(w.Calls) + ")"
	}
	if len(w.Services) > 0 {
		label += " (with " + sanitized(strings.Join(w.Services, ", ")) + ")"
	}
	if w.Isolate != "" {
		label += " (in a work tree)"
	}
	if w.MayFail {
		label += " (may fail)"
	}
	return label + runOnLabel(w.RunOn)
}

// runOnLabel says on which outcomes of what comes before something runs.
func runOnLabel(runOn string) string {
	switch runOn {
	case "":
		return ""
	case string(pipeline.RunOnFailed):
		return " (after a failure)"
	}
	return " (" + runOn + ")"
}

// nodeLabel returns the name, and the title if it differs.
func nodeLabel(name, title string) string {
	if title == "" || title == name {
		return sanitized(name)
	}
	return sanitized(name) + ": " + sanitized(title)
}

// sanitized replaces characters that would break a line or control a terminal.
func sanitized(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) linef(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
