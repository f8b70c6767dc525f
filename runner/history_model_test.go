//go:build unix

package runner_test

import (
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint/state"
)

// The model of a session.

// model is a simple model of a session. For all work the model remembers the bytes from
// which the work was done, and compares them with the present bytes.
type model struct {
	h    *history
	v    variation
	tree map[string]string // the expected files
	known
	answering string // the gate that was rejected between two runs, until what follows is applied
	seq       uint64 // the commit whose events are applied
	runs      int    // runs of all workstreams so far, including those that a rollback took back
	run       *modelRun
}

// known is the part of the model that a rollback restores.
type known struct {
	session  bool
	status   state.Status
	works    map[string]*modelWork
	gates    map[string]*modelGate
	phases   []state.StepStatus
	loops    []modelLoop         // by phase
	reviews  []string            // gates that the session stopped at for review
	happened map[string]bool     // once steps that have happened, in this session or before, or may have before; a rollback keeps them
	maybe    map[string]bool     // once steps that may have happened in this session
	captured map[string]string   // the files at the end of the last run, with the artifacts recorded since
	listed   []map[string]string // by phase: the files of the last capture before the run left it
	told     modelTold
	spent    account // a rollback keeps it
	review   modelReview
}

type modelWork struct {
	status     state.StepStatus
	attempts   int
	from       basis             // the basis of the last attempt
	made       map[string]string // its artifacts on record
	value      string            // its output
	metric     bool              // whether its metric is on record
	id         string            // identifies the run that did the work; "" if the work is not done
	once       bool              // whether the workstream was ever started
	claimed    bool              // the user said that the step happened, and its artifacts are not recorded yet
	ended      bool              // the workstream was completed, and not invalidated since
	rejected   bool              // a gate of the workstream was rejected, and the workstream has not run since
	rejectedIn int               // the run of the rejection; 0: between two runs
	repeat     bool              // the user said that the step runs even if it has happened
	had        *modelRecord      // of a once step: the record that a rollback took back last
	told       int               // how many lines the last attempt has reported
	read       int               // how many of them have been read
	billed     bool              // whether its bill is on record
	failure    string            // how it failed
	failedID   int               // identifies the failure
	permitted  bool              // the pipeline allowed the failure
	worked     uint64            // the commit that recorded its work; 0 if the work is not done
	broke      uint64            // the commit in which its last attempt without success ended
}

// modelRecord is the record of an attempt.
type modelRecord struct {
	attempt int
	made    map[string]string
	value   string
	metric  bool
}

// basis is everything from which a workstream was run.
type basis struct {
	version, used string
	seen          string // the status of another workstream
	plain         string // the value of the variable "plain", if used; tokens do not count
	saw           map[string]string
	upstream      map[string]string
	unknown       bool // the user said that the step happened, without a digest
}

type modelGate struct {
	status     state.StepStatus
	attempts   int
	review     bool   // the gate has passed, and needs a review
	reviewed   string // the files that the user has reviewed
	definition string
	judged     string
	touched    bool // the gate was judged, or its verdict was invalidated
	run        int  // the run in which the gate was judged
}

// modelRun is the state of the present build.
type modelRun struct {
	act        act
	number     int
	log        map[string]deed
	forced     map[string]bool // workstreams, and phases whose gates are judged again
	allowed    map[string]bool // nil: all
	left       map[string]bool // workstreams that the plan blocks because they were not chosen
	moved      bool            // whether a file has changed since the last run ended
	tries      map[string]int  // attempts at a workstream
	over       map[string]bool // workstreams that have ended in this run
	retries    map[string]bool
	skipped    map[string]bool // workstreams that this run has skipped
	verified   map[string]state.Resolution
	why        map[string]reason // the expected reasons for the decisions of the plan
	next       map[int]bool      // the phases of which the plan has the next iteration
	foreseen   string            // the first phase of which the plan knows that it fails; "": none
	phase      int               // the phase entered last
	asked      bool              // a pause was asked for
	unreviewed bool              // it was asked for before the review had passed
	reviewed   bool              // the review has begun
	failures   []string
	halted     bool
	stopped    bool            // halted by more than a failure
	failing    bool            // halted by a failure
	fastIn     map[int]bool    // the phases that a failure halted; true: while workstreams ran
	paused     bool            // for another reason than a failure, which is stronger
	asking     map[string]bool // once steps that have become uncertain in this run
	toRaise    []string        // budgets that the run must raise before anything starts
	takes      map[string]bool // results and verdicts that the plan invalidates and that are not invalidated yet
	signal     bool
	excluded   bool
	ended      state.Kind
}

func newModel(h *history, v variation, tree map[string]string) *model {
	m := &model{h: h, v: v, tree: tree}
	m.begin()
	return m
}

// begin resets the model, except for the files.
func (m *model) begin() {
	was := m.known
	m.known = known{
		works: map[string]*modelWork{}, gates: map[string]*modelGate{}, captured: map[string]string{},
		happened: map[string]bool{}, maybe: map[string]bool{}, told: newTold(map[string]bool{}),
	}
	maps.Copy(m.told.captured, was.told.captured) // knowledge is captured once for all sessions
	maps.Copy(m.happened, was.happened)
	maps.Copy(m.happened, was.maybe)
	for name, w := range was.works {
		if m.work(name).Effect == "once" && (w.status == state.Running || w.status == state.Uncertain) {
			m.happened[name] = true
		}
	}
	m.listed = make([]map[string]string, len(m.h.Phases))
	for i, p := range m.h.Phases {
		m.phases, m.loops = append(m.phases, state.Pending), append(m.loops, modelLoop{iteration: 1})
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
	c.told, c.loops = k.told.clone(), slices.Clone(k.loops)
	c.phases, c.captured, c.happened, c.maybe = slices.Clone(k.phases), maps.Clone(k.captured), maps.Clone(k.happened), maps.Clone(k.maybe)
	return c
}

// asks reports whether a once step has happened before, or may have, so that the user
// must confirm a run.
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

// reset makes a workstream pending, with its gates and those of its phase.
func (m *model) reset(name string) {
	m.forget(name)
	p := m.phaseOf(name)
	for _, g := range m.phaseGates(p) {
		if is := m.gates[g.label(phaseName(p))]; is.status != state.Pending {
			is.reset()
		}
	}
}

// forget makes a workstream pending, with its gates.
func (m *model) forget(name string) {
	w := m.works[name]
	w.status, w.id, w.metric, w.ended, w.claimed, w.rejected, w.permitted, w.worked = state.Pending, "", false, false, false, false, false, 0
	for _, g := range m.work(name).Gates {
		m.gates[g.label(name)].reset()
	}
}

// skip resets a workstream that is skipped, and the gates that judged it.
func (m *model) skip(name string) {
	w := m.works[name]
	if w.id != "" {
		m.reset(name)
	} else { // its gates judged nothing
		m.forget(name)
	}
	w.status, w.made, w.value = state.Skipped, nil, ""
	for _, g := range m.work(name).Gates {
		m.gates[g.label(name)].status = state.Skipped
	}
}

// identify gives the workstream the id of a new run.
func (m *model) identify(w *modelWork) {
	m.runs++
	w.id, w.worked = fmt.Sprint("run ", m.runs), m.seq
}

func (m *model) mustBe(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
