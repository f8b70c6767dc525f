package exchange

import (
	"bytes"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
)

const (
	crunchVersion = "1.0" // the version of the format
	crunchIndex   = "index.yaml"
	crunchLatest  = "latest" // a symbolic link to the newest checkpoint
	yamlExt       = ".yaml"
)

// agentComplete is what the format calls the trigger workstream_complete.
const agentComplete = "agent_complete"

// crunchCheckpoint is a checkpoint file of the format crunch.
type crunchCheckpoint struct {
	CheckpointID string          `yaml:"checkpoint_id"`
	Version      string          `yaml:"version"`
	CreatedAt    string          `yaml:"created_at"`
	IssueNumber  int             `yaml:"issue_number,omitempty"`
	SessionID    string          `yaml:"session_id"`
	Workflow     crunchWorkflow  `yaml:"workflow_state"`
	Issue        *crunchIssue    `yaml:"issue_snapshot,omitempty"`
	Team         *crunchTeam     `yaml:"team_state,omitempty"`
	Graph        crunchGraph     `yaml:"execution_graph"`
	Outputs      crunchOutputs   `yaml:"agent_outputs"`
	ACP          crunchACP       `yaml:"acp_state"`
	Knowledge    crunchKnowledge `yaml:"knowledge_context"`
	Files        []crunchFile    `yaml:"files_modified"`
	Recovery     crunchRecovery  `yaml:"recovery_info"`
}

type crunchWorkflow struct {
	CurrentPhase   string `yaml:"current_phase"`
	StateLabel     string `yaml:"current_state_label,omitempty"`
	PhaseStartedAt string `yaml:"phase_started_at,omitempty"`
	PhaseAttempt   int    `yaml:"phase_attempt,omitempty"`
}

type crunchIssue struct {
	Title     string   `yaml:"title"`
	Body      string   `yaml:"body"`
	Labels    []string `yaml:"labels"`
	Assignees []string `yaml:"assignees"`
	Branch    string   `yaml:"branch,omitempty"`
}

type crunchTeam struct {
	TeamID  string         `yaml:"team_id"`
	Members []crunchMember `yaml:"members"`
}

type crunchMember struct {
	Agent          string `yaml:"agent"`
	Role           string `yaml:"role"`
	Status         string `yaml:"status"`
	TasksCompleted int    `yaml:"tasks_completed"`
	TasksPending   int    `yaml:"tasks_pending"`
}

type crunchGraph struct {
	GraphID          string                `yaml:"graph_id"`
	CompletedBatches []int                 `yaml:"completed_batches"`
	CurrentBatch     int                   `yaml:"current_batch"`
	NodeStates       map[string]crunchNode `yaml:"node_states"`
}

type crunchNode struct {
	Status      string `yaml:"status"`
	Result      string `yaml:"result,omitempty"`
	StartedAt   string `yaml:"started_at,omitempty"`
	CompletedAt string `yaml:"completed_at,omitempty"`
}

// crunchOutputs are the results of agents, by agent and task.
type crunchOutputs map[string]map[string]crunchOutput

type crunchOutput struct {
	CompletedAt string `yaml:"completed_at"`
	Summary     string `yaml:"output_summary"`
	Location    string `yaml:"output_location"`
}

type crunchACP struct {
	Pending   []string `yaml:"pending_messages"`
	Awaiting  []string `yaml:"awaiting_response"`
	Conflicts []string `yaml:"conflicts_in_progress"`
}

type crunchKnowledge struct {
	Injected []string `yaml:"injected_entries"`
	Captured []string `yaml:"captured_entries"`
	Pending  []string `yaml:"pending_captures"`
}

type crunchFile struct {
	Path   string `yaml:"path"`
	Status string `yaml:"status"`
	Staged bool   `yaml:"staged"`
}

type crunchRecovery struct {
	CanResume        bool     `yaml:"can_resume"`
	ResumeFrom       string   `yaml:"resume_from"`
	PrerequisitesMet bool     `yaml:"prerequisites_met"`
	Warnings         []string `yaml:"warnings"`
}

// crunchIndexFile is the index of the checkpoints.
type crunchIndexFile struct {
	IssueNumber int                `yaml:"issue_number,omitempty"`
	Checkpoints []crunchIndexEntry `yaml:"checkpoints"`
	Latest      string             `yaml:"latest"`
	Total       int                `yaml:"total_checkpoints"`
}

type crunchIndexEntry struct {
	CheckpointID string `yaml:"checkpoint_id"`
	CreatedAt    string `yaml:"created_at"`
	Trigger      string `yaml:"trigger"`
	Phase        string `yaml:"phase"`
	CanResume    bool   `yaml:"can_resume"`
}

// exportCrunch writes a file for each valid checkpoint, the index, and the link to the
// newest checkpoint.
func exportCrunch(s Source, write func(File) error) error {
	index := crunchIndexFile{Checkpoints: []crunchIndexEntry{}}
	for _, ref := range s.State.Checkpoints {
		if !ref.Valid {
			continue
		}
		f, err := s.Load(ref)
		if err != nil {
			return err
		}
		data, err := encodeYAML(newCrunchCheckpoint(f))
		if err != nil {
			return err
		}
		if err := write(File{Name: f.ID + yamlExt, Data: data}); err != nil {
			return err
		}
		index.Checkpoints = append(index.Checkpoints, crunchIndexEntry{
			CheckpointID: f.ID, CreatedAt: crunchTime(f.CreatedAt), Trigger: crunchTrigger(f.Trigger), Phase: f.Phase, CanResume: ref.CanResume,
		})
		index.IssueNumber, index.Latest = f.IssueNumber, f.ID
	}
	if len(index.Checkpoints) == 0 {
		return fmt.Errorf("%s has no valid checkpoint", s.State.PRD)
	}
	index.Total = len(index.Checkpoints)
	if err := write(File{Name: crunchLatest, Link: index.Latest + yamlExt}); err != nil {
		return err
	}
	data, err := encodeYAML(index)
	if err != nil {
		return err
	}
	return write(File{Name: crunchIndex, Data: data})
}

// crunchTrigger returns the format's name of a trigger. Those that it does not have keep
// theirs.
func crunchTrigger(t state.Trigger) string {
	if t == state.TriggerWorkstreamComplete {
		return agentComplete
	}
	return string(t)
}

func crunchTime(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

func optionalTime(at *time.Time) string {
	if at == nil {
		return ""
	}
	return crunchTime(*at)
}

func encodeYAML(v any) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

func newCrunchCheckpoint(f *disk.CheckpointFile) crunchCheckpoint {
	l := &f.State.Ledgers
	c := crunchCheckpoint{
		CheckpointID: f.ID, Version: crunchVersion, CreatedAt: crunchTime(f.CreatedAt), IssueNumber: f.IssueNumber, SessionID: f.Session,
		Workflow: crunchWorkflow{CurrentPhase: f.Phase, StateLabel: f.StateLabel, PhaseStartedAt: optionalTime(f.PhaseStartedAt), PhaseAttempt: f.PhaseAttempt},
		Graph: crunchGraph{
			GraphID: f.Graph.ID, CompletedBatches: f.Graph.CompletedBatches, CurrentBatch: f.Graph.CurrentBatch, NodeStates: map[string]crunchNode{},
		},
		Outputs: crunchOutputs{},
		ACP:     crunchACP{Pending: l.MessagesWith(ledger.Pending), Awaiting: l.MessagesWith(ledger.Awaiting), Conflicts: l.OpenConflicts()},
		Knowledge: crunchKnowledge{
			Injected: l.KnowledgeWith(ledger.Injected), Captured: l.KnowledgeWith(ledger.Captured), Pending: l.KnowledgeWith(ledger.Pending),
		},
		Files: []crunchFile{},
		Recovery: crunchRecovery{
			CanResume: f.Recovery.CanResume, ResumeFrom: f.Recovery.ResumeFrom, PrerequisitesMet: f.Recovery.PrerequisitesMet, Warnings: f.Recovery.Warnings,
		},
	}
	if i := f.Issue; i != nil {
		c.Issue = &crunchIssue{Title: plain(i.Title), Body: plain(i.Body), Labels: i.Labels, Assignees: i.Assignees, Branch: plain(i.Branch)}
	}
	for _, m := range f.Modified {
		c.Files = append(c.Files, crunchFile{plain(m.Path), string(m.Status), m.Staged})
	}
	if f.Team != nil {
		c.Team = newCrunchTeam(f.Team)
	}
	for agent, tasks := range f.AgentOutputs {
		c.Outputs[agent] = map[string]crunchOutput{}
		for task, output := range tasks {
			c.Outputs[agent][task] = crunchOutput{crunchTime(output.CompletedAt), plain(output.Summary), plain(output.Location)}
		}
	}
	for _, p := range f.State.Phases {
		for _, w := range p.Workstreams {
			c.Graph.NodeStates[w.Name] = newCrunchNode(state.NewNodeState(w))
		}
	}
	return c
}

func newCrunchTeam(t *state.Team) *crunchTeam {
	team := &crunchTeam{TeamID: t.ID, Members: make([]crunchMember, len(t.Members))}
	for i, m := range t.Members {
		team.Members[i] = crunchMember{Agent: m.Agent, Role: m.Role, Status: string(m.Status), TasksCompleted: m.TasksCompleted, TasksPending: m.TasksPending}
	}
	return team
}

func newCrunchNode(n state.NodeState) crunchNode {
	return crunchNode{Status: string(n.Status), Result: plain(n.Result), StartedAt: optionalTime(n.StartedAt), CompletedAt: optionalTime(n.CompletedAt)}
}
