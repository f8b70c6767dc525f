package plan

import (
	"fmt"
	"slices"

	"prdrunner/pipeline"
)

// needSensitiveOutputs makes workstreams run again whose sensitive outputs the run needs,
// since the values are on no record. It reports whether the plan must be made anew.
func (pl *Planner) needSensitiveOutputs(plan *Plan) bool {
	if !pl.p.LearnsSecrets() {
		return false
	}
	found := false
	for _, phase := range plan.Phases {
		// In its next iteration, a phase that repeats starts what it reuses now.
		repeats := phase.Repeat != nil && slices.ContainsFunc(phase.Steps, Step.hasWork)
		for i := range phase.Steps {
			s := &phase.Steps[i]
			again := repeats && s.Decision == Reuse
			if !s.mayStartProcess() && !again {
				continue
			}
			for _, need := range pl.sensitiveNeeds(s) {
				if again && pl.p.Workstream(need.Workstream).Phase.Number == phase.Number {
					continue // that runs again in the next iteration, too
				}
				found = pl.forceMaker(need, s.Name) || found
			}
		}
	}
	if plan.hasWork() {
		for _, h := range pl.p.Hooks {
			for _, need := range h.SensitiveNeeds() {
				found = pl.forceMaker(need, fmt.Sprintf("the hook in line %d", h.Range.Start.Line)) || found
			}
		}
	}
	return found
}

// mayStartProcess reports whether a run may start a process for the step.
func (s *Step) mayStartProcess() bool {
	if s.Kind == GateStep {
		return s.Decision != Reuse && s.Decision != Skipped && s.Decision != Blocked
	}
	return s.mayDiffer()
}

// hasWork reports whether the plan has a step with work.
func (p *Plan) hasWork() bool {
	for _, phase := range p.Phases {
		for i := range phase.Steps {
			if phase.Steps[i].hasWork() {
				return true
			}
		}
	}
	return false
}

// sensitiveNeeds lists the sensitive outputs that the processes of a step need.
func (pl *Planner) sensitiveNeeds(s *Step) []pipeline.SensitiveNeed {
	if s.Kind == GateStep {
		return pl.p.Gate(s.Name).SensitiveNeeds()
	}
	return pl.p.Workstream(s.Name).SensitiveNeeds()
}

// forceMaker makes a workstream run again that is done, since a step needs a sensitive
// output of it. It reports whether that is new.
func (pl *Planner) forceMaker(need pipeline.SensitiveNeed, by string) bool {
	made, ok := pl.steps[need.Workstream]
	if !ok || made.mayDiffer() || !pl.st.Workstream(need.Workstream).Done() || pl.selection.forced[need.Workstream] != "" {
		return false
	}
	if pl.selection.forced == nil {
		pl.selection.forced = make(map[string]string)
	}
	pl.selection.forced[need.Workstream] = fmt.Sprintf("its sensitive output %s is needed by %s, and is not stored", need.Output, by)
	return true
}
