package load

import (
	"slices"
	"strings"

	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/pipeline"
)

// Flags returns the flags that name the file of the pipeline and set its variables, as the
// user would type them again.
func (r *PipelineRef) Flags(env *cli.Environment, cfg *config.Config) string {
	flags := ""
	if r.File != "" && !advice.IsDescriptor(r.File) {
		flags = " -f " + text.ShellWord(r.File)
	}
	var secret []string
	if read, err := ReadPipeline(env, cfg, *r); err == nil {
		secret = read.sensitive
	} else {
		for _, assignment := range r.Vars {
			name, _, _ := strings.Cut(assignment, "=")
			secret = append(secret, name)
		}
	}
	return flags + r.VariableFlags(secret)
}

// VariableFlags returns the flags that set variables of the pipeline, as the user would
// type them again. It shows only the names of sensitive variables.
func (r *PipelineRef) VariableFlags(sensitive []string) string {
	var flags strings.Builder
	for _, file := range r.VarFiles {
		if advice.IsDescriptor(file) { // no other command can open it
			flags.WriteString(" --var-file …")
			continue
		}
		flags.WriteString(" --var-file " + text.ShellWord(file))
	}
	for _, assignment := range r.Vars {
		name, _, _ := strings.Cut(assignment, "=")
		if slices.Contains(sensitive, name) {
			flags.WriteString(" --var " + name + "=…")
		} else {
			flags.WriteString(" --var " + text.ShellWord(assignment))
		}
	}
	return flags.String()
}

// sensitive returns the names of the variables whose values must never be shown.
func sensitive(p *pipeline.Pipeline) []string {
	names := make([]string, len(p.Secrets))
	for i, s := range p.Secrets {
		names[i] = s.Variable
	}
	return names
}
