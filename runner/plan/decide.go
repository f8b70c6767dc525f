package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// subject is all that is known of a workstream when it is decided. What is
// done with it is a function of this and nothing else.
type subject struct {
	ws     *pipeline.Workstream
	record *checkpoint.Workstream // nil: the state does not know it

	now       checkpoint.Digest // what it would be run from
	known     bool              // whether now is known: all that is upstream is decided and stays as it is
	remade    string            // which artifact of it another workstream has made anew since; "": none
	moved     func() []Change   // of its inputs, since the last run; nil: not known
	broken    string            // why now can't be evaluated, "" when it can
	conflicts []Conflict        // recorded artifacts that are missing or changed
	choice    OnConflict        // what to do with changed ones: keep, restore, or undecided

	formerly   *checkpoint.Workstream // of another name, which it may be; nil: none
	definition string                 // where it is asked about what has happened: its own now; "" where that depends on results
	// cache finds the result of an earlier run from now, nil where there is none; perhaps says that
	// there may be one once what runs before it has run. Nil: it has no cache.
	cache    func() (result *checkpoint.Result, perhaps bool)
	happened *checkpoint.Act // that it has happened, or may have; nil: that is not known

	enabled  When     // what its when, and that of its phase, say
	forced   string   // why it was chosen to run again, or what it gave was rejected; "" when neither
	excluded string   // why it was chosen not to run, "" when it was not
	left     bool     // whether the plan says that it is blocked for that
	rerun    []string // upstream workstreams that run first
	asked    []string // those of them of which a verify command is asked whether they happened
	blocked  []string // upstream workstreams that cannot complete
}

// decide decides a workstream from all that is known of it.
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

// unknown reports whether nobody knows whether it happened.
func (s subject) unknown() bool {
	return s.record != nil && (s.record.Status == checkpoint.Uncertain || s.record.Status == checkpoint.Running)
}

// decideAlone decides a workstream without regard to --only.
func decideAlone(s subject) Step {
	step := Step{Kind: WorkstreamStep, Name: s.ws.Name, Title: s.ws.Title}
	done := s.record != nil && (s.record.Status == checkpoint.Completed || s.record.Status == checkpoint.Succeeded)
	switch {
	case s.enabled.skip != "":
		return step.with(Skipped, "%s", s.enabled.skip)
	case s.record != nil && s.record.Status == checkpoint.Uncertain:
		return decideUncertain(s, step)
	case len(s.blocked) > 0:
		step.On = s.blocked
		return step.with(Blocked, "needs %s", List(s.blocked))
	case len(s.asked) > 0 && !s.cut():
		return decideAsked(s, step, done)
	case s.open():
		return decideOpen(s, step, done)
	case s.enabled.broken != "" && !s.cut():
		return decideBroken(s, step, done)
	case s.broken != "" && done:
		return again(s, step, "%s", s.broken)
	case s.broken != "" && !s.cut():
		return step.with(Run, "%s", s.broken)
	case !done:
		return s.orCached(decidePending(s, step))
	case s.forced != "":
		return again(s, step, "%s", s.forced)
	case !s.known:
		step.On = s.rerun
		return step.with(Depends, "on the result of %s", List(s.rerun))
	}
	return s.orCached(decideDone(s, step))
}

// decideUncertain decides what waits for a person on record already.
func decideUncertain(s subject, step Step) Step {
	if askedAlready(s.record) {
		step.Happened = s.happened
		return step.with(Uncertain, "%s", string(s.record.Error.Message))
	}
	return step.with(Uncertain, "nobody knows whether it happened: %s", messageOf(s.record.Error))
}

// decideAsked decides a workstream that runs once a verify command knows that
// what it depends on happened, or that has run again. That it was chosen to run
// again is certain: its record is taken back.
func decideAsked(s subject, step Step, done bool) Step {
	step.On = s.asked
	if done && s.forced != "" && s.ws.Effect != pipeline.Once {
		return step.with(Rerun, "%s, after %s, whose verify command is asked first", s.forced, List(s.asked))
	}
	return step.with(Depends, "on %s, whose verify command is asked first", List(s.asked))
}

// decidePending decides what has not been completed.
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
	case checkpoint.Running, checkpoint.Interrupted:
		if s.cut() {
			return step.with(Uncertain, "attempt %d was started, and its end was never recorded", s.record.Attempts)
		}
		return step.with(Run, "attempt %d was interrupted", s.record.Attempts)
	case checkpoint.Failed:
		return step.with(Run, "attempt %d failed: %s", s.record.Attempts, messageOf(s.record.Error))
	case checkpoint.Skipped:
		return step.with(Run, "was skipped, and is enabled now")
	default:
		if s.record.Reason != "" {
			return step.with(Rerun, "%s", string(s.record.Reason))
		}
		return step.with(Run, "not run yet")
	}
}

// happened says what is known of a step that must happen only once.
func happened(w *checkpoint.Workstream) string {
	if Done(w) {
		return "completed"
	}
	return "may have happened"
}

// decideDone decides what was completed, or whose work at least is done.
func decideDone(s subject, step Step) Step {
	if c := changes(s.record.Digest, s.now, s.moved); len(c) > 0 && !s.record.Digest.Equal(s.now) && s.record.Digest.Definition != "" {
		step.Changes = c
		return again(s, step, "%s", describeChanges(c))
	}
	for _, g := range s.ws.Gates { // with --keep-going each of them may have been judged
		if statusOf(s.record, g) == checkpoint.Failed && s.ws.RerunOnGateFailure {
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
		if step.Decision == Reuse && next != "" { // it is judged once it is restored, or as the user decides
			return step.with(Judge, "%s; %s comes next", step.Reason, next)
		}
		if len(step.Restores) < len(s.conflicts) || s.record.Status == checkpoint.Completed {
			return step
		}
	}
	if next != "" {
		return step.with(Judge, "%s; %s comes next", howDone(s.record), next)
	}
	if s.record.Status == checkpoint.Succeeded {
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

// inSession says of a record that was carried over which session it is from, ""
// where it is of this one.
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

// howDone says how it is known that work is done.
func howDone(w *checkpoint.Workstream) string {
	switch w.Adopted {
	case checkpoint.AdoptedByHand:
		return "adopted by hand"
	case checkpoint.AdoptedVerified:
		return "adopted, since its verify command says that it happened"
	}
	return "the work is done"
}

// decideConflicts decides a completed workstream that is unchanged except for artifacts
// that are missing and can be restored, or that were edited.
func decideConflicts(s subject, step Step) Step {
	changed := Edited(s.conflicts)
	step.Changes = asChanges(s.conflicts)
	step.Restores = restorable(s)
	switch {
	case len(changed) == 0:
		return step.with(Reuse, "%s is missing, and is restored", List(step.Restores))
	case s.choice == ConflictKeep:
		return decideKept(s, step, changed[0].Path)
	case s.choice == ConflictRestore && allKept(changed):
		return step.with(Reuse, "%s was edited, and is restored", changed[0].Path)
	case s.choice == ConflictRestore:
		return again(s, step, "%s was edited, and is made again", changed[0].Path)
	}
	return step.with(Reuse, "proved done, but %s was edited since", changed[0].Path)
}

// decideKept keeps an edit. The reason names the gate that failed before it, since the
// edit may be kept without a decision of the user.
func decideKept(s subject, step Step, path checkpoint.Text) Step {
	if label := failed(s.record); label != "" {
		return step.with(Judge, "%s was edited since %s failed; the edit is kept, and judged", path, label)
	}
	return step.with(Judge, "%s was edited, and the edit is kept", path)
}

// restorable are the artifacts that are put back for a workstream that does
// not run again: the missing ones, and the edited where that was decided.
func restorable(s subject) []checkpoint.Text {
	var paths []checkpoint.Text
	for _, c := range s.conflicts {
		if c.Kept && (c.Found == "" || s.choice == ConflictRestore) {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// allKept reports whether all of them can be put back.
func allKept(conflicts []Conflict) bool {
	return !slices.ContainsFunc(conflicts, func(c Conflict) bool { return !c.Kept })
}

// again runs a done workstream again, unless that is for a person to say.
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

// unsatisfied is the first gate of a workstream, as the pipeline has it now,
// that has not passed, "" where all have.
func unsatisfied(ws *pipeline.Workstream, w *checkpoint.Workstream) (label string) {
	for _, g := range ws.Gates {
		if status := statusOf(w, g); status != checkpoint.Passed && status != checkpoint.Skipped {
			return g.Label()
		}
	}
	return ""
}

// failed is the first gate of a workstream that has failed, "" where none has.
func failed(w *checkpoint.Workstream) (label string) {
	if w == nil {
		return ""
	}
	for _, g := range w.Gates {
		if g.Status == checkpoint.Failed {
			return g.Label
		}
	}
	return ""
}

// statusOf is the status on record of a gate of a workstream.
func statusOf(w *checkpoint.Workstream, g *pipeline.Gate) checkpoint.StepStatus {
	for _, rec := range w.Gates {
		if rec.Label == g.Label() {
			return rec.Status
		}
	}
	return checkpoint.Pending
}

// gateSubject is all that is known of a gate when it is decided.
type gateSubject struct {
	gate       *pipeline.Gate
	record     *checkpoint.Gate
	owner      []Step   // of what it judges
	open       []string // workstreams that will make anew what its verdict is bound to beside that
	stuck      []string // those that cannot complete, likewise
	definition string   // of the gate now; "" when it can't be known yet
	judged     string   // of the files that it would judge; "" when it can't be known yet
	declared   bool     // whether all that it judges declares its files
	unmoved    bool     // whether the workspace is as it was judged
	moved      string   // a file that is not, or why that is not known
	touched    []Change // of the files that it judges, since the last run
	review     bool     // whether the run stops for review where the verdict holds
	forced     string
}

// decideGate decides a gate from all that is known of it.
func decideGate(s gateSubject) Step {
	step := Step{Kind: GateStep, Name: s.gate.Label()}
	waits, running := owners(s.owner)
	switch {
	case len(s.owner) > 0 && !slices.ContainsFunc(s.owner, func(o Step) bool { return o.Decision != Skipped }):
		return step.with(Skipped, "what it judges is skipped")
	case len(waits) > 0:
		step.On = waits
		return step.with(Blocked, "needs %s", List(waits))
	case len(running) > 0:
		step.On = running
		return step.with(Depends, "on the result of %s", List(running))
	case s.record == nil || s.record.Status == checkpoint.Pending && s.record.Attempts == 0 && s.record.Reason == "":
		return step.with(Run, "not judged yet")
	}
	switch s.record.Status {
	case checkpoint.Passed:
		return decidePassed(s, step)
	case checkpoint.Failed:
		return step.with(Judge, "it failed: %s", messageOf(s.record.Error))
	case checkpoint.Rejected:
		return step.with(Judge, "it was rejected")
	case checkpoint.Waiting:
		return step.with(Judge, "it waits for an approval")
	case checkpoint.Skipped:
		return step.with(Run, "was skipped, and is enabled now")
	default:
		if s.record.Reason != "" {
			return step.with(Judge, "%s", string(s.record.Reason))
		}
		return step.with(Judge, "its verdict was never recorded")
	}
}

// decidePassed carries a verdict over only if all that it is bound to is
// unchanged. A process or a person judges what no digest can see where not all
// files are declared: any edit takes such a verdict back.
func decidePassed(s gateSubject, step Step) Step {
	switch {
	case s.forced != "":
		return step.with(Judge, "%s", s.forced)
	case s.record.Definition == "": // from a hand-written document
		return step.with(Reuse, "passed according to the PRD document")
	case len(s.stuck) > 0:
		step.On = s.stuck
		return step.with(Blocked, "needs %s", List(s.stuck))
	case len(s.open) > 0:
		step.On = s.open
		return step.with(Depends, "whether its verdict holds depends on the result of %s", List(s.open))
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

// owners sorts what a gate judges into what keeps it from being judged at
// all, and what runs before it.
func owners(steps []Step) (waits, running []string) {
	for _, o := range steps {
		if o.stuck() {
			waits = append(waits, o.Name)
		}
		if o.anew() {
			running = append(running, o.Name)
		}
	}
	return waits, running
}

func (s Step) with(d Decision, format string, args ...any) Step {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	s.Decision, s.Reason = d, checkpoint.Text(format)
	return s
}

// missing are the artifacts that are not there any more.
func missing(conflicts []Conflict) []Conflict {
	return FilterConflicts(conflicts, func(c Conflict) bool { return c.Found == "" })
}

// Edited are the artifacts that somebody changed.
func Edited(conflicts []Conflict) []Conflict {
	return FilterConflicts(conflicts, func(c Conflict) bool { return c.Found != "" })
}

func FilterConflicts(conflicts []Conflict, keep func(Conflict) bool) []Conflict {
	return slices.DeleteFunc(slices.Clone(conflicts), func(c Conflict) bool { return !keep(c) })
}

func asChanges(conflicts []Conflict) []Change {
	c := make([]Change, len(conflicts))
	for i, k := range conflicts {
		c[i] = Change{Component: "artifacts", Name: k.Path, Old: k.Recorded, New: k.Found}
	}
	return c
}

// describeChanges names each component that changed, with the first of what
// changed of it.
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

func messageOf(f *checkpoint.Failure) string {
	if f == nil || f.Message == "" {
		return "its end was never recorded"
	}
	return string(f.Message)
}

// List names a few things, and counts the rest.
func List[S ~string](names []S) string {
	switch n := len(names); {
	case n == 0:
		return "nothing"
	case n == 1:
		return string(names[0])
	case n <= 3:
		text := string(names[0])
		for _, name := range names[1 : n-1] {
			text += ", " + string(name)
		}
		return text + " and " + string(names[n-1])
	default:
		return fmt.Sprintf("%s, %s and %d more", names[0], names[1], n-2)
	}
}
