package main

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/text"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

// tellOutdated warns of what of a complete session would not be taken over any
// more, which no resume of it looks at, with the commands that do it again.
func tellOutdated(ctx context.Context, env *environment, o runner.Options, st *checkpoint.State, given string) {
	plan, err := outlook(ctx, o, st)
	if err != nil {
		fmt.Fprintf(env.stderr, "Warning: whether anything has changed since %s was complete can't be told: %v\n", st.PRD, err)
		return
	}
	old := outdatedOf(plan)
	if len(old.lines) == 0 {
		return
	}
	fmt.Fprintf(env.stderr, "Warning: %s is complete, but not all of it is as its inputs, artifacts and pipeline are now:\n", st.PRD)
	for _, line := range old.lines {
		fmt.Fprintf(env.stderr, "  %s\n", view.OneLine(line))
	}
	for _, s := range old.commands(st) {
		fmt.Fprintf(env.stderr, "  %s   %s\n", env.command(s.command)+given, s.purpose)
	}
}

// outlook is the plan of going on with a complete session as if that were done.
func outlook(ctx context.Context, o runner.Options, st *checkpoint.State) (*runner.Plan, error) {
	o.Select = runner.Selection{}
	return runner.Preview(ctx, o, st)
}

// outdated is what of a complete session is no longer so.
type outdated struct {
	lines     []string
	again     []string // workstreams that are where it begins
	overwrite bool     // somebody edited what they made
}

func outdatedOf(plan *runner.Plan) outdated {
	var old outdated
	for _, phase := range plan.Phases {
		for _, s := range phase.Steps {
			for _, c := range plan.Conflicts {
				if s.Kind == runner.WorkstreamStep && c.Workstream == s.Name {
					old.add(s.Name, string(c.Path)+" was edited")
					old.overwrite = true
				}
			}
			switch {
			case s.Decision == runner.Reuse && len(s.Restores) > 0:
				old.add(s.Name, "its artifacts are not as they were: "+string(s.Restores[0]))
			case s.Decision == runner.Reuse, s.Decision == runner.Skipped:
			case s.Kind == runner.WorkstreamStep && s.Decision == runner.Rerun && len(s.On) == 0:
				old.add(s.Name, string(s.Reason))
			default:
				old.lines = append(old.lines, s.Name+": "+string(s.Reason))
			}
		}
	}
	for _, s := range plan.Stale {
		old.lines = append(old.lines, fmt.Sprintf("%s %s changed", s.What, s.Path))
	}
	return old
}

func (o *outdated) add(workstream, why string) {
	o.lines = append(o.lines, workstream+": "+why)
	if !slices.Contains(o.again, workstream) {
		o.again = append(o.again, workstream)
	}
}

// commands do again what is outdated, or all.
func (o *outdated) commands(st *checkpoint.State) []suggestion {
	pipeline := string(st.Pipeline.Path)
	all := suggestion{startCommand(st.PRD, pipeline), "do all of it again, in a new session"}
	if len(o.again) == 0 {
		return []suggestion{all}
	}
	command := resumeCommand(st.PRD, pipeline)
	for _, name := range o.again {
		command += " --invalidate " + text.ShellWord(name)
	}
	if o.overwrite {
		command += " --on-conflict restore"
	}
	return []suggestion{{command, "do that again, and what depends on it"}, all}
}
