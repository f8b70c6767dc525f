package load

import (
	"encoding/json"
	"maps"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/cli"
	"prdrunner/pipeline"
	"prdrunner/runner"
)

// AddPipeline completes what is known of a run of a session with its pipeline, where RecordedPipeline knows that.
func AddPipeline(env *cli.Environment, st *state.State, variables map[string]string, b *runner.Beginning) {
	p := RecordedPipeline(env, st, variables)
	if p == nil {
		return
	}
	b.Pipeline = func() *pipeline.Pipeline { return p }
	for i := range b.Plan.Phases {
		if i < len(p.Phases) {
			b.Plan.Phases[i].RunOn = p.Phases[i].RunOn
		}
	}
}

// RecordedPipeline returns the pipeline that a run of a session was given, with the values of variables that the run
// has on record. It returns nil if that is not what the files in the workspace say now, or if it can't be known: the
// value of a variable is secret, or another pipeline calls this one.
func RecordedPipeline(env *cli.Environment, st *state.State, variables map[string]string) *pipeline.Pipeline {
	cfg, err := env.LoadConfig()
	file := SessionFile(env, st)
	if err != nil || file == "" || st.Caller != nil {
		return nil
	}
	ref := PipelineRef{PRD: st.PRD, File: file}
	for name, value := range variables {
		var text string
		if json.Unmarshal([]byte(value), &text) != nil {
			text = value // no string, which is the same as an expression
		}
		ref.Vars = append(ref.Vars, name+"="+text)
	}
	p, err := EvaluatedPipeline(env, cfg, ref)
	if err != nil || p.Digest != st.Pipeline.Digest {
		return nil
	}
	if !maps.Equal(p.Given(), variables) { // the environment gives one more, or a number reads as a text
		return nil
	}
	return p
}
