package state

import (
	"time"

	"prdrunner/checkpoint/ledger"
)

// KindBudgetRaised is the kind of BudgetRaised.
const KindBudgetRaised Kind = "budget.raised"

// BudgetRaised says that a budget counts anew from what is spent so far.
type BudgetRaised struct {
	Budget string       `json:"budget"` // "pipeline", the name of a phase, or "agent NAME"
	From   ledger.Spent `json:"from"`   // what is spent so far
	By     Actor        `json:"by"`
}

// Kind implements Event.
func (BudgetRaised) Kind() Kind { return KindBudgetRaised }

// spend adds what a report of a workstream says was spent.
func (s *State) spend(w *Workstream, r ledger.Report) {
	spent, err := ledger.SpentBy(r)
	if err != nil || spent.IsZero() { // refused before it is recorded
		return
	}
	w.Spent.Add(spent)
	if w.Call != "" {
		w.CallSpent.Add(spent)
	}
	s.Spent.Add(spent)
	s.spendAgent(w, spent)
	if w.phase != nil {
		w.phase.Spent.Add(spent)
	}
}

// spendAgent adds what the agent of a workstream has spent.
func (s *State) spendAgent(w *Workstream, spent ledger.Spent) {
	if w.Agent == "" {
		return
	}
	all := s.AgentsSpent[w.Agent]
	all.Add(spent)
	if s.AgentsSpent == nil {
		s.AgentsSpent = map[string]ledger.Spent{}
	}
	s.AgentsSpent[w.Agent] = all
}

// worked adds the time of an attempt that has ended.
func (s *State) worked(w *Workstream, at time.Time) {
	if w.StartedAt == nil {
		return
	}
	took := ledger.Spent{WorkMS: max(0, at.Sub(*w.StartedAt).Milliseconds())}
	s.Spent.Add(took)
	s.spendAgent(w, took)
	if w.phase != nil {
		w.phase.Spent.Add(took)
	}
}

// keepSpent keeps what was spent after the state to which a rollback goes: it is not given
// back.
func (s *State) keepSpent(now *State) {
	s.Spent, s.Raised, s.AgentsSpent = now.Spent, now.Raised, now.AgentsSpent
	for _, p := range s.Phases {
		if had := now.Phase(p.Name); had != nil {
			p.Spent = had.Spent
		}
	}
	for had := range now.Records() {
		if w := s.Workstream(had.Name); w != nil {
			w.Spent = had.Spent
		}
	}
}

// forgetSpent begins to count anew, in a new session.
func (s *State) forgetSpent() {
	for _, p := range s.Phases {
		p.Spent = ledger.Spent{}
	}
	for w := range s.Records() {
		w.Spent = ledger.Spent{}
	}
}

// raise makes a budget count from what is spent so far.
func (s *State) raise(e BudgetRaised) {
	raised := cloneMap(s.Raised)
	if raised == nil {
		raised = map[string]ledger.Spent{}
	}
	raised[e.Budget] = e.From
	s.Raised = raised
}
