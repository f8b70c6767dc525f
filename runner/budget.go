package runner

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// pipelineBudget is the name of the budget of the whole session.
const pipelineBudget = "pipeline"

// scope is what a budget is for, and what was spent there.
type scope struct {
	name   string // of the budget in the journal
	budget *pipeline.Budget
	spent  ledger.Spent
}

// scopes returns the budgets that bound a workstream.
func (l *loop) scopes(ws *pipeline.Workstream) []scope {
	phase := ws.Phase
	st := l.session.State()
	var all []scope
	if b := l.pipeline.Budget; b != nil {
		spent := st.Spent
		spent.WorkMS = st.ActiveMS + l.opts.Now().Sub(l.activeSince).Milliseconds() // the time of the session, not the sum of its work
		all = append(all, scope{pipelineBudget, b, spent})
	}
	if rec := st.Phase(phase.Name); rec != nil && phase.Budget != nil {
		all = append(all, scope{"phase " + phase.Name, phase.Budget, rec.Spent})
	}
	if a := ws.Agent; a != nil && a.Budget != nil {
		all = append(all, scope{"agent " + a.Name, a.Budget, st.AgentsSpent[a.Name]})
	}
	return all
}

// usedUp returns which bound of the budget is used up, "" if none is. from is the sum from
// which the budget counts.
func (s scope) usedUp(from ledger.Spent) string {
	spent := s.spent.Sub(from)
	b := s.budget
	if limit, err := ledger.ParseUSD(b.MaxCostUSD.String()); err == nil && limit > 0 && spent.CostUSD >= limit {
		return fmt.Sprintf("max_cost_usd = %s of the %s is used up: $%s was spent", b.MaxCostUSD, s.name, spent.CostUSD)
	}
	if b.MaxTokens > 0 && spent.Tokens() >= b.MaxTokens {
		return fmt.Sprintf("max_tokens = %d of the %s is used up: there were %d", b.MaxTokens, s.name, spent.Tokens())
	}
	if took := time.Duration(spent.WorkMS) * time.Millisecond; b.MaxDuration > 0 && took >= b.MaxDuration {
		return fmt.Sprintf("max_duration = %q of the %s is used up: it took %s", b.MaxDuration, s.name, took.Round(time.Millisecond))
	}
	return ""
}

// withinBudget reports whether a workstream may start an attempt. If a budget is used up, it
// pauses the run: work that runs may finish.
func (n *node) withinBudget() bool {
	l := n.loop
	for _, s := range l.scopes(n.ws) {
		if why := s.usedUp(l.session.State().Raised[s.name]); why != "" {
			l.cause.budget = why
			l.stopNewWork(stopPause)
			return false
		}
	}
	return true
}

// raiseBudgets makes the budgets that are used up count from what is spent so far, because
// the user asked for it.
func (op *opening) raiseBudgets() {
	l := op.loop
	if !l.opts.RaiseBudget {
		return
	}
	raised := make(map[string]bool)
	for _, phase := range l.pipeline.Phases {
		for _, ws := range phase.Workstreams {
			for _, s := range l.scopes(ws) {
				if !raised[s.name] && s.usedUp(l.session.State().Raised[s.name]) != "" {
					raised[s.name] = true
					l.recorder.Add(nil, state.BudgetRaised{Budget: s.name, From: s.spent, By: l.opts.By})
				}
			}
		}
	}
	if len(raised) == 0 {
		l.warnUser("no budget is used up, so none was raised")
	}
}

// takeSpending takes the metrics that count what work costs out of the outputs of an attempt,
// and records them, whether or not the attempt succeeded.
func (n *node) takeSpending(o *outputs) {
	e := state.ReportsReceived{Workstream: n.ws.Name, Attempt: n.attempt}
	for _, name := range slices.Sorted(maps.Keys(o.metrics)) {
		if !ledger.CountsSpending(name) {
			continue
		}
		r := ledger.Report{Type: ledger.TypeMetric, Name: name, Value: o.metrics[name]}
		delete(o.metrics, name)
		if _, err := ledger.SpentBy(r); err != nil {
			n.loop.warnUser(n.loop.opts.Mask(fmt.Sprintf("%s: RUNNER_OUTPUT: %v; it is not counted", n.ws.Name, err)))
			continue
		}
		e.Reports = append(e.Reports, r)
	}
	n.loop.reports.record(e, nil)
}
