//go:build unix

package runner_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"prdrunner/runner"
)

// history is a pipeline and what happens to it. It is plain data, so that one
// that found something is kept as a file.
type history struct {
	Parallel int         `json:"parallel"`
	Phases   []histPhase `json:"phases"`
	Acts     []act       `json:"acts"`
}

type histPhase struct {
	Works []histWork `json:"works"`
	Gates []histGate `json:"gates,omitempty"`
}

// histWork is a workstream. What it makes is told by what it reads.
type histWork struct {
	Name     string     `json:"name"`
	On       []string   `json:"on,omitempty"`
	Sources  []string   `json:"sources,omitempty"`  // that it reads
	Reads    bool       `json:"reads,omitempty"`    // also what the workstreams that it depends on have made
	Uses     string     `json:"uses,omitempty"`     // the workstream whose output is in its definition
	Makes    bool       `json:"makes,omitempty"`    // an artifact
	Effect   string     `json:"effect,omitempty"`   // "": idempotent
	Attempts int        `json:"attempts,omitempty"` // 0: one
	Rerun    bool       `json:"rerun,omitempty"`    // on_gate_failure
	Gates    []histGate `json:"gates,omitempty"`    // its own
	Toggled  bool       `json:"toggled,omitempty"`  // nothing refers to its result, so that it can be switched off
}

// histGate is a gate. Its own inputs are sources; without them it judges what
// its workstreams declare.
type histGate struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Inputs []string `json:"inputs,omitempty"`
	Of     string   `json:"of,omitempty"` // whose metric or output a metric or condition gate looks at
}

// act is one thing that happens to a session. Which of them an act that picks
// something picks is its Pick, modulo how many there are.
type act struct {
	Do   string `json:"do"`
	Pick int    `json:"pick,omitempty"`
	Text string `json:"text,omitempty"`

	// Of a build:
	KeepGoing bool              `json:"keep_going,omitempty"`
	Fresh     bool              `json:"fresh,omitempty"`
	Conflict  runner.OnConflict `json:"conflict,omitempty"`
	Select    runner.Selection  `json:"select,omitzero"`
	Fails     map[string]int    `json:"fails,omitempty"`     // how often a workstream fails before it succeeds
	Rejects   []string          `json:"rejects,omitempty"`   // gates whose command fails
	Answers   map[string]string `json:"answers,omitempty"`   // of a person at the terminal; nil: nobody is there
	Interrupt int               `json:"interrupt,omitempty"` // a signal comes while the nth task runs
	Kill      int               `json:"kill,omitempty"`      // the process dies at the nth operation that writes
	Dies      int               `json:"dies,omitempty"`      // the process dies while the nth task runs
}

func (a act) String() string {
	text, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

const (
	kindCommand   = "command"
	kindCondition = "condition"
	kindMetric    = "metric"
	kindApproval  = "approval"
)

// sources are the files that people edit.
var sources = []string{"src/i0", "src/i1", "src/i2"} //nolint:gochecknoglobals // a constant, if lists could be

// label is what a gate is called.
func (g histGate) label(owner string) string { return g.Name + " (" + owner + ")" }

func (w histWork) artifact() string { return "out/" + w.Name }

func (h *history) works() []*histWork {
	var all []*histWork
	for p := range h.Phases {
		for i := range h.Phases[p].Works {
			all = append(all, &h.Phases[p].Works[i])
		}
	}
	return all
}

// histories draws a history.
func histories() *rapid.Generator[history] {
	return rapid.Custom(func(t *rapid.T) history {
		h := history{Parallel: rapid.SampledFrom([]int{1, 1, 2, 4}).Draw(t, "parallel")}
		for p := range rapid.IntRange(1, 3).Draw(t, "phases") {
			h.Phases = append(h.Phases, drawPhase(t, &h, p))
		}
		h.Acts = []act{drawBuild(t, &h)}
		for range rapid.IntRange(2, 9).Draw(t, "acts") {
			h.Acts = append(h.Acts, drawAct(t, &h))
		}
		return h
	})
}

func drawPhase(t *rapid.T, h *history, number int) histPhase {
	var p histPhase
	var earlier []string
	for _, w := range h.works() {
		earlier = append(earlier, w.Name)
	}
	for n := range rapid.IntRange(1, 3).Draw(t, "workstreams") {
		w := histWork{Name: fmt.Sprintf("p%dw%d", number, n), Toggled: true}
		w.Makes = rapid.IntRange(0, 3).Draw(t, "makes") > 0
		w.Sources = drawSome(t, "sources", sources, 2)
		if len(earlier) > 0 {
			w.On = drawSome(t, "on", earlier, 2)
		}
		if len(w.On) > 0 {
			w.Reads = rapid.Bool().Draw(t, "reads")
			if rapid.IntRange(0, 2).Draw(t, "uses") == 0 {
				w.Uses = w.On[0]
				refersTo(h, &p, w.Uses)
			}
		}
		w.Effect = rapid.SampledFrom([]string{"", "", "", "pure", "once"}).Draw(t, "effect")
		if w.Effect != "once" {
			w.Attempts = rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "attempts")
			w.Rerun = rapid.IntRange(0, 3).Draw(t, "rerun") == 0
		}
		for g := range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "gates") {
			w.Gates = append(w.Gates, drawGate(t, g, &w))
		}
		p.Works = append(p.Works, w)
		earlier = append(earlier, w.Name)
	}
	for g := range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "phase gates") {
		i := rapid.IntRange(0, len(p.Works)-1).Draw(t, "of")
		p.Gates = append(p.Gates, drawGate(t, g, &p.Works[i]))
	}
	return p
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
		"build", "build", "build", "build", "edit", "edit", "meddle", "remove", "redefine", "regate", "toggle",
		"approve", "approve", "approve", "reject", "done", "rerun", "rollback", "checkpoint",
	}).Draw(t, "do")}
	if a.Do == "build" {
		return drawBuild(t, h)
	}
	a.Pick = rapid.IntRange(0, 11).Draw(t, "pick")
	if a.Do == "edit" {
		a.Text = rapid.SampledFrom([]string{"0", "1", "2", "3", ""}).Draw(t, "text")
	}
	return a
}

func drawBuild(t *rapid.T, h *history) act {
	a := act{Do: "build", Fails: map[string]int{}}
	a.KeepGoing = rapid.IntRange(0, 3).Draw(t, "keep going") == 0
	a.Fresh = rapid.IntRange(0, 15).Draw(t, "fresh") == 0
	a.Conflict = rapid.SampledFrom([]runner.OnConflict{runner.ConflictKeep, runner.ConflictRestore, runner.ConflictFail}).Draw(t, "conflict")
	if rapid.Bool().Draw(t, "somebody is there") {
		a.Answers = map[string]string{}
	}
	works := h.works()
	for p, phase := range h.Phases {
		for _, w := range phase.Works {
			if n := rapid.SampledFrom([]int{0, 0, 0, 0, 1, 3}).Draw(t, "fails"); n > 0 {
				a.Fails[w.Name] = n
			}
			a.verdicts(t, w.Gates, w.Name)
		}
		a.verdicts(t, phase.Gates, fmt.Sprintf("p%d", p))
	}
	switch rapid.IntRange(0, 11).Draw(t, "select") {
	case 0:
		a.Select.From = fmt.Sprintf("p%d", rapid.IntRange(0, len(h.Phases)-1).Draw(t, "from"))
	case 1:
		a.Select.Only = []string{rapid.SampledFrom(works).Draw(t, "only").Name}
	case 2:
		a.Select.Invalidate = []string{rapid.SampledFrom(works).Draw(t, "invalidate").Name}
	}
	switch rapid.IntRange(0, 8).Draw(t, "cut short") {
	case 0:
		a.Interrupt = rapid.IntRange(1, 8).Draw(t, "interrupt")
	case 1:
		a.Kill = rapid.IntRange(1, 250).Draw(t, "kill")
	case 2:
		a.Dies = rapid.IntRange(1, 8).Draw(t, "dies")
	}
	return a
}

// verdicts draws what is said of gates in a build.
func (a *act) verdicts(t *rapid.T, gates []histGate, owner string) {
	for _, g := range gates {
		switch {
		case g.Kind == kindCommand && rapid.IntRange(0, 3).Draw(t, "fails") == 0:
			a.Rejects = append(a.Rejects, g.label(owner))
		case g.Kind == kindApproval && a.Answers != nil:
			if v := rapid.SampledFrom([]string{"approve", "approve", "reject", ""}).Draw(t, "answer"); v != "" {
				a.Answers[g.label(owner)] = v
			}
		}
	}
}

// variation is what of a pipeline was edited: how often.
type variation struct {
	works map[string]int
	gates map[string]int
	off   map[string]bool
}

// source writes the pipeline down as it stands.
func (h *history) source(v variation) string {
	var b strings.Builder
	b.WriteString("pipeline \"PRD-001\" {\n")
	for p, phase := range h.Phases {
		name := fmt.Sprintf("p%d", p)
		fmt.Fprintf(&b, "phase %q {\n", name)
		for _, w := range phase.Works {
			h.writeWork(&b, w, v)
		}
		for _, g := range phase.Gates {
			writeGate(&b, g, name, v)
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func (h *history) writeWork(b *strings.Builder, w histWork, v variation) {
	fmt.Fprintf(b, "workstream %q {\n command = [\"work\", %q]\n", w.Name, fmt.Sprint(v.works[w.Name]))
	var on []string
	for _, up := range w.On {
		on = append(on, "workstream."+up)
	}
	fmt.Fprintf(b, " depends_on = [%s]\n", strings.Join(on, ", "))
	fmt.Fprintf(b, " inputs = %s\n", quoted(h.inputs(w)))
	if w.Uses != "" {
		fmt.Fprintf(b, " env = { USED = workstream.%s.outputs.value }\n", w.Uses)
	}
	if w.Makes {
		fmt.Fprintf(b, " artifacts = [%q]\n", w.artifact())
	}
	if w.Effect != "" {
		fmt.Fprintf(b, " effect = %q\n", w.Effect)
	}
	if w.Attempts > 0 {
		fmt.Fprintf(b, " retry {\n attempts = %d\n initial_interval = \"1ns\"\n jitter = 0\n }\n", w.Attempts)
	}
	if w.Rerun {
		b.WriteString(" on_gate_failure = \"rerun\"\n")
	}
	if v.off[w.Name] {
		b.WriteString(" when = false\n")
	}
	for _, g := range w.Gates {
		writeGate(b, g, w.Name, v)
	}
	b.WriteString("}\n")
}

func writeGate(b *strings.Builder, g histGate, owner string, v variation) {
	version := v.gates[g.label(owner)]
	fmt.Fprintf(b, "gate %q {\n", g.Name)
	if len(g.Inputs) > 0 {
		fmt.Fprintf(b, " inputs = %s\n", quoted(g.Inputs))
	}
	switch g.Kind {
	case kindCommand:
		fmt.Fprintf(b, " command = [\"judge\", \"%d\"]\n", version)
	case kindCondition:
		fmt.Fprintf(b, " condition = workstream.%s.outputs.value != \"%d\"\n error_message = \"no\"\n", g.Of, version)
	case kindMetric:
		fmt.Fprintf(b, " metric = \"of-%s\"\n min = %d\n", g.Of, version)
	case kindApproval:
		fmt.Fprintf(b, " approval { message = \"Is it version %d?\" }\n", version)
	}
	b.WriteString("}\n")
}

func quoted(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(q, ", ") + "]"
}

// inputs are the files that a workstream reads.
func (h *history) inputs(w histWork) []string {
	inputs := slices.Clone(w.Sources)
	if !w.Reads {
		return inputs
	}
	for _, up := range h.works() {
		if slices.Contains(w.On, up.Name) && up.Makes {
			inputs = append(inputs, up.artifact())
		}
	}
	return inputs
}
