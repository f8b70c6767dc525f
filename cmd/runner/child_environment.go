package main

import (
	"slices"
	"strings"
)

// childEnvironment is the part of our environment that processes inherit: not
// what sets variables of pipelines, which may be sensitive, and not what an
// outer runner told us about the workstream that we run in.
func childEnvironment(environ []string) []string {
	own := []string{
		"RUNNER_PRD", "RUNNER_SESSION", "RUNNER_PHASE", "RUNNER_WORKSTREAM", "RUNNER_GATE", "RUNNER_ATTEMPT",
		"RUNNER_IDEMPOTENCY_KEY", "RUNNER_OUTPUT", "RUNNER_REPORT",
	}
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, variablePrefix) || slices.Contains(own, name)
	})
}
