package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
)

// subject holds everything that the decision about a workstream depends on. decide reads
// nothing else.
type subject struct {
	ws     *pipeline.Workstream
	record *state.Workstream // nil: not in the state

	now       state.Digest    // the digest that the workstream would have if it ran now
	known     bool            // whether now is known: all upstream workstreams are decided and keep their results
	remade    string          // why a change in place is lost, as remade returns it; "": none is
	moved     func() []Change // returns the inputs that changed since the last run; nil: not known
	broken    string          // why now can't be evaluated, "" when it can
	conflicts []Conflict      // recorded artifacts that are missing or edited
	choice    OnConflict      // what to do with edited artifacts: keep, restore, or undecided

	formerly   *state.Workstream // a removed once workstream that may be this one under another name; nil: none
	definition string            // the present definition, for a question about happened; "" if it depends on results
	// cache returns the result of an earlier run with the digest now, nil if there is none. If
	// upstream workstreams must run first, perhaps reports whether there may be such a result
	// then. cache is nil if the workstream has no cache.
	cache    func() (result *checkpoint.Result, perhaps bool)
	happened *state.Act // when and where the once workstream happened, or may have; nil: nothing is known

	enabled  When     // what the when of the workstream and the when of its phase say
	forced   string   // why it must run again: the user's selection or a rejection; "" if neither
	excluded string   // why the user's selection leaves it out, "" if it does not
	left     bool     // whether the plan blocks it for that reason
	rerun    []string // upstream workstreams that run first
	asked    []string // the workstreams in rerun whose verify command is asked first
	blocked  []string // upstream workstreams that cannot complete
}

// decide returns the decision about a workstream.
func decide(s subject) Step {
	if s.forced == "" && s.record != nil && s.record.Rejected != "" {
		s.forced = s.record.Rejected + " was rejected"
	}
	step := s.tellHappened(decideAlone(s))
	switch {
	case s.excluded == "", step.Decision == Uncertain && s.unknown():
		return step
	case (step.Decision == Reuse || step.Decision == Skipped) && !s.left:
		return step
	}
	step.Cached, step.Result = nil, nil
	return step.with(Blocked, "%s", s.excluded)
}

// unknown reports whether it is not known if the workstream happened.
func (s subject) unknown() bool {
	return s.record != nil && (s.record.Status == state.Uncertain || s.record.Status == state.Running)
}

// decideAlone decides a workstream without regard to --only.
func decideAlone(s subject) Step {
	step := Step{Kind: WorkstreamStep, Name: s.ws.Name, Title: s.ws.Title}
	done := s.record != nil && (s.record.Status == state.Completed || s.record.Status == state.Succeeded)
	switch {
	case s.enabled.skip != "":
		return step.with(Skipped, "%s", s.enabled.skip)
	case s.record != nil && s.record.Status == state.Uncertain:
		return decideUncertain(s, step)
	case len(s.blocked) > 0:
		step.On = s.blocked
		return step.with(Blocked, "needs %s", text.Enumerate(s.blocked))
	case len(s.asked) > 0 && !s.endUnknown():
		return decideAsked(s, step, done)
	case s.open():
		return decideOpen(s, step, done)
	case s.enabled.broken != "" && !s.endUnknown():
		return decideBroken(s, step, done)
	case s.broken != "" && done:
		return again(s, step, "%s", s.broken)
	case s.broken != "" && !s.endUnknown():
		return step.with(Run, "%s", s.broken)
	case !done:
		return s.orCached(decidePending(s, step))
	case s.forced != "":
		return again(s, step, "%s", s.forced)
	case !s.known:
		step.On = s.rerun
		return step.with(Depends, "on the result of %s", text.Enumerate(s.rerun))
	}
	return s.orCached(decideDone(s, step))
}

// decideUncertain decides a workstream that is on record as waiting for the user to
// resolve it.
func decideUncertain(s subject, step Step) Step {
	if askedAlready(s.record) {
		step.Happened = s.happened
		return step.with(Uncertain, "%s", string(s.record.Error.Message))
	}
	return step.with(Uncertain, "nobody knows whether it happened: %s", messageOf(s.record.Error))
}

// decideAsked decides a workstream that depends on an uncertain step. It runs once the
// verify command of that step has said that the step happened, or once that step has run
// again. If the user chose the workstream to run again, that is certain: its record is
// taken back.
func decideAsked(s subject, step Step, done bool) Step {
	step.On = s.asked
	if done && s.forced != "" && s.ws.Effect != pipeline.Once {
		return step.with(Rerun, "%s, after %s, whose verify command is asked first", s.forced, text.Enumerate(s.asked))
	}
	return step.with(Depends, "on %s, whose verify command is asked first", text.Enumerate(s.asked))
}

// decidePending decides a workstream that has not completed.
func decidePending(s subject, step Step) Step {
	if len(s.rerun) > 0 {
		step.On = s.rerun
	}
	if s.formerly != nil {
		return step.with(Uncertain, "%s, which is no longer declared, %s; is %s the same?", s.formerly.Name, happened(s.formerly), s.ws.Name)
	}
	if s.happened != nil {
		return decideHappened(s, step)
	}
	if s.record == nil || s.record.Attempts == 0 && s.record.Reason == "" {
		return step.with(Run, "not run yet")
	}
	switch s.record.Status {
	case state.Running, state.Interrupted:
		if s.endUnknown() {
			return step.with(Uncertain, "attempt %d was started, and its end was never recorded", s.record.Attempts)
		}
		return step.with(Run, "attempt %d was interrupted", s.record.Attempts)
	case state.Failed:
		return step.with(Run, "attempt %d failed: %s", s.record.Attempts, messageOf(s.record.Error))
	case state.Skipped:
		return step.with(Run, "was skipped, and is enabled now")
	default:
		if s.record.Reason != "" {
			return step.with(Rerun, "%s", string(s.record.Reason))
		}
		return step.with(Run, "not run yet")
	}
}

// happened describes what the record says about a once step.
func happened(w *state.Workstream) string {
	if w.Done() {
		return "completed"
	}
	return "may have happened"
}

// decideDone decides a workstream whose work is done, whether or not its gates have
// passed.
func decideDone(s subject, step Step) Step {
	if c := changes(s.record.Digest, s.now, s.moved); len(c) > 0 && !s.record.Digest.Equal(s.now) && s.record.Digest.Definition != "" {
		step.Changes = c
		return again(s, step, "%s", describeChanges(c))
	}
	for _, g := range s.ws.Gates { // with --keep-going all gates may have been judged
		if statusOf(s.record, g) == state.Failed && s.ws.RerunOnGateFailure {
			return again(s, step, "%s failed, and on_gate_failure is rerun", g.Label())
		}
	}
	if s.remade != "" {
		return again(s, step, "%s", s.remade)
	}
	if gone := missing(s.conflicts); !allKept(gone) {
		step.Changes = asChanges(gone)
		return again(s, step, "its artifact %s is missing", gone[0].Path)
	}
	next := unsatisfied(s.ws, s.record)
	if len(s.conflicts) > 0 {
		step = decideConflicts(s, step)
		if step.Decision == Reuse && next != "" { // it is judged after the restore, or after the user's decision
			return step.with(Judge, "%s; %s comes next", step.Reason, next)
		}
		if len(step.Restores) < len(s.conflicts) || s.record.Status == state.Completed {
			return step
		}
	}
	if next != "" {
		return step.with(Judge, "%s; %s comes next", howDone(s.record), next)
	}
	if s.record.Status == state.Succeeded {
		return step.with(Judge, "%s, but its completion is not on record", howDone(s.record))
	}
	if s.record.Imported {
		return step.with(Reuse, "completed according to the PRD document")
	}
	if s.record.Adopted != "" {
		return step.with(Reuse, "%s, and nothing changed since", howDone(s.record))
	}
	return step.with(Reuse, "nothing changed since it completed%s", inSession(s.record.Session, s.record.EndedAt))
}

// inSession names the earlier session that made a record. It returns "" for a record of
// the present session.
func inSession(session string, at *time.Time) string {
	if session == "" {
		return ""
	}
	text := " in session " + state.ShortSession(session)
	if at != nil {
		text += " of " + at.UTC().Format("2006-01-02 15:04 UTC")
	}
	return text
}

// howDone describes how Runner knows that the work is done.
func howDone(w *state.Workstream) string {
	switch w.Adopted {
	case state.AdoptedByHand:
		return "adopted by hand"
	case state.AdoptedVerified:
		return "adopted, since its verify command says that it happened"
	}
	return "the work is done"
}

// decideConflicts decides a workstream whose only changes are artifacts that are missing
// and can be restored, or that were edited.
func decideConflicts(s subject, step Step) Step {
	changed := Edited(s.conflicts)
	step.Changes = asChanges(s.conflicts)
	step.Restores = restorable(s)
	switch {
	case len(changed) == 0:
		return step.with(Reuse, "%s is missing, and is restored", text.Enumerate(step.Restores))
	case s.choice == ConflictKeep:
		return decideKept(s, step, changed[0].Path)
	case s.choice == ConflictRestore && allKept(changed):
		return step.with(Reuse, "%s was edited, and is restored", changed[0].Path)
	case s.choice == ConflictRestore:
		return again(s, step, "%s was edited, and is made again", changed[0].Path)
	}
	return step.with(Reuse, "proved done, but %s was edited since", changed[0].Path)
}

// decideKept keeps an edit. The reason names the gate that failed before the edit, because
// Runner may keep such an edit without asking the user.
func decideKept(s subject, step Step, path state.Text) Step {
	if label := failed(s.record); label != "" {
		return step.with(Judge, "%s was edited since %s failed; the edit is kept, and judged", path, label)
	}
	return step.with(Judge, "%s was edited, and the edit is kept", path)
}

// restorable returns the artifacts that Runner restores if the workstream does not run
// again: the missing ones, and the edited ones if the user chose that.
func restorable(s subject) []state.Text {
	var paths []state.Text
	for _, c := range s.conflicts {
		if c.Kept && (c.Found == "" || s.choice == ConflictRestore) {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// allKept reports whether Runner can restore all of the artifacts.
func allKept(conflicts []Conflict) bool {
	return !slices.ContainsFunc(conflicts, func(c Conflict) bool { return !c.Kept })
}

// again decides that a done workstream runs again. For a once step it decides Uncertain,
// because the user must say so.
func again(s subject, step Step, format string, args ...any) Step {
	step = step.with(Rerun, format, args...)
	if s.ws.Effect != pipeline.Once {
		return step
	}
	has := "has happened"
	if step.Happened = s.happened; s.happened != nil {
		has = describeAct(s.happened) + ","
	}
	return step.with(Uncertain, "it %s and must not run twice, but %s", has, step.Reason)
}

// unsatisfied returns the first gate of ws, as the pipeline declares it now, that has not
// passed and was not skipped. It returns "" if there is none.
func unsatisfied(ws *pipeline.Workstream, w *state.Workstream) (label string) {
	for _, g := range ws.Gates {
		if status := statusOf(w, g); status != state.Passed && status != state.Skipped {
			return g.Label()
		}
	}
	return ""
}

// failed returns the first gate on record that has failed, "" if none has.
func failed(w *state.Workstream) (label string) {
	if w == nil {
		return ""
	}
	for _, g := range w.Gates {
		if g.Status == state.Failed {
			return g.Label
		}
	}
	return ""
}

// statusOf returns the status on record of a gate of a workstream.
func statusOf(w *state.Workstream, g *pipeline.Gate) state.StepStatus {
	for _, rec := range w.Gates {
		if rec.Label == g.Label() {
			return rec.Status
		}
	}
	return state.Pending
}

// gateSubject holds everything that the decision about a gate depends on. decideGate reads
// nothing else.
type gateSubject struct {
	gate       *pipeline.Gate
	record     *state.Gate
	owner      []Step   // the steps of the workstreams that the gate judges
	open       []string // other workstreams that will change what the verdict is bound to
	stuck      []string // such workstreams that cannot complete
	definition string   // the present definition of the gate; "" if not known yet
	judged     string   // the digest of the files and results that it would judge; "" if not known yet
	declared   bool     // whether all files that it judges are declared
	unmoved    bool     // whether the workspace has not changed since the gate judged it
	moved      string   // why unmoved is false: a changed file, or why that is not known
	touched    []Change // changes since the last run to the files that it judges
	review     bool     // whether the run stops for a review if the verdict still holds
	forced     string   // why the user's selection has it judged again, "" if it does not
}

// decideGate returns the decision about a gate.
func decideGate(s gateSubject) Step {
	step := Step{Kind: GateStep, Name: s.gate.Label()}
	waits, running := owners(s.owner)
	switch {
	case len(s.owner) > 0 && !slices.ContainsFunc(s.owner, func(o Step) bool { return o.Decision != Skipped }):
		return step.with(Skipped, "what it judges is skipped")
	case len(waits) > 0:
		step.On = waits
		return step.with(Blocked, "needs %s", text.Enumerate(waits))
	case len(running) > 0:
		step.On = running
		return step.with(Depends, "on the result of %s", text.Enumerate(running))
	case s.record == nil || s.record.Status == state.Pending && s.record.Attempts == 0 && s.record.Reason == "":
		return step.with(Run, "not judged yet")
	}
	switch s.record.Status {
	case state.Passed:
		return decidePassed(s, step)
	case state.Failed:
		return step.with(Judge, "it failed: %s", messageOf(s.record.Error))
	case state.Rejected:
		return step.with(Judge, "it was rejected")
	case state.Waiting:
		return step.with(Judge, "it waits for an approval")
	case state.Skipped:
		return step.with(Run, "was skipped, and is enabled now")
	default:
		if s.record.Reason != "" {
			return step.with(Judge, "%s", string(s.record.Reason))
		}
		return step.with(Judge, "its verdict was never recorded")
	}
}

// decidePassed decides a gate that has passed. The verdict holds only if nothing that it
// is bound to has changed. A command or a user may judge files that no digest covers. So
// if the files of such a gate are not all declared, any edit in the workspace takes its
// verdict back.
func decidePassed(s gateSubject, step Step) Step {
	switch {
	case s.forced != "":
		return step.with(Judge, "%s", s.forced)
	case s.record.Definition == "": // from a hand-written document
		return step.with(Reuse, "passed according to the PRD document")
	case len(s.stuck) > 0:
		step.On = s.stuck
		return step.with(Blocked, "needs %s", text.Enumerate(s.stuck))
	case len(s.open) > 0:
		step.On = s.open
		return step.with(Depends, "whether its verdict holds depends on the result of %s", text.Enumerate(s.open))
	case s.record.Definition != s.definition:
		step.Changes = []Change{{Component: "definition", Old: s.record.Definition, New: s.definition}}
		return step.with(Judge, "its definition changed")
	case s.record.Judged != s.judged:
		if step.Changes = s.touched; len(s.touched) == 0 {
			step.Changes = []Change{{Component: "judged", Old: s.record.Judged, New: s.judged}}
		}
		return step.with(Judge, "what it %s", describeChanges(step.Changes))
	case !s.declared && !s.unmoved && (s.gate.Kind == pipeline.GateCommand || s.gate.Kind == pipeline.GateApproval):
		return step.with(Judge, "what it judges is not all declared, and %s", s.moved)
	}
	if step.Review = s.review; s.review {
		return step.with(Reuse, "passed, and the build stops for its review")
	}
	return step.with(Reuse, "passed%s, and nothing changed since", inSession(s.record.Session, s.record.At))
}

// owners returns the steps that a gate judges and that cannot complete, waits, and those
// that run before the gate, running.
func owners(steps []Step) (waits, running []string) {
	for _, o := range steps {
		if o.cannotComplete() {
			waits = append(waits, o.Name)
		}
		if o.mayDiffer() {
			running = append(running, o.Name)
		}
	}
	return waits, running
}

func (s Step) with(d Decision, format string, args ...any) Step {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	s.Decision, s.Reason = d, state.Text(format)
	return s
}

// missing returns the conflicts of artifacts whose file is gone.
func missing(conflicts []Conflict) []Conflict {
	return filterConflicts(conflicts, func(c Conflict) bool { return c.Found == "" })
}

// Edited returns the conflicts of artifacts whose file was changed.
func Edited(conflicts []Conflict) []Conflict {
	return filterConflicts(conflicts, func(c Conflict) bool { return c.Found != "" })
}

// filterConflicts returns the conflicts for which keep returns true.
func filterConflicts(conflicts []Conflict, keep func(Conflict) bool) []Conflict {
	return slices.DeleteFunc(slices.Clone(conflicts), func(c Conflict) bool { return !keep(c) })
}

func asChanges(conflicts []Conflict) []Change {
	c := make([]Change, len(conflicts))
	for i, k := range conflicts {
		c[i] = Change{Component: "artifacts", Name: k.Path, Old: k.Recorded, New: k.Found}
	}
	return c
}

// describeChanges names each component that changed, its first change, and how many more
// there are.
func describeChanges(all []Change) string {
	var texts []string
	for len(all) > 0 {
		of := all[0].Component
		n := slices.IndexFunc(all, func(c Change) bool { return c.Component != of })
		if n < 0 {
			n = len(all)
		}
		text := of + " changed"
		if name := all[0].Name; name != "" {
			text += ": " + string(name)
		}
		if n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
		texts, all = append(texts, text), all[n:]
	}
	return strings.Join(texts, "; ")
}

func messageOf(f *state.Failure) string {
	if f == nil || f.Message == "" {
		return "its end was never recorded"
	}
	return string(f.Message)
}
