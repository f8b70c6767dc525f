package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
)

// importCrunch reads the latest checkpoint of a directory, or the checkpoint in a file.
func importCrunch(path string, to Target) (*Taken, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	d := newDraft(Crunch, to)
	dir, name := filepath.Dir(path), filepath.Base(path)
	if info.IsDir() {
		dir, name = path, ""
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if name == "" {
		if name, err = d.latestOfCrunch(root, dir); err != nil {
			return nil, err
		}
	}
	f, err := readFile(root, name, filepath.Join(dir, name), parseYAML)
	if err != nil {
		return nil, err
	}
	d.takeCrunch(d.read(f))
	return d.finish()
}

// latestOfCrunch returns the name of the file of the newest checkpoint, from the index or
// else from the link.
func (d *draft) latestOfCrunch(root *os.Root, dir string) (string, error) {
	f, err := readFile(root, crunchIndex, filepath.Join(dir, crunchIndex), parseYAML)
	if errors.Is(err, fs.ErrNotExist) {
		target, err := root.Readlink(crunchLatest)
		if err != nil {
			return "", fmt.Errorf("%s has neither %s nor a link %s, so which checkpoint is the newest is not known; name its file", dir, crunchIndex, crunchLatest)
		}
		return withYAML(target), nil
	}
	if err != nil {
		return "", err
	}
	index := d.read(f)
	latest := index.field("latest").needText()
	index.ignore() // the other checkpoints are earlier states
	if n := len(index.field("checkpoints").items); n > 1 {
		d.noPlace("%d earlier checkpoints (a session begins from the latest one)", n-1)
	}
	if len(f.mistakes) > 0 {
		return "", &MistakesError{Format: Crunch, Mistakes: f.mistakes}
	}
	return withYAML(latest), nil
}

func withYAML(name string) string { return strings.TrimSuffix(name, yamlExt) + yamlExt }

func (d *draft) takeCrunch(c *value) {
	if version := c.field("version").needText(); version != "" && version != crunchVersion {
		c.field("version").mistake("is %q; only version %s can be read", version, crunchVersion)
	}
	i := &d.imported
	i.Checkpoint, i.Session, i.CreatedAt = c.field("checkpoint_id").needText(), c.field("session_id").asText(), c.field("created_at").asTime()
	workflow := c.field("workflow_state")
	if d.phase = d.phaseNamed(workflow.field("current_phase")); d.phase > 0 {
		i.PhaseStartedAt, i.PhaseAttempt = workflow.field("phase_started_at").asTime(), workflow.field("phase_attempt").asInt()
	}
	d.takeCrunchWork(c)
	d.takeCrunchIssue(c)
	acp, knowledge := c.field("acp_state"), c.field("knowledge_context")
	i.Messages = state.ImportedMessages{Pending: acp.field("pending_messages").asTexts(), Awaiting: acp.field("awaiting_response").asTexts()}
	i.Conflicts = acp.field("conflicts_in_progress").asTexts()
	i.Knowledge = state.ImportedKnowledge{
		Injected: knowledge.field("injected_entries").asTexts(), Captured: knowledge.field("captured_entries").asTexts(), Pending: knowledge.field("pending_captures").asTexts(),
	}
	c.field("team_state").ignore() // follows from the workstreams
	if files := c.field("files_modified"); len(files.asItems()) > 0 {
		files.ignore()
		d.noPlace("files_modified (the work tree as it was then)")
	}
	d.takeCrunchRecovery(c.field("recovery_info"))
}

// takeCrunchWork finds the completed workstreams. What the nodes say counts most; without
// them, the phases before the current one, its completed batches, and the tasks with an
// output are complete.
func (d *draft) takeCrunchWork(c *value) {
	graph, outputs := c.field("execution_graph"), c.field("agent_outputs")
	nodes := graph.field("node_states")
	for _, name := range nodes.asFields() {
		d.takeCrunchNode(nodes.field(name), name)
	}
	batches := graph.field("completed_batches").asItems()
	byPhase := nodes.isEmpty() && d.phase > 0
	if byPhase {
		for n := 1; n < d.phase; n++ {
			d.completePhase(n)
		}
	}
	for _, batch := range batches {
		n := batch.asInt()
		if !byPhase {
			continue
		}
		for _, w := range d.to.Shape.Phases[d.phase-1].Workstreams {
			if w.Batch == n {
				d.done[w.Name] = true
			}
		}
	}
	graph.field("graph_id").ignore()
	graph.field("current_batch").ignore()
	for _, agent := range outputs.asFields() {
		for _, task := range outputs.field(agent).asFields() {
			d.takeCrunchOutput(outputs.field(agent, task), agent, task, byPhase)
		}
	}
}

func (d *draft) takeCrunchNode(node *value, name string) {
	name, ok := d.workstream(node, name)
	status := node.field("status").needText()
	completed, result := node.field("completed_at").asTime(), node.field("result")
	node.field("started_at").ignore()
	if !ok {
		return
	}
	switch status {
	case string(state.Completed), string(state.Succeeded), "complete", "done": // gates are judged again
		d.done[name] = true
		d.result(name, func(r *state.ImportedResult) { r.CompletedAt, r.Summary = completed, result.compactText() })
	case string(state.Failed):
		d.failure = &state.DocumentError{Workstream: name, Message: result.compactText()}
		if d.failure.Message == "" {
			d.failure.Message = "it failed"
		}
	default:
		result.ignore()
		if status != string(state.Pending) && status != string(state.Skipped) {
			d.warn("%s was %s: it is pending", name, status)
		}
	}
}

// takeCrunchOutput takes over the result of a task. A task that is no workstream is only
// listed, since tasks may be finer than workstreams.
func (d *draft) takeCrunchOutput(output *value, agent, task string, completes bool) {
	at, summary, location := output.field("completed_at").asTime(), output.field("output_summary").asText(), output.field("output_location").asText()
	if !d.isWorkstream(task) {
		d.noPlace("agent_outputs.%s.%s (%s has no workstream %s)", agent, task, d.to.PRD, task)
		return
	}
	if completes {
		d.done[task] = true
	}
	if !d.done[task] {
		d.noPlace("agent_outputs.%s.%s (%s is not completed)", agent, task, task)
		return
	}
	d.result(task, func(r *state.ImportedResult) {
		r.CompletedAt, r.Summary, r.Location = cmp.Or(at, r.CompletedAt), cmp.Or(summary, r.Summary), location
	})
}

func (d *draft) takeCrunchIssue(c *value) {
	number, snapshot := c.field("issue_number").asInt(), c.field("issue_snapshot")
	label := c.field("workflow_state", "current_state_label")
	if snapshot.isEmpty() {
		if number > 0 {
			d.noPlace("issue_number (without an issue_snapshot)")
		}
		snapshot.known = true
		return
	}
	issue := &state.ImportedIssue{
		Number: number, Title: snapshot.field("title").needText(), Body: snapshot.field("body").asText(),
		Labels: snapshot.field("labels").asTexts(), Assignees: snapshot.field("assignees").asTexts(),
	}
	if name := label.asText(); slices.Contains(issue.Labels, name) {
		issue.StateLabel = name
	} else if name != "" {
		d.noPlace("workflow_state.current_state_label (the issue does not have it)")
	}
	d.imported.Issue = issue
	if branch := snapshot.field("branch").asText(); branch != "" {
		d.imported.Git = &state.ImportedGit{Branch: branch}
	}
}

// takeCrunchRecovery refuses a checkpoint that its tool could not resume from, and passes
// its warnings on.
func (d *draft) takeCrunchRecovery(r *value) {
	warnings := r.field("warnings").asTexts()
	canResume, met := r.field("can_resume").asBool(true), r.field("prerequisites_met").asBool(true)
	r.field("resume_from").ignore() // follows from the workstreams
	if !canResume && len(d.done) < len(d.workstreams()) {
		r.field("can_resume").mistake("says that nothing can resume from the checkpoint: %s", strings.Join(append(warnings, "no reason is given")[:max(1, len(warnings))], "; "))
		return
	}
	if !met {
		d.warn("its prerequisites were not met")
	}
	for _, w := range warnings {
		d.warn("%s", w)
	}
}
