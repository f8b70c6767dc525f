// Package why explains why a workstream or gate ran, will run, or will not: what changed, and the
// first cause of it in the workstreams before it.
//
// It decides nothing. What the next build does is what a plan says, and why something ran is what the
// journal recorded. The package gets both as values and reads no file; Explain begins. History
// collects what the journal says. Differences of files are filled in by the caller, who can open
// them, with Causes.
package why

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/runner/plan"
)

// Explanation says why a workstream or gate ran, and what the next build does with it.
type Explanation struct {
	Name  string        `json:"name"`
	Title string        `json:"title,omitempty"`
	Kind  plan.StepKind `json:"kind"`
	Next  *Cause        `json:"next"`     // what a build that resumes does; nil: that can't be planned
	Last  *Run          `json:"last_run"` // nil: it never ran in the session
}

// Cause is what is done with a workstream or gate, and why.
type Cause struct {
	Name    string     `json:"name"`
	Does    string     `json:"does"` // in words: runs again
	Reason  state.Text `json:"reason"`
	Changes []Change   `json:"changes,omitempty"`
	// Because are the causes in the workstreams that it depends on.
	Because []*Cause `json:"because,omitempty"`
	// Approvals are the gates that must be approved first.
	Approvals []string `json:"approvals,omitempty"`
	// Decision is that of the plan, "" for a run of the past.
	Decision plan.Decision `json:"decision,omitempty"`
}

// Change is one difference that makes a workstream or gate run again.
type Change struct {
	plan.Change
	Added      int        `json:"lines_added,omitempty"`
	Deleted    int        `json:"lines_deleted,omitempty"`
	Difference state.Text `json:"difference,omitempty"` // of a file: unified, or a note why there is none
}

// Run is the last run of a workstream, or the last judgement of a gate.
type Run struct {
	At      time.Time  `json:"at"`
	Attempt int        `json:"attempt"`
	Seq     uint64     `json:"seq"`   // of the commit that recorded its beginning
	Ended   state.Text `json:"ended"` // how, in words; "": it has not ended
	Cause   *Cause     `json:"cause"`
}

// Explain explains a step of a plan. history may be nil, if there is no session.
func Explain(planned *plan.Plan, history *History, name string) (Explanation, bool) {
	x := explainer{steps: map[string]*plan.Step{}, history: history}
	for i := range planned.Phases {
		for j := range planned.Phases[i].Steps {
			s := &planned.Phases[i].Steps[j]
			x.steps[s.Name] = s
		}
	}
	step := x.steps[name]
	if step == nil {
		return Explanation{}, false
	}
	e := Explanation{Name: name, Title: step.Title, Kind: step.Kind}
	e.Next = x.future(name, map[string]bool{})
	e.Next.awaitApprovals(approvalsBefore(planned, name))
	if run := history.last(name); run != nil {
		e.Last = &Run{At: run.at, Attempt: run.attempt, Seq: run.seq, Ended: run.ended, Cause: x.past(name, run.seq, map[string]bool{})}
	}
	return e, true
}

// approvalsBefore returns the gates of the phases before a step that wait for an approval. No step
// of a later phase runs before it is given.
func approvalsBefore(planned *plan.Plan, name string) (gates []string) {
	var before []string
	for _, phase := range planned.Phases {
		gates = append(gates, before...)
		before = nil
		for _, s := range phase.Steps {
			if s.Name == name {
				return gates
			}
			if s.Reason == plan.WaitsForApproval {
				before = append(before, s.Name)
			}
		}
	}
	return gates
}

// awaitApprovals adds the approvals that must be given before a step runs.
func (c *Cause) awaitApprovals(gates []string) {
	switch c.Decision {
	case plan.Run, plan.Rerun, plan.Cached, plan.Judge, plan.Depends:
		if len(gates) > 0 {
			c.Approvals = gates
			c.Does += ", once " + text.Enumerate(gates) + " is approved"
		}
	case plan.Reuse, plan.Blocked, plan.Uncertain, plan.Skipped:
	}
}

type explainer struct {
	steps   map[string]*plan.Step
	history *History
}

// future returns what the plan does with a step, and why. seen holds the steps on the way to it.
func (x *explainer) future(name string, seen map[string]bool) *Cause {
	s := x.steps[name]
	if s == nil || seen[name] {
		return nil
	}
	seen[name] = true
	defer delete(seen, name)
	c := &Cause{Name: name, Does: does(s), Reason: s.Reason, Changes: changes(s.Changes), Decision: s.Decision}
	if s.Reason == plan.WaitsForApproval {
		c.Does, c.Reason = "waits for an approval", ""
	}
	if s.Decision == plan.Depends || s.Decision == plan.Blocked { // others only come after those in On
		for _, on := range s.On {
			c.add(x.future(on, seen))
		}
	}
	if s.Kind == plan.WorkstreamStep && (s.Decision == plan.Judge || s.Decision == plan.Blocked) {
		x.addGates(c, seen)
	}
	x.addPast(c, s.Changes, s.On, math.MaxUint64, seen)
	return c
}

// addGates adds the gates of a workstream that do not keep their verdicts.
func (x *explainer) addGates(c *Cause, seen map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(x.steps)) {
		s := x.steps[name]
		if s.Kind == plan.GateStep && strings.HasSuffix(name, " ("+c.Name+")") && s.Decision != plan.Reuse {
			c.add(x.future(name, seen))
		}
	}
}

// past returns why the run that began before a commit ran.
func (x *explainer) past(name string, until uint64, seen map[string]bool) *Cause {
	run := x.history.before(name, until)
	if run == nil || seen[name] {
		return nil
	}
	seen[name] = true
	defer delete(seen, name)
	found := run.changes()
	reason := run.reason
	switch {
	case reason != "":
	case len(found) > 0:
		reason = state.Text(plan.DescribeChanges(found))
	case !run.again && run.gate:
		reason = "it had no verdict yet"
	case !run.again:
		reason = "it had not run yet"
	}
	c := &Cause{Name: name, Does: run.does(), Reason: reason, Changes: changes(found)}
	x.addPast(c, found, nil, run.seq, seen)
	return c
}

// addPast adds to a cause the runs that gave the results and made the files which changed.
func (x *explainer) addPast(c *Cause, found []plan.Change, known []string, until uint64, seen map[string]bool) {
	for _, change := range found {
		name := string(change.Name)
		switch change.Component {
		case "upstream":
		case "inputs":
			name = x.history.maker(change.Name)
		default:
			continue
		}
		if name == "" || slices.Contains(known, name) || slices.ContainsFunc(c.Because, func(b *Cause) bool { return b.Name == name }) {
			continue
		}
		c.add(x.past(name, until-1, seen))
	}
}

func (c *Cause) add(because *Cause) {
	if because != nil {
		c.Because = append(c.Because, because)
	}
}

func changes(found []plan.Change) []Change {
	var all []Change
	for _, c := range found {
		all = append(all, Change{Change: c})
	}
	return all
}

// Causes calls visit for a cause and all that are behind it.
func (c *Cause) Causes(visit func(*Cause)) {
	if c == nil {
		return
	}
	visit(c)
	for _, b := range c.Because {
		b.Causes(visit)
	}
}

// Chain returns the way from a cause to its first cause: archive runs again, because notes runs
// again, because inputs changed: changes/1.md.
func (c *Cause) Chain() string {
	chain := c.Name + " " + c.Does
	if len(c.Because) > 0 {
		return chain + ", because " + c.Because[0].Chain()
	}
	if c.Reason != "" {
		chain += ": " + string(c.Reason)
	}
	var added, deleted int
	for _, change := range c.Changes {
		added, deleted = added+change.Added, deleted+change.Deleted
	}
	if added+deleted > 0 {
		chain += fmt.Sprintf(" (+%d −%d lines)", added, deleted)
	}
	return chain
}

// does says what a plan does with a step.
func does(s *plan.Step) string {
	gate := s.Kind == plan.GateStep
	switch s.Decision {
	case plan.Reuse:
		if gate {
			return "keeps its verdict"
		}
		return "does not run again"
	case plan.Run:
		if gate {
			return "is judged"
		}
		return "runs"
	case plan.Rerun:
		if gate {
			return "is judged again"
		}
		return "runs again"
	case plan.Cached:
		return "takes the result of an earlier run"
	case plan.Judge:
		if gate {
			return "is judged"
		}
		return "does not run again; its gates come next"
	case plan.Depends:
		if gate {
			return "may be judged again"
		}
		return "may run again"
	case plan.Blocked:
		return "is blocked"
	case plan.Uncertain:
		return "is uncertain"
	case plan.Skipped:
		return "is skipped"
	}
	return strings.TrimSpace(string(s.Decision))
}
