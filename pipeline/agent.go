package pipeline

import (
	"iter"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/suggest"
)

// agentBlock is an agent as the file has it: a role, and the process that its workstreams
// share.
type agentBlock struct {
	name    string
	block   *hclsyntax.Block
	process process
	role    *argument
	timeout *argument
	task    *argument
	budget  *budgetBlock
}

var agentSchema = &hcl.BodySchema{
	Attributes: append(attributes(processAttributes...), attributes("role", "timeout", "task")...),
	Blocks:     []hcl.BlockHeaderSchema{{Type: "budget"}},
}

func (d *decoder) decodeAgent(block *hclsyntax.Block) *agentBlock {
	content := d.content(block.Body, agentSchema)
	return &agentBlock{
		name:    d.identifier(block),
		block:   block,
		process: d.decodeProcess(content, block.DefRange()),
		role:    d.argument(content, "role"),
		timeout: d.argument(content, "timeout"),
		task:    d.argument(content, "task"),
		budget:  d.decodeBudget(d.single(content, "budget")),
	}
}

// Agent is a member of the team that does the workstreams.
type Agent struct {
	Name   string
	Role   string
	Budget *Budget // nil: there is none
	Range  hcl.Range
}

// TaskBy says how the text of a workstream's task reaches its process.
type TaskBy string

// The ways of a task's text.
const (
	TaskOnStdin TaskBy = "stdin"
	TaskInFile  TaskBy = "file" // named by RUNNER_TASK
)

// agentDef is an agent that is being built.
type agentDef struct {
	block  *agentBlock
	agent  *Agent
	taskBy TaskBy
	used   bool
}

// buildAgents evaluates the agents. Their processes are evaluated with each workstream.
func (b *builder) buildAgents(blocks []*agentBlock) {
	b.agents = make(map[string]*agentDef, len(blocks))
	fr := constantFrame(noEach)
	for _, block := range blocks {
		if first := b.agents[block.name]; first != nil {
			place := block.block.LabelRanges[0]
			b.errorf("Duplicate agent name", place, "The name %q is already taken by the agent at %s; rename one of them.", block.name, lineOf(first.block.block.LabelRanges[0], place))
			continue
		}
		def := &agentDef{block: block, agent: &Agent{
			Name: block.name, Role: b.evalText(block.role, fr), Budget: b.budget(block.budget, fr), Range: block.block.DefRange(),
		}}
		def.taskBy = oneOf(b, block.task, fr, TaskOnStdin, TaskOnStdin, TaskInFile)
		for a := range block.process.arguments {
			b.checkArgument(a, a.frameOf(agentFrame()))
		}
		b.agents[block.name] = def
		b.pipeline.Agents = append(b.pipeline.Agents, def.agent)
	}
}

// agentFrame returns the values that the process of an agent may use: neither each nor
// results, because it is the same for all its workstreams.
func agentFrame() frame {
	return frame{
		allow:     kindVar | kindLocal | kindPipeline | kindRun | kindIssue,
		noResults: "The block of an agent is the same for all its workstreams, and only their own arguments can use results",
	}
}

// agentOf returns the agent that a workstream names, nil if it names none.
func (b *builder) agentOf(block *workstreamBlock) *agentDef {
	a := block.agent
	if a == nil {
		return nil
	}
	if !a.isReference(kindAgent) {
		b.errorf("Invalid agent reference", a.exprRange(), `"agent" must be a reference, written without quotes: agent = agent.NAME.`)
		return nil
	}
	name := a.refs[0].name
	def := b.agents[name]
	if def == nil {
		names := func(yield func(string) bool) {
			for name := range b.agents {
				if !yield(name) {
					return
				}
			}
		}
		b.errorf("Unknown agent", a.exprRange(), "The pipeline declares no agent %q.%s", name, suggest.DidYouMean(name, iter.Seq[string](names)))
		return nil
	}
	def.used = true
	return def
}

// withAgent returns the process of a workstream: what it does not say itself, its agent
// says. The variables of both are set; those of the workstream have precedence.
func (p process) withAgent(agent *agentDef) process {
	if agent == nil {
		return p
	}
	from := agent.block.process
	if !p.exists() {
		p.command, p.script, p.shell = from.command, from.script, from.shell
	}
	from.shell = nil // it is for the script of the agent
	return p.inherit(from)
}

// checkAgent checks the process of a workstream together with its agent.
func (b *builder) checkAgent(def *workstreamDef) {
	block := def.block
	switch {
	case !def.process.exists() && block.agent == nil, saidUnderOtherName(block.block.Body, "script"):
		return // the decoder reports it
	case !def.process.exists() && def.agent != nil:
		b.errorf("Missing command", block.block.DefRange(), `Neither the workstream nor agent.%s has a "command" or a "script".`, def.agent.agent.Name)
	}
}

// taskOf returns the text of a task.
func taskOf(value cty.Value) (string, error) {
	if value.IsNull() {
		return "", nil
	}
	text, err := toText(value)
	if err != nil {
		return "", errNotText
	}
	return text, nil
}
