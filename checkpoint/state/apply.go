package state

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/ledger"
)

// ErrFold says that an event does not fit the state it was applied to. In a
// journal whose chain is whole it means that another program wrote it.
var ErrFold = errors.New("event does not fit the state")

// Apply folds one commit into the state. An error leaves the state unusable.
func (s *State) Apply(c Commit) error {
	if c.State != nil {
		*s = *c.State.Clone()
		return nil
	}
	for i, e := range c.Events {
		if err := s.ApplyOne(c.Seq, c.At(i), e); err != nil {
			return err
		}
	}
	s.Seq = c.Seq
	return nil
}

// ApplyOne folds one event into the state.
func (s *State) ApplyOne(seq uint64, at time.Time, e Event) error {
	s.passOver(at, e)
	if err := s.applyEvent(seq, at, e); err != nil {
		return fmt.Errorf("apply %s of commit %d: %w", e.Kind(), seq, err)
	}
	s.Seq, s.UpdatedAt = seq, at
	return nil
}

// applyEvent is the fold: a long switch with one case for each kind of event.
func (s *State) applyEvent(seq uint64, at time.Time, e Event) error {
	switch e := e.(type) {
	case SessionStarted:
		return s.startSession(seq, at, e)
	case SessionResumed:
		s.resume(at, e)
	case SessionPaused:
		s.endRun(at, StatusPaused, e.RanMS)
		s.Pause = &Pause{Reason: e.Reason, Gates: e.Gates, Steps: e.Steps, Calls: e.Calls, Message: e.Message}
	case SessionFailed:
		s.endRun(at, StatusFailed, e.RanMS)
		s.Error = &e.Error
	case SessionInterrupted:
		s.endRun(at, StatusPaused, e.RanMS)
		s.Interrupted = e.Signal
		if e.Uncaptured != "" {
			s.Pause = &Pause{Reason: PauseCheckpoint, Message: e.Uncaptured}
		}
	case SessionCompleted:
		s.endRun(at, StatusComplete, e.RanMS)
		s.Protections = nil // all are rolled back; others do not let a session complete
	case SessionAbandoned:
		s.endRun(at, s.Status, 0)
		s.Abandoned = true
	case SessionAdopted:
		s.TakeOver(seq)
	case ActsRemembered:
		s.RememberActs(e.Acts)
	case PauseAsked:
		s.Requested = &e
	case HooksDue:
		s.Hooks = nil
		if e.Hooks > 0 {
			s.Hooks = &Hooks{Event: e.Event, At: at, RanMS: e.RanMS, Hooks: e.Hooks}
		}
	case HookEnded:
		return s.endHook(e)
	case PhaseStarted, PhaseCompleted, PhaseSkipped:
		return s.applyPhase(at, e)
	case GateStarted, GatePassed, GateFailed, GateAsked, GateApproved, GateRejected, GateSkipped, GateVoided, GateReviewed:
		return s.applyGate(at, e)
	case CheckpointCreated, CheckpointsRemoved, CheckpointSkipped, CheckpointPinned, CheckpointUnpinned, CheckpointDamaged, CheckpointRebuilt:
		return s.applyCheckpoint(seq, at, e)
	case WorkspaceCaptured:
		s.Capture = &Capture{Capture: e.Capture, Seq: seq, At: at}
		if s.RunningAt == nil || e.Aside { // a person edited these files, not a workstream
			s.LastStep.Later = true
		}
		s.Captures.record(seq, e)
		s.passWorkTree()
		if s.RunningAt != nil && !e.Aside {
			s.RunCapture = s.Capture
		}
	case RollbackStarted, RollbackCompleted, RollbackFailed:
		return s.applyRollback(at, e)
	case PhaseRepeated:
		return s.repeatPhase(e)
	case PhaseExpanded:
		return s.expandPhase(e)
	case ReviewStarted, ReviewJudged, ReviewFailed, ReviewInterrupted, ReviewOverridden:
		return s.applyReview(at, e)
	case BudgetRaised:
		s.raise(e)
	case ProtectionMade, ProtectionRolledBack, ProtectionCommitted, ProtectionKept:
		return s.applyProtection(seq, at, e)
	case ServiceStarted, ServiceReady, ServiceEnded:
		s.applyService(at, e)
	case ReportsReceived:
		return s.applyReports(at, e)
	case ProcessesEnded, ArtifactsRestored, ScopeExceeded:
		// Told to people; nothing that is decided depends on it.
	default:
		return s.applyWorkstream(seq, at, e)
	}
	return nil
}

func (s *State) startSession(seq uint64, at time.Time, e SessionStarted) error {
	if s.Seq != 0 {
		return fmt.Errorf("%w: a session starts only once", ErrFold)
	}
	if !Readable(e.FormatVersion) {
		return &VersionError{Version: "format version " + e.FormatVersion}
	}
	*s = State{
		FormatVersion: e.FormatVersion,
		Session:       e.Session,
		PRD:           e.PRD,
		Title:         e.Title,
		Type:          e.Type,
		Status:        StatusInitialized,
		CreatedAt:     at,
		Caller:        e.Caller,
		Pipeline:      e.Pipeline,
		Document:      e.Document,
		Issue:         e.Issue,
		Git:           e.Git,
		Host:          e.By.Host,
		Trace:         e.Trace,
		Acts:          e.Acts,
		Sensitive:     e.Sensitive,
		Variables:     Given(nil).merged(e.Variables),
		Baseline:      e.Baseline,
		RunningAt:     &at,
		Checkpoints:   []*CheckpointRef{},
	}
	if e.From != nil {
		if err := s.continueFrom(seq, e); err != nil {
			return err
		}
	}
	s.Ledgers.KeepCaptures(ledger.Ledgers{Knowledge: e.Captured})
	s.reshape(e.Shape)
	if e.Imported != nil {
		return s.adoptDocument(at, *e.Imported)
	}
	return nil
}

func (s *State) resume(at time.Time, e SessionResumed) {
	if s.Pause != nil {
		for _, label := range s.Pause.Gates {
			if g := s.Gate(label); g != nil && s.Pause.Reason == PauseReview {
				g.Review, g.Reviewed = false, g.Judged
			}
		}
	}
	if s.RunningAt != nil { // the runner was killed: count the time up to the last event
		s.ActiveMS += max(0, s.UpdatedAt.Sub(*s.RunningAt).Milliseconds())
	}
	s.Error, s.Pause, s.Requested, s.Interrupted = nil, nil, nil, ""
	s.Abandoned = false // an abandoned session can come back from an export
	s.Pipeline, s.Document, s.Issue, s.Git, s.Sensitive = e.Pipeline, e.Document, e.Issue, e.Git, e.Sensitive
	s.Variables = s.Variables.merged(e.Variables)
	s.RunningAt, s.Host = &at, e.By.Host
	s.endServices()
	s.Resumes++
	if s.CurrentPhase > 0 {
		s.Status = StatusInProgress
	} else {
		s.Status = StatusInitialized
	}
	if e.Title != "" {
		s.Title = e.Title
	}
	if e.Trace != "" {
		s.Trace = e.Trace
	}
	if e.Shape != nil {
		s.reshape(*e.Shape)
	}
}

// endRun ends a run. The duration that the run reports counts, because the clock may have
// been set since. Events of older versions report none; then the clock counts.
func (s *State) endRun(at time.Time, status Status, ranMS int64) {
	s.Status = status
	s.endServices()
	if s.RunningAt == nil {
		return
	}
	if ranMS <= 0 {
		ranMS = max(0, at.Sub(*s.RunningAt).Milliseconds())
	}
	s.ActiveMS += ranMS
	s.RunningAt = nil
}

// endHook takes one of the hooks that are due as ended; they end in their order.
func (s *State) endHook(e HookEnded) error {
	if h := s.Hooks; h == nil || e.Event != h.Event || e.Hook != h.Ended+1 {
		return fmt.Errorf("%w: hook %d for %s is not due", ErrFold, e.Hook, e.Event)
	}
	if e.Hook == s.Hooks.Hooks {
		s.Hooks = nil
		return nil
	}
	due := *s.Hooks
	due.Ended = e.Hook
	s.Hooks = &due
	return nil
}

func (s *State) applyPhase(at time.Time, e Event) error {
	var p *Phase
	switch e := e.(type) {
	case PhaseStarted:
		if p = s.Phase(e.Phase); p == nil {
			return fmt.Errorf("%w: no phase %q", ErrFold, e.Phase)
		}
		p.Status, p.StartedAt, p.CompletedAt = Running, &at, nil
		p.Attempt++
		s.Status = StatusInProgress
		s.CurrentPhase = 1 + slices.Index(s.Phases, p)
	case PhaseCompleted:
		if p = s.Phase(e.Phase); p == nil {
			return fmt.Errorf("%w: no phase %q", ErrFold, e.Phase)
		}
		p.Status, p.CompletedAt = Completed, &at
		s.Feedback.prune(s, p)
	case PhaseSkipped:
		if p = s.Phase(e.Phase); p == nil {
			return fmt.Errorf("%w: no phase %q", ErrFold, e.Phase)
		}
		p.Status = Skipped
		for _, w := range p.Workstreams {
			s.Skip(w, e.Reason)
		}
		for _, g := range p.Gates {
			g.resetVerdict(e.Reason)
			g.Status = Skipped
		}
	}
	return nil
}
