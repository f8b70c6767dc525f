package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/begin"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/cmd/runner/words"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/why"
)

type whyOptions struct {
	pipeline load.PipelineRef
	name     string
	json     bool
}

func newWhyCommand(env *cli.Environment) *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why PRD WORKSTREAM",
		Short: "Explain why a workstream or gate ran, will run, or will not",
		Long: `Explain what the next build does with a workstream, an instance or a gate, and why
it ran last: what changed, with the differences that are on record, and the first
cause in the workstreams before it. What the next build does is what "runner plan
--resume" says; why something ran is what the journal recorded. Why changes nothing
and takes no lock.`,
		Example: `  runner why PRD-009 archive
  runner why PRD-009 'service["api"]'
  runner why PRD-009 'lint (WS3)'`,
		Args: cli.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.pipeline.SetName(env, args[0])
			o.name = args[1]
			return runWhy(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.pipeline.AddFlags(cmd)
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runWhy(ctx context.Context, env *cli.Environment, o whyOptions) error {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	early := load.StartSession(env, cfg, o.pipeline)
	defer early.Wait()
	setup, err := load.SetUp(ctx, env, cfg, o.pipeline)
	if err != nil {
		return err
	}
	defer setup.Close()
	options := setup.ReadOptions(env)
	st, planned, err := planToResume(ctx, env, setup, early, &options)
	if err != nil {
		return err
	}
	step, err := stepNamed(planned, o.name)
	if err != nil {
		return err
	}
	var history why.History
	if st != nil {
		if _, err := setup.Store.Reader().Replay(st.PRD, history.Visit); err != nil {
			return fmt.Errorf("read the journal of %s: %w", st.PRD, err)
		}
	}
	explained := why.Explain(planned, &history, step)
	addDifferences(ctx, setup, st, &explained)
	var status state.Status
	if st != nil {
		status = st.Status
	}
	next := whatNext(setup, st, planned, step.Name)
	report := show.NewWhyReport(env.CommandLine, planned.PRD, status, explained, next)
	if o.json {
		return show.JSON(env.Stdout, report)
	}
	return show.Why(env.Stdout, env.CommandLine, env.Now(), report, next)
}

// planToResume plans what the next build does: it resumes the session, or begins the first one.
func planToResume(ctx context.Context, env *cli.Environment, setup *load.Setup, early *load.EarlySession, o *runner.Options) (*state.State, *plan.Plan, error) {
	st, _, err := planState(ctx, env, setup, early, o, begin.ResumeAuto)
	if err != nil {
		return nil, nil, err
	}
	planned, err := runner.Preview(ctx, *o, st)
	if err != nil {
		return nil, nil, begin.Explain(env, st, setup.Pipeline.ID, setup.Command, err)
	}
	return st, planned, nil
}

// stepNamed returns the step that the user means, by the name of a workstream, the label of a gate,
// or the name of a gate if there is only one with it.
func stepNamed(planned *plan.Plan, given string) (*plan.Step, error) {
	var names, labels []string
	var gate *plan.Step
	for i := range planned.Phases {
		for j := range planned.Phases[i].Steps {
			s := &planned.Phases[i].Steps[j]
			if s.Name == given {
				return s, nil
			}
			names = append(names, s.Name)
			if bare, _, _ := state.CutLabel(s.Name); s.Kind == plan.GateStep && bare == given {
				gate, labels = s, append(labels, s.Name)
			}
		}
	}
	switch len(labels) {
	case 1:
		return gate, nil
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
func whatNext(setup *load.Setup, st *state.State, planned *plan.Plan, name string) []advice.Suggestion {
	prd, word := planned.PRD, text.ShellWord(name)
	var list []advice.Suggestion
	if st == nil {
		return []advice.Suggestion{advice.Suggest(setup.Command(""), "runs it")}
	}
	if g := st.Gate(name); g != nil && show.Awaits(g) {
		list = append(list, advice.Suggest("approve "+prd+" "+word+advice.InputFlags(g.Asks), "approves it"), advice.Suggest("reject "+prd+" "+word, "rejects it"))
	}
	if w := st.Workstream(name); w != nil && w.Status == state.Uncertain {
		list = append(list, advice.Suggest("resolve "+prd+" "+word+" --done", "counts it as done"), advice.Suggest("resolve "+prd+" "+word+" --rerun", "lets it run again"))
	}
	if w := st.Workstream(name); w != nil && w.Status == state.Failed {
		list = append(list, advice.Suggest("logs "+prd+" "+word, "shows its log"))
	}
	return append(list, advice.Suggest("plan "+prd+" --resume", "shows the whole plan"))
}
