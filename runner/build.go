package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
)

// Build runs a pipeline: from the start, or on from the state of the session.
// The error is for what kept it from running or from recording; how the run
// itself ended is the Ending.
func Build(ctx context.Context, o Options) (Ending, error) {
	o = o.withDefaults()
	t, err := openTree(o.Workspace, o.Store.Dir())
	if err != nil {
		return Ending{}, err
	}
	defer func() { _ = t.close() }()
	l := newLoop(o, t)
	plan, err := l.interruptible(ctx)
	if err != nil {
		return Ending{}, err
	}
	// From here on everything is recorded: being asked to stop is an event,
	// not an error.
	if err := l.begin(context.WithoutCancel(ctx), plan); err != nil {
		return Ending{}, err
	}
	stopTimer := l.limitTime()
	for _, phase := range o.Pipeline.Phases {
		if !l.runPhase(ctx, phase) {
			break
		}
		if !l.betweenPhases(ctx, phase) {
			break
		}
	}
	stopTimer()
	return l.conclude(context.WithoutCancel(ctx))
}

func newLoop(o Options, t *tree) *loop {
	window := time.NewTimer(time.Hour)
	window.Stop()
	return &loop{
		o: o, p: o.Pipeline, x: o.Session, sv: newSurveyor(o.Pipeline, t), facts: newFacts(), began: o.Now(),
		window: window, events: make(chan func(), 256), tasks: make(map[string]func()), asked: make(map[string]*open),
		retrying: make(map[*node]func(bool)),
	}
}

// InterruptedError says that a signal came before anything was changed.
type InterruptedError struct{ Signal string }

func (e *InterruptedError) Error() string {
	return "interrupted by " + e.Signal + " before anything began"
}

// interruptible prepares the run until a signal ends that.
func (l *loop) interruptible(ctx context.Context) (*Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var plan *Plan
	var err error
	prepared := make(chan struct{})
	go func() {
		defer close(prepared)
		plan, err = l.prepare(ctx)
	}()
	select {
	case <-prepared:
		return plan, err
	case name := <-l.o.Interrupts:
		cancel()
		<-prepared
		return nil, &InterruptedError{Signal: name}
	}
}

// prepare gathers the facts and decides the plan. It changes nothing.
func (l *loop) prepare(ctx context.Context) (*Plan, error) {
	if l.o.Saved != nil {
		l.o.Select, l.o.OnConflict = l.o.Saved.Selection, l.o.Saved.OnConflict
	}
	st, err := l.basis()
	if err != nil {
		return nil, err
	}
	c, err := choose(l.p, st, l.o.Select)
	if err != nil {
		return nil, err
	}
	if err := l.sv.everything(ctx, l.facts, st, l.o.Git, l.o.Saved != nil); err != nil {
		return nil, err
	}
	l.git = l.facts.Git
	plan := l.decideAll(st, c)
	if l.o.Saved != nil && l.o.Saved.Facts != plan.Facts {
		return nil, ErrPlanMoved
	}
	if err := l.acceptStale(ctx, plan); err != nil {
		return nil, err
	}
	if len(plan.Conflicts) == 0 {
		return plan, nil
	}
	if err := l.resolveConflicts(ctx, plan.Conflicts); err != nil {
		return nil, err
	}
	plan = l.decideAll(st, c)
	if len(plan.Conflicts) > 0 { // keeping does not help what runs again
		return nil, &ConflictError{Conflicts: plan.Conflicts, Rerun: true}
	}
	return plan, nil
}

// basis is the state that the plan is made against, nil when there is none.
func (l *loop) basis() (*checkpoint.State, error) {
	if st := l.previous(); st != nil || l.o.Imported == nil {
		return st, nil
	}
	return imported(l.p, l.o.Imported, l.o.Now())
}

// previous is the state that the run goes on from, nil when it begins anew. A
// complete session is gone on with only to run a part of it again.
func (l *loop) previous() *checkpoint.State {
	st := l.x.State()
	if st == nil || l.o.Fresh || st.Abandoned || st.Status == checkpoint.StatusComplete && l.o.Select.empty() {
		return nil
	}
	return st
}

func (l *loop) decideAll(st *checkpoint.State, c *chosen) *Plan {
	l.pl = newPlanner(l.p, st, l.facts, l.o.OnConflict, c)
	return l.pl.plan(l.o.Now())
}

// ConflictError lists artifacts that were edited, and that nobody decided.
type ConflictError struct {
	Conflicts []Conflict
	Rerun     bool // they can't be kept: their workstreams run again and make them anew
}

func (e *ConflictError) Error() string {
	names := make([]string, len(e.Conflicts))
	for i, c := range e.Conflicts {
		names[i] = c.Path
	}
	text := ErrConflict.Error() + ": " + list(names)
	if e.Rerun {
		text += " (" + e.Conflicts[0].Workstream + " runs again, and would make it anew)"
	}
	return text
}

// Unwrap makes it an ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// resolveConflicts decides edited artifacts by the option, or by asking.
func (l *loop) resolveConflicts(ctx context.Context, conflicts []Conflict) error {
	if l.o.OnConflict == ConflictKeep {
		return &ConflictError{Conflicts: conflicts, Rerun: true}
	}
	if l.o.OnConflict == ConflictFail || l.o.Asker == nil {
		return &ConflictError{Conflicts: conflicts}
	}
	choice, err := l.o.Asker.Resolve(ctx, conflicts)
	if err != nil {
		return fmt.Errorf("ask about edited artifacts: %w", err)
	}
	if choice != ConflictKeep && choice != ConflictRestore {
		return &ConflictError{Conflicts: conflicts}
	}
	l.o.OnConflict = choice
	return nil
}

// acceptStale decides by the option, or by asking, whether to go on although
// the PRD document is another one now.
func (l *loop) acceptStale(ctx context.Context, plan *Plan) error {
	if len(plan.Stale) == 0 || l.o.OnStale == StaleProceed {
		return nil
	}
	s := plan.Stale[0]
	if l.o.OnStale == StaleFail || l.o.Asker == nil {
		return fmt.Errorf("%w: %s", ErrStale, s.Path)
	}
	yes, err := l.o.Asker.Confirm(ctx, fmt.Sprintf("The %s %s changed since the session began. Go on with it?", s.What, s.Path))
	if err != nil {
		return fmt.Errorf("ask about the PRD document: %w", err)
	}
	if !yes {
		return fmt.Errorf("%w: %s", ErrStale, s.Path)
	}
	return nil
}

// begin starts or resumes the session, and tells the views once that is durable.
func (l *loop) begin(ctx context.Context, plan *Plan) error {
	previous := l.previous()
	left := l.recoverProcesses(ctx)
	if previous == nil {
		if err := l.start(); err != nil {
			return err
		}
	} else {
		l.resume(plan)
	}
	l.reportLeftovers("", left)
	l.pl.st = l.x.State()
	l.pl.run = pipeline.RunInfo{Session: l.x.State().Session, Resumed: previous != nil}
	beginning := Beginning{
		PRD: l.p.ID, Title: l.p.Title, Session: l.x.State().Session, Resumed: previous != nil || l.o.Imported != nil, Plan: plan, Parallel: l.o.Parallel,
	}
	for _, v := range l.o.Views {
		v.Begin(beginning)
	}
	if previous == nil {
		l.checkpoint(checkpoint.TriggerStart, "")
	}
	l.settle(ctx)
	return l.fatal
}

func (l *loop) start() error {
	e := checkpoint.SessionStarted{
		FormatVersion: checkpoint.FormatVersion, Session: uuid.NewString(), PRD: l.p.ID, Title: l.p.Title, Type: l.p.Type,
		Pipeline: l.pipelineRef(), Document: l.facts.Document, Git: l.git, Shape: shapeOf(l.p),
		Imported: l.o.Imported, By: l.o.By, Version: l.o.Version,
	}
	baseline, err := l.baseline()
	if err != nil {
		return fmt.Errorf("start the session: %w", err)
	}
	e.Baseline = baseline
	if err := l.x.Start(e); err != nil {
		return fmt.Errorf("start the session: %w", err)
	}
	return nil
}

// baseline is the metrics of the last complete session. A session hands on
// the one it began with until it is complete itself; only where neither helps
// is the history searched.
func (l *loop) baseline() (map[string]checkpoint.Metric, error) {
	switch st := l.x.State(); {
	case st != nil && st.Status == checkpoint.StatusComplete:
		return st.Metrics, nil
	case st != nil && st.Baseline != nil:
		return st.Baseline, nil
	}
	last, err := l.o.Store.LastComplete(l.p.ID)
	if err != nil || last == nil {
		return nil, err
	}
	return last.Metrics, nil
}

// ImportError says that a hand-written document does not fit the pipeline.
type ImportError struct{ Err error }

func (e *ImportError) Error() string { return "go on from the PRD document: " + e.Err.Error() }

// Unwrap returns what is wrong with it.
func (e *ImportError) Unwrap() error { return e.Err }

// imported is the state that a session begins with which goes on from a
// hand-written document.
func imported(p *pipeline.Pipeline, doc *checkpoint.Document, now time.Time) (*checkpoint.State, error) {
	shape := shapeOf(p)
	if doc.PRD != p.ID {
		return nil, &ImportError{Err: fmt.Errorf("it is the document of %q, not of %s", doc.PRD, p.ID)}
	}
	if err := doc.CheckImport(shape); err != nil {
		return nil, &ImportError{Err: err}
	}
	st := &checkpoint.State{}
	err := st.Apply(checkpoint.Commit{Time: now, Events: []checkpoint.Event{checkpoint.SessionStarted{
		FormatVersion: checkpoint.FormatVersion, PRD: p.ID, Title: p.Title, Shape: shape, Imported: doc,
	}}})
	if err != nil {
		return nil, &ImportError{Err: err}
	}
	return st, nil
}

func (l *loop) resume(plan *Plan) {
	st := l.x.State()
	e := checkpoint.SessionResumed{
		Pipeline: l.pipelineRef(), Document: l.facts.Document, Git: l.git, By: l.o.By, Version: l.o.Version,
	}
	if st.Title != l.p.Title {
		e.Title = l.p.Title
	}
	if !sameShape(st, l.p) {
		shape := shapeOf(l.p)
		e.Shape = &shape
	}
	l.x.Add(e)
	for _, phase := range plan.Phases {
		for _, s := range phase.Steps {
			l.takeBack(s)
		}
	}
}

// takeBack records at once what the plan takes back, since a reason such as
// --invalidate is not there any more when the run is killed.
func (l *loop) takeBack(s Step) {
	switch {
	case s.Kind == WorkstreamStep && s.Decision == Rerun:
		if w := l.x.State().Workstream(s.Name); w != nil && w.Status != checkpoint.Pending {
			l.x.Add(checkpoint.WorkstreamInvalidated{Workstream: s.Name, Reason: checkpoint.Text(s.Reason)})
		}
	case s.Kind == GateStep && s.Decision == Judge:
		if g := l.x.State().Gate(s.Name); g != nil && g.Status == checkpoint.Passed {
			l.x.Add(checkpoint.GateVoided{Gate: s.Name, Reason: checkpoint.Text(s.Reason)})
		}
	}
}

// recoverProcesses ends what a killed runner left running, before anything
// starts. That the last owner of the state ended well does not mean that the
// last runner did: an approval may have come between.
func (l *loop) recoverProcesses(ctx context.Context) []Leftover {
	st := l.x.State()
	r, ok := l.o.Executor.(Recoverer)
	if !ok || st == nil || !l.x.Unclean() && st.RunningAt == nil {
		return nil
	}
	left, err := r.Recover(ctx, st.Session)
	if err != nil {
		l.warn(fmt.Sprintf("processes of the last run could not be looked for: %v", err))
	}
	return left
}

func (l *loop) pipelineRef() checkpoint.FileRef {
	return checkpoint.FileRef{Path: checkpoint.Text(relative(l.p.Source, l.o.Workspace, "")), Digest: l.p.Digest}
}

// betweenPhases makes the checkpoint before the next phase. It reports
// whether there is a next phase to go on with.
func (l *loop) betweenPhases(ctx context.Context, phase *pipeline.Phase) bool {
	if l.status != running || l.fatal != nil {
		return false
	}
	if l.passed && phase.Number < len(l.p.Phases) {
		l.readGit(ctx)
		l.checkpoint(checkpoint.TriggerPhaseTransition, "")
		l.settle(ctx)
	}
	return l.fatal == nil && l.cause.derived == nil
}

func (l *loop) readGit(ctx context.Context) {
	if l.o.Git == nil {
		return
	}
	if head, err := l.o.Git.Head(ctx); err == nil {
		l.git = head
	} else {
		l.warn(fmt.Sprintf("where git stands could not be read: %v", err))
	}
}

// limitTime ends the run when the session's time is up. Time that it was down
// does not count.
func (l *loop) limitTime() (stop func()) {
	if l.p.Timeout <= 0 {
		return func() {}
	}
	left := l.p.Timeout - time.Duration(l.x.State().ActiveMS)*time.Millisecond
	timer := time.AfterFunc(max(0, left), func() {
		l.events <- func() { l.halt(stopTimeout) }
	})
	return func() { timer.Stop() }
}
