//go:build unix

package runner_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"prdrunner/checkpoint"
	"prdrunner/runner"
)

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
	status   checkpoint.Status
	works    map[string]*modelWork
	gates    map[string]*modelGate
	phases   []checkpoint.StepStatus
	captured map[string]string // the files at the end of the last run, with what was recorded since
}

type modelWork struct {
	status   checkpoint.StepStatus
	attempts int
	from     basis             // of the last attempt
	made     map[string]string // its artifacts on record
	value    string            // its output
	metric   bool              // its metric is on record
	id       string            // which run of it this is; "" where it is not done
	once     bool              // it was started, ever
	ended    bool              // it was completed, and not taken back
}

// basis is what a workstream was run from.
type basis struct {
	version, used string
	saw           map[string]string
	upstream      map[string]string
	unknown       bool // a person said that it happened, and nobody knows from what
}

type modelGate struct {
	status     checkpoint.StepStatus
	attempts   int
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
	moved    bool            // a file is not what it was when the last run ended
	tries    map[string]int  // attempts at a workstream
	over     map[string]bool // workstreams that were dealt with
	retries  map[string]bool
	failures []string
	halted   bool
	failing  bool            // halted by a failure
	takes    map[string]bool // what the plan takes back, that is not yet
	signal   bool
	excluded bool
	ended    checkpoint.Kind
}

func newModel(h *history, v variation, tree map[string]string) *model {
	m := &model{h: h, v: v, tree: tree}
	m.begin()
	return m
}

// begin forgets everything but the files.
func (m *model) begin() {
	m.known = known{works: map[string]*modelWork{}, gates: map[string]*modelGate{}, captured: map[string]string{}}
	for i, p := range m.h.Phases {
		m.phases = append(m.phases, checkpoint.Pending)
		for _, w := range p.Works {
			m.works[w.Name] = &modelWork{status: checkpoint.Pending}
			for _, g := range w.Gates {
				m.gates[g.label(w.Name)] = &modelGate{status: checkpoint.Pending}
			}
		}
		for _, g := range p.Gates {
			m.gates[g.label(phaseName(i))] = &modelGate{status: checkpoint.Pending}
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
	c.phases, c.captured = slices.Clone(k.phases), maps.Clone(k.captured)
	return c
}

func (w *modelWork) done() bool {
	return w.status == checkpoint.Completed || w.status == checkpoint.Succeeded
}

// result is what a workstream hands to those that depend on it.
func (m *model) result(name string) string {
	w := m.works[name]
	switch {
	case w.status == checkpoint.Skipped:
		return "skipped"
	case m.work(name).Effect == "pure":
		return fmt.Sprintf("%q %q", w.made, w.value)
	}
	return fmt.Sprintf("%q %q %s", w.made, w.value, w.id)
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

// basis is what a workstream would be run from now.
func (m *model) basis(name string) basis {
	w := m.work(name)
	b := basis{version: strconv.Itoa(m.v.works[name]), saw: m.read(m.h.inputs(*w)), upstream: map[string]string{}}
	if w.Uses != "" {
		b.used = m.works[w.Uses].value
	}
	for _, up := range w.On {
		b.upstream[up] = m.result(up)
	}
	return b
}

func (m *model) read(paths []string) map[string]string {
	files := map[string]string{}
	for _, path := range paths {
		if text, ok := m.tree[path]; ok {
			files[path] = text
		}
	}
	return files
}

// changes are the reasons for which work that is done is not what it would be.
func (m *model) changes(name string) []string {
	was, is := m.works[name].from, m.basis(name)
	if was.unknown {
		return nil
	}
	var c []string
	if was.version != is.version || was.used != is.used {
		c = append(c, "definition")
	}
	c = append(c, different("inputs ", was.saw, is.saw)...)
	return append(c, different("upstream ", was.upstream, is.upstream)...)
}

func different(what string, was, is map[string]string) []string {
	var c []string
	for name, text := range is {
		if had, ok := was[name]; !ok || had != text {
			c = append(c, what+name)
		}
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			c = append(c, what+name)
		}
	}
	slices.Sort(c)
	return c
}

// touched are the artifacts on record that are not there, or not as recorded.
func (m *model) touched(name string) (missing, edited []string) {
	if w := m.works[name]; w.done() {
		for path, text := range w.made {
			if is, ok := m.tree[path]; !ok {
				missing = append(missing, path)
			} else if is != text {
				edited = append(edited, path)
			}
		}
	}
	return missing, edited
}

// unsatisfied is the status of the first gate of a workstream that has not
// passed, "" where all have.
func (m *model) unsatisfied(name string) checkpoint.StepStatus {
	for _, g := range m.work(name).Gates {
		if s := m.gates[g.label(name)].status; s != checkpoint.Passed && s != checkpoint.Skipped {
			return s
		}
	}
	return ""
}

// reasons are why work that is done must be done again. The workstreams that
// it depends on are settled.
func (m *model) reasons(name string) []string {
	if m.forced(name) {
		return []string{"chosen"}
	}
	if c := m.changes(name); len(c) > 0 {
		return c
	}
	for _, g := range m.work(name).Gates {
		switch is := m.gates[g.label(name)]; {
		case m.current(is): // the next run does something about it
		case is.status == checkpoint.Rejected:
			return []string{"rejected"}
		case is.status == checkpoint.Failed && m.work(name).Rerun:
			return []string{"on_gate_failure"}
		}
	}
	return nil
}

// current reports whether a verdict was reached in the run at hand.
func (m *model) current(g *modelGate) bool { return m.run != nil && g.run == m.run.number }

// forced reports whether somebody wants it to run again, whatever it is.
func (m *model) forced(name string) bool {
	if m.run != nil && m.run.forced[name] && m.run.tries[name] == 0 {
		return true
	}
	p := m.phaseOf(name)
	return slices.ContainsFunc(m.h.Phases[p].Gates, func(g histGate) bool {
		is := m.gates[g.label(phaseName(p))]
		return is.status == checkpoint.Rejected && !m.current(is)
	})
}

// settled reports whether a workstream is done with, so that what depends on
// it may be: what is there was made from what is there, and its gates passed.
func (m *model) settled(name string) bool {
	if m.v.off[name] {
		return m.works[name].status == checkpoint.Skipped
	}
	missing, edited := m.touched(name)
	return m.works[name].status == checkpoint.Completed && len(m.reasons(name)) == 0 && len(missing)+len(edited) == 0 &&
		!slices.ContainsFunc(m.work(name).Gates, func(g histGate) bool { return !m.holds(g, name) })
}

// judges are the workstreams that a gate judges.
func (m *model) judges(owner string) []string {
	for i, p := range m.h.Phases {
		if phaseName(i) == owner {
			names := make([]string, len(p.Works))
			for j, w := range p.Works {
				names[j] = w.Name
			}
			return names
		}
	}
	return []string{owner}
}

// binding is what a verdict on a gate would be bound to now.
func (m *model) binding(g histGate, owner string) (definition, judged string) {
	definition = fmt.Sprint(m.v.gates[g.label(owner)])
	if g.Kind == kindCondition {
		definition += " " + m.works[g.Of].value
	}
	paths := g.Inputs
	runs := map[string]string{}
	for _, name := range m.judges(owner) {
		if w := m.work(name); len(g.Inputs) == 0 {
			paths = append(paths, m.h.inputs(*w)...)
			if w.Makes {
				paths = append(paths, w.artifact())
			}
		}
		if w := m.works[name]; w.status != checkpoint.Skipped {
			runs[name] = w.id
		}
	}
	judged = fmt.Sprintf("%q %q", m.read(paths), runs)
	if g.Kind == kindMetric && m.works[g.Of].metric {
		judged += " " + m.works[g.Of].value
	}
	return definition, judged
}

// declared reports whether all that a gate judges is declared.
func (m *model) declared(g histGate, owner string) bool {
	return len(g.Inputs) > 0 || !slices.ContainsFunc(m.judges(owner), func(name string) bool {
		w := m.work(name)
		return len(m.h.inputs(*w)) == 0 && !w.Makes
	})
}

// holds reports whether a gate has passed, or was skipped, and that is still
// true of what is there now.
func (m *model) holds(g histGate, owner string) bool {
	is := m.gates[g.label(owner)]
	if is.status == checkpoint.Skipped {
		return m.allOff(owner)
	}
	definition, judged := m.binding(g, owner)
	if is.status != checkpoint.Passed || is.definition != definition || is.judged != judged {
		return false
	}
	if m.run == nil || is.run == m.run.number {
		return true
	}
	if m.run.forced[owner] && m.phaseOf(owner) < 0 {
		return false
	}
	switch {
	case m.declared(g, owner), g.Kind == kindCondition, g.Kind == kindMetric:
		return true
	case g.Kind == kindApproval:
		return !m.run.moved
	}
	return false // nothing captures the whole workspace here
}

func (m *model) allOff(owner string) bool {
	return !slices.ContainsFunc(m.judges(owner), func(name string) bool { return !m.v.off[name] })
}

// verdict is what a condition or a metric gate must come to.
func (m *model) verdict(g histGate, owner string) bool {
	of, version := m.works[g.Of], m.v.gates[g.label(owner)]
	if g.Kind == kindCondition {
		return of.value != strconv.Itoa(version)
	}
	n, err := strconv.Atoi(of.value)
	return of.metric && err == nil && n >= version
}

// outlook is what a plan must say of every workstream and gate. It is made of
// the files as they will be once artifacts are put back.
func (m *model) outlook(choice runner.OnConflict) map[string]runner.Decision {
	was := m.tree
	m.tree = maps.Clone(was)
	for name, w := range m.works {
		missing, edited := m.touched(name)
		if m.unsatisfied(name) != "" {
			continue // the gate judges what is there
		}
		if choice != runner.ConflictRestore {
			edited = nil
		}
		for _, path := range append(missing, edited...) {
			m.tree[path] = w.made[path]
		}
	}
	all := map[string]runner.Decision{}
	for i, p := range m.h.Phases {
		for _, w := range p.Works {
			all[w.Name] = m.outlookOf(w.Name, choice, was, all)
			for _, g := range w.Gates {
				d := m.outlookOfGate(g, w.Name, all)
				all[g.label(w.Name)] = d
				if all[w.Name] == runner.Reuse && d != runner.Reuse && d != runner.Skipped {
					all[w.Name] = runner.Judge
				}
			}
		}
		for _, g := range p.Gates {
			all[g.label(phaseName(i))] = m.outlookOfGate(g, phaseName(i), all)
		}
	}
	m.tree = was
	return all
}

func (m *model) outlookOf(name string, choice runner.OnConflict, now map[string]string, all map[string]runner.Decision) runner.Decision {
	d := m.outlookAlone(name, choice, now, all)
	if m.run.allowed != nil && !m.run.allowed[name] && d != runner.Reuse && d != runner.Skipped && d != runner.Uncertain {
		return runner.Blocked
	}
	return d
}

func (m *model) outlookAlone(name string, choice runner.OnConflict, now map[string]string, all map[string]runner.Decision) runner.Decision {
	w, open := m.works[name], false
	again := runner.Rerun
	if m.work(name).Effect == "once" {
		again = runner.Uncertain
	}
	switch {
	case m.v.off[name]:
		return runner.Skipped
	case w.status == checkpoint.Uncertain:
		return runner.Uncertain
	}
	for _, up := range m.work(name).On {
		switch all[up] {
		case runner.Blocked, runner.Uncertain:
			return runner.Blocked
		case runner.Run, runner.Rerun, runner.Depends:
			open = true
		case runner.Judge:
			open = open || m.differs(up)
		case runner.Reuse, runner.Skipped:
		}
	}
	switch {
	case w.status == checkpoint.Running && again == runner.Uncertain: // it was killed
		return runner.Uncertain
	case !w.done():
		return runner.Run
	case m.forced(name):
		return again
	case open:
		return runner.Depends
	case len(m.reasons(name)) > 0:
		return again
	case m.unsatisfied(name) != "", choice == runner.ConflictKeep && m.edited(name, now):
		return runner.Judge
	case w.status == checkpoint.Succeeded: // a formality is left
		return runner.Judge
	}
	return runner.Reuse
}

// differs reports whether an artifact will not be there as recorded.
func (m *model) differs(name string) bool {
	missing, edited := m.touched(name)
	return len(missing)+len(edited) > 0
}

func (m *model) edited(name string, now map[string]string) bool {
	for path, text := range m.works[name].made {
		if is, ok := now[path]; ok && is != text {
			return m.works[name].done()
		}
	}
	return false
}

func (m *model) outlookOfGate(g histGate, owner string, all map[string]runner.Decision) runner.Decision {
	open := false
	for _, name := range m.judges(owner) {
		switch all[name] {
		case runner.Blocked, runner.Uncertain:
			return runner.Blocked
		case runner.Run, runner.Rerun, runner.Depends:
			open = true
		case runner.Reuse, runner.Judge, runner.Skipped:
		}
	}
	switch is := m.gates[g.label(owner)]; {
	case m.allOff(owner):
		return runner.Skipped
	case open:
		return runner.Depends
	case is.status == checkpoint.Skipped:
		return runner.Run
	case m.holds(g, owner):
		return runner.Reuse
	case is.status == checkpoint.Pending && !is.touched:
		return runner.Run
	}
	return runner.Judge
}

// refuses reports whether a build must not begin, since artifacts were edited
// and that is not decided, or can't be as it was.
func (m *model) refuses(choice runner.OnConflict, all map[string]runner.Decision) bool {
	return choice != runner.ConflictRestore && slices.ContainsFunc(m.h.works(), func(w *histWork) bool {
		if !m.edited(w.Name, m.tree) {
			return false
		}
		switch all[w.Name] {
		case runner.Rerun:
			return true
		case runner.Reuse, runner.Depends:
			return choice == runner.ConflictFail
		case runner.Judge:
			return choice == runner.ConflictFail && m.unsatisfied(w.Name) == "" // people mend what a gate found
		case runner.Run, runner.Blocked, runner.Uncertain, runner.Skipped:
		}
		return false
	})
}
