// Package why explains why a workstream or gate ran, will run, or will not: what changed, and in which
// earlier workstream that began.
//
// It decides nothing and reads no file: the plan says what the next build does, and the journal says why
// something ran. The caller adds the differences of files.
//
// Begin with Explain. History collects what the journal says, and Causes lists the causes to which a
// caller can add differences.
package why

import (
	"fmt"
	"maps"
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
	Now   *Now          `json:"now,omitempty"`  // what it does in the run that is on; nil: nothing
	Kept  *Cause        `json:"kept,omitempty"` // what keeps it from starting, or kept it in the last run; nil: nothing
	// Outdated says why the work of a workstream that is done may not be kept, as status does; "": it is not outdated.
	Outdated string `json:"outdated,omitempty"`
	Next     *Cause `json:"next"`     // what a build that resumes does
	Last     *Run   `json:"last_run"` // nil: it never ran in the session
}

// Cause is what is done with a workstream or gate, and why.
type Cause struct {
	Name    string     `json:"name"`
	Does    string     `json:"does"` // in words: runs again
	Reason  state.Text `json:"reason"`
	Changes []Change   `json:"changes,omitempty"`
	// Above says that the cause is told in full further up, and only named here.
	Above bool `json:"above,omitempty"`
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
	At      time.Time  `json:"at,omitzero"`       // when it began, or asked a person; zero: that is no longer on record
	EndedAt time.Time  `json:"ended_at,omitzero"` // zero: it has not ended, or that is no longer on record
	Attempt int        `json:"attempt"`
	Asked   bool       `json:"asked,omitempty"` // a gate asked a person
	Seq     uint64     `json:"seq"`             // of the commit that recorded its beginning, or that is the first on record of it
	Ended   state.Text `json:"ended"`           // how, in words; "": it has not ended
	Cause   *Cause     `json:"cause"`
}

// Explain explains a step of a plan. history may be nil, if there is no session.
func Explain(planned *plan.Plan, session Session, history *History, step *plan.Step) Explanation {
	x := explainer{steps: map[string]*plan.Step{}, history: history}
	for i := range planned.Phases {
		for j := range planned.Phases[i].Steps {
			s := &planned.Phases[i].Steps[j]
			x.steps[s.Name] = s
		}
	}
	e := Explanation{Name: step.Name, Title: step.Title, Kind: step.Kind}
	e.Next = x.future(step, newTold())
	e.Next.awaitApprovals(approvalsBefore(planned, step.Name))
	if session.State != nil {
		e.Kept, e.Outdated = session.kept(step.Name), session.State.OutdatedWork()[step.Name]
	}
	if run, back := history.last(step.Name); run != nil {
		e.Last = &Run{At: run.at, EndedAt: run.endedAt, Attempt: run.attempt, Asked: run.asked, Seq: run.seq, Ended: run.ended, Cause: x.past(step.Name, run, newTold())}
		if back {
			e.Kept = nil // it did start
		}
		switch {
		case back && run.ended == "":
			e.Last.Ended = takenBack
		case back:
			e.Last.Ended += "; " + takenBack
		case run.ended == "" && session.cutOff(step.Name):
			e.Last.Ended = "was interrupted: the runner was killed"
		}
	}
	e.Now = session.now(step.Name, e.Last)
	return e
}

// Last returns the last run of a step that is on record and stands, nil if there is none.
func (h *History) Last(name string) *Run {
	run, back := h.last(name)
	if run == nil || back {
		return nil
	}
	x := explainer{history: h}
	return &Run{At: run.at, EndedAt: run.endedAt, Attempt: run.attempt, Asked: run.asked, Seq: run.seq, Ended: run.ended, Cause: x.past(name, run, newTold())}
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

// told is what an explanation has told so far. Many ways lead to the same cause, so that each is told
// in full only once.
type told struct {
	open  map[string]bool   // steps on the way to the cause that is told now
	steps map[string]*Cause // what the plan does with them
	runs  map[*run]*Cause
}

func newTold() *told {
	return &told{open: map[string]bool{}, steps: map[string]*Cause{}, runs: map[*run]*Cause{}}
}

// above returns a cause that only names one which is told in full further up.
func above(c *Cause) *Cause {
	return &Cause{Name: c.Name, Does: c.Does, Decision: c.Decision, Above: true}
}

// future returns what the plan does with a step, and why; nil if that is being told.
func (x *explainer) future(s *plan.Step, told *told) *Cause {
	if s == nil || told.open[s.Name] {
		return nil
	}
	if c := told.steps[s.Name]; c != nil {
		return above(c)
	}
	told.open[s.Name] = true
	defer delete(told.open, s.Name)
	c := &Cause{Name: s.Name, Does: does(s), Reason: s.Reason, Changes: changes(s.Changes), Decision: s.Decision}
	told.steps[s.Name] = c
	if s.Reason == plan.WaitsForApproval {
		c.Does, c.Reason = "waits for an approval", ""
	}
	if s.Decision == plan.Depends || s.Decision == plan.Blocked { // others only come after those in On
		for _, on := range s.On {
			c.add(x.future(x.steps[on], told))
		}
	}
	if s.Kind == plan.WorkstreamStep && (s.Decision == plan.Judge || s.Decision == plan.Blocked) {
		x.addGates(c, told)
	}
	x.addResults(c, x.history.digestAt(s.Name), latest)
	x.addPast(c, s.Changes, s.On, latest, told)
	return c
}

// addGates adds the gates of a workstream that do not keep their verdicts.
func (x *explainer) addGates(c *Cause, told *told) {
	for _, name := range slices.Sorted(maps.Keys(x.steps)) {
		s := x.steps[name]
		if _, owner, _ := state.CutLabel(name); s.Kind == plan.GateStep && owner == c.Name && s.Decision != plan.Reuse {
			c.add(x.future(s, told))
		}
	}
}

// past returns why a step ran; nil if there is no such run, or if the step is being told.
func (x *explainer) past(name string, run *run, told *told) *Cause {
	if run == nil || told.open[name] {
		return nil
	}
	if c := told.runs[run]; c != nil {
		return above(c)
	}
	told.open[name] = true
	defer delete(told.open, name)
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
	told.runs[run] = c
	x.addResults(c, run.wasAt, run.seq)
	x.addPast(c, found, nil, run.seq, told)
	return c
}

// addPast adds to a cause the runs that gave the results and made the files which changed.
func (x *explainer) addPast(c *Cause, found []plan.Change, known []string, until uint64, told *told) {
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
		c.add(x.past(name, x.history.before(name, until-1), told))
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
	visit(c)
	for _, b := range c.Because {
		b.Causes(visit)
	}
}

// Chain returns the way from a cause to its first cause: archive runs again, because notes runs
// again, because inputs changed: changes/1.md.
func (c *Cause) Chain() string {
	chain := c.Name + " " + c.Does
	if len(c.Because) > 0 && c.Decision != plan.Run { // without these causes, it would run, too
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
			return "may be judged"
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
