package answer

import (
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/show"
)

// waiting returns the gate that the user names by its label or by its bare name. Without a
// name, it returns the only gate that waits.
func waiting(st *state.State, name string) (*state.Gate, error) {
	var all, named []*state.Gate
	for g := range gatesOf(st) {
		bare, _, _ := strings.Cut(g.Label, " (")
		if name == g.Label || name == bare {
			named = append(named, g)
		}
		if show.Awaits(g) {
			all = append(all, g)
		}
	}
	if name == "" {
		return onlyOne(st, all)
	}
	open := slices.DeleteFunc(slices.Clone(named), func(g *state.Gate) bool { return !show.Awaits(g) })
	switch {
	case len(named) == 0:
		return nil, advice.With(advice.Usagef("there is no gate %q in %s", name, st.PRD), listWaiting(st, all))
	case len(open) == 0:
		return nil, advice.With(advice.Usagef("%s does not wait for an answer: it is %s", named[0].Label, named[0].Status), listWaiting(st, all))
	}
	return onlyOne(st, open)
}

func onlyOne(st *state.State, gates []*state.Gate) (*state.Gate, error) {
	switch {
	case len(gates) == 1:
		return gates[0], nil
	case len(gates) > 1:
		return nil, advice.With(advice.Usagef("several gates of %s wait for an answer; name one", st.PRD), listWaiting(st, gates))
	case st.Pause != nil && len(st.Pause.Calls) > 0:
		return nil, advice.With(advice.Usagef("no gate of %s itself waits for an answer", st.PRD), listWaiting(st, nil))
	}
	return nil, advice.With(advice.Usagef("no gate of %s waits for an answer", st.PRD), fmt.Sprintf("`runner status %s` shows its state", st.PRD))
}

// listWaiting names gates that wait, and those for which called pipelines have paused.
func listWaiting(st *state.State, gates []*state.Gate) string {
	var labels []string
	for _, g := range gates {
		labels = append(labels, text.ShellWord(g.Label))
	}
	if st.Pause != nil {
		for _, call := range st.Pause.Calls {
			for _, label := range call.Gates {
				labels = append(labels, text.ShellWord(label)+" of "+call.PRD)
			}
		}
	}
	if len(labels) == 0 {
		return "no gate waits for an answer"
	}
	return "these wait: " + strings.Join(labels, ", ")
}

// gatesOf yields every gate, in the order of the pipeline.
func gatesOf(st *state.State) func(yield func(*state.Gate) bool) {
	return func(yield func(*state.Gate) bool) {
		for _, p := range st.Phases {
			for _, w := range p.Workstreams {
				for _, g := range w.Gates {
					if !yield(g) {
						return
					}
				}
			}
			for _, g := range p.Gates {
				if !yield(g) {
					return
				}
			}
		}
	}
}
