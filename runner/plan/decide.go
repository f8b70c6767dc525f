package plan

import (
	"fmt"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
)

// subject holds everything that the decision about a workstream depends on. decide reads
// nothing else.
type subject struct {
	ws     *pipeline.Workstream
	record *state.Workstream

	digest        state.Digest    // the digest that the workstream would have if it ran at once
	digestKnown   bool            // whether digest is known: all upstream workstreams are decided and keep their results
	lostChange    string          // why a change in place is lost, as Planner.lostChange returns it; "" if none is
	changedInputs func() []Change // returns the inputs that changed since the last run; nil: not known
	evalError     string          // why digest can't be evaluated, "" when it can
	conflicts     []Conflict      // recorded artifacts that are missing or edited
	onConflict    OnConflict      // what to do with edited artifacts: keep, restore, or undecided

	former     *state.Workstream // the record of a once workstream that may be this one under an earlier name; nil: there is none
	definition string            // the present definition, if digest is not known; "" if it may depend on what runs first
	// findCached returns the result of an earlier run with this digest, or nil. If
	// upstream workstreams must run first, perhaps reports whether there may be such a
	// result then. findCached is nil if the workstream has no cache.
	findCached func() (result *state.Result, perhaps bool)
	act        *state.Act // when and where the once workstream happened, or may have; nil: nothing is known

	gateChanged   string     // how the gate changed by which it failed; "" if it did not
	when          When       // the outcome of the when of the workstream and of its phase
	objection     string     // what the person who rejected it wrote, as ": …"; "" if nothing
	remade        string     // why it runs again whatever runs first comes to: another one makes its artifact again; "" if none does
	layered       []Conflict // those of conflicts whose artifact another workstream has recorded, too
	forced        string     // why it must run again: the user's selection or a rejection; "" if neither
	excluded      string     // why the user's selection leaves it out, "" if it does not
	blockedByPlan bool       // whether the plan blocks it for that reason
	rerunFirst    []string   // upstream workstreams that run first
	verifyFirst   []string   // the workstreams in rerunFirst whose verify command is asked first
	blocked       []string   // upstream workstreams that cannot complete
}

// decide returns the decision about a workstream.
func decide(s subject) Step {
	if s.forced == "" && s.record.Rejected != "" {
		s.forced = s.record.Rejected + " was rejected" + s.objection
	}
	step := s.mentionAct(decideIgnoringOnly(s))
	switch {
	case s.excluded == "", step.Decision == Uncertain && s.outcomeUnknown():
		return step
	case (step.Decision == Reuse || step.Decision == Skipped) && !s.blockedByPlan:
		return step
	}
	step.Cached, step.Result = nil, nil
	return step.withDecision(Blocked, "%s", s.excluded)
}

// outcomeUnknown reports whether Runner can't know if the workstream happened.
func (s subject) outcomeUnknown() bool {
	return s.record.Status == state.Uncertain || s.record.Status == state.Running
}

// decideIgnoringOnly decides a workstream without regard to --only.
func decideIgnoringOnly(s subject) Step {
	step := Step{Kind: WorkstreamStep, Name: s.ws.Name, Title: s.ws.Title, Calls: s.ws.Calls}
	if s.ws.Isolate != nil {
		step.Isolate = s.ws.Isolate.From
	}
	done := s.record.Done()
	switch {
	case s.when.skipReason != "":
		return step.withDecision(Skipped, "%s", s.when.skipReason)
	case s.record.Status == state.Uncertain:
		return decideUncertain(s, step)
	case len(s.blocked) > 0:
		step.On = s.blocked
		return step.withDecision(Blocked, "needs %s", text.Enumerate(s.blocked))
	case len(s.verifyFirst) > 0 && !s.endUnknown():
		return decideAsked(s, step)
	case s.enabledUnknown():
		return decideOpen(s, step)
	case s.when.evalError != "" && !s.endUnknown():
		return decideBroken(s, step)
	case s.evalError != "" && done:
		return decideRerun(s, step, "%s", s.evalError)
	case s.evalError != "" && !s.endUnknown():
		return step.withDecision(Run, "%s", s.evalError)
	case s.ws.Unexpanded():
		step.On = s.rerunFirst
		return step.withDecision(Depends, "its instances depend on the result of %s", text.Enumerate(s.rerunFirst))
	case !done && !failureStands(s.ws, s.record):
		return s.preferCached(decidePending(s, step))
	case s.forced != "":
		return decideRerun(s, step, "%s", s.forced)
	case s.definitionChanged():
		step.On, step.Changes = s.rerunFirst, []Change{{Component: "definition", Old: s.record.Digest.Definition, New: s.definition}}
		return s.preferCached(step.withDecision(Rerun, "%s", describeChanges(step.Changes)))
	case !s.digestKnown && s.remade != "":
		step.On = s.rerunFirst
		return s.preferCached(decideRerun(s, step, "%s", s.remade))
	case !s.digestKnown:
		return decideDepends(s, step)
	case !done:
		return decideFailed(s, step)
	}
	return s.preferCached(decideDone(s, step))
}

// definitionChanged reports whether a done workstream runs again whatever the workstreams that
// run first come to. A once workstream is asked about when they have ended.
func (s subject) definitionChanged() bool {
	had := s.record.Digest.Definition
	return !s.digestKnown && s.record.Done() && s.ws.Effect != pipeline.Once && s.definition != "" && had != "" && had != s.definition
}

// decideUncertain decides a workstream that is on record as waiting for the user to
// resolve it.
func decideUncertain(s subject, step Step) Step {
	if awaitsAnswer(s.record) {
		step.Happened = s.act
		return step.withDecision(Uncertain, "%s", string(s.record.Error.Message))
	}
	return step.withDecision(Uncertain, "nobody knows whether it happened: %s", failureMessage(s.record.Error))
}

// decideAsked decides a workstream that depends on an uncertain step. It runs once the
// verify command of that step has said that the step happened, or once that step has run
// again. If the user chose the workstream to run again, its record is taken back in any
// case.
func decideAsked(s subject, step Step) Step {
	step.On = s.verifyFirst
	if s.record.Done() && s.forced != "" && s.ws.Effect != pipeline.Once {
		return step.withDecision(Rerun, "%s, after %s, whose verify command is asked first", s.forced, text.Enumerate(s.verifyFirst))
	}
	return step.withDecision(Depends, "on %s, whose verify command is asked first", text.Enumerate(s.verifyFirst))
}

// decideDepends decides a workstream whose decision depends on what runs first. If it
// shares a missing artifact with another workstream, the artifact is restored, because it
// may run again, and then starts from it.
func decideDepends(s subject, step Step) Step {
	step.On = s.rerunFirst
	step = step.withDecision(Depends, "on the result of %s", text.Enumerate(s.rerunFirst))
	if step.Restores = restorable(s.layered, s.onConflict); len(step.Restores) > 0 {
		return step.withDecision(Depends, "%s; %s is restored first", step.Reason, text.Enumerate(step.Restores))
	}
	return step
}

// decidePending decides a workstream that has not completed.
func decidePending(s subject, step Step) Step {
	step.On = s.rerunFirst
	if s.former != nil {
		return step.withDecision(Uncertain, "%s, which is no longer declared, %s; is %s the same?", s.former.Name, describeHappened(s.former), s.ws.Name)
	}
	if s.act != nil {
		return decideHappened(s, step)
	}
	if s.record.Call != "" && s.forced != "" {
		return step.withDecision(Rerun, "%s", s.forced)
	}
	if s.record.Attempts == 0 && s.record.Reason == "" {
		return step.withDecision(Run, "not run yet")
	}
	switch s.record.Status {
	case state.Running, state.Interrupted:
		if s.record.Returns() {
			return step.withDecision(Run, "its gates have passed in its work tree; the build first puts its result into the workspace, and then decides anew")
		}
		if s.endUnknown() {
			return step.withDecision(Uncertain, "attempt %d was started, and its end was never recorded", s.record.Attempts)
		}
		if s.record.Reason != "" {
			return step.withDecision(Run, "nothing ran in attempt %d: %s", s.record.Attempts, s.record.Reason)
		}
		if s.record.Error != nil {
			return step.withDecision(Run, "attempt %d failed: %s; its retry did not start", s.record.Attempts, failureMessage(s.record.Error))
		}
		if s.record.WaitsFor != "" {
			return step.withDecision(Run, "it waited for %s", s.record.WaitsFor)
		}
		return step.withDecision(Run, "attempt %d was interrupted", s.record.Attempts)
	case state.Failed:
		return s.changedSince(step.withDecision(Run, "attempt %d failed: %s", s.record.Attempts, failureMessage(s.record.Error)))
	case state.Skipped:
		return step.withDecision(Run, "was skipped, and is enabled now")
	default:
		if s.record.Reason != "" {
			return step.withDecision(Rerun, "%s", string(s.record.Reason))
		}
		return step.withDecision(Run, "not run yet")
	}
}

// changedSince adds to the decision about a workstream that failed what has changed since that attempt.
func (s subject) changedSince(step Step) Step {
	had := s.record.Digest
	if !s.digestKnown || s.evalError != "" || had.Definition == "" || had.Equal(s.digest) {
		return step
	}
	step.Changes = digestChanges(had, s.digest, s.changedInputs)
	return step.withDecision(step.Decision, "%s; since it began, %s", step.Reason, describeChanges(step.Changes))
}

// decideFailed decides a workstream whose failure is allowed. It runs again if something has
// changed since.
func decideFailed(s subject, step Step) Step {
	if had := s.record.Digest; !had.Equal(s.digest) {
		step.Changes = digestChanges(had, s.digest, s.changedInputs)
		return step.withDecision(Run, "it failed, and %s", describeChanges(step.Changes))
	}
	if s.gateChanged != "" {
		return step.withDecision(Run, "it failed, and %s", s.gateChanged)
	}
	step.Failed = true
	return step.withDecision(Reuse, "it failed, which is allowed, and nothing changed since")
}

// decideDone decides a workstream whose work is done, whether or not its gates have
// passed.
func decideDone(s subject, step Step) Step {
	if had := s.record.Digest; had.Definition != "" && !had.Equal(s.digest) {
		step.Changes = digestChanges(had, s.digest, s.changedInputs)
		return decideRerun(s, step, "%s", describeChanges(step.Changes))
	}
	for _, g := range s.ws.Gates { // with --keep-going all gates may have been judged
		if gateStatus(s.record, g) == state.Failed && s.ws.RerunOnGateFailure {
			return decideRerun(s, step, "%s failed, and on_gate_failure is rerun", g.Label())
		}
	}
	if s.lostChange != "" {
		return decideRerun(s, step, "%s", s.lostChange)
	}
	if gone := missingArtifacts(s.conflicts); !allKept(gone) {
		step.Changes = conflictChanges(gone)
		return decideRerun(s, step, "its artifact %s is missing", gone[0].Path)
	}
	next := firstUnsatisfiedGate(s.ws, s.record)
	if len(s.conflicts) > 0 {
		step = decideConflicts(s, step)
		if step.Decision == Reuse && next != "" { // it is judged after the restore, or after the user's decision
			return step.withDecision(Judge, "%s; %s comes next", step.Reason, next)
		}
		if len(step.Restores) < len(s.conflicts) || s.record.Status == state.Completed {
			return step
		}
	}
	if next != "" {
		return step.withDecision(Judge, "%s; %s comes next", howDone(s.record), next)
	}
	if s.record.Status == state.Succeeded {
		return step.withDecision(Judge, "%s, but its completion is not on record", howDone(s.record))
	}
	if s.record.Imported {
		return step.withDecision(Reuse, "completed according to the PRD document")
	}
	if s.record.Adopted != "" {
		return step.withDecision(Reuse, "%s, and nothing changed since", howDone(s.record))
	}
	return step.withDecision(Reuse, "nothing changed since it completed%s", inSession(s.record.Session, s.record.EndedAt))
}

// firstLine returns the beginning of the first line of a text, for a reason.
func firstLine(text string) string {
	const most = 120
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > most {
		line, more = string(runes[:most]), true
	}
	if more {
		line += "…"
	}
	return line
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

// decideRerun decides that a done workstream runs again. For a once step it decides
// Uncertain, because the user must say so.
func decideRerun(s subject, step Step, format string, args ...any) Step {
	step = step.withDecision(Rerun, format, args...)
	if s.ws.Effect != pipeline.Once {
		return step
	}
	has := "has happened"
	if step.Happened = s.act; s.act != nil {
		has = describeAct(s.act) + ","
	}
	return step.withDecision(Uncertain, "it %s and must not run twice, but %s", has, step.Reason)
}

func (s Step) withDecision(d Decision, format string, args ...any) Step {
	s.Decision, s.Reason = d, state.Text(fmt.Sprintf(format, args...))
	return s
}

// describeChanges names each component that changed, its first change, and how many more
// there are.
func describeChanges(all []Change) string {
	var texts []string
	for len(all) > 0 {
		of, n := all[0].Component, 1
		for n < len(all) && all[n].Component == of {
			n++
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

func failureMessage(f *state.Failure) string {
	if f == nil || f.Message == "" {
		return "its end was never recorded"
	}
	if f.Gate != "" {
		return f.Gate + ": " + string(f.Message)
	}
	return string(f.Message)
}
