package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
)

const (
	orchestrateStamp = "20060102_150405" // the time in an id
	orchestrateType  = "orchestrate"     // of a pipeline without a type
)

// The fields of workflow_state that the format describes. It may have others.
const (
	projectName      = "project_name"
	artifactRegistry = "artifact_registry"
	researchResults  = "research_results"
	planPath         = "plan_path"
	// skippedWorkstreams names the workstreams that were skipped in completed phases. Only
	// Runner writes it.
	skippedWorkstreams = "skipped_workstreams"
)

// orchestrateCheckpoint is a checkpoint of the format orchestrate.
type orchestrateCheckpoint struct {
	CheckpointID    string            `json:"checkpoint_id"`
	WorkflowType    string            `json:"workflow_type"`
	Description     string            `json:"workflow_description"`
	CreatedAt       time.Time         `json:"created_at"`
	UpdatedAt       time.Time         `json:"updated_at"`
	Status          state.Status      `json:"status"`
	CurrentPhase    int               `json:"current_phase"`
	TotalPhases     int               `json:"total_phases"`
	CompletedPhases []int             `json:"completed_phases"`
	Workflow        map[string]any    `json:"workflow_state"`
	LastError       *orchestrateError `json:"last_error"`
}

// orchestrateError is the last error.
type orchestrateError struct {
	Workstream string `json:"workstream"`
	Message    string `json:"message"`
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
}

// exportOrchestrate writes the session as one file.
func exportOrchestrate(s Source, write func(File) error) error {
	st := s.State
	project := snakeCase(st.Title)
	c := orchestrateCheckpoint{
		WorkflowType: orchestrateType, Description: st.Title, CreatedAt: st.CreatedAt, UpdatedAt: st.UpdatedAt, Status: st.Status,
		CurrentPhase: st.CurrentPhase, TotalPhases: len(st.Phases), CompletedPhases: []int{}, Workflow: map[string]any{},
	}
	if st.Type != "" {
		c.WorkflowType = st.Type
	}
	c.CheckpointID = fmt.Sprintf("%s_%s_%s", c.WorkflowType, project, st.CreatedAt.UTC().Format(orchestrateStamp))
	for key, v := range st.Ledgers.Values {
		c.Workflow[key] = workflowValue(plain(v.Value))
	}
	c.addPhases(st)
	c.Workflow[projectName] = project
	if st.Document != nil {
		c.Workflow[planPath] = plain(st.Document.Path)
	}
	if d := document.New(st); d.Error != nil {
		c.LastError = &orchestrateError{d.Error.Workstream, d.Error.Message, d.Error.File, d.Error.Line}
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return write(File{Name: disk.EncodeName(c.CheckpointID) + disk.JSONExt, Data: append(data, '\n')})
}

// addPhases adds the completed phases, the artifacts of completed workstreams, and the
// workstreams that were skipped in completed phases.
func (c *orchestrateCheckpoint) addPhases(st *state.State) {
	artifacts := map[string][]string{}
	var skipped []string
	for i, p := range st.Phases {
		if p.Status == state.Completed || p.Status == state.Skipped {
			c.CompletedPhases = append(c.CompletedPhases, i+1)
		}
		for _, w := range p.Workstreams {
			if w.Status == state.Skipped {
				skipped = append(skipped, w.Name)
			}
			for _, a := range w.Artifacts {
				if w.Status == state.Completed {
					artifacts[w.Name] = append(artifacts[w.Name], plain(a.Path))
				}
			}
		}
	}
	c.Workflow[artifactRegistry] = artifacts
	if len(skipped) > 0 {
		c.Workflow[skippedWorkstreams] = skipped
	}
}

// workflowFields returns the fields of workflow_state that values can't have as their
// names.
func workflowFields() []string {
	return []string{projectName, artifactRegistry, planPath, skippedWorkstreams}
}

// workflowValue returns a value as the number, truth value, list or object that it is the
// compact JSON of, or else as text.
func workflowValue(value string) any {
	var compact bytes.Buffer
	if strings.HasPrefix(value, `"`) || value == "null" || json.Compact(&compact, []byte(value)) != nil || compact.String() != value {
		return value
	}
	return json.RawMessage(value)
}

// snakeCase returns a title as the identifier of a project: auth_system.
func snakeCase(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "_")
}

// importOrchestrate reads a file. The format counts phases, so only the workstreams of
// completed phases are completed.
func importOrchestrate(path string, to Target) (*Taken, error) {
	data, err := readWhole(path)
	if err != nil {
		return nil, err
	}
	f, err := parseJSON(path, data)
	if err != nil {
		return nil, err
	}
	d := newDraft(Orchestrate, to)
	d.takeOrchestrate(d.read(f))
	return d.finish()
}

func (d *draft) takeOrchestrate(c *value) {
	d.imported.Checkpoint, d.imported.CreatedAt = c.field("checkpoint_id").needText(), c.field("updated_at").asTime()
	for _, field := range []string{"workflow_type", "created_at"} {
		c.field(field).ignore()
	}
	if description := c.field("workflow_description").asText(); description != "" && description != d.to.Title {
		d.noPlace("workflow_description (the pipeline's title is %q)", d.to.Title)
	}
	phases := len(d.to.Shape.Phases)
	if total := c.field("total_phases"); !total.isEmpty() && total.asInt() != phases {
		total.mistake("is %d, but %s has %d phases", total.asInt(), d.to.PRD, phases)
	}
	d.phase = d.phaseNumber(c.field("current_phase"), 0)
	for _, n := range c.field("completed_phases").needItems() {
		if n := d.phaseNumber(n, 1); n > 0 {
			d.completePhase(n)
		}
	}
	d.takeWorkflow(c.field("workflow_state"))
	d.takeOrchestrateError(c.field("last_error"), state.Status(c.field("status").asText()))
}

// phaseNumber returns the number of a phase, 0 if the pipeline has no such phase.
func (d *draft) phaseNumber(v *value, least int) int {
	n := v.asInt()
	if n > len(d.to.Shape.Phases) || v.kind == number && n < least {
		v.mistake("is %s, but the phases of %s are 1 to %d", v.text, d.to.PRD, len(d.to.Shape.Phases))
		return 0
	}
	return n
}

// takeOrchestrateError takes over the last error if the status says that the workflow has
// failed.
func (d *draft) takeOrchestrateError(v *value, status state.Status) {
	var e state.DocumentError
	switch v.kind {
	case text:
		e.Message = v.asText()
	case object:
		e = state.DocumentError{
			Workstream: v.field("workstream").asText(), Message: v.field("message").asText(), File: v.field("file").asText(), Line: v.field("line").asInt(),
		}
	default:
		v.expect(object)
	}
	if status != state.StatusFailed {
		if e.Message != "" {
			d.noPlace("last_error (the status is %s, not failed)", status)
		}
		return
	}
	if e.Workstream == "" {
		e.Workstream = d.to.Shape.Phases[max(d.phase, 1)-1].Name
	}
	if e.Message == "" {
		e.Message = "it failed"
	}
	d.failure = &e
}

// takeWorkflow takes over the free part of the checkpoint. What the format does not
// describe becomes a value of the session.
func (d *draft) takeWorkflow(v *value) {
	for _, name := range v.asFields() {
		field := v.field(name)
		switch {
		case name == projectName, field.kind == null, name == planPath && field.text == d.to.Document:
			field.ignore()
		case name == skippedWorkstreams && field.kind == list:
			for _, skipped := range field.asTexts() {
				delete(d.done, skipped)
			}
		case name == artifactRegistry && field.kind == object:
			d.takeRegistry(field)
		default:
			if d.imported.Values == nil {
				d.imported.Values = map[string]string{}
			}
			d.imported.Values[name] = field.compact()
		}
	}
}

// takeRegistry takes over the artifacts of completed workstreams.
func (d *draft) takeRegistry(v *value) {
	for _, name := range v.asFields() {
		files := v.field(name)
		if !d.isWorkstream(name) || !d.done[name] {
			files.ignore()
			d.noPlace("%s (%s is no workstream of a completed phase)", files.path, name)
			continue
		}
		if files.kind == text {
			d.made[name] = []string{files.asText()}
			continue
		}
		for _, file := range files.asTexts() {
			if !slices.Contains(d.made[name], file) {
				d.made[name] = append(d.made[name], file)
			}
		}
	}
}
