//go:build unix

package runner_test

import (
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/state"
)

// What the model knows.

// model is what must be true of a session, told simply: of all that was done
// it remembers the very bytes that it was done from, and compares them with
// those that are there.
type model struct {
	h    *history
	v    variation
	tree map[string]string // the files as they must be
	known
	runs int // so far, of all workstreams, also those that a rollback took back
	run  *modelRun
}

// known is what goes back with a rollback.
type known struct {
	session  bool
	status   state.Status
	works    map[string]*modelWork
	gates    map[string]*modelGate
	phases   []state.StepStatus
	reviews  []string          // gates that the session stopped at for review
	happened map[string]bool   // once steps that have happened, in this session or before, or may have before; a rollback takes none of it back
	maybe    map[string]bool   // those that may have happened in this session
	captured map[string]string // the files at the end of the last run, with what was recorded since
}

type modelWork struct {
	status     state.StepStatus
	attempts   int
	from       basis             // of the last attempt
	made       map[string]string // its artifacts on record
	value      string            // its output
	metric     bool              // its metric is on record
	id         string            // which run of it this is; "" where it is not done
	once       bool              // it was started, ever
	claimed    bool              // somebody said that it happened, and nobody has looked at what it made
	ended      bool              // it was completed, and not taken back
	rejected   bool              // a gate that judged it was rejected, and it has not run again
	rejectedIn int               // which run; 0: between two
	repeat     bool              // somebody said that it runs, whatever has happened
	had        *modelRecord      // of a once step: what a rollback took back last
}

// modelRecord is what was on record of an attempt.
type modelRecord struct {
	attempt int
	made    map[string]string
	value   string
	metric  bool
}

// basis is what a workstream was run from.
type basis struct {
	version, used string
	plain         string // the variable, where it is used; a token is no part of it
	saw           map[string]string
	upstream      map[string]string
	unknown       bool // somebody said that it happened, and not from what
}

type modelGate struct {
	status     state.StepStatus
	attempts   int
	review     bool   // it has passed, and somebody is to look at it
	reviewed   string // what somebody has looked at
	definition string
	judged     string
	touched    bool // it was judged, or taken back
	run        int  // in which this verdict was reached
}

// modelRun is what is known of the build at hand.
type modelRun struct {
	act      act
	number   int
	log      map[string]deed
	forced   map[string]bool // workstreams, and phases whose gates are judged again
	allowed  map[string]bool // nil: all
	left     map[string]bool // the plan says that it is blocked, since it was not chosen
	moved    bool            // a file is not what it was when the last run ended
	tries    map[string]int  // attempts at a workstream
	over     map[string]bool // workstreams that were dealt with
	retries  map[string]bool
	verified map[string]state.Resolution
	why      map[string]reason // of what the plan must do
	phase    int               // that was entered last
	asked    bool              // a pause was asked for
	failures []string
	halted   bool
	failing  bool            // halted by a failure
	paused   bool            // also for another reason, which is the stronger
	asking   map[string]bool // once steps that have become uncertain in it
	takes    map[string]bool // what the plan takes back, that is not yet
	signal   bool
	excluded bool
	ended    state.Kind
}

func newModel(h *history, v variation, tree map[string]string) *model {
	m := &model{h: h, v: v, tree: tree}
	m.begin()
	return m
}

// begin forgets everything but the files.
func (m *model) begin() {
	was := m.known
	m.known = known{
		works: map[string]*modelWork{}, gates: map[string]*modelGate{}, captured: map[string]string{},
		happened: map[string]bool{}, maybe: map[string]bool{},
	}
	maps.Copy(m.happened, was.happened)
	maps.Copy(m.happened, was.maybe)
	for name, w := range was.works {
		if m.work(name).Effect == "once" && w.status == state.Running {
			m.happened[name] = true
		}
	}
	for i, p := range m.h.Phases {
		m.phases = append(m.phases, state.Pending)
		for _, w := range p.Works {
			m.works[w.Name] = &modelWork{status: state.Pending}
			for _, g := range w.Gates {
				m.gates[g.label(w.Name)] = &modelGate{status: state.Pending}
			}
		}
		for _, g := range p.Gates {
			m.gates[g.label(phaseName(i))] = &modelGate{status: state.Pending}
		}
	}
}

func phaseName(i int) string { return fmt.Sprintf("p%d", i) }

func (k known) clone() known {
	c := k
	c.works, c.gates = map[string]*modelWork{}, map[string]*modelGate{}
	for name, w := range k.works {
		copied := *w
		c.works[name] = &copied
	}
	for label, g := range k.gates {
		copied := *g
		c.gates[label] = &copied
	}
	c.phases, c.captured, c.happened, c.maybe = slices.Clone(k.phases), maps.Clone(k.captured), maps.Clone(k.happened), maps.Clone(k.maybe)
	return c
}

// asks reports whether a once step has happened before, or may have, so that somebody must say that it runs.
func (m *model) asks(name string) bool {
	w := m.works[name]
	return (w.status == state.Pending || w.status == state.Skipped) && !w.repeat && (m.happened[name] || m.maybe[name])
}

func (w *modelWork) done() bool {
	return w.status == state.Completed || w.status == state.Succeeded
}

func (m *model) work(name string) *histWork {
	for _, w := range m.h.works() {
		if w.Name == name {
			return w
		}
	}
	return nil
}

func (m *model) phaseOf(name string) int {
	for i, p := range m.h.Phases {
		for _, w := range p.Works {
			if w.Name == name {
				return i
			}
		}
	}
	return -1
}

func (g *modelGate) reset() {
	*g = modelGate{status: state.Pending, attempts: g.attempts, reviewed: g.reviewed, touched: true}
}

// reset makes a workstream pending, with its gates; those of its phase judged
// what is not there any more.
func (m *model) reset(name string) {
	m.forget(name)
	p := m.phaseOf(name)
	for _, g := range m.h.Phases[p].Gates {
		if is := m.gates[g.label(phaseName(p))]; is.status != state.Pending {
			is.reset()
		}
	}
}

// forget makes a workstream pending, with its gates.
func (m *model) forget(name string) {
	w := m.works[name]
	w.status, w.id, w.metric, w.ended, w.claimed, w.rejected = state.Pending, "", false, false, false, false
	for _, g := range m.work(name).Gates {
		m.gates[g.label(name)].reset()
	}
}

// skip forgets a workstream that is to be left out, and what judged it.
func (m *model) skip(name string) {
	w := m.works[name]
	if w.id != "" {
		m.reset(name)
	} else { // nothing of it was judged
		m.forget(name)
	}
	w.status, w.made, w.value = state.Skipped, nil, ""
	for _, g := range m.work(name).Gates {
		m.gates[g.label(name)].status = state.Skipped
	}
}

// identify makes it another run than any before.
func (m *model) identify(w *modelWork) {
	m.runs++
	w.id = fmt.Sprint("run ", m.runs)
}

func (m *model) mustBe(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
