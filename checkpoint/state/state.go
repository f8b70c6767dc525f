// Package state defines the events of a session and the state that they fold into.
//
//	Event → Commit (events that become durable together) → State.Apply → State
//
// Everything here is a value or a pure function of values: no files, no locks, no clock.
// Package journal writes commits and reads them back, package document makes the PRD document
// of a state, and package checkpoint keeps both in a state directory.
//
// Read event.go for the events, state.go for the state, and apply.go for the fold. To
// add an event, add a type in event.go, a kind in event_kind.go and a case in apply.go.
// FORMAT.md in the directory of package checkpoint describes the JSON of each event.
package state

import (
	"iter"
	"slices"
	"time"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/workspace"
)

// Status is the status of a session, spelled as in the PRD document.
type Status string

// The statuses of a session.
const (
	StatusInitialized Status = "initialized"
	StatusInProgress  Status = "in_progress"
	StatusPaused      Status = "paused"
	StatusFailed      Status = "failed"
	StatusComplete    Status = "complete"
)

// Hooks are the hooks that run at the end of a run. State has them until all have ended.
type Hooks struct {
	Event string    `json:"event"`            // the event that they run for
	At    time.Time `json:"at,omitzero"`      // when it happened; older versions did not record it
	RanMS int64     `json:"ran_ms,omitempty"` // the duration of the run that ended with it; 0: unknown
	Hooks int       `json:"hooks"`            // how many there are
	Ended int       `json:"ended"`            // how many have ended, in their order
}

// StepStatus is the status of a phase, a workstream or a gate.
type StepStatus string

// The statuses of steps. A phase is pending, running, completed or skipped; a
// workstream is any but passed, rejected and waiting; a gate is pending,
// running, passed, failed, rejected, waiting or skipped.
const (
	Pending     StepStatus = "pending"
	Running     StepStatus = "running"
	Succeeded   StepStatus = "succeeded" // the work is done, its gates are not
	Completed   StepStatus = "completed"
	Passed      StepStatus = "passed"
	Failed      StepStatus = "failed"
	Rejected    StepStatus = "rejected"    // by a person
	Waiting     StepStatus = "waiting"     // for a person's approval
	Uncertain   StepStatus = "uncertain"   // a workstream that must happen only once, and may have happened
	Interrupted StepStatus = "interrupted" // stopped with the run
	Skipped     StepStatus = "skipped"
)

// State is the fold of a journal: all that is known of a session after a
// commit. It is plain data; Apply changes it, Clone copies it.
type State struct {
	FormatVersion string        `json:"format_version"`
	Session       string        `json:"session"`
	PRD           string        `json:"prd"`
	Title         string        `json:"title"`
	Type          string        `json:"type,omitempty"`
	Seq           uint64        `json:"seq"` // of the last commit folded in
	Status        Status        `json:"status"`
	Abandoned     bool          `json:"abandoned,omitempty"`
	CreatedAt     time.Time     `json:"created_at"`
	Caller        *Caller       `json:"caller,omitempty"`     // the workstream that calls the pipeline; nil: none
	BeganFrom     *Predecessor  `json:"began_from,omitempty"` // the complete session whose records it began with
	UpdatedAt     time.Time     `json:"updated_at"`
	Pipeline      FileRef       `json:"pipeline"`
	Document      *FileRef      `json:"document,omitempty"`
	Issue         *Issue        `json:"issue,omitempty"`     // as the last run found it
	Sensitive     []string      `json:"sensitive,omitempty"` // variables whose values must stay secret, of the last run
	Variables     Given         `json:"variables,omitempty"` // values that other variables were given
	Git           *Git          `json:"git,omitempty"`
	Host          string        `json:"host,omitempty"` // the machine of the last run
	CurrentPhase  int           `json:"current_phase"`  // the last one entered, 1-based; 0 before the first
	Phases        []*Phase      `json:"phases"`
	Agents        []AgentShape  `json:"agents,omitempty"`
	Gone          []*Workstream `json:"gone,omitempty"`       // records of workstreams that the pipeline has no more
	Steps         int           `json:"steps"`                // workstreams that completed so far in the session
	LastStep      LastStep      `json:"last_step,omitzero"`   // the one that did so last
	Resumes       int           `json:"resumes"`              // how often the session was resumed
	Trace         string        `json:"trace,omitempty"`      // the root span of the last run that was traced, as a traceparent; "": none was
	ActiveMS      int64         `json:"active_ms"`            // time spent running, without the time it was down
	RunningAt     *time.Time    `json:"running_at,omitempty"` // when the run began, nil while none runs

	Metrics  map[string]Metric `json:"metrics,omitempty"`
	Baseline map[string]Metric `json:"baseline,omitempty"`

	Error       *Failure    `json:"error,omitempty"`       // while failed
	Pause       *Pause      `json:"pause,omitempty"`       // while paused
	Requested   *PauseAsked `json:"requested,omitempty"`   // a pause that was asked for
	Interrupted string      `json:"interrupted,omitempty"` // the signal that ended the last run
	Hooks       *Hooks      `json:"hooks,omitempty"`       // of the end of the last run, until they have ended
	LastGate    string      `json:"last_gate,omitempty"`   // the last gate that passed

	Checkpoints []*CheckpointRef        `json:"checkpoints"`
	Current     string                  `json:"current_checkpoint,omitempty"` // the newest checkpoint, or the target of the last rollback
	Capture     *Capture                `json:"capture,omitempty"`            // the last capture of the files
	RunCapture  *Capture                `json:"run_capture,omitempty"`        // the last one that a run made: what its gates judged
	Captures    Captures                `json:"captures,omitzero"`
	WorkTree    *WorkTree               `json:"work_tree,omitempty"` // as git last described it; nil: git was never asked
	Rollbacks   []RollbackRecord        `json:"rollback_history,omitempty"`
	Rollback    *RollbackStarted        `json:"rollback,omitempty"`    // a rollback that has begun and not finished
	EmptiedSeq  uint64                  `json:"emptied_seq,omitempty"` // the bytes of artifacts recorded up to this commit were removed
	Services    []Service               `json:"services,omitempty"`    // that were started
	Protections []Protection            `json:"protections,omitempty"` // of workstreams whose changes are neither committed nor kept
	AdoptedSeq  uint64                  `json:"adopted_seq,omitempty"` // the commit that adopted the session; no verdict of before it holds
	Acts        []Act                   `json:"acts,omitempty"`        // work that must happen only once, of this session and earlier ones
	Notes       Notes                   `json:"notes,omitzero"`
	Review      *Review                 `json:"review,omitempty"`         // before the first phase
	Ledgers     ledger.Ledgers          `json:"ledgers,omitzero"`         // what workstreams reported
	Feedback    Feedback                `json:"feedback,omitzero"`        // what gates and people had against work
	Spent       ledger.Spent            `json:"spent,omitzero"`           // in this session
	AgentsSpent map[string]ledger.Spent `json:"agents_spent,omitempty"`   // by agent
	Raised      map[string]ledger.Spent `json:"raised_budgets,omitempty"` // by budget: from which sum it counts

	index *index
}

// Phase is the state of a phase.
type Phase struct {
	Name        string        `json:"name"`
	Title       string        `json:"title,omitempty"`
	Status      StepStatus    `json:"status"`
	Attempt     int           `json:"attempt"`             // how often it was entered
	Iteration   *Iteration    `json:"iteration,omitempty"` // nil: it does not repeat
	Spent       ledger.Spent  `json:"spent,omitzero"`
	StartedAt   *time.Time    `json:"started_at,omitempty"`
	CompletedAt *time.Time    `json:"completed_at,omitempty"`
	Workstreams []*Workstream `json:"workstreams"`
	Gates       []*Gate       `json:"gates,omitempty"`
}

// Workstream is the state of a workstream.
type Workstream struct {
	Name       string          `json:"name"`
	Title      string          `json:"title,omitempty"`
	Batch      int             `json:"batch,omitempty"`
	Status     StepStatus      `json:"status"`
	Attempts   int             `json:"attempts"`       // in all, over every resume
	Step       int             `json:"step,omitempty"` // the ordinal of its first completion in the session; 0: none yet
	Once       bool            `json:"once,omitempty"`
	Agent      string          `json:"agent,omitempty"`     // the agent that does it
	WorkSeq    uint64          `json:"work_seq,omitempty"`  // of the commit that recorded its work: which run it was
	FilesSeq   uint64          `json:"files_seq,omitempty"` // of the commit that recorded its artifacts
	EndedSeq   uint64          `json:"ended_seq,omitempty"` // of the commit that recorded the end of its last attempt without success
	StartedAt  *time.Time      `json:"started_at,omitempty"`
	EndedAt    *time.Time      `json:"ended_at,omitempty"`
	RetryAt    *time.Time      `json:"retry_at,omitempty"`    // when the next attempt is due; nil: none is waited for
	DurationMS int64           `json:"duration_ms,omitempty"` // of the last successful attempt
	Digest     Digest          `json:"digest,omitzero"`       // of the last attempt
	Outputs    map[string]Text `json:"outputs,omitempty"`
	Artifacts  []Artifact      `json:"artifacts,omitempty"`
	Metrics    []string        `json:"metrics,omitempty"` // the names of the outputs that it set
	Edited     []Text          `json:"edited,omitempty"`  // artifacts that a person changed afterwards
	Left       *Left           `json:"left,omitempty"`    // what its last failed attempt left behind
	Summary    Text            `json:"summary,omitempty"`
	Location   Text            `json:"location,omitempty"`
	Error      *Failure        `json:"error,omitempty"`    // of the last attempt, where it failed
	Reason     Text            `json:"reason,omitempty"`   // why it is skipped or pending again
	Rejected   string          `json:"rejected,omitempty"` // the gate whose rejection asks for it again
	Imported   bool            `json:"imported,omitempty"`
	Session    string          `json:"session,omitempty"`   // the earlier session that made this record, "" for this session
	Call       string          `json:"call,omitempty"`      // of a workstream that calls a pipeline: see Caller
	CallSeq    uint64          `json:"call_seq,omitempty"`  // commit that began this call
	CallSpent  ledger.Spent    `json:"call_spent,omitzero"` // what of the spending of the called pipeline counts here
	WaitsFor   string          `json:"waits_for,omitempty"` // the session of the called pipeline, if its pause interrupted the workstream
	Cached     *Cached         `json:"cached,omitempty"`    // the earlier run whose result this is, nil where it was run
	Adopted    Adoption        `json:"adopted,omitempty"`   // how it was decided that it is done, where no run recorded it
	Repeat     bool            `json:"repeat,omitempty"`    // it may run although it has happened before
	Spent      ledger.Spent    `json:"spent,omitzero"`      // without the time of the work
	// Objections are the labels of the gates whose objections the next attempt is told of,
	// and LastFailure is the failure of the last attempt before the one that runs or waits.
	Objections  []string `json:"objections,omitempty"`
	LastFailure *Failure `json:"last_failure,omitempty"`
	Allowed     bool     `json:"allowed,omitempty"`  // it failed, and the pipeline allows that
	Reported    int      `json:"reported,omitempty"` // how many lines its last attempt reported
	SameAs      string   `json:"same_as,omitempty"`  // a removed workstream that may be this one under another name
	Held        *Held    `json:"held,omitempty"`     // its artifacts are not in the workspace yet; nil: they are
	Gates       []*Gate  `json:"gates,omitempty"`

	phase *Phase
}

// Left holds the artifacts of other workstreams that a failed attempt changed. The next
// attempt starts from them.
type Left struct {
	Seq   uint64     `json:"seq"`   // of the commit that recorded it
	Files []Artifact `json:"files"` // as the attempt left them; without a digest: removed
}

// LeftIn returns how the last failed attempt left an artifact of another workstream,
// maker. It is false if maker has recorded its artifacts again since.
func (w *Workstream) LeftIn(maker *Workstream, path Text) (Artifact, bool) {
	if w.Left == nil || w.Left.Seq <= maker.RecordedSeq() {
		return Artifact{}, false
	}
	for _, a := range w.Left.Files {
		if a.Path == path {
			return a, true
		}
	}
	return Artifact{}, false
}

// LeftFiles returns the files of w.Left.
func (w *Workstream) LeftFiles() []Artifact {
	if w.Left == nil {
		return nil
	}
	return w.Left.Files
}

// Retries reports whether the workstream waits for its next attempt.
func (w *Workstream) Retries() bool { return w.Status == Running && w.RetryAt != nil }

// Adoption says how it was decided that work which no run recorded is done.
type Adoption string

// The ways to adopt work whose end Runner did not see.
const (
	AdoptedByHand   Adoption = "by_hand"  // a person
	AdoptedVerified Adoption = "verified" // its verify command
)

// Gate is the state of a gate.
type Gate struct {
	Label      string          `json:"label"`              // as in the PRD document: lint (WS3)
	Attempts   int             `json:"attempts,omitempty"` // how often it was judged
	Status     StepStatus      `json:"status"`
	Definition string          `json:"definition,omitempty"`
	Judged     string          `json:"judged,omitempty"`
	Seen       *Seen           `json:"seen,omitempty"` // of Judged, as in a Digest
	Value      any             `json:"value,omitempty"`
	DurationMS int64           `json:"duration_ms,omitempty"`
	At         *time.Time      `json:"at,omitempty"` // of the verdict, or of the question
	Error      *Failure        `json:"error,omitempty"`
	Message    Text            `json:"message,omitempty"`
	Approvers  []string        `json:"approvers,omitempty"`
	ExpiresAt  *time.Time      `json:"expires_at,omitempty"`
	Asks       []AskedInput    `json:"asks,omitempty"` // what an approval must give
	By         *Actor          `json:"by,omitempty"`
	Comment    Text            `json:"comment,omitempty"`
	Inputs     map[string]Text `json:"inputs,omitempty"`   // given with the answer
	Review     bool            `json:"review,omitempty"`   // passed, but not yet reviewed
	Reviewed   string          `json:"reviewed,omitempty"` // digest of the files and values that a person last reviewed
	Reason     Text            `json:"reason,omitempty"`   // why it is skipped or pending again
	Session    string          `json:"session,omitempty"`  // the earlier session that reached this verdict, "" where it is of this one

	workstream *Workstream // nil for a phase's own
	phase      *Phase
}

// Verdict is what the gate's judgement, or its question, is bound to.
func (g *Gate) Verdict() Verdict {
	return Verdict{Gate: g.Label, Definition: g.Definition, Judged: g.Judged, Seen: g.Seen}
}

// Metric is a value that a workstream reported: a json.Number, bool or string.
type Metric struct {
	Value      any    `json:"value"`
	Workstream string `json:"workstream,omitempty"`
}

// OutcomeHappened is the outcome of an uncertain workstream that is known to have happened
// before. The message says when. The question to the user is whether that counts.
const OutcomeHappened = "happened"

// OutcomeResult is the outcome of work that has ended well and whose result is not what was
// declared, or can't be recorded.
const OutcomeResult = "result"

// OutcomeNoSession is the outcome of a call that can't go on, since the session in which the called
// pipeline has begun is not here.
const OutcomeNoSession = "no_session"

// OutcomeRefused is the outcome of a call whose pipeline did not run: its session needs a decision
// first, or is damaged or locked.
const OutcomeRefused = "refused"

// OutcomeService is the outcome of what needs a service that has failed. Its log is that of
// the service.
const OutcomeService = "service"

// Failure is an error, and the workstream to which it belongs.
type Failure struct {
	Workstream string `json:"workstream,omitempty"` // or the phase, for a phase's own gate
	Gate       string `json:"gate,omitempty"`       // its label
	Outcome    string `json:"outcome,omitempty"`    // exited, signaled, timed_out, not_found, …
	Message    Text   `json:"message"`
	CalledOff  Text   `json:"called_off,omitempty"` // the beginning of the message: how many attempts were made, and why no more
	File       Text   `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"`
	ExitCode   int    `json:"exit_code,omitempty"`
	Signal     string `json:"signal,omitempty"`
	Log        Text   `json:"log,omitempty"` // the name of the file in logs/
}

// Pause is what a paused session waits for.
type Pause struct {
	Reason  PauseReason  `json:"reason"`
	Gates   []string     `json:"gates,omitempty"`
	Steps   []string     `json:"workstreams,omitempty"`
	Calls   []PausedCall `json:"calls,omitempty"`
	Message Text         `json:"message,omitempty"`
}

// Capture is a capture of the workspace's files, and the commit that recorded it.
type Capture struct {
	workspace.Capture
	Seq uint64    `json:"seq"` // of the commit that recorded it
	At  time.Time `json:"at"`
}

// Captures counts the captures of a session.
type Captures struct {
	Made   int    `json:"made,omitempty"`    // number of recorded captures that runs made
	TookMS int64  `json:"took_ms,omitempty"` // the time they took
	AsOf   uint64 `json:"as_of,omitempty"`   // the last commit at which the files were compared or captured
	Behind int    `json:"behind,omitempty"`  // how often work was recorded after that
}

// Notes are the fields of a hand-written PRD document that Runner keeps and
// hands on.
type Notes struct {
	Review      *AdversarialReview `json:"adversarial_review,omitempty"`
	ESLintFixes []Fix              `json:"eslint_fixes,omitempty"`
	CleanupDone []string           `json:"cleanup_done,omitempty"`
	KeyFixes    []Fix              `json:"key_fixes,omitempty"`
}

// index finds workstreams and gates by name. It is derived from Phases.
type index struct {
	phases      map[string]*Phase
	workstreams map[string]*Workstream
	gates       map[string]*Gate
	checkpoints map[string]*CheckpointRef
}

// Phase returns the phase with the given name, or nil.
func (s *State) Phase(name string) *Phase { return s.indexed().phases[name] }

// Workstream returns the workstream with the given name, or nil. It may be one
// that is gone from the pipeline. A nil state has none.
func (s *State) Workstream(name string) *Workstream {
	if s == nil {
		return nil
	}
	return s.indexed().workstreams[name]
}

// Gate returns the gate with the given label, or nil.
func (s *State) Gate(label string) *Gate { return s.indexed().gates[label] }

// Checkpoint returns the checkpoint with an id, nil where the state has none.
func (s *State) Checkpoint(id string) *CheckpointRef { return s.indexed().checkpoints[id] }

// Phase returns the phase that the workstream belongs to, nil where it is gone
// from the pipeline.
func (w *Workstream) Phase() *Phase { return w.phase }

// Owner returns the workstream that the gate belongs to, nil for a phase's
// own gate, and its phase.
func (g *Gate) Owner() (*Workstream, *Phase) { return g.workstream, g.phase }

func (s *State) indexed() *index {
	if s.index != nil {
		return s.index
	}
	n := len(s.Gone)
	for _, p := range s.Phases {
		n += len(p.Workstreams)
	}
	ix := &index{
		phases:      make(map[string]*Phase, len(s.Phases)),
		workstreams: make(map[string]*Workstream, n),
		gates:       make(map[string]*Gate),
		checkpoints: make(map[string]*CheckpointRef, len(s.Checkpoints)),
	}
	for _, w := range s.Gone { // what the pipeline has takes their names
		ix.addWorkstream(nil, w)
	}
	for _, p := range s.Phases {
		ix.phases[p.Name] = p
		for _, g := range p.Gates {
			g.phase, g.workstream = p, nil
			ix.gates[g.Label] = g
		}
		for _, w := range p.Workstreams {
			ix.addWorkstream(p, w)
		}
	}
	for _, c := range s.Checkpoints {
		ix.checkpoints[c.ID] = c
	}
	s.index = ix
	return ix
}

func (ix *index) addWorkstream(p *Phase, w *Workstream) {
	w.phase = p
	ix.workstreams[w.Name] = w
	for _, g := range w.Gates {
		g.phase, g.workstream = p, w
		ix.gates[g.Label] = g
	}
}

// Gates yields the gates of the pipeline: those of each phase after those of its workstreams.
func (s *State) Gates() iter.Seq[*Gate] {
	return func(yield func(*Gate) bool) {
		all := func(gates []*Gate) bool {
			return !slices.ContainsFunc(gates, func(g *Gate) bool { return !yield(g) })
		}
		for _, p := range s.Phases {
			for _, w := range p.Workstreams {
				if !all(w.Gates) {
					return
				}
			}
			if !all(p.Gates) {
				return
			}
		}
	}
}

// Records yields all workstreams of which something is on record: those that are
// gone from the pipeline, and those that it has.
func (s *State) Records() iter.Seq[*Workstream] {
	return func(yield func(*Workstream) bool) {
		for _, w := range s.Gone {
			if !yield(w) {
				return
			}
		}
		for _, p := range s.Phases {
			for _, w := range p.Workstreams {
				if !yield(w) {
					return
				}
			}
		}
	}
}

// Clone returns a copy that shares only values that are never changed in place: artifacts,
// outputs, digests, failures.
func (s *State) Clone() *State {
	c := *s
	c.index = nil
	c.Phases = make([]*Phase, len(s.Phases))
	for i, p := range s.Phases {
		c.Phases[i] = p.clone()
	}
	c.Gone = cloneWorkstreams(s.Gone)
	c.Metrics, c.AgentsSpent = cloneMap(s.Metrics), cloneMap(s.AgentsSpent)
	c.Notes, c.Ledgers, c.Feedback = s.Notes.clipped(), s.Ledgers.Clone(), s.Feedback.clone()
	c.Checkpoints = make([]*CheckpointRef, len(s.Checkpoints))
	for i, ref := range s.Checkpoints {
		r := *ref
		c.Checkpoints[i] = &r
	}
	c.indexed()
	return &c
}

func (p *Phase) clone() *Phase {
	c := *p
	c.Workstreams = cloneWorkstreams(p.Workstreams)
	c.Gates = cloneGates(p.Gates)
	return &c
}

func cloneWorkstreams(all []*Workstream) []*Workstream {
	if all == nil {
		return nil
	}
	c := make([]*Workstream, len(all))
	for i, w := range all {
		cw := *w
		cw.Gates = cloneGates(w.Gates)
		c[i] = &cw
	}
	return c
}

func cloneGates(gates []*Gate) []*Gate {
	if gates == nil {
		return nil
	}
	c := make([]*Gate, len(gates))
	for i, g := range gates {
		cg := *g
		c[i] = &cg
	}
	return c
}

func cloneMap[V any](m map[string]V) map[string]V {
	if m == nil {
		return nil
	}
	c := make(map[string]V, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

// PhaseName returns the name of the current phase, "" before the first.
func (s *State) PhaseName() string {
	if s.CurrentPhase < 1 || s.CurrentPhase > len(s.Phases) {
		return ""
	}
	return s.Phases[s.CurrentPhase-1].Name
}

// CanResume reports whether the session is neither complete nor abandoned.
func (s *State) CanResume() bool { return s.Status != StatusComplete && !s.Abandoned }
