package cli

import (
	"slices"
	"strings"

	"prdrunner/cmd/runner/config"
	"prdrunner/runner"
)

// ChildEnvironment returns the part of Runner's environment that its processes inherit. It
// leaves out the variables that set variables of pipelines, which may be sensitive, and
// the variables by which an outer Runner describes the workstream that this Runner is part
// of. In a called pipeline, the environment names the sessions of the callers, so that their
// next runs find the processes after a kill.
func (e *Environment) ChildEnvironment() []string {
	describing := []string{
		"RUNNER_PRD", "RUNNER_SESSION", "RUNNER_STATE_DIR", "RUNNER_PHASE", "RUNNER_WORKSTREAM", "RUNNER_GATE", "RUNNER_ATTEMPT",
		"RUNNER_IDEMPOTENCY_KEY", "RUNNER_OUTPUT", "RUNNER_REPORT", runner.CallersVariable,
	}
	inherited := slices.DeleteFunc(slices.Clone(e.Environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, config.VariablePrefix) || slices.Contains(describing, name)
	})
	if len(e.Callers) > 0 {
		inherited = append(inherited, runner.CallersVariable+"="+strings.Join(e.Callers, " "))
	}
	return inherited
}
