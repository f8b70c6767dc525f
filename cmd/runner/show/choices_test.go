package show_test

import (
	"io"
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// TestOtherAnswers compares the choices about a plan, and the shorter answers, with a file
// in testdata.
func TestOtherAnswers(t *testing.T) {
	t.Parallel()
	st := session(state.StatusPaused)
	st.Phases[0].Workstreams = append(st.Phases[0].Workstreams, &state.Workstream{Name: "deploy", Status: state.Uncertain}, &state.Workstream{Name: "mail", Status: state.Pending})
	complete := st.Clone()
	complete.Status = state.StatusComplete
	happened := &state.Act{}
	planned := &plan.Plan{PRD: "PRD-009", Phases: []plan.Phase{{Steps: []plan.Step{
		{Name: "deploy", Decision: plan.Uncertain, Happened: happened}, {Name: "mail", Decision: plan.Uncertain, Happened: happened}, {Name: "it's new", Decision: plan.Uncertain, Happened: happened},
		{Name: "not happened", Decision: plan.Uncertain}, {Name: "reused", Decision: plan.Reuse, Happened: happened},
	}}}}
	refused := func(decisions ...plan.Decision) *plan.Plan {
		p := &plan.Plan{}
		for _, decision := range decisions {
			p.Phases = append(p.Phases, plan.Phase{Steps: []plan.Step{{Decision: plan.Rerun}, {Decision: decision, Refused: "a was edited"}}})
		}
		return p
	}
	once := func(name string, st *state.State, p *plan.Plan) answer {
		return plain(name, func(w io.Writer) { show.OnceChoices(w, cmdline, st, p, "build PRD-009 --resume") })
	}
	conflicts := func(name string, decisions ...plan.Decision) answer {
		return plain(name, func(w io.Writer) { show.ConflictChoices(w, cmdline, refused(decisions...), "build PRD-009 --resume") })
	}
	settings := []config.Setting{
		{Key: "grace", Value: 10 * time.Second, Source: "default"}, {Key: "pipelines", Value: "a\xffb", Source: "runner.yaml:1"}, {Key: "workspace.include", Value: []string{"a", "b"}},
		{Key: "parallel", Value: 3}, {Key: "checkpoint.retention.manual"},
	}
	p := &pipeline.Pipeline{ID: "PRD-009", Phases: []*pipeline.Phase{{Gates: []*pipeline.Gate{{}}, Workstreams: []*pipeline.Workstream{{Gates: []*pipeline.Gate{{}, {}}}, {}}}}}
	version := info.BuildInfo{Version: "1.2", Go: "go1", Platform: "linux/amd64", Formats: map[string]string{"state": "1.0", "plan": "2.0", "output": "3.0"}}
	built := version
	built.Commit, built.Time = "abc", "today"
	changed := built
	changed.Modified = true
	versions := func(name string, info info.BuildInfo) answer {
		return answer{name, func(w io.Writer) error { return show.Version(w, info) }}
	}
	compareAnswers(t, "other.txt", []answer{
		once("once", st, planned), once("once, complete", complete, planned), once("once, no session", nil, planned), once("once, nothing", st, refused(plan.Rerun)),
		conflicts("edited", plan.Reuse), conflicts("edited, to run again", plan.Rerun, plan.Reuse), conflicts("edited, from the cache", plan.Reuse, plan.Cached),
		{"settings", func(w io.Writer) error {
			return show.Settings(w, settings, func(s config.Setting) string { return string(s.Source) })
		}}, asJSON("settings", info.NewSettingsReport(settings)),
		plain("a pipeline", func(w io.Writer) { show.ValidPipeline(w, info.NewPipelineReport("a.hcl", p)) }), asJSON("an invalid pipeline", info.NewPipelineReport("a.hcl", nil)),
		versions("version", version), versions("a commit", built), versions("a modified commit", changed),
	})
}
