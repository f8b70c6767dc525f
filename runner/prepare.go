package runner

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/runner/plan"
)

// InterruptedError names the signal that stopped a command before it started any
// workstream.
type InterruptedError struct{ Signal string }

func (e *InterruptedError) Error() string {
	return "interrupted by " + e.Signal + " before anything began"
}

// prepareInterruptible prepares the run. A signal cancels the preparation: the error is
// an *InterruptedError then.
func (l *loop) prepareInterruptible(ctx context.Context) (*plan.Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var plan *plan.Plan
	var err error
	prepared := make(chan struct{})
	go func() {
		defer close(prepared)
		plan, err = l.prepare(ctx)
	}()
	select {
	case <-prepared:
		return plan, err
	case name := <-l.opts.Interrupts:
		cancel()
		<-prepared
		return nil, &InterruptedError{Signal: name}
	}
}

// prepare gathers the facts, makes the plan, and asks the user about stale documents and
// conflicts. It changes nothing on disk.
func (l *loop) prepare(ctx context.Context) (*plan.Plan, error) {
	if l.opts.Saved != nil {
		l.opts.Select, l.opts.OnConflict = l.opts.Saved.Selection, l.opts.Saved.OnConflict
	}
	st, err := l.opts.baseState(l.session.State())
	if err != nil {
		return nil, err
	}
	with, err := l.opts.withResults(st)
	if err != nil {
		return nil, err
	}
	l.usePipeline(with.Pipeline)
	c, err := plan.Choose(l.pipeline, st, l.opts.Select)
	if err != nil {
		return nil, err
	}
	if l.facts.Acts, err = l.opts.knownActs(l.session.State()); err != nil {
		return nil, err
	}
	l.facts.EarlierRuns = l.opts.earlierRuns(l.files)
	if err := l.surveyor.GatherAll(ctx, l.facts, st, l.opts.Git, l.opts.OnConflict, l.opts.Saved != nil); err != nil {
		return nil, err
	}
	if err := l.refuseLeftEdits(ctx); err != nil {
		return nil, err
	}
	l.git = l.facts.Git
	plan := l.makePlan(st, c)
	if l.facts.EarlierRuns != nil && !plan.Idle() {
		l.facts.EarlierRuns() // read them before this run writes to the journal
	}
	if l.opts.Saved != nil && l.opts.Saved.Facts != plan.Facts {
		return nil, planDifference(l.opts.Saved, plan)
	}
	if err := l.acceptStale(ctx, plan); err != nil {
		return nil, err
	}
	if len(plan.Conflicts) == 0 {
		return plan, nil
	}
	if err := l.resolveConflicts(ctx, st, plan); err != nil {
		return nil, err
	}
	// With this decision, the facts may describe edited files as they will be restored.
	if err := l.surveyor.GatherAll(ctx, l.facts, st, nil, l.opts.OnConflict, l.opts.Saved != nil); err != nil {
		return nil, err
	}
	plan = l.makePlan(st, c)
	if len(plan.Conflicts) > 0 { // a workstream that runs again can't keep its edited artifacts
		return nil, &ConflictError{Conflicts: plan.Conflicts, Rerun: true}
	}
	return plan, nil
}

// baseState returns the state from which a plan is made. st is the state of the current
// session, nil if there is none. If the run resumes that session, baseState returns st.
// Otherwise it returns the records with which a new session begins, nil if it begins with
// none.
func (o Options) baseState(st *state.State) (*state.State, error) {
	switch predecessor := o.predecessor(st); {
	case o.resumes(st):
		return st, nil
	case predecessor != nil:
		return predecessor.CarryOver(), nil
	case !o.Fresh && o.Imported != nil:
		return FromDocument(o.Pipeline, o.Imported, o.Now())
	}
	return nil, nil //nolint:nilnil // documented above
}

// resumes reports whether a run resumes the current session.
func (o Options) resumes(st *state.State) bool {
	return st != nil && !o.Fresh && st.Status != state.StatusComplete
}

// predecessor returns the state of the complete session whose results a new session takes
// over, or nil.
func (o Options) predecessor(st *state.State) *state.State {
	switch {
	case o.Fresh, st != nil && st.Status != state.StatusComplete:
		return nil
	case st != nil:
		return st
	}
	return o.Predecessor
}

// resumedState returns the state of the session that the run resumes, or nil if the run
// begins a new session.
func (l *loop) resumedState() *state.State {
	if st := l.session.State(); l.opts.resumes(st) {
		return st
	}
	return nil
}

func (l *loop) makePlan(st *state.State, c *plan.Chosen) *plan.Plan {
	l.planner = plan.New(l.pipeline, st, l.facts, l.opts.OnConflict, c)
	return l.planner.Plan(l.opts.Now())
}

// ConflictError lists edited artifacts that the user has not decided about, or whose
// decision can't be applied.
type ConflictError struct {
	Conflicts []plan.Conflict
	Rerun     bool // the edits can't be kept: their workstreams run again and make the files anew
}

func (e *ConflictError) Error() string {
	names := make([]string, len(e.Conflicts))
	for i, c := range e.Conflicts {
		names[i] = string(c.Path)
	}
	text := ErrConflict.Error() + ": " + text.Enumerate(names)
	if e.Rerun {
		text += " (" + e.Conflicts[0].Workstream + " runs again, and would make it anew)"
	}
	return text
}

// Unwrap makes it an ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// undecidedConflicts returns the error for conflicts that neither an option nor the user
// decided. It lists first the artifacts whose edits can't be kept.
func undecidedConflicts(p *plan.Plan) *ConflictError {
	anew := make(map[string]bool)
	for _, phase := range p.Phases {
		for _, s := range phase.Steps {
			if s.Kind == plan.WorkstreamStep && s.Refused != "" && (s.Decision == plan.Rerun || s.Decision == plan.Cached) {
				anew[s.Name] = true
			}
		}
	}
	var remade, rest []plan.Conflict
	for _, c := range p.Conflicts {
		if anew[c.Workstream] {
			remade = append(remade, c)
		} else {
			rest = append(rest, c)
		}
	}
	return &ConflictError{Conflicts: append(remade, rest...), Rerun: len(remade) > 0}
}

// resolveConflicts sets the option OnConflict by asking the user. It returns an error if
// the option or the answer does not resolve the conflicts.
func (l *loop) resolveConflicts(ctx context.Context, st *state.State, planned *plan.Plan) error {
	conflicts := planned.Conflicts
	l.surveyor.Differences(ctx, st, conflicts)
	if l.opts.OnConflict == plan.ConflictKeep {
		return &ConflictError{Conflicts: conflicts, Rerun: true}
	}
	undecided := undecidedConflicts(planned)
	if l.opts.OnConflict == plan.ConflictFail || l.opts.Asker == nil {
		return undecided
	}
	choice, err := l.opts.Asker.Resolve(ctx, undecided)
	if err != nil {
		return fmt.Errorf("ask about edited artifacts: %w", err)
	}
	if choice != plan.ConflictKeep && choice != plan.ConflictRestore {
		return undecided
	}
	l.opts.OnConflict = choice
	return nil
}

// BranchGoneError says that the git branch of the session's last run was deleted since, and
// that no option decided to continue. The session is unchanged.
type BranchGoneError struct {
	Branch string
	Commit string // the commit at which that run ended
}

func (e *BranchGoneError) Error() string {
	return fmt.Sprintf("the git branch of the session, %s, no longer exists", e.Branch)
}

// StaleError says that something outside the steps changed, or that the issue of the
// pipeline could not be read, and that neither an option nor the user decided to continue.
// The session is unchanged.
type StaleError struct{ Stale plan.Stale }

func (e *StaleError) Error() string {
	switch s := e.Stale; {
	case s.Problem != "":
		return string(s.Problem)
	case s.What == "document":
		return fmt.Sprintf("the document of the pipeline changed since the session began: %s", s.Path)
	default:
		return fmt.Sprintf("the %s changed since the session began: %s", s.What, s.Path)
	}
}

// acceptStale returns nil if neither the document of the pipeline nor its issue changed, or
// if the option or the user decides to continue.
func (l *loop) acceptStale(ctx context.Context, plan *plan.Plan) error {
	if len(plan.Stale) == 0 || l.opts.OnStale == StaleProceed {
		return nil
	}
	for _, s := range plan.Stale {
		if s.Gone {
			return &BranchGoneError{Branch: string(s.Path), Commit: s.Old}
		}
	}
	for _, s := range plan.Stale {
		if l.opts.OnStale == StaleFail || l.opts.Asker == nil {
			return &StaleError{Stale: s}
		}
		yes, err := l.opts.Asker.Proceed(ctx, s)
		if err != nil {
			return fmt.Errorf("ask about the changed %s: %w", s.What, err)
		}
		if !yes {
			s.Difference = "" // the user has seen it
			return &StaleError{Stale: s}
		}
	}
	return nil
}

// PlanDiffersError says how the arguments of a build differ from those of its saved plan.
// It is an ErrPlanOutdated. The build did nothing.
type PlanDiffersError struct {
	What    string
	Resumes bool // the build resumes a session, or begins from a complete one
}

func (e *PlanDiffersError) Error() string { return e.What }

// Unwrap makes it an ErrPlanOutdated.
func (e *PlanDiffersError) Unwrap() error { return ErrPlanOutdated }

// planDifference returns the error that says how a saved plan differs from the present
// one.
func planDifference(saved, now *plan.Plan) error {
	switch {
	case saved.Pipeline != now.Pipeline:
		return &PlanDiffersError{What: "the plan is of another pipeline: its file, or one that it includes, was edited, or -f names another one", Resumes: now.Session != ""}
	case saved.Session == "" && now.Session != "":
		return &PlanDiffersError{What: "the plan is of a new session from the beginning, and with --resume a build takes over what is done", Resumes: true}
	}
	return ErrPlanOutdated
}
