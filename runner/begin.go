package runner

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/findings"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
)

// begin starts or resumes the session, and calls the views' Begin once that is durable.
func (l *loop) begin(planned *plan.Plan) error {
	previous, predecessor := l.previous(), l.o.predecessor(l.x.State())
	uncaptured := previous != nil && plan.OwesCheckpoint(previous)
	unseen := plan.EndedUncaptured(previous)
	var before []state.Commit
	if previous == nil {
		if err := l.start(predecessor); err != nil {
			return err
		}
		l.recordRepeats(planned)
		if predecessor != nil {
			l.takeBackPlanned(planned)
		}
	} else {
		var err error
		if before, err = l.goOn(planned, unseen); err != nil {
			return l.refused(fmt.Errorf("go on with the session: %w", err))
		}
	}
	l.reportEnded("", l.x.Orphans()) // in the new session, where one begins
	l.pl.Begin(l.x.State(), planned, previous != nil)
	l.captures.count(l.x.State())
	l.carryOver(planned)
	beginning := Beginning{
		PRD: l.p.ID, Title: l.p.Title, Session: l.x.State().Session, Resumed: previous != nil || predecessor != nil || l.o.Imported != nil, Plan: planned, Parallel: l.o.Parallel,
	}
	commits, err := l.x.Drain(l.ctx)
	if err != nil {
		return fmt.Errorf("begin the session: %w", err)
	}
	l.pl.BeganWith(l.x.State().Seq)
	for _, v := range l.o.Views {
		v.Begin(beginning)
	}
	l.tellLinks()
	if l.facts.Unread != nil {
		l.warn(l.facts.Unread.Error())
	}
	l.tellOverwritten()
	for _, c := range slices.Concat(before, commits) {
		l.rec.Deliver(c)
	}
	switch {
	case previous == nil:
		l.capture(state.TriggerStart)
		if l.files.CommitsToBranch() {
			l.readGit()
		}
		l.checkpoint(state.TriggerStart, "")
		if predecessor != nil {
			return l.restoreCarried(planned)
		}
	case l.conflictEnded():
		l.endConflict()
	default:
		l.captureFound(uncaptured, unseen)
	}
	l.rec.WriteAll()
	return l.rec.Err()
}

// goOn resumes the session. It first keeps the edited files that the run will overwrite,
// and restores artifacts. Both may fail, so they come before the session is recorded as
// running again. After a killed run the session is recorded as running already; then, and
// after a run that a signal ended without a capture, it is recorded as resumed before
// artifacts are restored. goOn returns the durable commits, which the views get after
// Begin.
func (l *loop) goOn(plan *plan.Plan, unseen bool) ([]state.Commit, error) {
	before, err := l.checkpointLastStep()
	if err != nil {
		return nil, err
	}
	kept, err := l.keepOverwritten(plan)
	if err != nil {
		return nil, err
	}
	if unseen {
		l.resume(plan)
	}
	restored, err := l.restorePlanned(plan)
	if err != nil {
		return nil, err
	}
	if !unseen {
		l.resume(plan)
	}
	l.rec.Add(nil, restored...)
	return append(before, kept...), nil
}

// restoreCarried restores artifacts in a session that began from a complete session. The
// checkpoint of its start holds the files as Runner found them.
func (l *loop) restoreCarried(plan *plan.Plan) error {
	l.rec.WriteAll()
	if l.rec.Err() != nil || l.status != running {
		return l.rec.Err()
	}
	kept, err := l.keepOverwritten(plan)
	var restored []state.Event
	if err == nil {
		restored, err = l.restorePlanned(plan)
	}
	if err != nil {
		err = l.refused(fmt.Errorf("go on after the complete session: %w", err))
		l.showEnd()
		return err
	}
	l.tellOverwritten()
	for _, c := range kept {
		l.rec.Deliver(c)
	}
	l.rec.Add(nil, restored...)
	if l.conflictEnded() {
		l.endConflict()
	}
	l.rec.WriteAll()
	return l.rec.Err()
}

// showEnd calls the views' End for a run that could not continue.
func (l *loop) showEnd() {
	st := l.x.State()
	e := Ending{Status: st.Status, Error: st.Error, Pause: st.Pause, Signal: l.cause.signal, Duration: l.o.Now().Sub(l.began)}
	for _, v := range l.o.Views {
		v.End(e)
	}
}

// captureFound captures the workspace as a resumed run finds it, before anything starts. A
// file that was edited since the last run can then be restored, whatever overwrites it. If
// no checkpoint holds these files, captureFound makes one. It also replaces the capture
// that the last run could not make.
func (l *loop) captureFound(uncaptured, unseen bool) {
	if l.o.Capture == CaptureOff {
		return
	}
	before := l.x.State().Clone()
	l.captureBy(l.x.CaptureFound)
	if l.rec.Err() != nil || l.uncaptured || l.x.State().CaptureIsHeld() {
		return
	}
	changed, first, known := l.changedSince(before)
	if onBranch := l.files.CommitsToBranch(); onBranch { // the commit of a capture names a checkpoint
		l.readGit()
	} else if known && changed+first == 0 && before.CaptureIsHeld() {
		return // only recorded artifacts are new in the capture
	}
	trigger, reason := state.TriggerStart, "the files could not be captured at first"
	switch {
	case !uncaptured && known && changed == 0 && first > 0:
		reason = counted(first) + " captured for the first time"
	case !uncaptured:
		reason = foundChanged(changed, known, unseen)
	case begun(l.x.State()):
		trigger = state.TriggerPhaseTransition
	}
	l.checkpoint(trigger, reason)
}

// changedSince returns how many files differ from the capture of a state, and how many
// files are new only because that capture did not cover them. known is false if the files
// of that capture are not known.
func (l *loop) changedSince(before *state.State) (n, first int, known bool) {
	was, known, err := checkpoint.FilesOf(l.ctx, l.files, before)
	if err != nil || !known {
		return 0, 0, false
	}
	now := l.x.State()
	is, _, err := checkpoint.FilesOf(l.ctx, l.files, now)
	if err != nil {
		return 0, 0, false
	}
	changes, apart := workspace.Apart(workspace.Diff(was, is), before.Capture.Scope(was.Patterns), now.Capture.Scope(is.Patterns))
	for _, c := range apart {
		if c.Kind == workspace.Added {
			first++
		}
	}
	return len(changes), first, true
}

// foundChanged returns a text that says how many files a resumed run found changed. If the
// last run ended without a capture, that run may have changed them itself.
func foundChanged(n int, known, unseen bool) string {
	files := "files"
	if known {
		files = counted(n)
	}
	if unseen {
		return files + " changed since the files were last captured"
	}
	return files + " changed since the last run"
}

func counted(files int) string {
	if files == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", files)
}

// begun reports whether any workstream of a session has been attempted.
func begun(st *state.State) bool {
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			if w.Attempts > 0 {
				return true
			}
		}
	}
	return false
}

// refused records that a run ended before it could begin, if the session would otherwise
// be recorded as running for ever. If the run ended before it was recorded as started or
// resumed, refused records nothing, so that the next run finds everything unchanged.
func (l *loop) refused(err error) error {
	givenUp := errors.Is(err, record.ErrGivenUp)
	if givenUp {
		err = &InterruptedError{Signal: l.cause.signal}
	}
	switch {
	case !plan.WasKilled(l.x.State()) || l.ran.IsZero():
		return err
	case givenUp:
		l.rec.Add(nil, interrupted(l.cause.signal, true))
	default:
		l.rec.Add(nil, state.SessionFailed{Error: state.Failure{
			Workstream: "checkpoint", Outcome: "error", Message: state.Text(shortened(l.o.Mask(err.Error()))),
		}})
	}
	if _, unrecorded := l.x.Drain(l.ctx); unrecorded != nil && !errors.Is(err, unrecorded) {
		return errors.Join(err, unrecorded)
	}
	return err
}

func (l *loop) start(predecessor *state.State) error {
	e := state.SessionStarted{
		FormatVersion: state.FormatVersion, Session: uuid.NewString(), PRD: l.p.ID, Title: l.p.Title, Type: l.p.Type,
		Pipeline: l.pipelineRef(), Document: l.facts.Document, Git: l.git, Shape: plan.ShapeOf(l.p), Sensitive: plan.SecretVariables(l.p), Variables: l.given(),
		Acts: l.facts.Acts, Imported: l.o.Imported, By: l.o.By, Version: l.o.Version,
	}
	baseline, err := l.baseline()
	if err != nil {
		return fmt.Errorf("start the session: %w", err)
	}
	e.Baseline = baseline
	if predecessor != nil {
		e.From = predecessor.CarryOver()
	}
	l.ran = l.o.Now()
	if err := l.x.Start(e); err != nil {
		return fmt.Errorf("start the session: %w", err)
	}
	return nil
}

// given returns the values of variables to be recorded. It leaves out values that are longer
// than checkpoint.MaxGivenValue and values that contain a secret.
func (l *loop) given() map[string]string {
	values := l.p.Given()
	maps.DeleteFunc(values, func(_, value string) bool {
		return len(value) > state.MaxGivenValue || l.o.Mask(value) != value
	})
	return values
}

// baseline returns the metrics of the last complete session. A session that is not
// complete passes on the baseline with which it began. The history is searched only if
// the session has neither.
func (l *loop) baseline() (map[string]state.Metric, error) {
	switch st := l.x.State(); {
	case st != nil && st.Status == state.StatusComplete:
		return st.Metrics, nil
	case st != nil && st.Baseline != nil:
		return st.Baseline, nil
	}
	last, unread, err := l.o.Store.LastComplete(l.p.ID)
	for _, at := range unread {
		l.warn(fmt.Sprintf("metrics are not compared with those of the session in %s, which can't be read: %v", at.Dir, at.Err))
	}
	if err != nil || last == nil {
		return nil, err
	}
	return last.Metrics, nil
}

// ImportError says that a hand-written document does not fit the pipeline.
type ImportError struct{ Err error }

func (e *ImportError) Error() string { return "go on from the PRD document: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ImportError) Unwrap() error { return e.Err }

// FromDocument returns the first state of a session of the pipeline that begins from a
// document written by hand. If the document breaks a rule of its format, or does not fit
// the pipeline, it returns an *ImportError that lists all problems.
func FromDocument(p *pipeline.Pipeline, doc *state.Document, now time.Time) (*state.State, error) {
	shape := plan.ShapeOf(p)
	if err := doc.CheckWritten(p.ID, &shape); err != nil {
		return nil, &ImportError{Err: err}
	}
	st := &state.State{}
	err := st.Apply(state.Commit{Time: now, Events: []state.Event{state.SessionStarted{
		FormatVersion: state.FormatVersion, PRD: p.ID, Title: p.Title, Shape: shape, Imported: doc,
	}}})
	if err != nil {
		return nil, &ImportError{Err: err}
	}
	return st, nil
}

func (l *loop) resume(planned *plan.Plan) {
	st := l.x.State()
	e := state.SessionResumed{
		Pipeline: l.pipelineRef(), Document: l.facts.Document, Git: l.git, Sensitive: plan.SecretVariables(l.p), Variables: l.given(), By: l.o.By, Version: l.o.Version,
	}
	if st.Title != l.p.Title {
		e.Title = l.p.Title
	}
	if !plan.SameShape(st, l.p) {
		shape := plan.ShapeOf(l.p)
		e.Shape = &shape
	}
	l.ran = l.o.Now()
	l.rec.Add(nil, e)
	if acts := st.UnknownActs(l.facts.Acts); len(acts) > 0 {
		l.rec.Add(nil, state.ActsRemembered{Acts: acts})
	}
	l.endKilled()
	l.recordRepeats(planned)
	l.takeBackPlanned(planned)
}

// takeBackPlanned records the results and verdicts that the plan invalidates.
func (l *loop) takeBackPlanned(plan *plan.Plan) {
	for _, phase := range plan.Phases {
		for _, s := range phase.Steps {
			l.takeBack(s)
		}
	}
}

// endKilled records that gates and workstreams which a killed Runner left running have
// ended, so that they are not recorded as running for ever.
func (l *loop) endKilled() {
	var events []state.Event
	void := func(gates []*pipeline.Gate) {
		for _, g := range gates {
			if l.x.State().Gate(g.Label()).Status == state.Running {
				events = append(events, state.GateVoided{Gate: g.Label(), Reason: "its verdict was never recorded"})
			}
		}
	}
	for _, phase := range l.p.Phases {
		void(phase.Gates)
		for _, ws := range phase.Workstreams {
			void(ws.Gates)
			rec := l.x.State().Workstream(ws.Name)
			switch {
			case rec.Status != state.Running:
			case ws.Effect == pipeline.Once:
				events = append(events, state.WorkstreamUncertain{Workstream: ws.Name, Error: state.Failure{
					Workstream: ws.Name, Outcome: "unknown",
					Message: state.Text(fmt.Sprintf("attempt %d was started, and its end was never recorded", rec.Attempts)),
				}})
			default:
				events = append(events, state.WorkstreamInterrupted{Workstream: ws.Name, Attempt: rec.Attempts})
			}
		}
	}
	l.rec.Add(nil, events...)
}

// takeBack records at once that the plan invalidates a result or a verdict. If the run is
// killed, the next run no longer has a reason such as --invalidate.
func (l *loop) takeBack(s plan.Step) {
	switch {
	case s.Kind == plan.WorkstreamStep && (s.Decision == plan.Rerun || s.Decision == plan.Cached):
		if w := l.x.State().Workstream(s.Name); w != nil && w.Status != state.Pending {
			l.rec.Add(nil, state.WorkstreamInvalidated{Workstream: s.Name, Reason: s.Reason})
		}
	case s.Kind == plan.GateStep && s.Decision == plan.Judge:
		if g := l.x.State().Gate(s.Name); g != nil && g.Status == state.Passed {
			l.rec.Add(nil, state.GateVoided{Gate: s.Name, Reason: s.Reason})
		}
	}
}

func (l *loop) pipelineRef() state.FileRef {
	return state.FileRef{Path: state.Text(findings.Relative(l.p.Source, l.o.Workspace, "")), Digest: l.p.Digest}
}

// recordRepeats records the workstreams that --repeat names before anything starts. If the
// run is killed, the next run no longer has the option.
func (l *loop) recordRepeats(planned *plan.Plan) {
	for _, phase := range planned.Phases {
		for _, s := range phase.Steps {
			if s.Kind == plan.WorkstreamStep && s.Repeats {
				l.rec.Add(nil, state.WorkstreamResolved{Workstream: s.Name, Resolution: state.ResolvedRerun, By: l.o.By, Reason: plan.RepeatReason})
			}
		}
	}
}
