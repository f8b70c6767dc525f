package plan

import (
	"fmt"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// earlierAct returns when and where a once workstream has happened before, or may have.
// It returns nil if nothing is known, if the user has answered already, or if the record
// tells neither the time nor the session.
func (pl *Planner) earlierAct(ws *pipeline.Workstream, rec *state.Workstream) *state.Act {
	switch {
	case mustAskBeforeRun(ws, rec) || ws.Effect == pipeline.Once && awaitsAnswer(rec):
		return state.NewestAct(pl.facts.Acts, ws.Name)
	case ws.Effect == pipeline.Once && rec.Done() && !rec.Imported:
		a := pl.st.ActOf(rec)
		return &a
	}
	return nil
}

// awaitsAnswer reports whether the record says that the workstream has happened and that
// Runner waits for the user's answer.
func awaitsAnswer(rec *state.Workstream) bool {
	return rec.Status == state.Uncertain && rec.Error != nil && rec.Error.Outcome == state.OutcomeHappened
}

// mustAskBeforeRun reports whether Runner must ask the user before a once workstream
// runs, if it has happened before.
func mustAskBeforeRun(ws *pipeline.Workstream, rec *state.Workstream) bool {
	return ws.Effect == pipeline.Once && !rec.Repeat && (rec.Status == state.Pending || rec.Status == state.Skipped)
}

// actUnderFormerName returns the act of a workstream that is no longer declared and had
// the definition that ws has now, or nil. It may be ws under an earlier name.
func (pl *Planner) actUnderFormerName(ws *pipeline.Workstream, rec *state.Workstream) *state.Act {
	if !mustAskBeforeRun(ws, rec) || rec.Attempts > 0 {
		return nil
	}
	hasDefinition := pl.definitionTest(ws)
	for i := range pl.facts.Acts {
		if a := &pl.facts.Acts[i]; pl.p.Workstream(a.Workstream) == nil && hasDefinition(a.Digest) {
			return a
		}
	}
	return nil
}

// definitionTest returns a function that reports whether a digest has the definition that
// ws has now. It evaluates ws only when it is first called.
func (pl *Planner) definitionTest(ws *pipeline.Workstream) func(state.Digest) bool {
	evaluate := sync.OnceValues(func() (pipeline.Invocation, hcl.Diagnostics) {
		return ws.Invocation(pl.Results(ws.NeedsResults(), 0))
	})
	return func(d state.Digest) bool {
		inv, diags := evaluate()
		return !diags.HasErrors() && d.Definition == inv.Definition
	}
}

// decideHappened decides a once workstream that has happened before: the user says whether
// that counts.
func decideHappened(s subject, step Step) Step {
	a := s.act
	step.Happened = a
	switch {
	case a.Unread != "":
		return step.withDecision(Uncertain, "nobody knows whether it happened in the session under %s, which can't be read", a.Unread)
	case a.Workstream != s.ws.Name:
		return step.withDecision(Uncertain, "%s, which is no longer declared, %s; is %s the same?", a.Workstream, describeAct(a), s.ws.Name)
	case !s.digestKnown && s.definition == "":
		return step.withDecision(Uncertain, "it %s", describeAct(a))
	case !s.digestKnown && s.definition == a.Digest.Definition:
		return step.withDecision(Uncertain, "it %s, with the same definition", describeAct(a))
	case !s.digestKnown:
		return step.withDecision(Uncertain, "it %s; definition changed since", describeAct(a))
	}
	if step.Changes = digestChanges(a.Digest, s.digest, nil); len(step.Changes) > 0 {
		return step.withDecision(Uncertain, "it %s; %s since", describeAct(a), describeChanges(step.Changes))
	}
	return step.withDecision(Uncertain, "it %s, with the same definition, from the same inputs", describeAct(a))
}

// mentionAct adds to a step that depends on other steps when and where it happened. A
// build pauses at the step if their results differ.
func (s subject) mentionAct(step Step) Step {
	if s.act == nil || s.act.Unread != "" || step.Decision != Depends {
		return step
	}
	step.Happened = s.act
	return step.withDecision(Depends, "%s; it %s, and must not run twice", step.Reason, describeAct(s.act))
}

// describeAct says when and in which session a once step happened, or may have.
func describeAct(a *state.Act) string {
	text := "has happened already, on "
	switch {
	case a.Uncertain:
		text = "may have happened already, on "
	case a.Adopted != "":
		text = "counts as having happened already, since "
	}
	text += a.At.UTC().Format("2006-01-02 15:04 UTC") + " in session " + state.ShortSession(a.Session)
	if a.Host != "" {
		text += fmt.Sprintf(" (%s)", a.Host)
	}
	return text
}

// mustRepeat reports whether --repeat names the workstream and there is something on record
// to repeat.
func (pl *Planner) mustRepeat(ws *pipeline.Workstream) bool {
	rec := pl.st.Workstream(ws.Name)
	return pl.selection.repeat[ws.Name] && pl.selection.exclusionReason(ws) == "" &&
		(state.NewestAct(pl.facts.Acts, ws.Name) != nil || rec.Attempts > 0 || pl.actUnderFormerName(ws, rec) != nil)
}

// resetForRepeat returns the record of a workstream as it will be once --repeat is
// recorded.
func resetForRepeat(rec *state.Workstream) *state.Workstream {
	w := *rec
	w.Status, w.Repeat, w.Error, w.Reason, w.Rejected = state.Pending, true, nil, RepeatReason, ""
	return &w
}

// RepeatReason is the recorded reason for a workstream that --repeat runs again.
const RepeatReason = "it was chosen by --repeat"

// FormerRecord returns the record of a once step that may be ws under an earlier name, or
// nil. Such a step is no longer declared, has happened or may have, and has the same
// definition as ws, which has no record yet. Runner asks the user about it once.
func (pl *Planner) FormerRecord(ws *pipeline.Workstream, rec *state.Workstream) *state.Workstream {
	if ws.Effect != pipeline.Once || rec.Attempts > 0 || rec.Repeat || rec.Status != state.Pending || rec.SameAs != "" {
		return nil
	}
	hasDefinition := pl.definitionTest(ws)
	for _, w := range pl.st.Gone {
		if w.Once && (w.Done() || w.Status == state.Uncertain) && hasDefinition(w.Digest) {
			return w
		}
	}
	return nil
}

// describeHappened describes what the record says about a once step.
func describeHappened(w *state.Workstream) string {
	if w.Done() {
		return "completed"
	}
	return "may have happened"
}
