package runner

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/findings"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
)

// opening starts or resumes a session.
type opening struct {
	loop *loop
	plan *plan.Plan

	previous        *state.State // the state of the session that is resumed; nil for a new session
	predecessor     *state.State // the state of the complete session whose results a new session takes over; or nil
	owesCheckpoint  bool         // the last run could not make its last checkpoint
	endedUncaptured bool         // the last run ended without a capture
}

// beginSession starts or resumes the session. It calls the views' Begin once the start is
// durable.
func (l *loop) beginSession(planned *plan.Plan) error {
	op := &opening{loop: l, plan: planned, previous: l.resumedState(), predecessor: l.opts.predecessor(l.session.State())}
	op.owesCheckpoint = op.previous != nil && op.previous.OwesCheckpoint()
	op.endedUncaptured = op.previous.EndedUncaptured()
	before, err := op.recordOpening()
	if err != nil {
		return err
	}
	l.recordEndedProcesses("", l.session.Orphans()) // in the new session, where one begins
	l.planner.BeginRun(l.session.State(), planned, op.previous != nil)
	l.planner.SetPorts(l.services.portOf)
	l.captures.addEarlierRuns(l.session.State())
	beginning := Beginning{
		PRD: l.pipeline.ID, Title: l.pipeline.Title, Session: l.session.State().Session, Resumed: op.previous != nil || op.predecessor != nil || l.opts.Imported != nil, Git: l.git, Plan: planned,
		Pipeline: l.known.Load, Parallel: l.opts.Parallel, KeepGoing: l.opts.KeepGoing, PauseAtGates: l.opts.PauseAtGates,
	}
	commits, err := l.session.Drain(l.ctx)
	if err != nil {
		return fmt.Errorf("begin the session: %w", err)
	}
	l.planner.SetBeginCommit(l.session.State().Seq)
	for _, v := range l.opts.Views {
		v.Begin(beginning)
	}
	l.warnLinksOut()
	if l.facts.CaptureError != nil {
		l.warnUser(l.facts.CaptureError.Error())
	}
	l.warnIssue(planned)
	l.overwriting.warnOverwritten()
	for _, c := range slices.Concat(l.protections.earlierCommits, l.isolation.earlierCommits, before, commits) {
		l.recorder.Deliver(c)
	}
	if err := op.checkpointFiles(); err != nil {
		return err
	}
	l.rememberReused(planned)
	return nil
}

// recordOpening records that the session is started or resumed. It returns the commits
// that are already durable, which the views get after Begin.
func (op *opening) recordOpening() ([]state.Commit, error) {
	if op.previous != nil {
		before, err := op.resumeSession()
		if err != nil {
			return nil, op.recordRefusal(fmt.Errorf("resume the session: %w", err))
		}
		return before, nil
	}
	if err := op.startSession(); err != nil {
		return nil, err
	}
	op.recordRepeats()
	if op.predecessor != nil {
		op.invalidatePlanned()
	}
	return nil, nil
}

// checkpointFiles makes the checkpoint of the files before anything runs.
func (op *opening) checkpointFiles() error {
	l := op.loop
	switch {
	case op.previous == nil:
		l.captures.capture(state.TriggerStart)
		if l.files.CommitsToBranch() {
			l.readGit()
		}
		l.readWorkTree()
		l.addCheckpoint(state.TriggerStart, "")
		if op.predecessor != nil {
			return op.restoreAfterComplete()
		}
	case l.overwriting.conflictsResolved():
		l.overwriting.checkpointResolved()
	default:
		l.captures.captureFound(op.owesCheckpoint, op.endedUncaptured)
	}
	l.recorder.WriteAll()
	return l.recorder.Err()
}

// resumeSession resumes the session. It first makes a checkpoint of the edited files that
// the run will overwrite, and restores artifacts. Both may fail, so they come before the
// session is recorded as resumed. If the last run ended without a capture, because it was
// killed or a signal stopped it, the session is recorded as resumed before the artifacts
// are restored. So it is, durably, if workstreams that run again recorded some of them
// later. resumeSession returns the durable commits, which the views get after Begin.
func (op *opening) resumeSession() ([]state.Commit, error) {
	l, plan := op.loop, op.plan
	before, err := op.checkpointLastStep()
	if err != nil {
		return nil, err
	}
	kept, err := l.overwriting.keepFiles(plan)
	if err != nil {
		return nil, err
	}
	early := op.endedUncaptured || plan.Remakes()
	if early {
		op.recordResumed()
	}
	if plan.Remakes() {
		commits, err := l.session.Drain(l.ctx)
		if err != nil {
			return nil, err
		}
		kept = append(kept, commits...)
	}
	restored, err := l.restorePlanned(plan)
	if err != nil {
		return nil, err
	}
	if !early {
		op.recordResumed()
	}
	l.recorder.Add(nil, restored...)
	return append(before, kept...), nil
}

// restoreAfterComplete restores artifacts in a session that began from a complete
// session. The checkpoint of its start holds the files as Runner found them.
func (op *opening) restoreAfterComplete() error {
	l, plan := op.loop, op.plan
	l.recorder.WriteAll()
	if l.recorder.Err() != nil || l.status != running {
		return l.recorder.Err()
	}
	kept, err := l.overwriting.keepFiles(plan)
	var restored []state.Event
	if err == nil {
		restored, err = l.restorePlanned(plan)
	}
	if err != nil {
		err = op.recordRefusal(fmt.Errorf("continue after the complete session: %w", err))
		op.showEnd()
		return err
	}
	l.overwriting.warnOverwritten()
	for _, c := range kept {
		l.recorder.Deliver(c)
	}
	l.recorder.Add(nil, restored...)
	if l.overwriting.conflictsResolved() {
		l.overwriting.checkpointResolved()
	}
	l.recorder.WriteAll()
	return l.recorder.Err()
}

// showEnd calls the views' End for a run that could not continue.
func (op *opening) showEnd() {
	l := op.loop
	st := l.session.State()
	e := Ending{Status: st.Status, Error: st.Error, Pause: st.Pause, Signal: l.cause.signal, Duration: l.opts.Now().Sub(l.beganAt)}
	for _, v := range l.opts.Views {
		v.End(e)
	}
}

// anyAttempted reports whether any workstream of a session has been attempted.
func anyAttempted(st *state.State) bool {
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			if w.Attempts > 0 {
				return true
			}
		}
	}
	return false
}

// recordRefusal records that a run ended before it could begin, if the session would
// otherwise stay recorded as running. If the run ended before it was recorded as started
// or resumed, recordRefusal records nothing, so that the next run finds everything
// unchanged. It returns the error for the caller of Build.
func (op *opening) recordRefusal(err error) error {
	l := op.loop
	givenUp := errors.Is(err, record.ErrGivenUp)
	if givenUp {
		err = &InterruptedError{Signal: l.cause.signal}
	}
	switch {
	case !l.session.State().WasKilled() || l.activeSince.IsZero():
		return err
	case givenUp:
		l.recorder.Add(nil, interruptedEvent(l.cause.signal, true))
	default:
		l.recorder.Add(nil, state.SessionFailed{Error: state.Failure{
			Workstream: "checkpoint", Outcome: "error", Message: state.Text(shorten(l.opts.Mask(err.Error()))),
		}})
	}
	if _, unrecorded := l.session.Drain(l.ctx); unrecorded != nil && !errors.Is(err, unrecorded) {
		return errors.Join(err, unrecorded)
	}
	return err
}

// warnIssue warns of an issue with other labels, and of one that could not be read.
func (l *loop) warnIssue(planned *plan.Plan) {
	if changed := planned.IssueChange; changed != "" {
		l.warnUser(string(changed))
	}
	if err := l.facts.IssueError; err != nil {
		l.warnUser(err.Error())
	}
}

func (op *opening) startSession() error {
	l := op.loop
	e := state.SessionStarted{
		FormatVersion: state.FormatVersion, Session: uuid.NewString(), PRD: l.pipeline.ID, Title: l.pipeline.Title, Type: l.pipeline.Type,
		Pipeline: l.opts.pipelineRef(), Document: l.facts.Document, Issue: l.facts.Issue, Git: l.git, Shape: plan.ShapeOf(l.pipeline), Sensitive: l.pipeline.Sensitive(), Variables: l.opts.recordableVariables(),
		Acts: l.facts.Acts, Caller: l.opts.Caller, Settings: l.opts.runSettings(), By: l.opts.By, Version: l.opts.Version,
	}
	if l.opts.Imported != nil {
		e.Imported = &l.opts.Imported.Document
	}
	baseline, err := op.baseline()
	if err != nil {
		return fmt.Errorf("start the session: %w", err)
	}
	e.Baseline = baseline
	if op.predecessor != nil {
		e.From = op.predecessor.CarryOver()
	} else {
		if e.Captured, err = op.capturedKnowledge(); err != nil {
			return fmt.Errorf("start the session: %w", err)
		}
	}
	before := ""
	if op.predecessor != nil {
		before = op.predecessor.Trace
	}
	e.Trace = l.placeInTrace(before, false)
	l.activeSince = l.opts.Now()
	if err := l.session.Start(e); err != nil {
		return fmt.Errorf("start the session: %w", err)
	}
	return nil
}

// recordableVariables returns the values of the variables that the journal may hold. It
// leaves out values that are longer than state.MaxGivenValue and values that contain a
// secret.
func (o Options) recordableVariables() map[string]string {
	values := o.Pipeline.Given()
	maps.DeleteFunc(values, func(_, value string) bool {
		return len(value) > state.MaxGivenValue || o.Mask(value) != value
	})
	return values
}

// baseline returns the metrics of the last complete session. An unfinished session passes
// on the baseline with which it began. Only if there is neither does baseline search the
// archived sessions.
func (op *opening) baseline() (map[string]state.Metric, error) {
	l := op.loop
	switch st := l.session.State(); {
	case st != nil && st.Status == state.StatusComplete:
		return st.Metrics, nil
	case st != nil && st.Baseline != nil:
		return st.Baseline, nil
	}
	last, unread, err := l.opts.Store.Reader().LastComplete(l.pipeline.ID)
	for _, at := range unread {
		l.warnUser(fmt.Sprintf("metrics are not compared with those of the session in %s, which can't be read: %v", at.Dir, at.Err))
	}
	if err != nil || last == nil {
		return nil, err
	}
	return last.Metrics, nil
}

func (op *opening) recordResumed() {
	l := op.loop
	st := l.session.State()
	e := state.SessionResumed{
		Pipeline: l.opts.pipelineRef(), Document: l.facts.Document, Issue: l.facts.Issue, Git: l.git, Sensitive: l.pipeline.Sensitive(), Variables: l.opts.recordableVariables(), Settings: l.opts.runSettings(), By: l.opts.By, Version: l.opts.Version,
	}
	if st.Title != l.pipeline.Title {
		e.Title = l.pipeline.Title
	}
	if !plan.SameShape(st, l.pipeline) {
		shape := plan.ShapeOf(l.pipeline)
		e.Shape = &shape
	}
	e.Trace = l.placeInTrace(st.Trace, true)
	l.activeSince = l.opts.Now()
	l.recorder.Add(nil, e)
	l.rememberActs()
	op.endKilledWork()
	op.raiseBudgets()
	op.recordRepeats()
	op.invalidatePlanned()
}

// invalidatePlanned records the results and verdicts that the plan invalidates. It leaves out
// phases of which the plan has the next iteration: that takes back what the present one has made
// when the run comes to it.
func (op *opening) invalidatePlanned() {
	for _, phase := range op.plan.Phases {
		if phase.Repeat != nil && phase.Repeat.Next {
			continue
		}
		for _, s := range phase.Steps {
			op.invalidate(s)
		}
	}
}

// endKilledWork records the end of gates and workstreams that are on record as running
// because Runner was killed.
func (op *opening) endKilledWork() {
	l := op.loop
	var events []state.Event
	void := func(gates []*pipeline.Gate) {
		for _, g := range gates {
			if l.session.State().Gate(g.Label()).Status == state.Running {
				events = append(events, state.GateVoided{Gate: g.Label(), Reason: "its verdict was never recorded"})
			}
		}
	}
	for _, phase := range l.pipeline.Phases {
		void(phase.Gates)
		for _, ws := range phase.Workstreams {
			void(ws.Gates)
			rec := l.session.State().Workstream(ws.Name)
			switch {
			case rec.Status != state.Running:
			case ws.Effect == pipeline.Once:
				events = append(events, state.WorkstreamUncertain{Workstream: ws.Name, Error: state.Failure{
					Workstream: ws.Name, Outcome: "unknown",
					Message: state.Text(fmt.Sprintf("attempt %d was started, and its end was never recorded", rec.Attempts)),
				}})
			default:
				began := true
				if rec.Call != "" {
					began = l.endKilledCall(rec, ws)
				}
				events = append(events, state.WorkstreamInterrupted{Workstream: ws.Name, Attempt: rec.Attempts, NotBegun: !began})
			}
		}
	}
	if r := l.session.State().Review; r != nil && r.Status == state.Running {
		events = append(events, state.ReviewInterrupted{Attempt: r.Attempt})
	}
	l.recorder.Add(nil, events...)
}

// invalidate records that the plan invalidates a result or a verdict. It does so before
// anything starts: if the run is killed, the next run no longer has a reason such as
// --invalidate.
func (op *opening) invalidate(s plan.Step) {
	l := op.loop
	switch {
	case s.Kind == plan.WorkstreamStep && (s.Decision == plan.Rerun || s.Decision == plan.Cached):
		w := l.session.State().Workstream(s.Name)
		if w == nil || w.Status == state.Pending && (w.Call == "" || w.Reason == s.Reason) {
			break
		}
		e := state.WorkstreamInvalidated{Workstream: s.Name, Reason: s.Reason}
		if plan.OnlyDefinitionChanged(s.Changes) && len(l.facts.Conflicts[s.Name]) == 0 {
			e.Call = w.Call
		}
		l.recorder.Add(nil, e)
	case s.Kind == plan.WorkstreamStep && s.Decision == plan.Blocked:
		// What is restored is older than the record of a workstream that was not chosen.
		if reason := l.planner.Remade(s.Name); reason != "" && l.session.State().Workstream(s.Name).Done() {
			l.recorder.Add(nil, state.WorkstreamInvalidated{Workstream: s.Name, Reason: state.Text(reason)})
		}
	case s.Kind == plan.GateStep && s.Decision == plan.Judge:
		if g := l.session.State().Gate(s.Name); g != nil && g.Status == state.Passed {
			l.recorder.Add(nil, state.GateVoided{Gate: s.Name, Reason: s.Reason})
		}
	}
}

// pipelineRef returns the path of the pipeline's file in the workspace, and its digest.
func (o Options) pipelineRef() state.FileRef {
	return state.FileRef{Path: state.Text(findings.Relative(o.Pipeline.Source, o.Workspace, "")), Digest: o.Pipeline.Digest}
}

// runSettings returns how the run works.
func (o Options) runSettings() *state.RunSettings {
	return &state.RunSettings{Parallel: o.Parallel, KeepGoing: o.KeepGoing, PauseAtGates: o.PauseAtGates}
}

// recordRepeats records the workstreams that --repeat names. It does so before anything
// starts: if the run is killed, the next run no longer has the option.
func (op *opening) recordRepeats() {
	for _, phase := range op.plan.Phases {
		for _, s := range phase.Steps {
			if s.Kind == plan.WorkstreamStep && s.Repeats {
				op.loop.recorder.Add(nil, state.WorkstreamResolved{Workstream: s.Name, Resolution: state.ResolvedRerun, By: op.loop.opts.By, Reason: plan.RepeatReason})
			}
		}
	}
}
