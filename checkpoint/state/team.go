package state

import (
	"fmt"
	"strings"
	"time"

	"prdrunner/checkpoint/ledger"
)

// AgentShape is an agent of a pipeline, as far as the state must know it.
type AgentShape struct {
	Name string `json:"name"`
	Role string `json:"role,omitempty"`
}

// Team is the state of the agents of a pipeline. It is derived from the records of their
// workstreams.
type Team struct {
	ID      string   `json:"team_id"`
	Members []Member `json:"members"` // in the order of the pipeline
}

// Member is the state of an agent.
type Member struct {
	Agent          string       `json:"agent"`
	Role           string       `json:"role,omitempty"`
	Status         MemberStatus `json:"status"`
	TasksCompleted int          `json:"tasks_completed"`
	TasksPending   int          `json:"tasks_pending"` // neither completed nor skipped
	Spent          ledger.Spent `json:"spent,omitzero"`
}

// MemberStatus is what an agent does.
type MemberStatus string

// The statuses of agents.
const (
	MemberActive MemberStatus = "active" // one of its workstreams runs
	MemberIdle   MemberStatus = "idle"   // none runs, and some are left
	MemberDone   MemberStatus = "done"   // none is left
)

// AgentOutput describes the result of a workstream that an agent completed.
type AgentOutput struct {
	CompletedAt time.Time `json:"completed_at"`
	Summary     Text      `json:"output_summary,omitempty"`
	Location    Text      `json:"output_location,omitempty"`
}

// AgentOutputs are the results of agents, by agent and workstream.
type AgentOutputs map[string]map[string]AgentOutput

// NewTeam derives the team of a session, nil if the pipeline has no agents.
func NewTeam(s *State) *Team {
	if len(s.Agents) == 0 {
		return nil
	}
	team := &Team{ID: derivedID("TEAM", s), Members: make([]Member, len(s.Agents))}
	members := make(map[string]*Member, len(s.Agents))
	for i, a := range s.Agents {
		team.Members[i] = Member{Agent: a.Name, Role: a.Role, Status: MemberDone, Spent: s.AgentsSpent[a.Name]}
		members[a.Name] = &team.Members[i]
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if m := members[w.Agent]; m != nil {
				m.count(w)
			}
		}
	}
	return team
}

// count adds a workstream to the state of its agent.
func (m *Member) count(w *Workstream) {
	switch {
	case w.Status == Completed:
		m.TasksCompleted++
	case w.Status == Skipped:
	case w.Status == Running && !w.Retries():
		m.TasksPending++
		m.Status = MemberActive
	default:
		m.TasksPending++
		if m.Status == MemberDone {
			m.Status = MemberIdle
		}
	}
}

// NewAgentOutputs derives the results of the agents, nil if there are none.
func NewAgentOutputs(s *State) AgentOutputs {
	var outputs AgentOutputs
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if w.Agent == "" || w.Status != Completed || w.EndedAt == nil {
				continue
			}
			if outputs == nil {
				outputs = AgentOutputs{}
			}
			if outputs[w.Agent] == nil {
				outputs[w.Agent] = map[string]AgentOutput{}
			}
			outputs[w.Agent][w.Name] = AgentOutput{CompletedAt: *w.EndedAt, Summary: w.Summary, Location: w.Location}
		}
	}
	return outputs
}

// ExecutionGraph is how far the dependency graph of the current phase is.
type ExecutionGraph struct {
	ID               string               `json:"graph_id"`
	CompletedBatches []int                `json:"completed_batches"`
	CurrentBatch     int                  `json:"current_batch"`         // the lowest that is not complete; 0: none is left, or no phase was entered
	NodeStates       map[string]NodeState `json:"node_states,omitempty"` // by workstream
}

// NodeState is the state of a workstream in the graph.
type NodeState struct {
	Status      StepStatus `json:"status"`
	Result      Text       `json:"result,omitempty"` // the summary that it gave, or why it failed
	StartedAt   *time.Time `json:"started_at,omitempty"`
	CompletedAt *time.Time `json:"completed_at,omitempty"`
}

// NewNodeState describes a workstream as a node.
func NewNodeState(w *Workstream) NodeState {
	n := NodeState{Status: w.Status, StartedAt: w.StartedAt}
	switch {
	case w.Status == Completed:
		n.Result, n.CompletedAt = w.Summary, w.EndedAt
	case w.Status == Succeeded:
		n.Result = w.Summary
	case w.Error != nil && (w.Status == Failed || w.Status == Uncertain || w.Retries()):
		first, _, _ := strings.Cut(strings.TrimSpace(string(w.Error.Message)), "\n")
		n.Result = Text(strings.TrimSpace(first))
	}
	return n
}

// NewExecutionGraph derives the execution graph.
func NewExecutionGraph(s *State) ExecutionGraph {
	g := ExecutionGraph{ID: derivedID("GRAPH", s), CompletedBatches: []int{}}
	if s.PhaseName() == "" {
		return g
	}
	highest := 0
	open := map[int]bool{}
	workstreams := s.Phases[s.CurrentPhase-1].Workstreams
	g.NodeStates = make(map[string]NodeState, len(workstreams))
	for _, w := range workstreams {
		g.NodeStates[w.Name] = NewNodeState(w)
		highest = max(highest, w.Batch)
		open[w.Batch] = open[w.Batch] || !w.Finished()
	}
	for batch := 1; batch <= highest; batch++ {
		switch {
		case !open[batch]:
			g.CompletedBatches = append(g.CompletedBatches, batch)
		case g.CurrentBatch == 0:
			g.CurrentBatch = batch
		}
	}
	return g
}

// derivedID returns an id for a part of a session: the same for all of its checkpoints.
func derivedID(prefix string, s *State) string {
	return fmt.Sprintf("%s-%s-%.4s", prefix, s.CreatedAt.UTC().Format("20060102"), s.Session)
}
