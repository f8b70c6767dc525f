package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
	"prdrunner/runner/record"
	"prdrunner/runner/recorded"
)

// endReasons holds the reasons for which the run ends.
type endReasons struct {
	loop *loop

	failures          []state.Failure
	reviews           []string        // gates that passed and wait for review
	uncertain         []string        // once steps that the user must resolve
	editedWorkstreams []string        // workstreams whose artifacts were edited during the run
	edits             []recorded.Edit // edits, made during the run, of files that steps rely on
	restoreProblems   []string        // messages about artifacts that could not be restored
	budget            string          // which budget is used up
	calls             pausedCalls     // called pipelines that wait for a person
	requested         bool            // the user requested a pause
	excluded          bool            // --only left out work that would have run
	signal            string
	unwritten         error // why a checkpoint could not be written
}

// endEvent returns the event that records how the run ended, the trigger of the last
// checkpoint, and the event whose hooks run. A session is complete only if everything
// passed or was skipped.
func (en *endReasons) endEvent() (state.Event, state.Trigger, pipeline.HookEvent) {
	l := en.loop
	switch {
	case en.signal != "":
		return interruptedEvent(en.signal, l.captures.failed), state.TriggerUserInterrupt, pipeline.HookInterrupted
	case len(en.failures) > 0:
		return state.SessionFailed{Error: en.failures[0]}, state.TriggerFailure, pipeline.HookFailed
	case l.status == stopTimeout:
		return pausedEvent(state.PauseTimeout, "the session has run for its timeout of "+l.pipeline.Timeout.String()+"; raise it in the pipeline to continue", nil),
			state.TriggerSessionEnd, pipeline.HookPaused
	case len(en.uncertain) > 0:
		e := pausedEvent(state.PauseUncertain, en.describeUncertain(), nil)
		e.Steps = en.uncertain
		return e, state.TriggerPause, pipeline.HookPaused
	case len(en.editedWorkstreams) > 0:
		message := "artifacts of " + text.Enumerate(en.editedWorkstreams) + " were edited while the run was under way, and are not overwritten; the resumed run decides about them"
		return pausedEvent(state.PauseRequested, message, nil), state.TriggerPause, pipeline.HookPaused
	case len(en.edits) > 0:
		return pausedEvent(state.PauseRequested, en.describeEdits(), nil), state.TriggerPause, pipeline.HookPaused
	case len(en.restoreProblems) > 0:
		message := strings.Join(en.restoreProblems, "; ") + "; the resumed run tries again"
		return pausedEvent(state.PauseRequested, message, nil), state.TriggerPause, pipeline.HookPaused
	case en.unwritten != nil:
		return en.pausedForCheckpoint()
	case en.budget != "":
		message := fmt.Sprintf("%s; `%s` goes on with the same amount again", en.budget, l.opts.resumeCommand(" --raise-budget"))
		return pausedEvent(state.PauseBudget, message, nil), state.TriggerPause, pipeline.HookPaused
	case len(en.calls.calls) > 0:
		return en.pauseForCalls(), state.TriggerPause, pipeline.HookPaused
	case len(l.openQuestions) > 0:
		labels := slices.Sorted(maps.Keys(l.openQuestions))
		return pausedEvent(state.PauseApproval, "waiting for an approval of "+text.Enumerate(labels), labels), state.TriggerPause, pipeline.HookPaused
	case len(en.reviews) > 0:
		return pausedEvent(state.PauseReview, "stopped for review after "+text.Enumerate(en.reviews), en.reviews), state.TriggerPause, pipeline.HookPaused
	case en.excluded && !en.requested && en.chosenDone(): // even if they are on record as complete from files that no longer exist
		return pausedEvent(state.PauseChosen, "only some workstreams were chosen", nil), state.TriggerPause, noHook
	case !en.excluded && en.everythingDone():
		return state.SessionCompleted{}, state.TriggerComplete, pipeline.HookComplete
	case en.requested:
		return pausedEvent(state.PauseRequested, "a pause was asked for", nil), state.TriggerPause, pipeline.HookPaused
	default: // this should not happen, and must never be reported as success
		return pausedEvent(state.PauseRequested, "there is work left that could not be started", nil), state.TriggerPause, pipeline.HookPaused
	}
}

// interruptedEvent returns the event that ends a run after a signal. uncaptured says that
// the last capture was not made; the resumed run makes it.
func interruptedEvent(signal string, uncaptured bool) state.SessionInterrupted {
	e := state.SessionInterrupted{Signal: signal}
	if uncaptured {
		e.Uncaptured = state.Text("the files are not captured, since " + signal + " came before they were; the resumed run captures them")
	}
	return e
}

// pausedForCheckpoint returns the same as endEvent, for a run that pauses because a
// checkpoint could not be written and was not skipped.
func (en *endReasons) pausedForCheckpoint() (state.Event, state.Trigger, pipeline.HookEvent) {
	message := "a checkpoint could not be written; the resumed run writes it: " + record.WithRemedy(en.unwritten)
	return pausedEvent(state.PauseCheckpoint, message, nil), state.TriggerPause, pipeline.HookPaused
}

// withDuration adds the duration of the run to the event that ends it. The duration comes
// from the monotonic clock, which can't be set and stops while the machine sleeps.
func withDuration(e state.Event, ms int64) state.Event {
	switch e := e.(type) {
	case state.SessionPaused:
		e.RanMS = ms
		return e
	case state.SessionFailed:
		e.RanMS = ms
		return e
	case state.SessionInterrupted:
		e.RanMS = ms
		return e
	case state.SessionCompleted:
		e.RanMS = ms
		return e
	}
	return e
}

func completes(e state.Event) bool { return e.Kind() == state.KindSessionCompleted }

func pausedEvent(reason state.PauseReason, message string, gates []string) state.SessionPaused {
	return state.SessionPaused{Reason: reason, Gates: gates, Message: state.Text(message)}
}

// noHook is the hook event of a run that did everything that --only chose: it runs no
// hooks.
const noHook pipeline.HookEvent = ""

// chosenDone reports whether all workstreams that --only chose, and those that they need,
// have passed or were skipped.
func (en *endReasons) chosenDone() bool {
	for name := range en.loop.planner.Allowed() {
		w := en.loop.session.State().Workstream(name)
		if w == nil || !w.Finished() || !gatesPassed(w) {
			return false
		}
	}
	return true
}

// everythingDone reports whether the run reached the end of the last phase and the state
// records everything as done. The state does not prove it: it may hold results of earlier
// runs that a stopped run did not check.
func (en *endReasons) everythingDone() bool {
	if !en.loop.allPhasesRan {
		return false
	}
	for _, p := range en.loop.session.State().Phases {
		if p.Status != state.Completed && p.Status != state.Skipped {
			return false
		}
		for _, w := range p.Workstreams {
			if !w.Finished() || !gatesPassed(w) {
				return false
			}
		}
		if !allPassed(p.Gates) {
			return false
		}
	}
	return true
}

// gatesPassed reports whether nothing is left to judge of a workstream. The gates of one that
// may fail need not have passed.
func gatesPassed(w *state.Workstream) bool { return w.FailureAllowed() || allPassed(w.Gates) }

func allPassed(gates []*state.Gate) bool {
	for _, g := range gates {
		if g.Status != state.Passed && g.Status != state.Skipped {
			return false
		}
	}
	return true
}

// describeEdits returns a text that says which files were edited, and what the user can
// type.
func (en *endReasons) describeEdits() string {
	l := en.loop
	var during, before []string
	files := make(map[string][]string)
	edited, restored, madeAnew := false, false, false
	for _, e := range en.edits {
		what := "after " + e.Gate + " judged it"
		if e.Gate == "" {
			what = "after " + e.Maker + " made it"
		}
		after := &during
		if e.BeforeRun {
			after = &before
		}
		if len(files[what]) == 0 {
			*after = append(*after, what)
		}
		files[what] = append(files[what], e.Path+" was "+e.Change)
		edited = edited || e.Maker != "" && e.Change == "changed"
		restored, madeAnew = restored || e.Maker != "", madeAnew || e.MadeAnew
	}
	var texts []string
	for _, what := range slices.Concat(during, before) {
		texts = append(texts, text.Enumerate(files[what])+" "+what)
	}
	if len(during) > 0 {
		texts[len(during)-1] += ", while the run was under way"
	}
	next := l.opts.resumeCommand("")
	text := strings.Join(texts, "; ") + "; nothing more was started; "
	switch {
	case madeAnew:
		text += fmt.Sprintf("what made it must run again, and can't keep the edit: `%s --on-conflict restore` makes it anew, and a checkpoint keeps the edit", next)
	case edited:
		text += fmt.Sprintf("`%[1]s --on-conflict keep` continues with the edit, `%[1]s --on-conflict restore` with what was made", next)
	case restored:
		text += fmt.Sprintf("`%s` puts it back", next)
	default:
		text += fmt.Sprintf("`%s` judges it again", next)
	}
	return l.opts.Mask(text)
}

// describeUncertain returns a text that names the steps that the user must resolve. For
// steps that have happened before, it says when and where.
func (en *endReasons) describeUncertain() string {
	var unknown, texts []string
	for _, name := range en.uncertain {
		if f := en.loop.session.State().Workstream(name).Error; f != nil && f.Outcome == state.OutcomeHappened {
			texts = append(texts, name+": "+string(f.Message))
			continue
		}
		unknown = append(unknown, name)
	}
	if len(unknown) > 0 {
		texts = append(texts, text.Enumerate(unknown)+" may or may not have happened")
	}
	return strings.Join(texts, "; ")
}
