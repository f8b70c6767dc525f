package why

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
)

// Session is what an explanation needs to know of a session besides its journal.
type Session struct {
	State   *state.State               // as State.CutOff returns it, or State.InRun while a runner works on the session; nil: there is none
	Running bool                       // a runner works on the session now
	Needs   func(name string) []string // the workstreams and gates whose results a workstream needs
	Paused  string                     // what a paused session waits for, in words
}

// Now is what a step does in the run that is on.
type Now struct {
	Does    string    `json:"does"`
	Since   time.Time `json:"since,omitzero"`
	Attempt int       `json:"attempt,omitempty"`
	Until   time.Time `json:"until,omitzero"` // when the next attempt is due
}

// now returns what a step does now, nil if it does nothing.
func (s Session) now(name string, last *Run) *Now {
	if !s.Running {
		return nil
	}
	if w := s.State.Workstream(name); w != nil {
		switch {
		case w.Retries():
			return &Now{Does: "waits for its next attempt", Attempt: w.Attempts + 1, Until: *w.RetryAt}
		case w.Status == state.Running:
			return &Now{Does: "runs", Since: timeOf(w.StartedAt), Attempt: w.Attempts}
		case w.Status == state.Succeeded:
			return &Now{Does: "has done its work, and waits for its gates"}
		}
	}
	g := s.State.Gate(name)
	switch {
	case g == nil:
	case g.Status == state.Waiting:
		return &Now{Does: "waits for an approval", Since: timeOf(g.At)}
	case g.Status == state.Running && last != nil:
		return &Now{Does: "is judged", Since: last.At, Attempt: g.Attempts}
	}
	return nil
}

// cutOff reports whether a step ran when its runner was killed.
func (s Session) cutOff(name string) bool {
	if s.Running || !s.State.WasKilled() {
		return false
	}
	w, g := s.State.Workstream(name), s.State.Gate(name)
	return w != nil && (w.Status == state.Interrupted || w.Status == state.Uncertain) || g != nil && g.Status == state.Interrupted
}

// kept returns what keeps a step from starting, or kept it in the run that was the last: back to the first
// cause. It returns nil if the step is not pending.
func (s Session) kept(name string) *Cause {
	k := keeper{Session: s, open: map[string]bool{}, told: map[string]*Cause{}}
	if s.Running {
		k.failed = k.failures()
	}
	c := k.of(name)
	if g := s.State.Gate(name); g != nil {
		if owner, _ := g.Owner(); owner != nil && owner.Status != state.Pending {
			return c // the gates of work that is done are judged also after a failure
		}
	}
	return k.afterFailures(name, c)
}

// keeper finds what keeps steps from starting.
type keeper struct {
	Session
	open map[string]bool   // steps on the way to the cause that is looked for now
	told map[string]*Cause // by step: what keeps it, nil if nothing does

	failed []*Cause // what failed in the run that is on
}

// afterFailures adds to what keeps a pending step that something failed in the run that is on. Whether the
// run keeps going is not on record: if it does, what the step needs keeps it, which is told too.
func (k keeper) afterFailures(name string, c *Cause) *Cause {
	w, g := k.State.Workstream(name), k.State.Gate(name)
	pending := w != nil && w.Status == state.Pending || g != nil && g.Status == state.Pending
	if len(k.failed) == 0 || !pending {
		return c
	}
	first := &Cause{Name: name, Does: "has not started"}
	if g != nil {
		first.Does = "has not been judged"
	}
	for _, f := range k.failed {
		f.Reason = state.Text(strings.TrimPrefix(string(f.Reason)+"; "+nothingElse, "; "))
		first.Because = append(first.Because, f)
	}
	if c != nil {
		first.Because = append(first.Because, slices.DeleteFunc(c.Because, func(n *Cause) bool {
			return slices.ContainsFunc(k.failed, func(f *Cause) bool { return f.Name == n.Name })
		})...)
	}
	return first
}

// of returns what keeps a step. Many ways lead to the same step, so that its cause is told in full only
// once.
func (k keeper) of(name string) *Cause {
	if k.open[name] {
		return nil
	}
	c, known := k.told[name]
	switch {
	case known && c == nil:
		return nil
	case known:
		return above(c)
	}
	k.open[name] = true
	defer delete(k.open, name)
	c = k.find(name)
	k.told[name] = c
	return c
}

func (k keeper) find(name string) *Cause {
	if w := k.State.Workstream(name); w != nil && w.Phase() != nil && w.Status == state.Pending {
		return k.because(k.word(name, "has not started", "did not start"), k.needed(w), w.Phase())
	}
	g := k.State.Gate(name)
	if g == nil || g.Status != state.Pending {
		return nil
	}
	c := k.word(name, "has not been judged", "was not judged")
	owner, phase := g.Owner()
	switch {
	case phase == nil:
		return nil
	case owner != nil:
		return k.because(c, k.steps(owner.Name), phase)
	}
	var first []*Cause
	for _, w := range phase.Workstreams {
		first = append(first, k.started(w)...)
	}
	return k.because(c, first, phase)
}

// word returns a cause of a step that has not started, for a run that is on or one that was.
func (k keeper) word(name, running, ended string) *Cause {
	if k.Running {
		return &Cause{Name: name, Does: running}
	}
	return &Cause{Name: name, Does: ended}
}

// because says why a step has not started: because of a step that it needs, else of an unfinished step in an
// earlier phase, else of what ended the run. It returns nil if none of these is known.
func (k keeper) because(c *Cause, needed []*Cause, phase *state.Phase) *Cause {
	c.Because = needed
	for _, before := range k.State.Phases {
		if len(c.Because) > 0 || before == phase {
			break
		}
		c.Because = k.unfinished(before)
	}
	switch {
	case len(c.Because) > 0:
	case k.Running && len(k.failed) > 0: // that is told of the step that is explained
	case k.Running && k.current(phase) && k.State.Workstream(c.Name) != nil:
		c.Reason = "it can start, and waits for a free slot"
	case k.Running:
		c.Reason = "its turn has not come"
	default:
		c.Because = k.end()
		if k.State.Status == state.StatusFailed && len(c.Because) > 0 {
			c.Reason = "after a failure nothing else starts"
		}
	}
	if len(c.Because) == 0 && c.Reason == "" {
		return nil
	}
	return c
}

// nothingElse says what a failure means for the steps that have not started.
const nothingElse = "after a failure nothing else starts, unless the run keeps going"

// current reports whether the run is in a phase.
func (k keeper) current(p *state.Phase) bool {
	i := k.State.CurrentPhase - 1
	return i >= 0 && i < len(k.State.Phases) && k.State.Phases[i] == p
}

// needed returns what a workstream lacks of what it needs.
func (k keeper) needed(w *state.Workstream) (all []*Cause) {
	if k.Needs == nil {
		return nil
	}
	for _, name := range k.Needs(w.Name) {
		all = append(all, k.steps(name)...)
	}
	return all
}

// steps returns why a workstream or a gate is not done, nothing if it is.
func (k keeper) steps(name string) []*Cause {
	if w := k.State.Workstream(name); w != nil {
		if w.Status != state.Pending {
			return k.started(w)
		}
		if c := k.of(name); c != nil {
			return []*Cause{c}
		}
		return nil
	}
	if g := k.State.Gate(name); g != nil {
		return k.judged(g)
	}
	return nil
}

// unfinished returns what has begun in a phase and is not done.
func (k keeper) unfinished(p *state.Phase) (all []*Cause) {
	for _, w := range p.Workstreams {
		all = append(all, k.started(w)...)
	}
	for _, g := range p.Gates {
		all = append(all, k.judged(g)...)
	}
	return all
}

// started returns why a workstream that has begun is not done.
func (k keeper) started(w *state.Workstream) []*Cause {
	cause := func(does string, reason state.Text) []*Cause {
		return []*Cause{{Name: w.Name, Does: does, Reason: reason}}
	}
	switch w.Status {
	case state.Failed:
		if w.FailureAllowed() {
			return nil
		}
		return failed(w.Name, w.Error)
	case state.Uncertain:
		return cause("is uncertain", messageOf(w.Error))
	case state.Interrupted:
		if w.WaitsFor != "" {
			return cause("waits for "+w.WaitsFor, "")
		}
		c := cause("was interrupted", "")
		c[0].Because = k.end()
		return c
	case state.Running:
		if w.Retries() {
			return cause("waits for its next attempt", messageOf(w.Error))
		}
		return cause("runs"+since(w.StartedAt), "")
	case state.Succeeded:
		var all []*Cause
		for _, g := range w.Gates {
			all = append(all, k.judged(g)...)
		}
		if len(all) == 0 {
			all = cause("waits for its gates", "")
		}
		return all
	case state.Pending, state.Completed, state.Skipped, state.Passed, state.Rejected, state.Waiting:
	}
	return nil
}

// judged returns why a gate has not passed, nothing if it was not judged yet.
func (k keeper) judged(g *state.Gate) []*Cause {
	switch {
	case g.Status == state.Failed:
		return failed(g.Label, g.Error)
	case g.Status == state.Rejected:
		return []*Cause{{Name: g.Label, Does: "was rejected", Reason: g.Comment}}
	case g.Status == state.Waiting:
		return []*Cause{{Name: g.Label, Does: "waits for an approval" + since(g.At)}}
	case g.Status == state.Running:
		return []*Cause{{Name: g.Label, Does: "is judged"}}
	case g.Status == state.Passed && g.Review:
		return []*Cause{{Name: g.Label, Does: "has passed, and is to be reviewed"}}
	}
	return nil
}

// end returns why the last run ended, nothing while it goes on.
func (k keeper) end() []*Cause {
	st := k.State
	switch {
	case k.Running:
	case st.WasKilled():
		return []*Cause{{Name: "the runner", Does: "was killed", Reason: "how its run ended is not on record"}}
	case st.Interrupted != "":
		return []*Cause{{Name: "the run", Does: "was interrupted by " + st.Interrupted}}
	case st.Status == state.StatusFailed:
		all := k.failures()
		if len(all) == 0 && st.Error != nil {
			all = failed(cmp.Or(st.Error.Workstream, "the session"), st.Error)
		}
		return all
	case st.Status == state.StatusPaused:
		return []*Cause{{Name: "the session", Does: "is paused", Reason: state.Text(k.Paused)}}
	}
	return nil
}

// failures returns the workstreams and gates that failed, without those whose failure is allowed.
func (k keeper) failures() (all []*Cause) {
	failed := func(list []*state.Gate) {
		for _, g := range list {
			if g.Status == state.Failed {
				all = append(all, k.judged(g)...)
			}
		}
	}
	for _, p := range k.State.Phases {
		for _, w := range p.Workstreams {
			switch w.Status {
			case state.Failed:
				all = append(all, k.started(w)...)
			case state.Succeeded:
				failed(w.Gates)
			case state.Pending, state.Running, state.Completed, state.Skipped, state.Passed, state.Rejected, state.Waiting, state.Interrupted, state.Uncertain:
			}
		}
		failed(p.Gates)
	}
	return all
}

// failed returns the cause that a step failed, or a gate of it.
func failed(name string, f *state.Failure) []*Cause {
	if f != nil && f.Gate != "" {
		name = f.Gate
	}
	return []*Cause{{Name: name, Does: "failed", Reason: messageOf(f)}}
}

func messageOf(f *state.Failure) state.Text {
	if f == nil {
		return ""
	}
	return f.Message
}

func since(at *time.Time) string {
	if at == nil {
		return ""
	}
	return " since " + at.UTC().Format("2006-01-02 15:04:05 UTC")
}
