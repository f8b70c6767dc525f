package inspect

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/begin"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/words"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
	"prdrunner/runner/why"
)

// Explanation explains a step, or the instances of a workstream with for_each together.
type Explanation struct {
	Step  *info.WhyReport
	Block *info.WhyBlockReport
	Next  []advice.Suggestion // what to type next
}

// Why explains what the next build does with a workstream, a gate or the instances of a block, and why
// it ran last. name is what the user typed.
func Why(ctx context.Context, env *cli.Environment, ref load.PipelineRef, name string) (*Explanation, error) {
	p, err := StartPreview(ctx, env, ref)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	st, _, err := p.State(ctx, begin.ResumeAuto)
	if err != nil {
		return nil, err
	}
	planned, err := p.Plan(ctx, st)
	if err != nil {
		return nil, err
	}
	steps, err := stepsNamed(planned, name)
	if err != nil {
		return nil, err
	}
	var history why.History
	if st != nil {
		if _, err := p.Setup.Store.Reader().Replay(st.PRD, history.Visit); err != nil {
			return nil, fmt.Errorf("read the journal of %s: %w", st.PRD, err)
		}
	}
	session, status := p.session(st), state.Status("")
	if st != nil {
		status = st.Status
	}
	if len(steps) > 1 {
		return explainBlock(env, name, planned, session, &history, steps, status), nil
	}
	explained := why.Explain(planned, session, &history, steps[0])
	addDifferences(ctx, p.Setup, st, &explained)
	next := whatNext(p.Setup, session, planned, steps[0].Name)
	report := info.NewWhyReport(env.CommandLine, planned.PRD, status, explained, next)
	report.Running = session.Running
	return &Explanation{Step: &report, Next: next}, nil
}

// explainBlock explains the instances of a block with for_each together.
func explainBlock(env *cli.Environment, name string, planned *plan.Plan, session why.Session, history *why.History, steps []*plan.Step, status state.Status) *Explanation {
	explained := make([]why.Explanation, len(steps))
	for i, step := range steps {
		explained[i] = why.Explain(planned, session, history, step)
	}
	next := []advice.Suggestion{
		advice.Suggest("why "+planned.PRD+" "+text.ShellWord(explained[0].Name), "explains one of them"),
		advice.Suggest("plan "+planned.PRD+" --resume", "shows the whole plan"),
	}
	report := info.NewWhyBlockReport(env.CommandLine, planned.PRD, status, name, explained, next)
	return &Explanation{Block: &report, Next: next}
}

// session returns what the explanation of a step needs to know of the session.
func (p *Preview) session(st *state.State) why.Session {
	s := why.Session{State: st, Running: p.owner != nil && st != nil && st.RunningAt != nil}
	if st == nil {
		return s
	}
	if s.Running {
		s.State = st.InRun(p.owner.Since)
	} else {
		s.State = st.CutOff()
	}
	if st.Pause != nil {
		s.Paused = view.Waits(*st.Pause)
	}
	s.Needs = func(name string) []string {
		w := p.Setup.Pipeline.Workstream(name)
		if w == nil {
			return nil
		}
		return append(slices.Clone(w.Upstream), w.Answers...)
	}
	return s
}

// stepsNamed returns the step that the user means, by the name of a workstream, the label of a gate,
// or the name of a gate if there is only one with it; or the instances of the block that has the name.
func stepsNamed(planned *plan.Plan, given string) ([]*plan.Step, error) {
	var names, labels []string
	var gate *plan.Step
	var instances []*plan.Step
	for i := range planned.Phases {
		for j := range planned.Phases[i].Steps {
			s := &planned.Phases[i].Steps[j]
			if s.Name == given {
				return []*plan.Step{s}, nil
			}
			names = append(names, s.Name)
			if bare, _, _ := state.CutLabel(s.Name); s.Kind == plan.GateStep && bare == given {
				gate, labels = s, append(labels, s.Name)
			}
			if block := view.Block(s.Name); s.Kind == plan.WorkstreamStep && block != s.Name {
				names = append(names, block)
				if block == given {
					instances = append(instances, s)
				}
			}
		}
	}
	if len(instances) > 0 {
		return view.InNaturalOrder(instances, func(s *plan.Step) string { return s.Name }), nil
	}
	switch len(labels) {
	case 1:
		return []*plan.Step{gate}, nil
	case 0:
	default:
		return nil, advice.With(advice.Usagef("%q is the name of several gates", given), "name one of "+text.Enumerate(quoted(labels)))
	}
	unknown := advice.Usagef("%s has no workstream or gate %q", planned.PRD, given)
	if near := words.Nearest(given, names); near != "" {
		return nil, advice.With(unknown, fmt.Sprintf("did you mean %s?", text.ShellWord(near)))
	}
	return nil, advice.With(unknown, fmt.Sprintf("`runner plan %s` lists them", planned.PRD))
}

func quoted(names []string) []string {
	list := slices.Clone(names)
	for i, name := range list {
		list[i] = text.ShellWord(name)
	}
	return list
}

// addDifferences adds how files changed, as far as both versions are kept.
func addDifferences(ctx context.Context, setup *load.Setup, st *state.State, e *why.Explanation) {
	versions := compare.NewVersions(setup.Files, st)
	add := func(c *why.Cause) {
		for i := range c.Changes {
			change := &c.Changes[i]
			if change.Name == "" || change.Component != "inputs" && change.Component != "artifacts" {
				continue
			}
			d, ok := versions.Difference(ctx, string(change.Name), change.Old, change.New)
			switch {
			case !ok:
			case d.Note != "":
				change.Difference = state.Text(d.Note)
			default:
				change.Added, change.Deleted, change.Difference = d.Added, d.Deleted, state.Text(setup.Masker.String(string(d.Text)))
			}
		}
	}
	e.Next.Causes(add)
	if e.Last != nil {
		e.Last.Cause.Causes(add)
	}
}

// whatNext returns the commands that answer what a step waits for.
func whatNext(setup *load.Setup, session why.Session, planned *plan.Plan, name string) []advice.Suggestion {
	prd, word, st := planned.PRD, text.ShellWord(name), session.State
	var list []advice.Suggestion
	if st == nil {
		return []advice.Suggestion{advice.Suggest(setup.Command(""), "runs it")}
	}
	if g := st.Gate(name); g != nil && info.Awaits(g) {
		list = append(list, advice.Suggest("approve "+prd+" "+word+advice.InputFlags(g.Asks), "approves it"), advice.Suggest("reject "+prd+" "+word, "rejects it"))
	}
	w := st.Workstream(name)
	switch {
	case w == nil:
	case w.Status == state.Uncertain:
		list = append(list, advice.Suggest("resolve "+prd+" "+word+" --done", "counts it as done"), advice.Suggest("resolve "+prd+" "+word+" --rerun", "lets it run again"))
	case w.Status == state.Failed:
		list = append(list, advice.Suggest("logs "+prd+" "+word, "shows its log"))
	case w.Status == state.Running && session.Running:
		list = append(list, advice.Suggest("logs "+prd+" "+word+" -f", "follows its log"))
	}
	if session.Running {
		return append(list, advice.Suggest("watch "+prd, "shows the run"))
	}
	return append(list, advice.Suggest("plan "+prd+" --resume", "shows the whole plan"))
}
