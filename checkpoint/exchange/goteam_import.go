package exchange

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// importGoTeam reads the manifest of a directory, and the checkpoints up to the current
// one. The steps must have the names of workstreams.
func importGoTeam(dir string, to Target) (*Taken, error) {
	if filepath.Base(dir) == goTeamManifest {
		dir = filepath.Dir(dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%w; name the directory that holds %s (unpack an archive first)", err, goTeamManifest)
	}
	defer func() { _ = root.Close() }()
	d := newDraft(GoTeam, to)
	f, err := readFile(root, goTeamManifest, filepath.Join(dir, goTeamManifest), parseJSON)
	if err != nil {
		return nil, err
	}
	manifest := d.read(f)
	steps := d.goTeamManifest(manifest)
	var outputs map[string]string
	for _, id := range steps {
		path := filepath.Join(dir, id+disk.JSONExt)
		data, err := readIn(root, id+disk.JSONExt, path)
		if err != nil {
			return nil, err
		}
		f, err := parseJSON(path, data)
		if err != nil {
			return nil, err
		}
		c := d.read(f)
		outputs = d.takeGoTeamStep(c, outputs)
		if sum := c.field("checksum").asText(); sum != "" && !checksumHolds(data, sum) {
			d.warn("%s: the checksum is not that of the compact JSON before it, so it proves nothing", path)
		}
	}
	return d.finish()
}

// goTeamManifest returns the ids of the valid checkpoints up to the current one, in the
// order of their steps.
func (d *draft) goTeamManifest(m *value) []string {
	i := &d.imported
	i.Session, i.Checkpoint = m.field("session_id").asText(), m.field("current_checkpoint").asText()
	m.field("created_at").ignore()
	if topic := m.field("topic").asText(); topic != "" && topic != d.to.Title {
		d.noPlace("topic (the pipeline's title is %q)", d.to.Title)
	}
	if rollbacks := m.field("rollback_history"); len(rollbacks.asItems()) > 0 {
		rollbacks.ignore()
		d.noPlace("rollback_history (the new session has no checkpoints yet)")
	}
	type step struct {
		id     string
		number int
	}
	var steps []step
	current, invalid := -1, 0
	for _, entry := range m.field("checkpoints").needItems() {
		s := step{entry.field("id").needText(), entry.field("step").asInt()}
		entry.field("timestamp").ignore()
		entry.field("invalidated_by").ignore()
		if !entry.field("valid").asBool(true) {
			invalid++
			continue
		}
		if s.id == i.Checkpoint {
			current = s.number
		}
		if s.id != "" {
			steps = append(steps, s)
		}
	}
	if invalid > 0 {
		d.noPlace("%d checkpoints that are not valid", invalid)
	}
	if i.Checkpoint != "" && current < 0 {
		m.field("current_checkpoint").mistake("is %q, which is none of the valid checkpoints", i.Checkpoint)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.number - b.number })
	var ids []string
	for _, s := range steps {
		if s.number <= current {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// takeGoTeamStep takes over a step. Outputs that the step before did not have are its own.
// It returns the outputs.
func (d *draft) takeGoTeamStep(c *value, before map[string]string) (outputs map[string]string) {
	i := &d.imported
	name, ok := d.workstream(c.field("step_name"), c.field("step_name").needText())
	at := c.field("created_at").asTime()
	for _, field := range []string{"id", "session_id", "step_number"} {
		c.field(field).ignore()
	}
	st := c.field("state")
	st.field("checkpoint").ignore()
	st.field("current_step").ignore()
	i.CreatedAt, i.IterationCount = at, st.field("iteration_count").asInt()
	if d.isPhase(st.field("phase").asText()) {
		d.phase = d.phaseNamed(st.field("phase"))
	} else if phase := st.field("phase").asText(); phase != "" {
		d.noPlace("state.phase (%s has no phase %s)", d.to.PRD, phase)
	}
	i.Metrics = takeMetrics(st.field("metrics"))
	git := c.field("git")
	if branch, commit := git.field("branch").asText(), git.field("commit_hash").asText(); branch+commit != "" {
		i.Git = &state.ImportedGit{Branch: branch, Commit: commit}
	}
	git.field("enabled").ignore()
	if made := slices.Concat(c.field("files", "created").asTexts(), c.field("files", "modified").asTexts()); ok {
		d.done[name], d.made[name] = true, made
	}
	outputs = d.goTeamOutputs(c.field("outputs"))
	if !ok {
		return outputs
	}
	own := map[string]string{}
	for output, text := range outputs {
		if before[output] != text {
			own[output] = text
		}
	}
	d.result(name, func(r *state.ImportedResult) { r.CompletedAt, r.Outputs = at, own })
	return outputs
}

func (d *draft) isPhase(name string) bool {
	return slices.ContainsFunc(d.to.Shape.Phases, func(p state.PhaseShape) bool { return p.Name == name })
}

// goTeamOutputs returns the outputs that are texts. The lists of files follow from the
// files of the steps.
func (d *draft) goTeamOutputs(v *value) map[string]string {
	outputs := map[string]string{}
	for _, name := range v.asFields() {
		switch field := v.field(name); {
		case name == codeFiles || name == testFiles:
			d.checkMade(field)
		case !field.isEmpty():
			outputs[name] = field.compact()
		}
	}
	return outputs
}

// checkMade lists files that no step has created or modified.
func (d *draft) checkMade(files *value) {
	for _, path := range files.asTexts() {
		made := false
		for _, paths := range d.made {
			made = made || slices.Contains(paths, path)
		}
		if !made {
			d.noPlace("%s: %s (no step created or modified it)", files.path, path)
		}
	}
}

// takeMetrics returns the numbers, texts and truth values of an object.
func takeMetrics(v *value) map[string]any {
	var metrics map[string]any
	for _, name := range v.asFields() {
		field := v.field(name)
		var metric any
		switch field.kind {
		case number:
			metric = json.Number(field.text)
		case boolean:
			metric = field.text == "true"
		case text:
			metric = field.text
		default:
			continue // it is listed as unknown
		}
		field.known = true
		if metrics == nil {
			metrics = map[string]any{}
		}
		metrics[name] = metric
	}
	return metrics
}
