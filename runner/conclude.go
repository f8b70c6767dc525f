package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// ending collects why the run ends.
type ending struct {
	failures  []checkpoint.Failure
	reviews   []string // gates that passed and wait for review
	uncertain []string // workstreams
	meanwhile []string // workstreams whose artifacts were edited while the run was under way
	edits     []edit   // of what others rely on, made while the run was under way
	stuck     []string // what keeps the artifacts of workstreams that are done from being put back
	requested bool     // a pause was asked for
	excluded  bool     // by --only
	signal    string
	derived   error // a checkpoint can't be written
}

// conclude records how the run ended, makes the last checkpoint, and runs the
// hooks, in this order.
func (l *loop) conclude() (Ending, error) {
	event, trigger, hook := l.verdictOfRun()
	for _, label := range slices.Collect(maps.Keys(l.asked)) {
		l.closeQuestion(label)
	}
	l.over = true
	if l.fatal == nil {
		l.capture(trigger)
		l.readGit() // a capture may be a commit
		switch {
		case l.uncaptured && l.cause.signal != "": // which may have come only now
			event, trigger, hook = l.verdictOfRun()
		case completes(event) && l.cause.derived != nil:
			event, trigger, hook = l.pausedForCheckpoint()
		}
		l.add(nil, l.withHooks(timed(event, l.o.Now().Sub(l.ran)), hook)...)
		l.checkpoint(trigger, "")
		l.writeAll()
		if completes(event) && l.fatal == nil && l.cause.derived != nil {
			// The last checkpoint is not on disk: that everything is done is
			// true, and that it is over is not.
			event, _, hook = l.pausedForCheckpoint()
			l.add(nil, l.withHooks(event, hook)...)
			l.drain()
		}
	}
	st := l.x.State()
	e := Ending{
		Status: st.Status, Error: st.Error, Failed: l.cause.failures, Pause: st.Pause, Signal: l.cause.signal,
		Duration: l.o.Now().Sub(l.began), Unwritten: l.unwritten,
	}
	if l.fatal == nil && !l.atOnce {
		l.runHooks()
	}
	for _, v := range l.o.Views {
		v.End(e)
	}
	if l.fatal != nil {
		return e, fmt.Errorf("record the session: %w", l.fatal)
	}
	return e, nil
}

// verdictOfRun says how the run ended. Nothing but a session in which
// everything passed or was skipped is complete.
func (l *loop) verdictOfRun() (checkpoint.Event, checkpoint.Trigger, pipeline.HookEvent) {
	switch {
	case l.cause.signal != "":
		return interrupted(l.cause.signal, l.uncaptured), checkpoint.TriggerUserInterrupt, pipeline.HookInterrupted
	case len(l.cause.failures) > 0:
		return checkpoint.SessionFailed{Error: l.cause.failures[0]}, checkpoint.TriggerFailure, pipeline.HookFailed
	case l.status == stopTimeout:
		return paused(checkpoint.PauseTimeout, "the session has run for its timeout of "+l.p.Timeout.String()+"; raise it in the pipeline to go on", nil),
			checkpoint.TriggerSessionEnd, pipeline.HookPaused
	case len(l.cause.uncertain) > 0:
		e := paused(checkpoint.PauseUncertain, l.describeUncertain(), nil)
		e.Steps = l.cause.uncertain
		return e, checkpoint.TriggerPause, pipeline.HookPaused
	case len(l.cause.meanwhile) > 0:
		message := "artifacts of " + plan.List(l.cause.meanwhile) + " were edited while the run was under way, and are not overwritten; going on decides about them"
		return paused(checkpoint.PauseRequested, message, nil), checkpoint.TriggerPause, pipeline.HookPaused
	case len(l.cause.edits) > 0:
		return paused(checkpoint.PauseRequested, l.describeEdits(), nil), checkpoint.TriggerPause, pipeline.HookPaused
	case len(l.cause.stuck) > 0:
		message := strings.Join(l.cause.stuck, "; ") + "; going on tries again"
		return paused(checkpoint.PauseRequested, message, nil), checkpoint.TriggerPause, pipeline.HookPaused
	case l.cause.derived != nil:
		return l.pausedForCheckpoint()
	case len(l.asked) > 0:
		labels := slices.Sorted(maps.Keys(l.asked))
		return paused(checkpoint.PauseApproval, "waiting for an approval of "+plan.List(labels), labels), checkpoint.TriggerPause, pipeline.HookPaused
	case len(l.cause.reviews) > 0:
		return paused(checkpoint.PauseReview, "stopped for review after "+plan.List(l.cause.reviews), l.cause.reviews), checkpoint.TriggerPause, pipeline.HookPaused
	case l.cause.excluded && !l.cause.requested && l.chosenDone(): // also where it is on record as complete, from what is not there any more
		return paused(checkpoint.PauseChosen, "only some workstreams were chosen", nil), checkpoint.TriggerPause, noHook
	case !l.cause.excluded && l.everythingDone():
		return checkpoint.SessionCompleted{}, checkpoint.TriggerComplete, pipeline.HookComplete
	case l.cause.requested:
		return paused(checkpoint.PauseRequested, "a pause was asked for", nil), checkpoint.TriggerPause, pipeline.HookPaused
	default: // it must not happen, and must never look like success
		return paused(checkpoint.PauseRequested, "there is work left that could not be started", nil), checkpoint.TriggerPause, pipeline.HookPaused
	}
}

// interrupted is the verdict on a run that a signal has ended. Where the files are
// not captured, it says so, so that going on captures them.
func interrupted(signal string, uncaptured bool) checkpoint.SessionInterrupted {
	e := checkpoint.SessionInterrupted{Signal: signal}
	if uncaptured {
		e.Uncaptured = checkpoint.Text("the files are not captured, since " + signal + " came before they were, and going on captures them")
	}
	return e
}

// pausedForCheckpoint is the verdict on a run of which a checkpoint could not
// be written, and that nobody has decided to pass over.
func (l *loop) pausedForCheckpoint() (checkpoint.Event, checkpoint.Trigger, pipeline.HookEvent) {
	message := "a checkpoint could not be written, and going on writes it: " + withRemedy(l.cause.derived)
	return paused(checkpoint.PauseCheckpoint, message, nil), checkpoint.TriggerPause, pipeline.HookPaused
}

// timed adds to the verdict on a run how long it was under way. It is a
// difference of the clock that nobody can set, which stands still while the
// machine sleeps.
func timed(e checkpoint.Event, took time.Duration) checkpoint.Event {
	ms := max(0, took.Milliseconds())
	switch e := e.(type) {
	case checkpoint.SessionPaused:
		e.RanMS = ms
		return e
	case checkpoint.SessionFailed:
		e.RanMS = ms
		return e
	case checkpoint.SessionInterrupted:
		e.RanMS = ms
		return e
	case checkpoint.SessionCompleted:
		e.RanMS = ms
		return e
	}
	return e
}

func completes(e checkpoint.Event) bool { return e.Kind() == checkpoint.KindSessionCompleted }

func paused(reason checkpoint.PauseReason, message string, gates []string) checkpoint.SessionPaused {
	return checkpoint.SessionPaused{Reason: reason, Gates: gates, Message: checkpoint.Text(message)}
}

// noHook is the event of a run that stopped as it was asked to: there are no hooks for it.
const noHook pipeline.HookEvent = ""

// chosenDone reports whether everything that --only chose, and what it needs, has
// passed or was skipped.
func (l *loop) chosenDone() bool {
	for name := range l.pl.Allowed() {
		w := l.x.State().Workstream(name)
		if w == nil || w.Status != checkpoint.Completed && w.Status != checkpoint.Skipped || !allPassed(w.Gates) {
			return false
		}
	}
	return true
}

// everythingDone reads it from the state, and trusts nothing else; what a run
// that was stopped has not come to may be on record from before.
func (l *loop) everythingDone() bool {
	if !l.through {
		return false
	}
	for _, p := range l.x.State().Phases {
		if p.Status != checkpoint.Completed && p.Status != checkpoint.Skipped {
			return false
		}
		for _, w := range p.Workstreams {
			if w.Status != checkpoint.Completed && w.Status != checkpoint.Skipped || !allPassed(w.Gates) {
				return false
			}
		}
		if !allPassed(p.Gates) {
			return false
		}
	}
	return true
}

func allPassed(gates []*checkpoint.Gate) bool {
	for _, g := range gates {
		if g.Status != checkpoint.Passed && g.Status != checkpoint.Skipped {
			return false
		}
	}
	return true
}
