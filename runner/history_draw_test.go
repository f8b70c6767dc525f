//go:build unix

package runner_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"prdrunner/runner/plan"
)

// Random histories.

// histories returns a generator of histories.
func histories() *rapid.Generator[history] {
	return rapid.Custom(func(t *rapid.T) history {
		h := history{Parallel: rapid.SampledFrom([]int{1, 1, 2, 4}).Draw(t, "parallel")}
		for p := range rapid.IntRange(1, 3).Draw(t, "phases") {
			h.Phases = append(h.Phases, drawPhase(t, &h, p))
		}
		h.keepUsedOnes()
		h.Budget, h.Review = drawBudget(t), drawReview(t)
		h.Acts = []act{drawBuild(t, &h)}
		for range rapid.IntRange(2, 9).Draw(t, "acts") {
			h.Acts = append(h.Acts, drawAct(t, &h))
		}
		return h
	})
}

// keepUsedOnes lets no workstream be skipped, nor fail with permission, whose output is used. It
// lets no workstream be skipped either on which such a one depends, if that would skip it.
func (h *history) keepUsedOnes() {
	works := h.works()
	for _, w := range works {
		w.Permits = w.Permits && !h.isUsed(w.Name)
	}
	for _, w := range slices.Backward(works) {
		phase := &h.Phases[int(w.Name[1]-'0')]
		if !w.Toggled && w.RunOn == onFailed {
			w.RunOn = ""
		}
		if !w.Toggled && phase.RunOn == onFailed {
			phase.RunOn = ""
		}
		for _, up := range works {
			if !w.Toggled && w.RunOn == "" && slices.Contains(w.On, up.Name) {
				up.Toggled = false
			}
		}
	}
}

// isUsed reports whether an expression uses the output of a workstream that need not have
// succeeded by then.
func (h *history) isUsed(name string) bool {
	of := func(g histGate) bool { return g.Of == name }
	return slices.ContainsFunc(h.works(), func(w *histWork) bool { return w.Uses == name }) ||
		slices.ContainsFunc(h.Phases, func(p histPhase) bool { return p.Until == name || slices.ContainsFunc(p.Gates, of) })
}

func drawPhase(t *rapid.T, h *history, number int) histPhase {
	var p histPhase
	var earlier []string
	for _, w := range h.works() {
		earlier = append(earlier, w.Name)
	}
	if number > 0 {
		p.RunOn = rapid.SampledFrom([]string{"", "", onAlways, onFailed}).Draw(t, "phase runs on")
	}
	p.FailFast = rapid.SampledFrom([]string{"", "", "false"}).Draw(t, "phase fails fast")
	p.drawLoop(t)
	for n := range rapid.IntRange(1, 3).Draw(t, "workstreams") {
		w := histWork{Name: fmt.Sprintf("p%dw%d", number, n), Toggled: true}
		w.Makes = rapid.IntRange(0, 3).Draw(t, "makes") > 0
		w.Sources = drawSome(t, "sources", sources, 2)
		if len(earlier) > 0 {
			w.On = drawSome(t, "on", earlier, 2)
		}
		if len(w.On) > 0 {
			w.Reads = rapid.Bool().Draw(t, "reads")
			w.RunOn = rapid.SampledFrom([]string{"", "", "", onAlways, onFailed}).Draw(t, "run on")
			if w.RunOn == "" && rapid.IntRange(0, 2).Draw(t, "uses") == 0 {
				w.Uses = w.On[0]
				refersTo(h, &p, w.Uses)
			}
		}
		if len(w.On) > 0 && rapid.IntRange(0, 2).Draw(t, "sees") == 0 {
			w.Sees = rapid.SampledFrom(w.On).Draw(t, "seen")
		}
		effects := []string{"", "", "", "pure", "once"}
		if p.Repeat > 0 || p.RunOn != "" || w.RunOn == onFailed {
			effects = effects[:4]
		}
		if p.Repeat > 0 {
			w.Counts = rapid.Bool().Draw(t, "counts")
		}
		w.Effect = rapid.SampledFrom(effects).Draw(t, "effect")
		if w.Effect != "once" {
			w.Permits = rapid.IntRange(0, 3).Draw(t, "allow failure") == 0
			w.Attempts = rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "attempts")
			w.Rerun = rapid.IntRange(0, 3).Draw(t, "rerun") == 0
		} else {
			w.Verify = rapid.Bool().Draw(t, "verify")
		}
		w.FailFast = rapid.SampledFrom([]string{"", "", "", "true", "false"}).Draw(t, "fail fast")
		w.Limited = rapid.IntRange(0, 3).Draw(t, "limited") == 0
		w.Vars = drawSome(t, "variables", variables, 1)
		w.drawTells(t)
		for g := range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "gates") {
			w.Gates = append(w.Gates, drawGate(t, g, &w))
		}
		if p.RunOn != "" || w.RunOn == onFailed {
			w.Gates = withoutQuestions(w.Gates)
		}
		p.Works = append(p.Works, w)
		earlier = append(earlier, w.Name)
	}
	for g := range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "phase gates") {
		i := rapid.IntRange(0, len(p.Works)-1).Draw(t, "of")
		p.Gates = append(p.Gates, drawGate(t, g, &p.Works[i]))
	}
	if p.RunOn != "" {
		p.Gates = withoutQuestions(p.Gates)
	}
	p.Budget = drawBudget(t)
	p.drawUntil(t)
	return p
}

// withoutQuestions returns gates that stop for nobody, as those must that are judged after a
// failure.
func withoutQuestions(gates []histGate) []histGate {
	for i := range gates {
		if gates[i].Pause = false; gates[i].Kind == kindApproval {
			gates[i].Kind = kindCommand
		}
	}
	return gates
}

func refersTo(h *history, p *histPhase, name string) {
	for _, w := range h.works() {
		if w.Name == name {
			w.Toggled = false
		}
	}
	for i := range p.Works {
		if p.Works[i].Name == name {
			p.Works[i].Toggled = false
		}
	}
}

func drawGate(t *rapid.T, n int, of *histWork) histGate {
	g := histGate{Name: fmt.Sprintf("g%d", n), Kind: rapid.SampledFrom([]string{kindCommand, kindCommand, kindCondition, kindMetric, kindApproval}).Draw(t, "kind")}
	if rapid.IntRange(0, 3).Draw(t, "inputs") == 0 {
		g.Inputs = []string{rapid.SampledFrom(sources).Draw(t, "judges")}
	}
	g.Pause = g.Kind != kindApproval && rapid.IntRange(0, 5).Draw(t, "pause") == 0
	if g.Kind == kindCondition || g.Kind == kindMetric {
		g.Of = of.Name
		of.Toggled = false
	}
	return g
}

func drawSome(t *rapid.T, what string, from []string, most int) []string {
	var some []string
	for range rapid.IntRange(0, most).Draw(t, what) {
		if s := rapid.SampledFrom(from).Draw(t, what); !slices.Contains(some, s) {
			some = append(some, s)
		}
	}
	slices.Sort(some)
	return some
}

func drawAct(t *rapid.T, h *history) act {
	a := act{Do: rapid.SampledFrom([]string{
		"build", "build", "build", "build", "edit", "edit", "meddle", "remove", "redefine", "regate", "revalue", "toggle", "permit",
		"approve", "approve", "approve", "reject", "done", "rerun", "rollback", "checkpoint", "grow", "override",
	}).Draw(t, "do")}
	if a.Do == "build" {
		return drawBuild(t, h)
	}
	a.Pick = rapid.IntRange(0, 11).Draw(t, "pick")
	if a.Do == "rollback" && rapid.IntRange(0, 2).Draw(t, "cut short") == 0 {
		a.Kill = rapid.IntRange(1, 60).Draw(t, "kill")
	}
	if a.Do == "edit" {
		a.Text = rapid.SampledFrom([]string{"0", "1", "2", "3", ""}).Draw(t, "text")
	}
	return a
}

func drawBuild(t *rapid.T, h *history) act {
	a := act{Do: "build", Fails: map[string]int{}, Verify: map[string]int{}}
	a.KeepGoing = rapid.IntRange(0, 3).Draw(t, "keep going") == 0
	a.Fresh = rapid.IntRange(0, 15).Draw(t, "fresh") == 0
	a.Conflict = rapid.SampledFrom([]plan.OnConflict{plan.ConflictKeep, plan.ConflictRestore, plan.ConflictFail, ""}).Draw(t, "conflict")
	if rapid.Bool().Draw(t, "somebody is there") {
		a.Answers = map[string]string{}
	}
	a.Raise = rapid.IntRange(0, 2).Draw(t, "raise") == 0
	a.PauseAll = rapid.IntRange(0, 15).Draw(t, "pause at gates") == 0
	works := h.works()
	if h.Review != nil {
		a.drawFinds(t)
	}
	for p, phase := range h.Phases {
		for _, w := range phase.Works {
			if n := rapid.SampledFrom([]int{0, 0, 0, 0, 1, 3}).Draw(t, "fails"); n > 0 {
				a.Fails[w.Name] = n
			}
			if w.Limited && rapid.Bool().Draw(t, "hangs") {
				a.Hangs = append(a.Hangs, w.Name)
			}
			if w.Verify {
				a.Verify[w.Name] = rapid.IntRange(0, 2).Draw(t, "verify")
			}
			a.verdicts(t, w.Gates, w.Name)
		}
		gates := phase.Gates
		if p == h.findingPhase() && h.Review != nil {
			gates = slices.Concat(gates, []histGate{{Name: "finding-1", Kind: kindCommand}, {Name: "finding-1", Kind: kindApproval}})
		}
		a.verdicts(t, gates, fmt.Sprintf("p%d", p))
	}
	choice := rapid.IntRange(0, 11).Draw(t, "select") // 3 and 4 combine two options
	if choice == 0 || choice == 3 {
		a.Select.From = fmt.Sprintf("p%d", rapid.IntRange(0, len(h.Phases)-1).Draw(t, "from"))
	}
	if choice == 1 || choice == 3 || choice == 4 {
		a.Select.Only = []string{rapid.SampledFrom(works).Draw(t, "only").Name}
	}
	if choice == 2 || choice == 4 {
		a.Select.Invalidate = []string{rapid.SampledFrom(works).Draw(t, "invalidate").Name}
	}
	switch rapid.IntRange(0, 9).Draw(t, "cut short") {
	case 0:
		a.Interrupt = rapid.IntRange(1, 8).Draw(t, "interrupt")
	case 1:
		a.Kill = rapid.IntRange(1, 250).Draw(t, "kill")
	case 2:
		a.Dies = rapid.IntRange(1, 8).Draw(t, "dies")
	case 3:
		a.Pause = rapid.IntRange(1, 8).Draw(t, "pause")
	case 4, 5:
		a.drawDeath(t, works)
	}
	return a
}

// verdicts draws the verdicts on gates in a build.
func (a *act) verdicts(t *rapid.T, gates []histGate, owner string) {
	for _, g := range gates {
		if g.Kind == kindCommand && rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			a.Rejects = append(a.Rejects, g.label(owner))
		}
		if (g.Kind == kindApproval || g.Pause || a.PauseAll) && a.Answers != nil {
			if v := rapid.SampledFrom([]string{"approve", "approve", "reject", ""}).Draw(t, "answer"); v != "" {
				a.Answers[g.label(owner)] = v
			}
		}
	}
}
