package pipeline

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// usedNames holds the names of shared gates and services that a workstream or gate uses, and
// of secrets to which an expression refers.
type usedNames struct {
	gates, services, secrets map[string]bool
}

// warnUnused warns of a block that nothing uses.
func (b *builder) warnUnused(summary string, subject hcl.Range, format string, args ...any) {
	b.addDiagnostics(hcl.Diagnostics{{Severity: hcl.DiagWarning, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: &subject}})
}

// unusedGates warns of shared gates of the file that nothing uses, and reports their mistakes.
// Most likely an argument "gates" is missing, and the check never happens. The gates of an
// included file may be meant for other pipelines, with names that this one does not have.
func (b *builder) unusedGates() {
	// All results are there in a phase behind the others, and it is not known whether the
	// gate is meant for a phase that repeats.
	behind := owner{phase: &Phase{Number: len(b.phases) + 1, Repeat: &Repeat{}}, fr: deferredFrame(noEach)}
	for _, gate := range b.file.gates {
		if b.used.gates[gate.name] || b.gates[gate.name] != gate || b.isIncluded(gate.block.DefRange()) {
			continue
		}
		b.buildGate(gate, nil, behind, b.defaults)
		b.warnUnused("Unused gate", gate.block.DefRange(), "No workstream uses gate.%s, so it is never judged. Add it to the \"gates\" of a workstream, or remove it.", gate.name)
	}
}

// unusedAgents warns of agents that no workstream uses. Those of an included file do not
// belong to the team then.
func (b *builder) unusedAgents() {
	b.pipeline.Agents = slices.DeleteFunc(b.pipeline.Agents, func(a *Agent) bool { return !b.agents[a.Name].used && b.isIncluded(a.Range) })
	for _, agent := range b.pipeline.Agents {
		if !b.agents[agent.Name].used {
			b.warnUnused("Unused agent", agent.Range, "No workstream names agent.%s, so it has nothing to do. Write agent = agent.%s into a workstream, or remove the block.", agent.Name, agent.Name)
		}
	}
}

// unusedServices warns of services that no workstream and no gate needs, directly or through
// other services. In a file with errors a wrong reference may be the one to the service.
func (b *builder) unusedServices() {
	if b.diags.HasErrors() {
		return
	}
	for _, s := range slices.Backward(b.pipeline.Services) { // a service needs only those before it
		if b.used.services[s.Name] {
			for _, name := range s.Needs {
				b.used.services[name] = true
			}
		}
	}
	for _, s := range b.pipeline.Services {
		if !b.used.services[s.Name] {
			b.warnUnused("Unused service", s.Range, "No workstream and no gate needs service.%s, so it is never started. Use service.%s.port in a process, write services = [service.%s] into a workstream, or remove the block.", s.Name, s.Name, s.Name)
		}
	}
}

// unusedSecrets warns of secrets to which nothing refers, unless the file has errors.
func (b *builder) unusedSecrets() {
	for _, s := range b.pipeline.SecretSources {
		if !b.used.secrets[s.Name] && !b.diags.HasErrors() {
			b.warnUnused("Unused secret", s.Range, "Nothing refers to secret.%s, so it is never resolved. Write secret.%s into an argument of a process, or remove the block.", s.Name, s.Name)
		}
	}
}
