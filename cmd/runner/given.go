package main

import (
	"slices"
	"strings"

	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
)

// given are the flags that gave a pipeline its variables, as a person types
// them again: of sensitive ones the names only.
func (r *pipelineRef) given(sensitive []string) string {
	var flags strings.Builder
	for _, file := range r.varFiles {
		if isDescriptor(file) { // which no other command can open
			flags.WriteString(" --var-file …")
			continue
		}
		flags.WriteString(" --var-file " + text.ShellWord(file))
	}
	for _, assignment := range r.vars {
		name, _, _ := strings.Cut(assignment, "=")
		if slices.Contains(sensitive, name) {
			flags.WriteString(" --var " + name + "=…")
		} else {
			flags.WriteString(" --var " + text.ShellWord(assignment))
		}
	}
	return flags.String()
}

// sensitive names the variables whose values are shown nowhere.
func sensitive(p *pipeline.Pipeline) []string {
	names := make([]string, len(p.Secrets))
	for i, s := range p.Secrets {
		names[i] = s.Variable
	}
	return names
}
