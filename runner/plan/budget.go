package plan

import (
	"fmt"
	"time"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// Budget is a budget block of the pipeline, a phase or an agent, with what was spent there.
type Budget struct {
	Name  string       // in the journal: pipeline, "phase NAME" or "agent NAME"
	Spent ledger.Spent // in the session

	limits *pipeline.Budget
	from   ledger.Spent // the sum from which the budget counts, since it was raised
}

// Budgets returns the budgets that bound a workstream. sessionMS is how long the session
// has been active.
func Budgets(p *pipeline.Pipeline, ws *pipeline.Workstream, st *state.State, sessionMS int64) []Budget {
	var all []Budget
	add := func(name string, limits *pipeline.Budget, spent ledger.Spent) {
		if limits != nil {
			all = append(all, Budget{name, spent, limits, st.Raised[name]})
		}
	}
	spent := st.Spent
	spent.WorkMS = sessionMS // the time of the session, not the sum of its work
	add("pipeline", p.Budget, spent)
	if rec := st.Phase(ws.Phase.Name); rec != nil {
		add("phase "+ws.Phase.Name, ws.Phase.Budget, rec.Spent)
	}
	if a := ws.Agent; a != nil {
		add("agent "+a.Name, a.Budget, st.AgentsSpent[a.Name])
	}
	return all
}

// UsedUp returns which limit of the budget is used up, "" if none is.
func (b Budget) UsedUp() string {
	spent := b.Spent.Sub(b.from)
	l := b.limits
	if limit, err := ledger.ParseUSD(l.MaxCostUSD.String()); err == nil && limit > 0 && spent.CostUSD >= limit {
		return fmt.Sprintf("max_cost_usd = %s of the %s is used up: $%s was spent", l.MaxCostUSD, b.Name, spent.CostUSD)
	}
	if l.MaxTokens > 0 && spent.Tokens() >= l.MaxTokens {
		return fmt.Sprintf("max_tokens = %d of the %s is used up: there were %d", l.MaxTokens, b.Name, spent.Tokens())
	}
	if took := time.Duration(spent.WorkMS) * time.Millisecond; l.MaxDuration > 0 && took >= l.MaxDuration {
		return fmt.Sprintf("max_duration = %q of the %s is used up: it took %s", l.MaxDuration, b.Name, took.Round(time.Millisecond))
	}
	return ""
}

// WarnOfBudgets adds a warning for each budget that is used up and bounds a workstream that
// would run.
func (p *Plan) WarnOfBudgets(of *pipeline.Pipeline, st *state.State) {
	warned := map[string]bool{}
	for _, phase := range p.Phases {
		for i := range phase.Steps {
			step := &phase.Steps[i]
			ws := of.Workstream(step.Name)
			if ws == nil || !step.hasWork() {
				continue
			}
			for _, b := range Budgets(of, ws, st, st.ActiveMS) {
				if why := b.UsedUp(); why != "" && !warned[b.Name] {
					warned[b.Name] = true
					p.Warnings = append(p.Warnings, state.Text(fmt.Sprintf("%s; a build pauses before %s, and --raise-budget goes on", why, ws.Name)))
				}
			}
		}
	}
}
