package disk

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
)

// CheckpointFile is the content of a checkpoint's file: everything that is needed to
// continue from it without the journal.
type CheckpointFile struct {
	FormatVersion string        `json:"format_version"`
	ID            string        `json:"id"`
	PRD           string        `json:"prd"`
	Session       string        `json:"session"`
	Seq           uint64        `json:"seq"`
	Step          int           `json:"step"`
	StepName      string        `json:"step_name,omitempty"`
	Trigger       state.Trigger `json:"trigger"`
	Phase         string        `json:"phase,omitempty"`
	Reason        state.Text    `json:"reason,omitempty"`
	CreatedAt     time.Time     `json:"created_at"`
	SessionStart  time.Time     `json:"session_started_at"`
	ActiveMS      int64         `json:"active_ms"`
	Files         state.Files   `json:"files"`
	Git           *state.Git    `json:"git,omitempty"`
	// Modified are the files of the git work tree that differ from HEAD; nil: git was not
	// asked. Omitted says how many more there were. Both are derived from State.
	Modified []state.ModifiedFile `json:"files_modified,omitzero"`
	Omitted  int                  `json:"files_modified_omitted,omitempty"`
	Pipeline state.FileRef        `json:"pipeline"`
	Document *state.FileRef       `json:"document,omitempty"`
	Recovery Recovery             `json:"recovery_info"`

	// Derived from State; Team and AgentOutputs only if the pipeline has agents, and those
	// about the issue if it has one.
	IssueNumber    int                  `json:"issue_number,omitempty"`
	Issue          *state.IssueSnapshot `json:"issue_snapshot,omitempty"`
	StateLabel     string               `json:"current_state_label,omitempty"` // of the issue, for the phase it is in
	PhaseStartedAt *time.Time           `json:"phase_started_at,omitempty"`
	PhaseAttempt   int                  `json:"phase_attempt,omitempty"`
	Iteration      int                  `json:"iteration_count,omitempty"` // of a phase that repeats
	Graph          state.ExecutionGraph `json:"execution_graph"`
	Team           *state.Team          `json:"team_state,omitempty"`
	AgentOutputs   state.AgentOutputs   `json:"agent_outputs,omitempty"`

	State    *state.State `json:"state,omitempty"`
	Checksum string       `json:"checksum,omitempty"`
}

// Recovery says what resuming from a checkpoint would do.
type Recovery struct {
	CanResume  bool   `json:"can_resume"`            // neither complete nor abandoned
	ResumeFrom string `json:"resume_from,omitempty"` // the first workstream or gate that is not done
	// PrerequisitesMet says that nothing waits for a person and that the files were
	// captured: all of Checked is met. Otherwise Warnings say what is missing.
	PrerequisitesMet bool           `json:"prerequisites_met"`
	Checked          []Prerequisite `json:"checked,omitempty"` // always the same checks, in the same order
	Warnings         []string       `json:"warnings"`
}

// Prerequisite is something that must hold before a resume.
type Prerequisite struct {
	Check  string `json:"check"`
	Met    bool   `json:"met"`
	Detail string `json:"detail,omitempty"` // what is missing, or the workstreams or gates that wait; also of a check that is met
}

// The prerequisites, by their place in Recovery.Checked.
const (
	filesCaptured = iota
	nothingUncertain
	noGateWaits
	noReviewDue
)

func newPrerequisites() []Prerequisite {
	return []Prerequisite{
		filesCaptured:    {Check: "files captured", Met: true},
		nothingUncertain: {Check: "nothing uncertain", Met: true},
		noGateWaits:      {Check: "no gate waits for a person", Met: true},
		noReviewDue:      {Check: "no review of a gate is due", Met: true},
	}
}

// NewCheckpointFile describes a checkpoint; s is the state at its commit.
func NewCheckpointFile(s *state.State, ref *state.CheckpointRef) CheckpointFile {
	f := CheckpointFile{
		FormatVersion: state.FormatVersion,
		ID:            ref.ID,
		PRD:           s.PRD,
		Session:       s.Session,
		Seq:           ref.Seq,
		Step:          ref.Step,
		StepName:      ref.StepName,
		Trigger:       ref.Trigger,
		Phase:         ref.Phase,
		Reason:        ref.Reason,
		CreatedAt:     ref.CreatedAt,
		SessionStart:  s.CreatedAt,
		ActiveMS:      s.ActiveMS,
		Files:         s.StepFiles(),
		Git:           ref.Git,
		Pipeline:      s.Pipeline,
		Document:      s.Document,
		Recovery:      NewRecovery(s, ref),
		State:         s,
	}
	f.derive()
	return f
}

// derive sets the fields that follow from the state.
func (f *CheckpointFile) derive() {
	if p := f.State.Phase(f.State.PhaseName()); p != nil {
		f.PhaseStartedAt, f.PhaseAttempt = p.StartedAt, p.Attempt
		if p.Iteration != nil {
			f.Iteration = p.Iteration.Index
		}
	}
	if i := f.State.Issue; i != nil {
		f.IssueNumber, f.StateLabel, f.Issue = i.Number, i.StateLabel, state.NewIssueSnapshot(i, f.Git)
	}
	if t := f.State.CurrentWorkTree(); t != nil {
		f.Modified, f.Omitted = t.Modified, t.Omitted
	}
	f.Graph, f.Team, f.AgentOutputs = state.NewExecutionGraph(f.State), state.NewTeam(f.State), state.NewAgentOutputs(f.State)
}

// EncodeCheckpoint returns the bytes of a checkpoint's file in consecutive parts. The part
// with the state is the given one, not a copy: it may be large, and checkpoints of one
// commit share it.
func EncodeCheckpoint(f CheckpointFile, current []byte) (parts [][]byte, err error) {
	f.State, f.Checksum = nil, ""
	head, err := state.EncodeJSON(f)
	if err != nil {
		return nil, fmt.Errorf("encode checkpoint %s: %w", f.ID, err)
	}
	head = bytes.TrimSuffix(head, []byte("}"))
	return [][]byte{head, current, state.SealOf(head, current)}, nil
}

// EncodeState returns a state as the part that EncodeCheckpoint takes.
func EncodeState(s *state.State) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(state.TypicalSize(s))
	buf.WriteString(`,"state":`)
	if err := state.Encode(&buf, s); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// DecodeCheckpoint decodes the content of a checkpoint's file. A newer format version is a
// *VersionError.
func DecodeCheckpoint(path string, data []byte) (*CheckpointFile, error) {
	if err := CheckSealed(path, data); err != nil {
		return nil, fmt.Errorf("decode the checkpoint: %w", err)
	}
	var f CheckpointFile
	if err := state.DecodeJSON(data, &f); err != nil {
		return nil, fmt.Errorf("decode the checkpoint: %w", err)
	}
	if f.State == nil {
		return nil, errors.New("decode the checkpoint: it holds no state")
	}
	if err := f.State.CheckStructure(); err != nil {
		return nil, fmt.Errorf("decode the checkpoint: %w", err)
	}
	if f.FormatVersion != state.FormatVersion { // earlier versions recorded less
		f.Recovery = NewRecovery(f.State, &state.CheckpointRef{})
		f.derive()
	}
	return &f, nil
}

// NewRecovery derives what a resume from the checkpoint would find.
func NewRecovery(s *state.State, ref *state.CheckpointRef) Recovery {
	r := Recovery{CanResume: s.CanResume(), PrerequisitesMet: true, Checked: newPrerequisites(), Warnings: []string{}}
	r.warnOfFiles(s.Capture, ref.Uncaptured)
	if len(s.Sensitive) > 0 {
		r.addWarning("sensitive values are on no record, and must be given again: %s", strings.Join(s.Sensitive, ", "))
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if r.ResumeFrom == "" && !w.Finished() {
				r.ResumeFrom = w.Name
			}
			r.warnOfWorkstream(w)
			r.warnOfGates(w.Gates)
		}
		for _, g := range p.Gates {
			if r.ResumeFrom == "" && g.Status != state.Passed && g.Status != state.Skipped {
				r.ResumeFrom = g.Label
			}
		}
		r.warnOfGates(p.Gates)
	}
	return r
}

func (r *Recovery) addWarning(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// missing adds a warning about something that must be there or be done first. which is the
// prerequisite that is not met, and detail is added to what is missing for it.
func (r *Recovery) missing(which int, detail, format string, args ...any) {
	r.PrerequisitesMet, r.Checked[which].Met = false, false
	r.addDetail(which, detail)
	r.addWarning(format, args...)
}

func (r *Recovery) addDetail(which int, detail string) {
	p := &r.Checked[which]
	if p.Detail != "" {
		detail = p.Detail + ", " + detail
	}
	p.Detail = detail
}

func (r *Recovery) warnOfFiles(c *state.Capture, uncaptured bool) {
	switch {
	case c == nil:
		r.missing(filesCaptured, "only recorded artifacts come back", "the workspace was not captured: only recorded artifacts come back")
		return
	case uncaptured:
		at := c.At.UTC().Format(time.RFC3339)
		r.missing(filesCaptured, "the files of "+at+" come back", "the workspace could not be captured: the files of %s come back", at)
	}
	lacking := 0
	for _, n := range []struct {
		files int
		why   string
	}{
		{c.LeftOut, "look sensitive, or hold a sensitive value"},
		{c.Unstable, "kept changing while they were captured"},
		{c.Special, "could not be captured"},
	} {
		if n.files > 0 {
			lacking += n.files
			r.addWarning("not restored, since they %s: %d", n.why, n.files)
		}
	}
	if lacking > 0 {
		r.addDetail(filesCaptured, fmt.Sprintf("all but %d", lacking))
	}
}

func (r *Recovery) warnOfWorkstream(w *state.Workstream) {
	switch {
	case w.Status == state.Running:
		r.addWarning("%s was running", w.Name)
	case w.FailureAllowed():
		r.addWarning("%s failed, which is allowed", w.Name)
	case w.Status == state.Failed:
		r.addWarning("%s failed", w.Name)
	case w.Status == state.Uncertain && w.Error != nil && w.Error.Outcome == state.OutcomeHappened:
		r.missing(nothingUncertain, w.Name, "%s: %s; a person decides whether that counts", w.Name, w.Error.Message)
	case w.Status == state.Uncertain:
		r.missing(nothingUncertain, w.Name, "nobody knows whether %s happened: a person decides", w.Name)
	case w.Imported:
		r.addWarning("%s was taken over from a document", w.Name)
	}
	if len(w.Edited) > 0 {
		r.addWarning("artifacts of %s were edited by hand", w.Name)
	}
}

func (r *Recovery) warnOfGates(gates []*state.Gate) {
	for _, g := range gates {
		switch {
		case g.Status == state.Waiting:
			r.missing(noGateWaits, g.Label, "%s waits for a person", g.Label)
		case g.Status == state.Rejected:
			r.addWarning("%s was rejected", g.Label)
		case g.Status == state.Failed:
			r.addWarning("%s failed", g.Label)
		case g.Review:
			r.missing(noReviewDue, g.Label, "%s waits for a review", g.Label)
		}
	}
}

// Verify decodes the checkpoint and compares it with what the journal recorded.
func (c *StoredCheckpoint) Verify(prd, session string, ref *state.CheckpointRef) (*CheckpointFile, error) {
	f, err := c.Decode()
	var newer *state.VersionError
	if errors.As(err, &newer) {
		return nil, newer
	}
	if err == nil && (f.ID != ref.ID || f.Seq != ref.Seq || f.Session != session || f.State.Seq != ref.Seq) {
		err = errors.New("it is another checkpoint than the journal says")
	}
	if err != nil {
		return nil, &state.DamagedError{Path: c.Path, Detail: err.Error(), Remedy: RebuildRemedy(prd, ref.ID), Checkpoint: ref.ID}
	}
	return f, nil
}

// RebuildRemedy says how a user rebuilds a checkpoint's file.
func RebuildRemedy(prd, id string) string {
	return fmt.Sprintf("`runner checkpoint rebuild %s %s` may mend it", prd, id)
}
