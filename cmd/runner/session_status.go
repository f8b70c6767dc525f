package main

import (
	"cmp"
	"context"
	"fmt"
	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/config"
	"prdrunner/runner/process"
	"prdrunner/runner/view"
	"slices"
	"strings"
	"time"
)

// sessionStatus is the state of a session, as `status --json` prints it.
type sessionStatus struct {
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
	Counts         stepCounts           `json:"workstreams"`
	Phases         []*state.Phase       `json:"phases"`
	Running        []runningStep        `json:"running"`
	Retrying       []retryingStep       `json:"retrying"`
	Alive          []aliveProcess       `json:"alive"` // processes that a killed runner left running
	Waiting        []waitingGate        `json:"waiting"`
	Uncertain      []string             `json:"uncertain"`
	Error          *state.Failure       `json:"error,omitempty"`
	Pause          *state.Pause         `json:"pause,omitempty"`
	Interrupted    string               `json:"interrupted,omitempty"`
	Hooks          *state.Hooks         `json:"hooks,omitempty"` // hooks of the last run that did not end
	LastGate       string               `json:"last_gate,omitempty"`
	LastCheckpoint *state.CheckpointRef `json:"last_checkpoint,omitempty"`
	// Import and Rollback are those that were begun and not finished.
	Import      *disk.PendingImport    `json:"import,omitempty"`
	Rollback    *state.RollbackStarted `json:"rollback,omitempty"`
	Finishes    *finishPreview         `json:"finishes,omitempty"`   // how the next command that changes the session finishes the rollback
	TakenBack   []rollback.TakenBack   `json:"taken_back,omitempty"` // artifacts that rollbacks of other PRDs took back
	TornBytes   int                    `json:"torn_bytes,omitempty"`
	RescuePath  state.Text             `json:"rescue_path,omitempty"`
	HandWritten bool                   `json:"hand_written,omitempty"` // there is only a document, without a journal
	Damaged     state.Text             `json:"damaged,omitempty"`      // why the session can't be read
	Next        []state.Text           `json:"next"`

	pipeline string // path of the pipeline's file
	given    string // the flags that set variables of the pipeline, as the user types them
}

// owner is the process that runs a session.
type owner struct {
	User  string    `json:"user,omitempty"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// stepCounts counts workstreams.
type stepCounts struct {
	Total   int `json:"total"`
	Done    int `json:"done"` // completed or skipped
	Running int `json:"running"`
	Failed  int `json:"failed"`
}

// runningStep is a workstream or gate that runs.
type runningStep struct {
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

func (r retryingStep) line(now time.Time) string {
	when := "due"
	if r.At.After(now) {
		when = "in " + view.Duration(r.At.Sub(now))
	}
	return fmt.Sprintf("%s, attempt %d %s", r.Name, r.Attempt, when)
}

// aliveProcess is a process on this machine that outlived its runner.
type aliveProcess struct {
	PID        int    `json:"pid"`
	Workstream string `json:"workstream,omitempty"`
}

// outlived returns the processes that outlived the runner of a session.
func outlived(session, logs string) []aliveProcess {
	all := []aliveProcess{}
	for _, p := range process.Alive(session, logs) {
		all = append(all, aliveProcess{PID: p.PID, Workstream: p.Task})
	}
	return all
}

func (p aliveProcess) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s (pid %d)", p.Workstream, p.PID))
}

// waitingGate is a gate that waits for a person.
type waitingGate struct {
	Gate      string     `json:"gate"`
	Message   state.Text `json:"message,omitempty"`
	Approvers []string   `json:"approvers"`
	AskedAt   *time.Time `json:"asked_at,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Review    bool       `json:"review"` // the gate has passed; the question is whether to continue
}

func (q waitingGate) line(now time.Time) string {
	parts := []string{q.Gate}
	if q.Message != "" {
		parts[0] += ": " + string(q.Message)
	}
	if q.Review {
		parts = append(parts, "passed, to be reviewed")
	}
	if len(q.Approvers) > 0 {
		parts = append(parts, "by "+strings.Join(q.Approvers, " or "))
	}
	switch {
	case q.ExpiresAt == nil:
	case q.ExpiresAt.After(now):
		parts = append(parts, "for "+view.Duration(q.ExpiresAt.Sub(now))+" more")
	default:
		parts = append(parts, "expired")
	}
	return strings.Join(parts, ", ")
}

// failures returns a line for each failure: first the one that ended the session, then the
// others.
func (s sessionStatus) failures() []string {
	const most = 10
	var lines []string
	add := func(f *state.Failure) {
		if f != nil && !slices.Contains(lines, view.Summary(*f)) {
			lines = append(lines, view.Summary(*f))
		}
	}
	add(s.Error)
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if w.Status == state.Failed {
				add(w.Error)
			}
			addGates(w.Gates, add)
		}
		addGates(p.Gates, add)
	}
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more (--json has all)", more))
	}
	return lines
}

func addGates(gates []*state.Gate, add func(*state.Failure)) {
	for _, g := range gates {
		if g.Status == state.Failed {
			add(g.Error)
		}
	}
}

// damagedStatus returns the status of a session that can't be read.
func damagedStatus(env *environment, prd string, err error) sessionStatus {
	s := newStatus(env, prd, &checkpoint.Snapshot{})
	s.Damaged, s.Next = state.Text(env.Localize(err.Error())), []state.Text{state.Text(env.Command("status " + prd))}
	return s
}

// newStatus returns the status of the session in a snapshot.
func newStatus(env *environment, prd string, snap *checkpoint.Snapshot) sessionStatus {
	s := sessionStatus{
		FormatVersion: outputFormat, PRD: prd, TornBytes: snap.TornBytes, RescuePath: state.Text(snap.RescuePath),
		Phases: []*state.Phase{}, Running: []runningStep{}, Retrying: []retryingStep{}, Alive: []aliveProcess{}, Waiting: []waitingGate{}, Uncertain: []string{},
	}
	if h := snap.Owner; h != nil {
		s.Owner = &owner{User: h.User, Host: h.Host, PID: h.PID, Since: h.Since}
	}
	switch {
	case snap.State != nil:
		s.fill(snap.State, snap.Logs)
	case snap.Document != nil:
		d := snap.Document
		s.HandWritten, s.Title, s.Status, s.CurrentPhase, s.Error = true, d.Title, d.Status, d.CurrentPhase, writtenFailure(d)
		s.Counts = stepCounts{Total: len(d.Completed) + len(d.InProgress) + len(d.Pending), Done: len(d.Completed), Running: len(d.InProgress)}
	}
	if snap.Owner == nil {
		s.Import = snap.Import
	}
	s.Next = state.Texts(s.next(env))
	return s
}

// findTakenBack finds rollbacks of other PRDs that took back artifacts of the session. If
// the session is complete, it suggests to resume it, which brings the artifacts back.
func (s *sessionStatus) findTakenBack(ctx context.Context, env *environment, store *checkpoint.Store, snap *checkpoint.Snapshot) {
	if snap.State == nil || snap.Owner != nil {
		return
	}
	prds, err := store.Reader().Known() // includes PRDs that have only archived sessions
	if err == nil && len(prds) > 1 {
		err = withFiles(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) (err error) {
			s.TakenBack, err = rollback.FindTakenBack(ctx, store, w, snap.State)
			return err
		})
	}
	if err != nil {
		fmt.Fprintf(env.stderr, "Warning: cannot tell whether rollbacks of other PRDs took back files of %s: %v\n", s.PRD, err)
	}
	if len(s.TakenBack) > 0 && s.Status == state.StatusComplete {
		s.Next = append(s.Next, state.Text(env.Command(advice.ResumeCommand(s.PRD, s.pipeline))+s.given))
	}
}

func (s *sessionStatus) fill(st *state.State, logs string) {
	s.pipeline = string(st.Pipeline.Path)
	s.Title, s.Status, s.Session, s.Seq, s.Resumes = st.Title, st.Status, st.Session, st.Seq, st.Resumes
	s.CreatedAt, s.UpdatedAt, s.CurrentPhase, s.TotalPhases = st.CreatedAt, st.UpdatedAt, st.CurrentPhase, len(st.Phases)
	s.BeganFrom = st.BeganFrom
	s.Error, s.Pause, s.Interrupted, s.LastGate = st.Error, st.Pause, st.Interrupted, lastPassed(st)
	s.Killed = s.Owner == nil && killed(st)
	s.Phases = resultless(st.Phases)
	if s.Killed {
		s.Phases, s.Alive = resultless(cutOff(st)), outlived(st.Session, logs)
	}
	s.LastCheckpoint = st.CurrentCheckpoint()
	if s.Owner == nil { // otherwise the owner is carrying it out
		s.Rollback, s.Hooks = st.Rollback, st.Hooks
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			s.count(w)
			s.gates(w.Gates)
		}
		s.gates(p.Gates)
	}
	s.Running = sortedByStart(s.Running)
}

// cutOff returns the phases of a session whose runner was killed. Steps recorded as
// running are interrupted; a workstream that must happen only once is uncertain, because
// it is unknown whether it happened.
func cutOff(st *state.State) []*state.Phase {
	phases := st.Clone().Phases
	gates := func(list []*state.Gate) {
		for _, g := range list {
			if g.Status == state.Running {
				g.Status = state.Interrupted
			}
		}
	}
	for _, p := range phases {
		for _, w := range p.Workstreams {
			switch {
			case w.Status != state.Running:
			case w.Once:
				w.Status = state.Uncertain
			default:
				w.Status = state.Interrupted
			}
			gates(w.Gates)
		}
		gates(p.Gates)
	}
	return phases
}

func (s *sessionStatus) count(w *state.Workstream) {
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
		s.Counts.Done++
	case state.Running:
		s.Counts.Running++
		s.Running = append(s.Running, runningStep{w.Name, w.StartedAt})
	case state.Failed:
		s.Counts.Failed++
	case state.Uncertain:
		s.Uncertain = append(s.Uncertain, w.Name)
	case state.Pending, state.Succeeded, state.Passed, state.Rejected, state.Waiting, state.Interrupted:
	}
}

func (s *sessionStatus) gates(list []*state.Gate) {
	for _, g := range list {
		if g.Status == state.Running {
			s.Running = append(s.Running, runningStep{Name: g.Label})
		}
		if awaits(g) {
			q := waitingGate{Gate: g.Label, Message: g.Message, Approvers: g.Approvers, AskedAt: g.At, ExpiresAt: g.ExpiresAt, Review: g.Review}
			if q.Approvers == nil {
				q.Approvers = []string{}
			}
			s.Waiting = append(s.Waiting, q)
		}
	}
}

// awaits reports whether a gate waits for a person.
func awaits(g *state.Gate) bool {
	return g.Status == state.Waiting || g.Status == state.Passed && g.Review
}

// words returns the status as people read it.
func (s sessionStatus) words() string {
	switch {
	case s.HandWritten:
		return strings.TrimSpace(string(s.Status) + " (written by hand)")
	case s.Rollback != nil:
		return string(s.Status) + " (a rollback was cut short)"
	case s.Killed:
		return string(s.Status) + " (was running; how it ended is not on record)"
	case len(s.TakenBack) > 0:
		return string(s.Status) + ", stale"
	case s.Interrupted != "" && s.Status == state.StatusPaused:
		return "paused (interrupted)"
	}
	return string(s.Status)
}

// next returns the commands to type next.
func (s sessionStatus) next(env *environment) []string {
	resume := env.Command(advice.ResumeCommand(s.PRD, s.pipeline)) + s.given
	if s.Owner != nil {
		return append(s.answers(env), env.Command("logs "+s.PRD+" -f"))
	}
	if r := s.Rollback; r != nil { // both commands finish it, even if the session is complete
		return []string{env.Command(advice.RollbackCommand(s.PRD, r.To, r.Scope)), resume}
	}
	switch s.Status {
	case state.StatusInitialized, state.StatusInProgress, state.StatusPaused:
		return append(s.answers(env), resume)
	case state.StatusFailed:
		if e := s.Error; e != nil && e.Log != "" && e.Workstream != "" {
			return []string{env.Command("logs " + s.PRD + " " + text.ShellWord(cmp.Or(e.Gate, e.Workstream))), resume}
		}
		return []string{resume}
	case state.StatusComplete:
		return []string{}
	}
	return []string{}
}

// answers returns the commands that answer waiting gates and resolve uncertain
// workstreams.
func (s sessionStatus) answers(env *environment) []string {
	answers := []string{}
	for _, q := range s.Waiting {
		if q.ExpiresAt == nil || q.ExpiresAt.After(env.now()) {
			answers = append(answers, env.Command("approve "+s.PRD+" "+text.ShellWord(q.Gate)))
		}
	}
	for _, name := range s.Uncertain {
		resolve := env.Command("resolve " + s.PRD + " " + text.ShellWord(name))
		answers = append(answers, resolve+" --done"+s.given, resolve+" --rerun")
	}
	return answers
}
