package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

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
	Waiting        []waitingGate        `json:"waiting"`
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

// waitingGate is a gate that waits for a person.
type waitingGate struct {
	Gate      string             `json:"gate"`
	Message   state.Text         `json:"message,omitempty"`
	Approvers []string           `json:"approvers"`
	AskedAt   *time.Time         `json:"asked_at,omitempty"`
	ExpiresAt *time.Time         `json:"expires_at,omitempty"`
	Inputs    []state.AskedInput `json:"inputs"`           // what an approval must give
	Review    bool               `json:"review"`           // the gate has passed; the question is whether to continue
	Judged    *Judged            `json:"judged,omitempty"` // nil: it was not looked at
}

// CalledWaiting are the gates that wait for a person in the session of a pipeline that a workstream calls.
type CalledWaiting struct {
	PRD        string        `json:"prd"`
	Workstream string        `json:"workstream"`
	Waiting    []waitingGate `json:"waiting"`
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
		Phases: []*state.Phase{}, Running: []RunningStep{}, Retrying: []retryingStep{}, Alive: []AliveProcess{}, Waiting: []waitingGate{}, Uncertain: []string{},
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

// CallAgain makes the status of a called pipeline, which is not complete, suggest to call it again.
// Its first caller is complete nevertheless, so that resuming it does nothing by itself.
// workstream is the one of the first caller.
func (s *SessionStatus) CallAgain(cmdline advice.CommandLine, workstream string) {
	resume := state.Text(s.resume(cmdline))
	for i, command := range s.Next {
		if command == resume {
			s.Next[i] += state.Text(" --invalidate " + text.ShellWord(workstream))
		}
	}
}

// resume returns the command that resumes the session. A called pipeline is resumed with the
// first of its callers.
func (s *SessionStatus) resume(cmdline advice.CommandLine) string {
	if c := s.Caller; c != nil {
		return cmdline.Command(advice.ResumeCommand(c.Root, string(c.File)))
	}
	return cmdline.Command(advice.ResumeCommand(s.PRD, s.pipeline)) + s.variableFlags
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
	s.Phases, s.Services = resultless(st.Phases), st.Services
	switch {
	case s.Killed:
		s.Phases = resultless(st.CutOff().Phases)
	case s.Owner != nil:
		s.Phases = resultless(st.InRun(s.Owner.Since).Phases)
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
		if anyFailed(w.Gates) {
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
			q := waitingGate{Gate: g.Label, Message: g.Message, Approvers: g.Approvers, AskedAt: g.At, ExpiresAt: g.ExpiresAt, Inputs: append([]state.AskedInput{}, g.Asks...), Review: g.Review}
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

// NextWith returns the commands to type next. given holds the flags that set variables of
// the pipeline.
func (s SessionStatus) NextWith(cmdline advice.CommandLine, now time.Time, given string) []state.Text {
	s.variableFlags = given
	return state.Texts(s.nextCommands(cmdline, now))
}

// nextCommands returns the commands to type next.
func (s SessionStatus) nextCommands(cmdline advice.CommandLine, now time.Time) []string {
	resume := s.resume(cmdline)
	if s.Owner != nil {
		return append(s.answers(cmdline, now), cmdline.Command("watch "+s.PRD), cmdline.Command("logs "+s.PRD+" -f"))
	}
	if r := s.Rollback; r != nil { // both commands finish it, even if the session is complete
		return []string{cmdline.Command(advice.RollbackCommand(s.PRD, r.To, r.Scope)), resume}
	}
	switch s.Status {
	case state.StatusInitialized, state.StatusInProgress, state.StatusPaused:
		if s.Pause != nil && s.Pause.Reason == state.PauseBudget {
			return append(s.logsOfFailures(cmdline), resume+" --raise-budget")
		}
		if s.Pause != nil && slices.ContainsFunc(s.Pause.Calls, func(c state.PausedCall) bool { return c.Budget }) {
			resume += " --raise-budget"
		}
		return s.afterStop(cmdline, now, resume)
	case state.StatusFailed:
		if s.Review.Blocks() {
			return s.afterReview(cmdline, resume)
		}
		if e := s.Error; e != nil && e.Outcome == state.OutcomeNoSession && s.Caller == nil {
			return []string{resume + " --invalidate " + text.ShellWord(e.Workstream)}
		}
		return s.afterStop(cmdline, now, resume)
	case state.StatusComplete:
		return []string{}
	}
	return []string{}
}

// afterStop returns the commands that show what failed, answer what waits, and go on. A run that was
// stopped before its end may have failures, too.
func (s SessionStatus) afterStop(cmdline advice.CommandLine, now time.Time, resume string) []string {
	return append(append(s.logsOfFailures(cmdline), s.answers(cmdline, now)...), resume)
}

// mostLogs is how many logs of failures are named. With more failures, a command that lists all of
// them follows.
const mostLogs = 5

// logsOfFailures returns the commands that show the logs of what failed.
func (s SessionStatus) logsOfFailures(cmdline advice.CommandLine) []string {
	var names []string
	for _, e := range s.failures() {
		if e.Log != "" && e.Workstream != "" {
			if name := cmp.Or(s.failedService(e), e.Gate, e.Workstream); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	commands := []string{}
	for i, name := range names {
		if i == mostLogs {
			return append(commands, cmdline.Command("status "+s.PRD+" --failed"))
		}
		commands = append(commands, cmdline.Command("logs "+s.PRD+" "+text.ShellWord(name)))
	}
	return commands
}

// failedService returns the name of the log of the service that something failed with, "" if it
// failed with something else.
func (s SessionStatus) failedService(e *state.Failure) string {
	for _, service := range s.Services {
		log := disk.ServiceLog(service.Name)
		if e.Outcome == state.OutcomeService && strings.HasPrefix(string(e.Log), disk.EncodeName(log)+".") {
			return log
		}
	}
	return ""
}

// afterReview returns the commands that may follow a review that forbids to go on.
func (s SessionStatus) afterReview(cmdline advice.CommandLine, resume string) []string {
	override := cmdline.Command("override " + s.PRD + " review --reason TEXT")
	if s.Review.UsedUp() {
		return []string{override}
	}
	return []string{resume, override}
}

// answers returns the commands that answer waiting gates and resolve uncertain
// workstreams.
func (s SessionStatus) answers(cmdline advice.CommandLine, now time.Time) []string {
	answers := []string{}
	for _, q := range s.Waiting {
		if q.ExpiresAt == nil || q.ExpiresAt.After(now) {
			answers = append(answers, cmdline.Command(ApproveCommand(s.PRD, q.Gate, q.Inputs)))
		}
	}
	if s.Pause != nil {
		answers = append(answers, answersOfCalls(cmdline, s.Pause.Calls)...)
	}
	for _, name := range s.Uncertain {
		resolve := cmdline.Command("resolve " + s.PRD + " " + text.ShellWord(name))
		answers = append(answers, resolve+" --done"+s.variableFlags, resolve+" --rerun")
	}
	return answers
}

// answersOfCalls returns the commands that answer what called pipelines wait for.
func answersOfCalls(cmdline advice.CommandLine, calls []state.PausedCall) []string {
	var commands []string
	for _, call := range calls {
		if len(call.Gates) == 0 && !call.Budget {
			commands = append(commands, cmdline.Command("status "+call.PRD))
		}
		for _, gate := range call.Gates {
			commands = append(commands, cmdline.Command(ApproveCommand(call.PRD, gate, call.Asks[gate])))
		}
	}
	return commands
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
