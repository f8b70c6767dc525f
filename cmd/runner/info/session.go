package info

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// AdoptReport is what `checkpoint import --adopt --json` prints.
type AdoptReport struct {
	FormatVersion string `json:"format_version"`
	PRD           string `json:"prd"`
	Session       string `json:"session"`
	DryRun        bool   `json:"dry_run"`
	Untracked     int    `json:"untracked"` // number of files to remove from git's index, or removed
}

// NewAdoptReport returns the JSON form of an adoption.
func NewAdoptReport(prd, session string, dryRun bool, untracked int) AdoptReport {
	return AdoptReport{FormatVersion: FormatVersion, PRD: prd, Session: session, DryRun: dryRun, Untracked: untracked}
}

// ArchiveReport is what `checkpoint archive --json` prints.
type ArchiveReport struct {
	FormatVersion string     `json:"format_version"`
	PRD           string     `json:"prd"`
	Session       string     `json:"session"`
	Path          state.Text `json:"path"`
}

// NewArchiveReport returns the JSON form of an archived session.
func NewArchiveReport(prd, session, path string) ArchiveReport {
	return ArchiveReport{FormatVersion, prd, session, state.Text(path)}
}

// PinReport is what `checkpoint pin --json` and `unpin --json` print.
type PinReport struct {
	FormatVersion string               `json:"format_version"`
	PRD           string               `json:"prd"`
	Changed       bool                 `json:"changed"`
	Checkpoint    *state.CheckpointRef `json:"checkpoint"`
}

// NewPinReport returns the JSON form of a checkpoint that was pinned or unpinned.
func NewPinReport(prd string, changed bool, ref *state.CheckpointRef) PinReport {
	return PinReport{FormatVersion: FormatVersion, PRD: prd, Changed: changed, Checkpoint: ref}
}

// MigrationReport is what `checkpoint migrate --json` prints.
type MigrationReport struct {
	FormatVersion string            `json:"format_version"`
	DryRun        bool              `json:"dry_run"`
	Sessions      []migratedSession `json:"sessions"`
}

type migratedSession struct {
	PRD         string   `json:"prd"`
	From        string   `json:"from"`
	To          string   `json:"to"`
	Changed     bool     `json:"changed"` // or would be changed, with --dry-run
	Journal     bool     `json:"journal"`
	Checkpoints []string `json:"checkpoints"`
	Kept        []string `json:"kept"`
}

// NewMigrationReport returns the JSON form of a migration to which no session was added
// yet.
func NewMigrationReport(dryRun bool) MigrationReport {
	return MigrationReport{FormatVersion: FormatVersion, DryRun: dryRun, Sessions: []migratedSession{}}
}

// Add adds a session to a migration.
func (m *MigrationReport) Add(prd string, done *repair.Migrated) {
	m.Sessions = append(m.Sessions, migratedSession{
		PRD: prd, From: done.From, To: done.To, Changed: done.Needed(), Journal: done.Journal,
		Checkpoints: append([]string{}, done.Checkpoints...), Kept: append([]string{}, done.Kept...),
	})
}

// SessionStatus is the state of a session, as `status --json` prints it.
type SessionStatus struct {
	FormatVersion  string               `json:"format_version"`
	PRD            string               `json:"prd"`
	Title          string               `json:"title"`
	Status         state.Status         `json:"status"`
	Killed         bool                 `json:"killed"` // it was running, and has no owner any more
	Owner          *owner               `json:"owner"`  // the process that runs it now
	Session        string               `json:"session,omitempty"`
	Seq            uint64               `json:"seq"`
	Resumes        int                  `json:"resumes"`
	CreatedAt      time.Time            `json:"created_at,omitzero"`
	BeganFrom      *state.Predecessor   `json:"began_from,omitempty"` // the complete session with whose records it began
	UpdatedAt      time.Time            `json:"updated_at,omitzero"`
	CurrentPhase   int                  `json:"current_phase"`
	TotalPhases    int                  `json:"total_phases"`
	Counts         StepCounts           `json:"workstreams"`
	Phases         []*state.Phase       `json:"phases"`
	Services       []state.Service      `json:"services,omitempty"` // that were started in the session
	Running        []RunningStep        `json:"running"`
	Retrying       []retryingStep       `json:"retrying"`
	Alive          []AliveProcess       `json:"alive"` // processes that a killed runner left running
	Waiting        []WaitingGate        `json:"waiting"`
	Called         []CalledWaiting      `json:"called,omitempty"` // sessions of called pipelines that wait for a person
	Uncertain      []string             `json:"uncertain"`
	Outdated       map[string]string    `json:"outdated,omitempty"` // by name: why the work of a workstream may not be kept
	Error          *state.Failure       `json:"error,omitempty"`
	Pause          *state.Pause         `json:"pause,omitempty"`
	Requested      *state.PauseAsked    `json:"requested,omitempty"` // a pause that was asked for, and for which the run that is on will stop
	Caller         *state.Caller        `json:"caller,omitempty"`    // the workstream that calls the pipeline
	Interrupted    string               `json:"interrupted,omitempty"`
	Abandoned      bool                 `json:"abandoned,omitempty"` // given up; it can be resumed, because it was imported again or never archived
	Hooks          *state.Hooks         `json:"hooks,omitempty"`     // hooks of the last run that did not end
	LastGate       string               `json:"last_gate,omitempty"`
	Review         *state.Review        `json:"review,omitempty"` // before the first phase
	Issue          *state.Issue         `json:"issue,omitempty"`
	Team           *state.Team          `json:"team_state,omitempty"`
	AgentOutputs   state.AgentOutputs   `json:"agent_outputs,omitempty"`
	Spent          ledger.Spent         `json:"spent,omitzero"`
	Notes          state.Notes          `json:"notes,omitzero"`
	Ledgers        ledger.Ledgers       `json:"ledgers,omitzero"`
	LastCheckpoint *state.CheckpointRef `json:"last_checkpoint,omitempty"`
	// Import and Rollback are those that were begun and not finished.
	Import       *disk.PendingImport       `json:"import,omitempty"`
	Rollback     *state.RollbackStarted    `json:"rollback,omitempty"`
	Finishes     *UnfinishedRollbackReport `json:"finishes,omitempty"` // how the next command that changes the session finishes the rollback
	Protections  []protection              `json:"protections,omitempty"`
	TakenBack    []rollback.TakenBack      `json:"taken_back,omitempty"` // artifacts that rollbacks of other PRDs took back
	TornBytes    int                       `json:"torn_bytes,omitempty"`
	RescuePath   state.Text                `json:"rescue_path,omitempty"`
	HandWritten  bool                      `json:"hand_written,omitempty"`  // there is only a document, without a journal
	ImportedFrom string                    `json:"imported_from,omitempty"` // the tool from whose checkpoint the document was made
	Damaged      state.Text                `json:"damaged,omitempty"`       // why the session can't be read
	Next         []state.Text              `json:"next"`

	pipeline      string // path of the pipeline's file
	variableFlags string // the flags that set variables of the pipeline, as the user types them
}

// owner is the process that runs a session.
type owner struct {
	User  string    `json:"user,omitempty"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	// Stopped says that the process does nothing until it is continued, for example after Ctrl+Z.
	Stopped bool `json:"stopped,omitempty"`
}

// StepCounts counts workstreams.
type StepCounts struct {
	Total   int `json:"total"`
	Done    int `json:"done"` // completed and not outdated, skipped, or failed where that is allowed
	Running int `json:"running"`
	Failed  int `json:"failed"`  // they failed, or a gate of them did; without those whose failure is allowed
	Allowed int `json:"allowed"` // of those done: they failed, which is allowed
}

// String returns the counts in short: 3 of 6 (1 failed, allowed), 2 failed.
func (c StepCounts) String() string {
	s := fmt.Sprintf("%d of %d", c.Done, c.Total)
	if c.Allowed > 0 {
		s += fmt.Sprintf(" (%d failed, %s)", c.Allowed, view.Allowed)
	}
	if c.Failed > 0 {
		s += fmt.Sprintf(", %d failed", c.Failed)
	}
	return s
}

// RunningStep is a workstream or gate that runs.
type RunningStep struct {
	Name  string     `json:"name"`
	Since *time.Time `json:"since,omitempty"`
}

// retryingStep is a workstream that waits for its next attempt. It does not run.
type retryingStep struct {
	Name    string     `json:"name"`
	Attempt int        `json:"attempt"` // the number of the next attempt
	At      time.Time  `json:"at"`      // when it is due
	Error   state.Text `json:"error"`   // of the last attempt
}

// AliveProcess is a process on this machine that outlived its runner.
type AliveProcess struct {
	PID        int    `json:"pid"`
	Workstream string `json:"workstream,omitempty"`
}

// WaitingGate is a gate that waits for a person.
type WaitingGate struct {
	Gate      string             `json:"gate"`
	Message   state.Text         `json:"message,omitempty"`
	Approvers []string           `json:"approvers"`
	AskedAt   *time.Time         `json:"asked_at,omitempty"`
	ExpiresAt *time.Time         `json:"expires_at,omitempty"`
	Inputs    []state.AskedInput `json:"inputs"`           // what an approval must give
	Review    bool               `json:"review"`           // the gate has passed; the question is whether to continue
	Judged    *Judged            `json:"judged,omitempty"` // nil: it was not looked at
}

// Digest identifies the question: an answer to another one, or to an earlier one of the same gate, is none to it.
func (q WaitingGate) Digest() string {
	q.Judged = nil             // what is judged may still grow
	text, _ := json.Marshal(q) // plain data can be encoded
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// CalledWaiting are the gates that wait for a person in the session of a pipeline that a workstream calls.
type CalledWaiting struct {
	PRD        string        `json:"prd"`
	Workstream string        `json:"workstream"`
	Waiting    []WaitingGate `json:"waiting"`
}

// protection is the safety checkpoint of a workstream whose changes are neither committed
// nor kept.
type protection struct {
	Workstream  string `json:"workstream"`
	Attempt     int    `json:"attempt"`
	Checkpoint  string `json:"checkpoint"`
	RolledBack  bool   `json:"rolled_back"`
	RollbackDue bool   `json:"rollback_due"` // the next command that changes the session rolls back first
}

// DamagedSessionStatus returns the status of a session that can't be read.
func DamagedSessionStatus(cmdline advice.CommandLine, prd string, err error) SessionStatus {
	s := NewSessionStatus(cmdline, time.Time{}, prd, &checkpoint.Snapshot{})
	s.Damaged, s.Next = state.Text(cmdline.Localize(err.Error())), []state.Text{state.Text(cmdline.Command("status " + prd))}
	return s
}

// NewSessionStatus returns the status of the session in a snapshot.
func NewSessionStatus(cmdline advice.CommandLine, now time.Time, prd string, snap *checkpoint.Snapshot) SessionStatus {
	s := SessionStatus{
		FormatVersion: FormatVersion, PRD: prd, TornBytes: snap.TornBytes, RescuePath: state.Text(snap.RescuePath),
		Phases: []*state.Phase{}, Running: []RunningStep{}, Retrying: []retryingStep{}, Alive: []AliveProcess{}, Waiting: []WaitingGate{}, Uncertain: []string{},
	}
	if h := snap.Owner; h != nil {
		s.Owner = &owner{User: h.User, Host: h.Host, PID: h.PID, Since: h.Since, Stopped: h.IsStopped()}
	}
	switch {
	case snap.State != nil:
		s.setState(snap.State)
	case snap.Document != nil:
		d := snap.Document
		s.HandWritten, s.Title, s.Status, s.CurrentPhase, s.Error = true, d.Title, d.Status, d.CurrentPhase, WrittenFailure(d)
		if d.Imported != nil {
			s.ImportedFrom = d.Imported.Format
		}
		s.Counts = StepCounts{Total: len(d.Completed) + len(d.InProgress) + len(d.Pending), Done: len(d.Completed), Running: len(d.InProgress)}
	}
	if snap.Owner == nil {
		s.Import = snap.Import
	}
	s.Next = state.Texts(s.nextCommands(cmdline, now))
	return s
}

// AddTakenBack adds rollbacks of other PRDs that took back artifacts of the session. If the
// session is complete, the status suggests to resume it, which brings the artifacts back.
func (s *SessionStatus) AddTakenBack(cmdline advice.CommandLine, takenBack []rollback.TakenBack) {
	s.TakenBack = takenBack
	if len(takenBack) > 0 && s.Status == state.StatusComplete {
		s.Next = append(s.Next, state.Text(s.resume(cmdline)))
	}
}

func (s *SessionStatus) setState(st *state.State) {
	s.pipeline, s.Caller = string(st.Pipeline.Path), st.Caller
	s.Title, s.Status, s.Session, s.Seq, s.Resumes = st.Title, st.Status, st.Session, st.Seq, st.Resumes
	s.CreatedAt, s.UpdatedAt, s.CurrentPhase, s.TotalPhases = st.CreatedAt, st.UpdatedAt, st.CurrentPhase, len(st.Phases)
	s.BeganFrom = st.BeganFrom
	s.Review = st.Review
	s.Issue = st.Issue
	s.Team, s.AgentOutputs = state.NewTeam(st), state.NewAgentOutputs(st)
	s.Notes, s.Ledgers, s.Spent = st.Notes, st.Ledgers, st.Spent
	s.Error, s.Pause, s.Interrupted, s.Abandoned, s.LastGate = st.Error, st.Pause, st.Interrupted, st.Abandoned, LastPassedGate(st)
	s.Killed = s.Owner == nil && st.WasKilled()
	s.Outdated = st.OutdatedWork()
	s.Phases, s.Services = Resultless(st.Phases), st.Services
	switch {
	case s.Killed:
		s.Phases = Resultless(st.CutOff().Phases)
	case s.Owner != nil:
		s.Phases = Resultless(st.InRun(s.Owner.Since).Phases)
		s.Requested = st.Requested
	}
	s.LastCheckpoint = st.CurrentCheckpoint()
	if s.Owner == nil { // otherwise the owner is carrying it out
		s.Rollback, s.Hooks = st.Rollback, st.Hooks
	}
	s.addProtections(st)
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			s.countWorkstream(w)
			s.addGates(w.Gates)
		}
		s.addGates(p.Gates)
	}
	s.Running = sortedByStart(s.Running)
}

// addProtections adds the protections of a state.
func (s *SessionStatus) addProtections(st *state.State) {
	due := map[string]bool{}
	if s.Owner == nil {
		for _, p := range st.RollbacksDue() {
			due[p.Workstream] = true
		}
	}
	for _, p := range st.Protections {
		s.Protections = append(s.Protections, protection{p.Workstream, p.Attempt, p.Checkpoint, p.RolledBack, due[p.Workstream]})
	}
}

func (s *SessionStatus) countWorkstream(w *state.Workstream) {
	s.Counts.Total++
	if w.Retries() {
		next := retryingStep{Name: w.Name, Attempt: w.Attempts + 1, At: *w.RetryAt}
		if w.Error != nil {
			next.Error = w.Error.Message
		}
		s.Retrying = append(s.Retrying, next)
		w.Status = state.Waiting // w is a copy that belongs to this status
		return
	}
	switch w.Status {
	case state.Completed, state.Skipped:
		if s.Outdated[w.Name] == "" {
			s.Counts.Done++
		}
	case state.Running:
		s.Counts.Running++
		s.Running = append(s.Running, RunningStep{w.Name, w.StartedAt})
	case state.Failed:
		if w.FailureAllowed() {
			s.Counts.Done++
			s.Counts.Allowed++
		} else {
			s.Counts.Failed++
		}
	case state.Succeeded:
		if AnyFailed(w.Gates) {
			s.Counts.Failed++
		}
	case state.Uncertain:
		s.Uncertain = append(s.Uncertain, w.Name)
	case state.Pending, state.Passed, state.Rejected, state.Waiting, state.Interrupted:
	}
}

func (s *SessionStatus) addGates(list []*state.Gate) {
	for _, g := range list {
		if g.Status == state.Running {
			s.Running = append(s.Running, RunningStep{Name: g.Label})
		}
		if Awaits(g) {
			q := WaitingGate{Gate: g.Label, Message: g.Message, Approvers: g.Approvers, AskedAt: g.At, ExpiresAt: g.ExpiresAt, Inputs: append([]state.AskedInput{}, g.Asks...), Review: g.Review}
			if q.Approvers == nil {
				q.Approvers = []string{}
			}
			s.Waiting = append(s.Waiting, q)
		}
	}
}

// AddJudged adds to each gate that waits, in their order, what a person judges who answers it.
func (s *SessionStatus) AddJudged(judged []*Judged) {
	for i := range s.Waiting {
		s.Waiting[i].Judged = judged[i]
	}
}

// Awaits reports whether a gate waits for a person.
func Awaits(g *state.Gate) bool {
	return g.Status == state.Waiting || g.Status == state.Passed && g.Review
}

// WrittenFailure returns the error in a document written by hand, nil if it has none.
func WrittenFailure(d *document.File) *state.Failure {
	e := d.Error
	if e == nil {
		return nil
	}
	return &state.Failure{Workstream: e.Workstream, Message: state.Text(e.Message), File: state.Text(e.File), Line: e.Line}
}

// sortedByStart sorts running steps by the time when they started.
func sortedByStart(list []RunningStep) []RunningStep {
	slices.SortStableFunc(list, func(a, b RunningStep) int {
		if a.Since == nil || b.Since == nil {
			return 0
		}
		return a.Since.Compare(*b.Since)
	})
	return list
}

// StatusTableReport is the state of all sessions, as `status --json` prints it.
type StatusTableReport struct {
	FormatVersion string          `json:"format_version"`
	PRDs          []SessionStatus `json:"prds"`
}

// NewStatusTableReport returns the JSON form of the state of all sessions.
func NewStatusTableReport(list []SessionStatus) StatusTableReport {
	return StatusTableReport{FormatVersion, append([]SessionStatus{}, list...)}
}
