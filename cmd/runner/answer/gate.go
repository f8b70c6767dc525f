package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/words"
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
		if info.Awaits(g) {
			all = append(all, g)
		}
	}
	if name == "" {
		return onlyOne(st, all)
	}
	open := slices.DeleteFunc(slices.Clone(named), func(g *state.Gate) bool { return !info.Awaits(g) })
	switch {
	case len(named) == 0:
		hint := listWaiting(st, all)
		if hint == "" {
			hint = listGates(st, name)
		}
		return nil, advice.With(advice.Usagef("there is no gate %q in %s", name, st.PRD), hint)
	case len(open) == 0:
		return nil, advice.With(advice.Usagef("%s does not wait for an answer: it is %s", named[0].Label, named[0].Status), cmp.Or(listWaiting(st, all), noneWaits(st)))
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
		return nil, advice.With(advice.Usagef("no gate of %s itself waits for an answer", st.PRD), cmp.Or(listWaiting(st, nil), showState(st)))
	}
	return nil, advice.With(advice.Usagef("no gate of %s waits for an answer", st.PRD), showState(st))
}

// listGates names a few gates of a session in which none waits: first the one that was probably meant.
func listGates(st *state.State, meant string) string {
	const most = 5
	var labels, names []string
	for g := range gatesOf(st) {
		bare, _, _ := strings.Cut(g.Label, " (")
		labels, names = append(labels, g.Label), append(names, g.Label, bare)
	}
	if near := words.Nearest(meant, names); near != "" {
		return fmt.Sprintf("did you mean %s? %s", text.ShellWord(near), noneWaits(st))
	}
	if len(labels) == 0 {
		return fmt.Sprintf("it has no gates: %s", showState(st))
	}
	listed := make([]string, 0, most)
	for _, label := range labels[:min(most, len(labels))] {
		listed = append(listed, text.ShellWord(label))
	}
	more := ""
	if len(labels) > most {
		more = fmt.Sprintf(" and %d more", len(labels)-most)
	}
	return fmt.Sprintf("its gates are %s%s; %s", strings.Join(listed, ", "), more, noneWaits(st))
}

func noneWaits(st *state.State) string { return "no gate waits for an answer: " + showState(st) }

func showState(st *state.State) string {
	return fmt.Sprintf("`runner status %s` shows its state", st.PRD)
}

// listWaiting names gates that wait, and those for which called pipelines have paused, "" if there are none.
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
		return ""
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
