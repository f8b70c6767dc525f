package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
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
	Running        []RunningStep        `json:"running"`
	Retrying       []retryingStep       `json:"retrying"`
	Alive          []AliveProcess       `json:"alive"` // processes that a killed runner left running
	Waiting        []waitingGate        `json:"waiting"`
	Uncertain      []string             `json:"uncertain"`
	Error          *state.Failure       `json:"error,omitempty"`
	Pause          *state.Pause         `json:"pause,omitempty"`
	Interrupted    string               `json:"interrupted,omitempty"`
	Hooks          *state.Hooks         `json:"hooks,omitempty"` // hooks of the last run that did not end
	LastGate       string               `json:"last_gate,omitempty"`
	LastCheckpoint *state.CheckpointRef `json:"last_checkpoint,omitempty"`
	// Import and Rollback are those that were begun and not finished.
	Import      *disk.PendingImport       `json:"import,omitempty"`
	Rollback    *state.RollbackStarted    `json:"rollback,omitempty"`
	Finishes    *UnfinishedRollbackReport `json:"finishes,omitempty"`   // how the next command that changes the session finishes the rollback
	TakenBack   []rollback.TakenBack      `json:"taken_back,omitempty"` // artifacts that rollbacks of other PRDs took back
	TornBytes   int                       `json:"torn_bytes,omitempty"`
	RescuePath  state.Text                `json:"rescue_path,omitempty"`
	HandWritten bool                      `json:"hand_written,omitempty"` // there is only a document, without a journal
	Damaged     state.Text                `json:"damaged,omitempty"`      // why the session can't be read
	Next        []state.Text              `json:"next"`

	pipeline      string // path of the pipeline's file
	variableFlags string // the flags that set variables of the pipeline, as the user types them
}

// owner is the process that runs a session.
type owner struct {
	User  string    `json:"user,omitempty"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// StepCounts counts workstreams.
type StepCounts struct {
	Total   int `json:"total"`
	Done    int `json:"done"` // completed or skipped
	Running int `json:"running"`
	Failed  int `json:"failed"`
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

func (r retryingStep) describe(now time.Time) string {
	when := "due"
	if r.At.After(now) {
		when = "in " + view.Duration(r.At.Sub(now))
	}
	return fmt.Sprintf("%s, attempt %d %s", r.Name, r.Attempt, when)
}

// AliveProcess is a process on this machine that outlived its runner.
type AliveProcess struct {
	PID        int    `json:"pid"`
	Workstream string `json:"workstream,omitempty"`
}

func (p AliveProcess) String() string {
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

func (q waitingGate) describe(now time.Time) string {
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
func (s SessionStatus) failures() []string {
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
			addGateFailures(w.Gates, add)
		}
		addGateFailures(p.Gates, add)
	}
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more (--json has all)", more))
	}
	return lines
}

func addGateFailures(gates []*state.Gate, add func(*state.Failure)) {
	for _, g := range gates {
		if g.Status == state.Failed {
			add(g.Error)
		}
	}
}

// DamagedSessionStatus returns the status of a session that can't be read.
func DamagedSessionStatus(here advice.CommandLine, prd string, err error) SessionStatus {
	s := NewSessionStatus(here, time.Time{}, prd, &checkpoint.Snapshot{})
	s.Damaged, s.Next = state.Text(here.Localize(err.Error())), []state.Text{state.Text(here.Command("status " + prd))}
	return s
}

// NewSessionStatus returns the status of the session in a snapshot.
func NewSessionStatus(here advice.CommandLine, now time.Time, prd string, snap *checkpoint.Snapshot) SessionStatus {
	s := SessionStatus{
		FormatVersion: FormatVersion, PRD: prd, TornBytes: snap.TornBytes, RescuePath: state.Text(snap.RescuePath),
		Phases: []*state.Phase{}, Running: []RunningStep{}, Retrying: []retryingStep{}, Alive: []AliveProcess{}, Waiting: []waitingGate{}, Uncertain: []string{},
	}
	if h := snap.Owner; h != nil {
		s.Owner = &owner{User: h.User, Host: h.Host, PID: h.PID, Since: h.Since}
	}
	switch {
	case snap.State != nil:
		s.setState(snap.State)
	case snap.Document != nil:
		d := snap.Document
		s.HandWritten, s.Title, s.Status, s.CurrentPhase, s.Error = true, d.Title, d.Status, d.CurrentPhase, WrittenFailure(d)
		s.Counts = StepCounts{Total: len(d.Completed) + len(d.InProgress) + len(d.Pending), Done: len(d.Completed), Running: len(d.InProgress)}
	}
	if snap.Owner == nil {
		s.Import = snap.Import
	}
	s.Next = state.Texts(s.nextCommands(here, now))
	return s
}

// AddTakenBack adds rollbacks of other PRDs that took back artifacts of the session. If the
// session is complete, the status suggests to resume it, which brings the artifacts back.
func (s *SessionStatus) AddTakenBack(here advice.CommandLine, taken []rollback.TakenBack) {
	s.TakenBack = taken
	if len(taken) > 0 && s.Status == state.StatusComplete {
		s.Next = append(s.Next, state.Text(here.Command(advice.ResumeCommand(s.PRD, s.pipeline))+s.variableFlags))
	}
}

func (s *SessionStatus) setState(st *state.State) {
	s.pipeline = string(st.Pipeline.Path)
	s.Title, s.Status, s.Session, s.Seq, s.Resumes = st.Title, st.Status, st.Session, st.Seq, st.Resumes
	s.CreatedAt, s.UpdatedAt, s.CurrentPhase, s.TotalPhases = st.CreatedAt, st.UpdatedAt, st.CurrentPhase, len(st.Phases)
	s.BeganFrom = st.BeganFrom
	s.Error, s.Pause, s.Interrupted, s.LastGate = st.Error, st.Pause, st.Interrupted, LastPassedGate(st)
	s.Killed = s.Owner == nil && st.RunningAt != nil
	s.Phases = resultless(st.Phases)
	if s.Killed {
		s.Phases = resultless(cutOff(st))
	}
	s.LastCheckpoint = st.CurrentCheckpoint()
	if s.Owner == nil { // otherwise the owner is carrying it out
		s.Rollback, s.Hooks = st.Rollback, st.Hooks
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			s.countWorkstream(w)
			s.addGates(w.Gates)
		}
		s.addGates(p.Gates)
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
		s.Counts.Done++
	case state.Running:
		s.Counts.Running++
		s.Running = append(s.Running, RunningStep{w.Name, w.StartedAt})
	case state.Failed:
		s.Counts.Failed++
	case state.Uncertain:
		s.Uncertain = append(s.Uncertain, w.Name)
	case state.Pending, state.Succeeded, state.Passed, state.Rejected, state.Waiting, state.Interrupted:
	}
}

func (s *SessionStatus) addGates(list []*state.Gate) {
	for _, g := range list {
		if g.Status == state.Running {
			s.Running = append(s.Running, RunningStep{Name: g.Label})
		}
		if Awaits(g) {
			q := waitingGate{Gate: g.Label, Message: g.Message, Approvers: g.Approvers, AskedAt: g.At, ExpiresAt: g.ExpiresAt, Review: g.Review}
			if q.Approvers == nil {
				q.Approvers = []string{}
			}
			s.Waiting = append(s.Waiting, q)
		}
	}
}

// Awaits reports whether a gate waits for a person.
func Awaits(g *state.Gate) bool {
	return g.Status == state.Waiting || g.Status == state.Passed && g.Review
}

// statusText returns the status as people read it.
func (s SessionStatus) statusText() string {
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

// NextWith returns the commands to type next. given holds the flags that set variables of
// the pipeline.
func (s SessionStatus) NextWith(here advice.CommandLine, now time.Time, given string) []state.Text {
	s.variableFlags = given
	return state.Texts(s.nextCommands(here, now))
}

// nextCommands returns the commands to type next.
func (s SessionStatus) nextCommands(here advice.CommandLine, now time.Time) []string {
	resume := here.Command(advice.ResumeCommand(s.PRD, s.pipeline)) + s.variableFlags
	if s.Owner != nil {
		return append(s.answers(here, now), here.Command("logs "+s.PRD+" -f"))
	}
	if r := s.Rollback; r != nil { // both commands finish it, even if the session is complete
		return []string{here.Command(advice.RollbackCommand(s.PRD, r.To, r.Scope)), resume}
	}
	switch s.Status {
	case state.StatusInitialized, state.StatusInProgress, state.StatusPaused:
		return append(s.answers(here, now), resume)
	case state.StatusFailed:
		if e := s.Error; e != nil && e.Log != "" && e.Workstream != "" {
			return []string{here.Command("logs " + s.PRD + " " + text.ShellWord(cmp.Or(e.Gate, e.Workstream))), resume}
		}
		return []string{resume}
	case state.StatusComplete:
		return []string{}
	}
	return []string{}
}

// answers returns the commands that answer waiting gates and resolve uncertain
// workstreams.
func (s SessionStatus) answers(here advice.CommandLine, now time.Time) []string {
	answers := []string{}
	for _, q := range s.Waiting {
		if q.ExpiresAt == nil || q.ExpiresAt.After(now) {
			answers = append(answers, here.Command("approve "+s.PRD+" "+text.ShellWord(q.Gate)))
		}
	}
	for _, name := range s.Uncertain {
		resolve := here.Command("resolve " + s.PRD + " " + text.ShellWord(name))
		answers = append(answers, resolve+" --done"+s.variableFlags, resolve+" --rerun")
	}
	return answers
}

// PendingHooks describes the hooks that have not ended, "" if all have.
func PendingHooks(hooks *state.Hooks) string {
	if hooks == nil {
		return ""
	}
	return view.Plural(hooks.Hooks-hooks.Ended, "hook") + " for " + hooks.Event
}

// ArchiveName returns the name of an archive, safe to show.
func ArchiveName(p *disk.PendingImport) string {
	switch p.Archive {
	case "":
		return "an archive"
	case advice.StandardStream:
		return "standard input"
	}
	return view.OneLine(string(p.Archive))
}

// WrittenFailure returns the error in a document written by hand, nil if it has none.
func WrittenFailure(d *state.Document) *state.Failure {
	e := d.Error
	if e == nil {
		return nil
	}
	return &state.Failure{Workstream: e.Workstream, Message: state.Text(e.Message), File: state.Text(e.File), Line: e.Line}
}

// InterruptedRollback describes a rollback that was cut short.
func InterruptedRollback(r *state.RollbackStarted) string {
	return fmt.Sprintf("to %s was cut short: the workspace may be partly restored; the next command that changes the session finishes it", r.To)
}

// InterruptedImport describes an import that was cut short.
func InterruptedImport(here advice.CommandLine, p *disk.PendingImport) string {
	return fmt.Sprintf("from %s was cut short: files may be missing; %s or the next command that changes the session finishes it", ArchiveName(p), here.Localize(advice.ImportAgain(p)))
}

// Status shows the status of a session.
func Status(w io.Writer, here advice.CommandLine, now time.Time, s SessionStatus) error {
	var b strings.Builder
	fmt.Fprintln(&b, view.OneLine(view.Named(s.PRD, s.Title)))
	for _, row := range s.factRows(here, now) {
		fmt.Fprintf(&b, "  %-16s %s\n", row[0]+":", view.OneLine(row[1]))
	}
	if len(s.Phases) > 0 {
		b.WriteByte('\n')
		if err := writeWorkstreams(&b, s); err != nil {
			return err
		}
	}
	if len(s.Waiting) > 0 {
		b.WriteString("\nWaiting for a person:\n")
		for _, q := range s.Waiting {
			fmt.Fprintf(&b, "  %s\n", view.OneLine(q.describe(now)))
		}
	}
	if len(s.Next) > 0 {
		b.WriteString("\nNext:\n")
		for _, n := range s.Next {
			fmt.Fprintf(&b, "  %s\n", n)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// factRows returns the lines above the table, as names and values.
func (s SessionStatus) factRows(here advice.CommandLine, now time.Time) [][2]string {
	var rows [][2]string
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, [2]string{name, value})
		}
	}
	add("Status", s.statusText())
	if s.Session != "" {
		add("Session", fmt.Sprintf("%s, begun %s (%s)", s.Session, s.CreatedAt.UTC().Format(time.DateTime), view.Ago(now, s.CreatedAt)))
		if from := s.BeganFrom; from != nil {
			add("Begun from", fmt.Sprintf("session %s, complete since %s", from.Session, from.At.UTC().Format(time.DateTime)))
		}
		add("Phase", s.currentPhase())
	}
	if s.Owner != nil {
		add("Runner", fmt.Sprintf("pid %d on %s, since %s", s.Owner.PID, s.Owner.Host, s.Owner.Since.UTC().Format(time.DateTime)))
	}
	if s.Killed {
		add("Runner", "was running; how it ended is not on record")
	}
	if len(s.Alive) > 0 {
		alive := make([]string, len(s.Alive))
		for i, p := range s.Alive {
			alive[i] = p.String()
		}
		add("Still running", strings.Join(alive, ", ")+": the next command that changes the session ends it first")
	}
	running := make([]string, len(s.Running))
	for i, r := range s.Running {
		running[i] = r.Name
		if r.Since != nil && s.Owner != nil {
			running[i] += " for " + view.Duration(now.Sub(*r.Since))
		}
	}
	add("Running", strings.Join(running, ", "))
	retrying := make([]string, len(s.Retrying))
	for i, r := range s.Retrying {
		retrying[i] = r.describe(now)
	}
	add("To be retried", strings.Join(retrying, "; "))
	for _, failure := range s.failures() {
		add("Error", failure)
	}
	if s.Pause != nil {
		add("Paused", view.Waits(*s.Pause))
	}
	if s.Interrupted != "" {
		add("Interrupted", "by "+s.Interrupted)
	}
	add("Last gate", s.LastGate)
	if c := s.LastCheckpoint; c != nil {
		add("Last checkpoint", fmt.Sprintf("%s (%s, %s)", c.ID, c.Trigger, view.Ago(now, c.CreatedAt)))
	}
	if p := s.Import; p != nil {
		add("Import", InterruptedImport(here, p))
	}
	if r := s.Rollback; r != nil {
		add("Rollback", InterruptedRollback(r))
	}
	for _, t := range s.TakenBack {
		stale := fmt.Sprintf("the rollback of %s on %s took back %s of this session: %s",
			t.PRD, t.At.UTC().Format(time.DateTime), view.Plural(len(t.Files), "artifact"), someFiles(t.Files))
		if t.Safety != "" {
			stale += "; `" + here.Command("checkpoint rollback "+t.PRD+" "+t.Safety) + "` puts them back"
		}
		add("Stale", stale)
	}
	if f := s.Finishes; f != nil {
		add("Refused", string(f.Refused))
		add("Edited since", editedSummary(f.Edited))
	}
	if h := s.Hooks; h != nil {
		add("Hooks", PendingHooks(h)+" did not end; the next build runs them again")
	}
	if s.TornBytes > 0 {
		add("Journal", fmt.Sprintf("its last %d bytes are an unfinished write; the next build moves them to a file of their own", s.TornBytes))
	}
	add("Rescue copy", string(s.RescuePath))
	return rows
}

// phaseReached returns the number of the phase that the session entered last, and the
// number of phases. A complete session has reached the last phase, even if it entered none
// because it reused the results of all. The number of phases is unknown for a document
// written by hand.
func (s SessionStatus) phaseReached() string {
	switch {
	case s.HandWritten:
		return strconv.Itoa(s.CurrentPhase)
	case s.Status == state.StatusComplete:
		return fmt.Sprintf("%d of %d", s.TotalPhases, s.TotalPhases)
	}
	return fmt.Sprintf("%d of %d", s.CurrentPhase, s.TotalPhases)
}

func (s SessionStatus) currentPhase() string {
	if s.Status == state.StatusComplete {
		return s.phaseReached() + " done"
	}
	if s.CurrentPhase == 0 || s.CurrentPhase > len(s.Phases) {
		return fmt.Sprintf("none of %d begun", s.TotalPhases)
	}
	p := s.Phases[s.CurrentPhase-1]
	return fmt.Sprintf("%s, %s", s.phaseReached(), view.Named(p.Name, p.Title))
}

// statusOf returns the status of a workstream. If the record was reused, or the result was
// taken from the cache, it names the earlier session.
func statusOf(w *state.Workstream) string {
	if w.Cached != nil && w.Status == state.Completed {
		return fmt.Sprintf("%s, result of session %s of %s", w.Status, state.ShortSession(w.Cached.Session), w.Cached.At.UTC().Format(time.DateOnly))
	}
	if w.Session == "" || w.Status != state.Completed || w.EndedAt == nil {
		return string(w.Status)
	}
	return fmt.Sprintf("%s, reused from session %s of %s", w.Status, state.ShortSession(w.Session), w.EndedAt.UTC().Format(time.DateOnly))
}

func writeWorkstreams(w io.Writer, s SessionStatus) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "PHASE\tWORKSTREAM\tSTATUS\tATTEMPTS\tTIME\tGATES")
	for _, p := range s.Phases {
		for _, ws := range p.Workstreams {
			took := ""
			if ws.DurationMS > 0 {
				took = view.Duration(time.Duration(ws.DurationMS) * time.Millisecond)
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\n", p.Name, view.OneLine(view.Named(ws.Name, ws.Title)), statusOf(ws), ws.Attempts, took, gateStatuses(ws.Gates))
		}
		if len(p.Gates) > 0 {
			fmt.Fprintf(tw, "%s\t\t\t\t\t%s\n", p.Name, gateStatuses(p.Gates))
		}
	}
	return tw.Flush()
}

func gateStatuses(list []*state.Gate) string {
	words := make([]string, len(list))
	for i, g := range list {
		name, _, _ := strings.Cut(g.Label, " (")
		words[i] = name + " " + string(g.Status)
	}
	return strings.Join(words, ", ")
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

// StatusTable shows a table of all sessions.
func StatusTable(w io.Writer, now time.Time, list []SessionStatus) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "PRD\tSTATUS\tPHASE\tDONE\tUPDATED\tTITLE")
	for _, s := range list {
		if s.Damaged != "" {
			fmt.Fprintf(tw, "%s\tdamaged\t\t\t\t%s\n", s.PRD, joined(s.Next))
			continue
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d of %d\t%s\t%s\n", s.PRD, s.statusText(), s.phaseReached(),
			s.Counts.Done, s.Counts.Total, view.Ago(now, s.UpdatedAt), view.OneLine(s.Title))
	}
	return tw.Flush()
}
