package plan

import (
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
)

// Chosen is a Selection that is resolved against a pipeline: it says which workstreams run
// again although nothing changed, and which do not run.
type Chosen struct {
	forced        map[string]string // workstream → reason
	repeat        map[string]bool   // once workstreams that run although they have happened
	phases        map[string]string // phase whose own gates are judged again → reason
	allowed       map[string]bool   // workstreams that may run; nil: all may
	blockedByPlan map[string]bool   // workstreams that the plan blocks because they are not in allowed

	selection Selection
}

// SelectionError says that a selection names a step that the pipeline does not have, or
// one that cannot be selected.
type SelectionError struct {
	Option    string // "--from"
	Name      string
	Known     []string
	NotOnce   bool // the workstream exists, but has no effect = "once"
	Uncertain bool // the workstream exists, but the user must resolve it first
}

func (e *SelectionError) Error() string {
	if e.Uncertain {
		return fmt.Sprintf("%s: %s is uncertain, and must not run twice; resolve it first", e.Option, e.Name)
	}
	if e.NotOnce {
		return fmt.Sprintf("%s: %s has no effect = \"once\"; --invalidate runs it again", e.Option, e.Name)
	}
	kind := "workstream"
	if e.Option == "--from" {
		kind = "phase"
	}
	return fmt.Sprintf("%s: the pipeline has no %s %q (it has %s)", e.Option, kind, e.Name, text.Enumerate(e.Known))
}

// Check returns a *SelectionError if the selection cannot be resolved against the
// pipeline.
func (s Selection) Check(p *pipeline.Pipeline) error {
	_, err := Choose(p, nil, s)
	return err
}

// Choose resolves a selection. It returns a *SelectionError if that is not possible.
func Choose(p *pipeline.Pipeline, st *state.State, s Selection) (*Chosen, error) {
	c := &Chosen{forced: make(map[string]string), phases: make(map[string]string), selection: s}
	if s.From != "" {
		if err := c.resolveFrom(p, s.From); err != nil {
			return nil, err
		}
	}
	again, err := resolveNames(p, "--invalidate", s.Invalidate)
	if err != nil {
		return nil, err
	}
	only, err := resolveNames(p, "--only", s.Only)
	if err != nil {
		return nil, err
	}
	dependents := dependentsOf(p)
	for _, name := range again {
		c.forced[name] = "it was invalidated"
	}
	for _, name := range again {
		c.forceDependents(dependents, name, "it depends on "+name+", which was invalidated")
	}
	if err := c.resolveRepeat(p, s.Repeat); err != nil {
		return nil, err
	}
	if err := c.refuseUncertain(st, "--invalidate", again); err != nil {
		return nil, err
	}
	if err := c.refuseUncertain(st, "--only", only); err != nil || len(only) == 0 {
		return c, err
	}
	c.allowed = make(map[string]bool)
	for _, name := range only {
		if rec := st.Workstream(name); rec != nil && (rec.Status == state.Completed || rec.FailureAllowed()) {
			c.forced[name] = "it was chosen by --only"
		}
		c.allowWithNeeds(p, name)
	}
	return c, nil
}

// resolveRepeat resolves --repeat.
func (c *Chosen) resolveRepeat(p *pipeline.Pipeline, names []string) error {
	repeat, err := resolveNames(p, "--repeat", names)
	if err != nil {
		return err
	}
	c.repeat = make(map[string]bool)
	for _, name := range repeat {
		if p.Workstream(name).Effect != pipeline.Once {
			return &SelectionError{Option: "--repeat", Name: name, NotOnce: true}
		}
		c.repeat[name] = true
	}
	return nil
}

func (c *Chosen) refuseUncertain(st *state.State, option string, names []string) error {
	for _, name := range names {
		if rec := st.Workstream(name); rec != nil && rec.Status == state.Uncertain && !c.repeat[name] {
			return &SelectionError{Option: option, Name: name, Uncertain: true}
		}
	}
	return nil
}

func (c *Chosen) resolveFrom(p *pipeline.Pipeline, name string) error {
	i := slices.IndexFunc(p.Phases, func(ph *pipeline.Phase) bool { return ph.Name == name })
	if i < 0 {
		known := make([]string, len(p.Phases))
		for k, ph := range p.Phases {
			known[k] = ph.Name
		}
		return &SelectionError{Option: "--from", Name: name, Known: known}
	}
	for _, phase := range p.Phases[i:] {
		reason := "everything from " + name + " on runs again"
		c.phases[phase.Name] = reason
		for _, ws := range phase.Workstreams {
			c.forced[ws.Name] = reason
		}
	}
	return nil
}

// forceDependents makes all workstreams run again that depend on name, directly or
// through other workstreams, even through one that is skipped and so does not run.
func (c *Chosen) forceDependents(dependents map[string][]*pipeline.Workstream, name, reason string) {
	for _, ws := range dependents[name] {
		if _, ok := c.forced[ws.Name]; !ok {
			c.forced[ws.Name] = reason
			c.forceDependents(dependents, ws.Name, reason)
		}
	}
}

// allowWithNeeds lets a workstream run with everything that it needs: all earlier phases,
// and its upstream workstreams in its own phase.
func (c *Chosen) allowWithNeeds(p *pipeline.Pipeline, name string) {
	c.allowed[name] = true
	ws := p.Workstream(name)
	for _, phase := range p.Phases[:ws.Phase.Number-1] {
		for _, earlier := range phase.Workstreams {
			c.allowed[earlier.Name] = true
		}
	}
	need := make(map[string]bool)
	collectUpstream(ws, need)
	for up := range need {
		c.allowed[up] = true
	}
}

// exclusionReason returns why a workstream does not run because of --only, "" if it may
// run.
func (c *Chosen) exclusionReason(ws *pipeline.Workstream) string {
	if c.allowed == nil || c.allowed[ws.Name] {
		return ""
	}
	return "it was not chosen by --only"
}

// recordBlocked notes the workstreams that the plan blocks because --only does not name
// them. The run does not touch them, even if it finds that they have nothing to do or are
// not enabled. Otherwise it would judge and complete them, or ask the user about them.
func (c *Chosen) recordBlocked(p *pipeline.Pipeline, plan *Plan) {
	if c.allowed == nil {
		return
	}
	c.blockedByPlan = make(map[string]bool)
	for _, phase := range plan.Phases {
		for _, s := range phase.Steps {
			if s.Kind == WorkstreamStep && s.Decision == Blocked && c.exclusionReason(p.Workstream(s.Name)) != "" {
				c.blockedByPlan[s.Name] = true
			}
		}
	}
}

// of resolves the selection of a run against a pipeline with other instances.
func (c *Chosen) of(p *pipeline.Pipeline, st *state.State) *Chosen {
	next, err := Choose(p, st, c.selection)
	if err != nil { // an instance that the user has named is gone
		return c
	}
	next.repeat = c.repeat
	if c.blockedByPlan == nil {
		return next
	}
	next.blockedByPlan = make(map[string]bool, len(c.blockedByPlan))
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			planned := c.blockedByPlan[ws.Name] || c.blockedByPlan[pipeline.UnexpandedName(ws.Block)]
			next.blockedByPlan[ws.Name] = planned && next.exclusionReason(ws) != ""
		}
	}
	return next
}

// leavesUntouched reports whether a run does not touch some workstream of the phase.
func (c *Chosen) leavesUntouched(phase *pipeline.Phase) bool {
	return slices.ContainsFunc(phase.Workstreams, func(ws *pipeline.Workstream) bool { return c.blockedByPlan[ws.Name] })
}

// resolveNames returns the workstreams that an option names. The label of a for_each block
// names all its instances.
func resolveNames(p *pipeline.Pipeline, option string, names []string) ([]string, error) {
	var found []string
	for _, name := range names {
		n := len(found)
		var known []string
		for _, phase := range p.Phases {
			for _, ws := range phase.Workstreams {
				known = append(known, ws.Name)
				if ws.Name == name || ws.Block == name {
					found = append(found, ws.Name)
				}
			}
		}
		if len(found) == n {
			return nil, &SelectionError{Option: option, Name: name, Known: known}
		}
	}
	return found, nil
}

// dependentsOf returns the direct dependents of each workstream.
func dependentsOf(p *pipeline.Pipeline) map[string][]*pipeline.Workstream {
	d := make(map[string][]*pipeline.Workstream)
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			for _, up := range ws.Upstream {
				d[up] = append(d[up], ws)
			}
		}
	}
	return d
}

// Selection chooses what to run again or only.
type Selection struct {
	From       string   `json:"from,omitempty"`       // a phase: it and all later phases run again
	Only       []string `json:"only,omitempty"`       // workstreams: only these run, and the workstreams that they need
	Invalidate []string `json:"invalidate,omitempty"` // workstreams: these and their dependents run again
	Repeat     []string `json:"repeat,omitempty"`     // once workstreams: these run although they have happened
}
