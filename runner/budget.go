package runner

import (
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/outputs"
	"prdrunner/runner/plan"
)

// budgets returns the budgets that bound a workstream.
func (l *loop) budgets(ws *pipeline.Workstream) []plan.Budget {
	st := l.session.State()
	return plan.Budgets(l.pipeline, ws, st, st.ActiveMS+l.opts.Now().Sub(l.activeSince).Milliseconds())
}

// withinBudget reports whether a workstream may start an attempt. If a budget is used up, it
// pauses the run: work that runs may finish.
func (n *node) withinBudget() bool {
	l := n.loop
	for _, s := range l.budgets(n.ws) {
		if why := s.UsedUp(); why != "" {
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
	raised, calls := make(map[string]bool), false
	for _, phase := range l.pipeline.Phases {
		for _, ws := range phase.Workstreams {
			calls = calls || ws.CallLevels > 0
			for _, s := range l.budgets(ws) {
				if !raised[s.Name] && s.UsedUp() != "" {
					raised[s.Name] = true
					l.recorder.Add(nil, state.BudgetRaised{Budget: s.Name, From: s.Spent, By: l.opts.By})
				}
			}
		}
	}
	if len(raised) == 0 && !calls && l.opts.Caller == nil { // a called pipeline, or its caller, may raise its own
		l.warnUser("no budget is used up, so none was raised")
	}
}

// takeSpending takes the metrics that count what work costs out of the outputs of an attempt,
// and records them, whether or not the attempt succeeded.
func (n *node) takeSpending(o *outputs.Set) {
	e := state.ReportsReceived{Workstream: n.ws.Name, Attempt: n.attempt}
	for _, name := range slices.Sorted(maps.Keys(o.Metrics)) {
		if !ledger.CountsSpending(name) {
			continue
		}
		r := ledger.Report{Type: ledger.TypeMetric, Name: name, Value: o.Metrics[name]}
		delete(o.Metrics, name)
		if _, err := ledger.SpentBy(r); err != nil {
			n.loop.warnUser(n.loop.opts.Mask(fmt.Sprintf("%s: RUNNER_OUTPUT: %v; it is not counted", n.ws.Name, err)))
			continue
		}
		e.Reports = append(e.Reports, r)
	}
	n.loop.reports.record(e, nil)
}
