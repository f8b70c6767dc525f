//go:build unix

package runner_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
)

// What work may cost, and what it has cost.

// histBudget bounds what work may cost. 0 is no bound.
type histBudget struct {
	Tokens int `json:"tokens,omitempty"`
	Dimes  int `json:"dimes,omitempty"` // tenths of a US dollar
}

func drawBudget(t *rapid.T) histBudget {
	if rapid.IntRange(0, 2).Draw(t, "budget") > 0 {
		return histBudget{}
	}
	return histBudget{Tokens: rapid.SampledFrom([]int{0, 3, 6, 15}).Draw(t, "tokens"), Dimes: rapid.IntRange(0, 3).Draw(t, "dimes")}
}

// write writes the budget into a pipeline that was edited so often that its numbers grew.
func (b histBudget) write(to io.Writer, grown int) {
	if b == (histBudget{}) {
		return
	}
	b = b.grown(grown)
	fmt.Fprint(to, "budget {\n")
	if b.Tokens > 0 {
		fmt.Fprintf(to, " max_tokens = %d\n", b.Tokens)
	}
	if b.Dimes > 0 {
		fmt.Fprintf(to, " max_cost_usd = %d.%d\n", b.Dimes/10, b.Dimes%10)
	}
	fmt.Fprint(to, "}\n")
}

func (b histBudget) grown(times int) histBudget {
	if b.Tokens > 0 {
		b.Tokens += 5 * times
	}
	if b.Dimes > 0 {
		b.Dimes += times
	}
	return b
}

// spent is what work has cost.
type spent struct{ tokens, dimes int }

// usedUp reports whether a budget is used up by what was spent since it was raised.
func (b histBudget) usedUp(all, from spent) bool {
	return b.Tokens > 0 && all.tokens-from.tokens >= b.Tokens || b.Dimes > 0 && all.dimes-from.dimes >= b.Dimes
}

// account is what a session has spent.
type account struct {
	total  spent
	phases [3]spent // by the number of the phase
	raised map[string]spent
}

// spend adds what a report says was spent in a phase.
func (m *model) spend(phase int, r ledger.Report) {
	var s spent
	switch r.Name {
	case ledger.MetricTokensIn, ledger.MetricTokensOut:
		_, _ = fmt.Sscan(fmt.Sprint(r.Value), &s.tokens)
	case ledger.MetricCostUSD:
		s.dimes = 1
	}
	for _, all := range []*spent{&m.spent.total, &m.spent.phases[phase]} {
		all.tokens += s.tokens
		all.dimes += s.dimes
	}
}

// usedUp returns the budgets that are used up and bound the workstreams of a phase.
func (m *model) usedUp(phase int) []string {
	var names []string
	if m.h.Budget.grown(m.v.grown["budget"]).usedUp(m.spent.total, m.spent.raised["pipeline"]) {
		names = append(names, "pipeline")
	}
	name := "phase " + phaseName(phase)
	if m.h.Phases[phase].Budget.grown(m.v.grown["budget"]).usedUp(m.spent.phases[phase], m.spent.raised[name]) {
		names = append(names, name)
	}
	return names
}

// usedUpAnywhere returns all budgets that are used up.
func (m *model) usedUpAnywhere() []string {
	var names []string
	for p := range m.h.Phases {
		names = append(names, m.usedUp(p)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// raiseDue notes the budgets that a resume with --raise-budget must raise before anything
// starts.
func (m *model) raiseDue() {
	if m.run.act.Raise {
		m.run.toRaise = m.usedUpAnywhere()
	}
}

// raised applies the record of a budget that counts anew.
func (m *model) raised(e state.BudgetRaised) error {
	at := slices.Index(m.run.toRaise, e.Budget)
	if at < 0 {
		return errors.New("the budget is not used up, or the user did not want to raise it")
	}
	m.run.toRaise = slices.Delete(m.run.toRaise, at, at+1)
	want := m.spent.total
	for p := range m.h.Phases {
		if "phase "+phaseName(p) == e.Budget {
			want = m.spent.phases[p]
		}
	}
	raised := map[string]spent{e.Budget: want}
	for name, from := range m.spent.raised {
		if name != e.Budget {
			raised[name] = from
		}
	}
	m.spent.raised = raised
	return m.mustBe(spentOf(e.From) == want, "it counts from %+v, and must count from %+v", spentOf(e.From), want)
}

func spentOf(s ledger.Spent) spent {
	const dime = 100_000_000
	return spent{tokens: int(s.Tokens()), dimes: int(s.CostUSD) / dime}
}

// outOfBudget reports whether the run comes to a workstream that may not start because a
// budget is used up.
func (m *model) outOfBudget() bool {
	return slices.ContainsFunc(m.h.works(), func(w *histWork) bool { return m.isUnpaid(w.Name) })
}

// isUnpaid reports whether a workstream would start now if its budget was not used up.
func (m *model) isUnpaid(name string) bool {
	is, r := m.works[name], m.run
	starts := !is.done() && !m.stands(name) && is.status != state.Uncertain && is.status != state.Running && !m.asks(name)
	if is.done() {
		starts = len(m.reasons(name)) > 0 && m.work(name).Effect != "once"
	}
	ended := r.over[name] && is.status != state.Interrupted
	return starts && !ended && !m.off(name) && (r.allowed == nil || r.allowed[name]) && m.reached(name) && len(m.usedUp(m.phaseOf(name))) > 0
}

// sameSpent compares the sums of the session with those of the model.
func (m *model) sameSpent(st *state.State) error {
	if is := spentOf(st.Spent); is != m.spent.total {
		return fmt.Errorf("the session has spent %+v, and must have spent %+v", is, m.spent.total)
	}
	for i, p := range st.Phases {
		if is := spentOf(p.Spent); is != m.spent.phases[i] {
			return fmt.Errorf("%s has spent %+v, and must have spent %+v", p.Name, is, m.spent.phases[i])
		}
	}
	return nil
}

// endsFor reports whether an event pauses the session because a budget is used up.
func endsFor(e state.Event, reason state.PauseReason) bool {
	p, ok := e.(state.SessionPaused)
	return ok && p.Reason == reason && strings.Contains(string(p.Message), "used up")
}
