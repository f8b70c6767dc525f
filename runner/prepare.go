package runner

import (
	"context"
	"fmt"

	"prdrunner/checkpoint"
)

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
	if err := l.sv.everything(ctx, l.facts, st, l.o.Git, l.o.OnConflict, l.o.Saved != nil); err != nil {
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
	if err := l.resolveConflicts(ctx, st, plan.Conflicts); err != nil {
		return nil, err
	}
	// With what was decided, files may be what they will be put back to.
	if err := l.sv.everything(ctx, l.facts, st, nil, l.o.OnConflict, l.o.Saved != nil); err != nil {
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
	return FromDocument(l.p, l.o.Imported, l.o.Now())
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
		names[i] = string(c.Path)
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
func (l *loop) resolveConflicts(ctx context.Context, st *checkpoint.State, conflicts []Conflict) error {
	l.sv.differences(ctx, st, conflicts)
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

// BranchGoneError says that the git branch of the session's last run was deleted
// since, and nobody decided. The session is unchanged.
type BranchGoneError struct {
	Branch string
	Commit string // at which that run ended
}

func (e *BranchGoneError) Error() string {
	return fmt.Sprintf("the git branch of the session, %s, no longer exists", e.Branch)
}

// acceptStale decides by the option, or by asking, whether to go on although
// the PRD document is another one now.
func (l *loop) acceptStale(ctx context.Context, plan *Plan) error {
	if len(plan.Stale) == 0 || l.o.OnStale == StaleProceed {
		return nil
	}
	for _, s := range plan.Stale {
		if s.Gone {
			return &BranchGoneError{Branch: string(s.Path), Commit: s.Old}
		}
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
