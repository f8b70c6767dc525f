package progress

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// Activity is what an active step does.
type Activity int

// The activities.
const (
	Working   Activity = iota // an attempt at a workstream runs
	Judging                   // a gate is being judged
	Retrying                  // the next attempt waits until Active.Until
	Asking                    // a gate waits for an approval, or for a person to look at what passed
	Reviewing                 // the review before the first phase runs
	Starting                  // a service has started and is not ready
	Serving                   // a service is ready
	Hooking                   // a hook runs at the end
)

// Runs reports whether a process may run, so that the activity does not only wait.
func (a Activity) Runs() bool { return a != Retrying && a != Asking }

// Active is a workstream, a gate, a service, a hook or the review, while it runs or waits.
type Active struct {
	Name     string // of the workstream, the label of the gate, or what people call the other ones
	Log      string // the name of its logs
	Block    string // the workstream that it, or the owner of the gate, is an instance of; "": of none
	Activity Activity
	Attempt  int       // the number of its log; 0: not known
	Since    time.Time // when the activity began
	Until    time.Time // when the next attempt begins, for Retrying
	Message  string    // what an approval asks, or why the attempt before failed

	order int
}

// Active returns what runs or waits, in the order in which they began to.
func (p *Progress) Active() []Active {
	all := make([]Active, 0, len(p.active))
	for _, a := range p.active {
		all = append(all, *a)
	}
	slices.SortFunc(all, func(a, b Active) int { return cmp.Compare(a.order, b.order) })
	return all
}

// activate makes something active, or changes its activity. key is the name of a workstream, the label of a
// gate, or the name of the logs of the other ones.
func (p *Progress) activate(key string, a Active) {
	p.deactivate(key, a.Since)
	p.order++
	a.Log, a.Block, a.order = key, BlockOf(key), p.order
	if _, owner, ok := state.CutLabel(key); ok {
		a.Log, a.Block = disk.GateLog(key), BlockOf(owner)
	}
	if a.Name == "" {
		a.Name = key
	}
	p.active[key] = &a
	if s := p.stepOf(key); s != nil && a.Activity.Runs() {
		s.busy.begin(a.Since)
	}
}

// deactivate takes note that something does no more what it did.
func (p *Progress) deactivate(key string, at time.Time) {
	a := p.active[key]
	if a == nil {
		return
	}
	delete(p.active, key)
	if s := p.stepOf(key); s != nil && a.Activity.Runs() {
		s.busy.end(at)
	}
}

// stepOf returns the workstream with a name, or that of the gate with a label; nil if there is none.
func (p *Progress) stepOf(key string) *step {
	if _, owner, ok := state.CutLabel(key); ok {
		key = owner
	}
	return p.steps[key]
}

// BlockOf returns the name of the workstream that an instance belongs to, "" if the name is not that of
// an instance.
func BlockOf(name string) string {
	if base, _, ok := strings.Cut(name, "["); ok && strings.HasSuffix(name, "]") {
		return base
	}
	return ""
}
