package plan

import (
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// happened returns when and where a once workstream has happened before, or may have. It
// returns nil if nothing is known, if the user has decided that already, or if the record
// tells neither the time nor the session.
func (pl *Planner) happened(ws *pipeline.Workstream, rec *state.Workstream) *state.Act {
	switch {
	case asksAgain(ws, rec) || ws.Effect == pipeline.Once && askedAlready(rec):
		return state.NewestAct(pl.facts.Acts, ws.Name)
	case ws.Effect == pipeline.Once && rec.Done() && !rec.Imported:
		a := pl.st.ActOf(rec)
		return &a
	}
	return nil
}

// askedAlready reports whether the record says that the workstream has happened and that
// Runner waits for the user's answer.
func askedAlready(rec *state.Workstream) bool {
	return rec.Status == state.Uncertain && rec.Error != nil && rec.Error.Outcome == state.OutcomeHappened
}

// asksAgain reports whether Runner must ask the user before a once workstream runs, if it
// has happened before.
func asksAgain(ws *pipeline.Workstream, rec *state.Workstream) bool {
	return ws.Effect == pipeline.Once && (rec == nil || !rec.Repeat && (rec.Status == state.Pending || rec.Status == state.Skipped))
}

// happenedAs returns what happened under the name of a workstream that has left the
// pipeline and had the definition that ws has now. It returns nil if there is no such act.
func (pl *Planner) happenedAs(ws *pipeline.Workstream, rec *state.Workstream) *state.Act {
	if !asksAgain(ws, rec) || rec != nil && rec.Attempts > 0 {
		return nil
	}
	definition := ""
	for i := range pl.facts.Acts {
		a := &pl.facts.Acts[i]
		if a.Digest.Definition == "" || pl.p.Workstream(a.Workstream) != nil {
			continue
		}
		if definition == "" {
			inv, diags := ws.Invocation(pl.Results(ws.NeedsResults(), 0))
			if diags.HasErrors() {
				return nil
			}
			definition = inv.Definition
		}
		if a.Digest.Definition == definition {
			return a
		}
	}
	return nil
}

// decideHappened decides a once workstream that has happened before: the user says whether
// that counts.
func decideHappened(s subject, step Step) Step {
	a := s.happened
	step.Happened = a
	switch {
	case a.Unread != "":
		return step.with(Uncertain, "nobody knows whether it happened in the session under %s, which can't be read", a.Unread)
	case a.Workstream != s.ws.Name:
		return step.with(Uncertain, "%s, which is no longer declared, %s; is %s the same?", a.Workstream, describeAct(a), s.ws.Name)
	case !s.known && s.definition == "":
		return step.with(Uncertain, "it %s", describeAct(a))
	case !s.known && s.definition == a.Digest.Definition:
		return step.with(Uncertain, "it %s, with the same definition", describeAct(a))
	case !s.known:
		return step.with(Uncertain, "it %s; definition changed since", describeAct(a))
	}
	if step.Changes = changes(a.Digest, s.now, nil); len(step.Changes) > 0 {
		return step.with(Uncertain, "it %s; %s since", describeAct(a), describeChanges(step.Changes))
	}
	return step.with(Uncertain, "it %s, with the same definition, from the same inputs", describeAct(a))
}

// tellHappened adds to a step that depends on others when and where it happened. A build
// pauses at the step if the results of the others differ.
func (s subject) tellHappened(step Step) Step {
	if s.happened == nil || s.happened.Unread != "" || step.Decision != Depends {
		return step
	}
	step.Happened = s.happened
	return step.with(Depends, "%s; it %s, and must not run twice", step.Reason, describeAct(s.happened))
}

// describeAct says when and in which session an act happened, or may have.
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

// repeats reports whether --repeat names the workstream and there is something on record
// to repeat.
func (pl *Planner) repeats(ws *pipeline.Workstream) bool {
	rec := pl.st.Workstream(ws.Name)
	return pl.choose.repeat[ws.Name] && pl.choose.excluded(ws) == "" &&
		(state.NewestAct(pl.facts.Acts, ws.Name) != nil || rec != nil && rec.Attempts > 0 || pl.happenedAs(ws, rec) != nil)
}

// repeated returns the record of a workstream as it will be once --repeat is recorded.
func repeated(rec *state.Workstream) *state.Workstream {
	w := state.Workstream{}
	if rec != nil {
		w = *rec
	}
	w.Status, w.Repeat, w.Error, w.Reason, w.Rejected = state.Pending, true, nil, RepeatReason, ""
	return &w
}

// RepeatReason is the recorded reason for a workstream that --repeat runs again.
const RepeatReason = "it was chosen by --repeat"
